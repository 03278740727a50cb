"""Several attempts at one task: what each did, which one is taken, and the record of both."""
