"""A module that cannot be imported."""

raise ImportError("this plug-in needs a library that is not installed")
