"""The grounding bench: descriptions of things on saved screens, and where they are."""
