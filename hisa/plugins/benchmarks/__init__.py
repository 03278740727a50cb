"""Task files of OSWorld and Spider2-V, benches of many attempts, and the best of several runs."""
