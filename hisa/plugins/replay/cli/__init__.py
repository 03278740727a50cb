"""The commands of programs."""
