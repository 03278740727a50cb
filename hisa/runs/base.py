"""What a run asks of an environment beyond its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

__all__ = ["HasComponentVersions"]


@runtime_checkable
class HasComponentVersions(Protocol):
    """An environment that knows what its machine was made of, such as an image."""

    @property
    def component_versions(self) -> Mapping[str, str]:
        """Version or hash by name."""
        ...
