"""Text that may be hostile: made safe for prompts, terminals and logs."""
