"""The commands of benches and suites."""
