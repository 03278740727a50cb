"""Imports a package's public names when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping

__all__ = ["lazy"]


def lazy(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Returns a ``__getattr__`` for a package.

    Args:
        package: the package's ``__name__``.
        places: the module of each name.
    """

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
