"""Names that a package offers and that are imported when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping

__all__ = ["lazy"]


def lazy(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """Returns a ``__getattr__`` for a package.

    Args:
        package: its ``__name__``.
        places: by name, the module that has it.
    """

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
