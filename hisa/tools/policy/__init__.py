"""What may run: rules, decisions, secrets filled in at the last moment."""
