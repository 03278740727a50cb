"""A script for any Python: prints where OSWorld's package is, its release, and what it lacks.

It prints one JSON object and reads the package's files without running them: importing the package
would import everything it could ever need.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Iterator

__all__ = ["main"]


def _folder() -> str:
    """Returns the folder of the metrics; empty if the package is not installed."""
    spec = importlib.util.find_spec("desktop_env")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = os.path.join(place, "evaluators", "metrics")
        if os.path.isfile(os.path.join(folder, "__init__.py")):
            return folder
    return ""


def _find_imports(folder: str) -> Iterator[str]:
    """Yields every library that a file imports, at its top or inside a function."""
    for name in os.listdir(folder):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as source:
            tree = ast.parse(source.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield (node.module or "").partition(".")[0]


def _version() -> str:
    try:
        return importlib.metadata.version("desktop-env")
    except importlib.metadata.PackageNotFoundError:
        return ""  # a checkout that was put on the path


def main(requested: list[str]) -> None:
    """Print a report of the package; ``requested`` are further libraries to look for."""
    folder = _folder()
    libraries = {*requested, *(_find_imports(folder) if folder else ())} - {"desktop_env"}
    about = {
        "folder": folder,
        "version": _version(),
        "roots": [sys.prefix, sys.base_prefix],
        "absent": [name for name in sorted(libraries) if importlib.util.find_spec(name) is None],
    }
    sys.stdout.write(json.dumps(about))


if __name__ == "__main__":
    main(sys.argv[1:])
