"""What ranks the things of a screen, as a package announces it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hisa.plugins.matching.description import Query
from hisa.plugins.matching.pick import Choice
from hisa.plugins.matching.scene import Scene

__all__ = ["Ranker"]


@runtime_checkable
class Ranker(Protocol):
    """Says which thing of a screen a description means; a package announces it in ``hisa.lists``.

    A package's goes before HiSA's own.
    """

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        """The thing that is meant, if it is likely enough.

        Args:
            queries: the readings of the description, the usual one last.
            scene: what is on the screen.
            min_score: how sure a place must be, 0..1.
        """
        ...

    def chances(self, queries: tuple[Query, ...], scene: Scene) -> Sequence[float]:
        """The chance that each of the scene's things is meant, in their order.

        The sum is below 1; the rest is that none is meant.
        """
        ...
