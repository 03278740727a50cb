"""Text: made safe for prompts, terminals and logs where it may be hostile, and compared."""
