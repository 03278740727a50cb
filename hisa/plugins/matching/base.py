"""The protocol of a ranker of the things on a screen, which a package may announce."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from hisa.plugins.matching.description import Query
from hisa.plugins.matching.pick import Choice
from hisa.plugins.matching.scene import Scene

__all__ = ["Ranker"]


@runtime_checkable
class Ranker(Protocol):
    """Chooses the thing that a description means; a package announces one in ``hisa.lists``.

    A package's ranker is used instead of HiSA's own.
    """

    def choose(self, queries: tuple[Query, ...], scene: Scene, min_score: float) -> Choice:
        """Returns the thing that is meant, if it is likely enough, or why there is none.

        Args:
            queries: the readings of the description, the usual one last.
            scene: what is on the screen.
            min_score: how sure a place must be, 0..1.
        """
        ...

    def chances(self, queries: tuple[Query, ...], scene: Scene) -> Sequence[float]:
        """Returns for each thing of the scene, in order, the chance that it is meant, 0 to 1.

        The sum is below 1; the rest is the chance that none is meant.
        """
        ...
