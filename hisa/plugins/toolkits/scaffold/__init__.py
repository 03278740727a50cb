"""The templates of packages that ``hisa tools new`` and ``accept`` write."""
