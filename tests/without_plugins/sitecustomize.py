"""Makes `hisa.plugins` unimportable in every Python whose path begins with this folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class NoPlugins:
    """A finder that refuses the plugins, as if their folder were gone."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name == "hisa.plugins" or name.startswith("hisa.plugins."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, NoPlugins)
