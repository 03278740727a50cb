"""A function where a command is wanted."""


def count_words() -> None:
    """Do nothing."""
