"""A stand-in for a model that picks from a list, and is right as often as one says.

What a choice gains from a model of a given accuracy can be measured with it, without a GPU and the
same way each time. It knows the answers, so it belongs to the bench and to nothing else.
"""

from __future__ import annotations

import hashlib

from hisa.events import Event, GroundingTried
from hisa.plugins.benchmarks.bench.grounding.targets import Region
from hisa.protocols import ModelReply, ModelRequest
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation

__all__ = ["SimulatedModel"]


class SimulatedModel:
    """Answers with a number of the list that is offered; `aim` says what is asked next.

    A description is answered rightly or wrongly by a hash of it: always the same for one seed,
    and nothing that was asked before matters. The right pick is the number of what holds the right
    thing, and 0 where nothing on the list does; a wrong one is any other.

    Args:
        chance: of a right answer, 0..1.
        seed: another one draws anew.
    """

    def __init__(self, chance: float, *, seed: int = 0) -> None:
        self.name = f"simulated:{chance:g}"
        self._chance = chance
        self._seed = seed
        self._key = ""
        self._region: Region | None = None
        self._look: Observation | None = None
        self._offered: tuple[tuple[float, float], ...] = ()

    def aim(self, key: str, region: Region | None, observation: Observation) -> None:
        """Choose the answer to what is asked next.

        Args:
            key: tells this target from all others.
            region: the right thing, in screen space; None: it is not there.
            observation: the whole look that will be asked about.
        """
        self._key, self._region, self._look = key, region, observation
        self._offered = ()

    def hear(self, event: Event) -> None:
        """Take note of the list that is asked about next."""
        if isinstance(event, GroundingTried):
            self._offered = event.offered

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer with the number of a thing on the list, 0 for none."""
        if self._look is None:
            raise RuntimeError("aim comes first")
        return ModelReply(str(self._pick(self._look)), model=self.name)

    def _pick(self, observation: Observation) -> int:
        places = [observation.convert(Point(x, y), "screen") for x, y in self._offered]
        right = (n for n, at in enumerate(places, 1) if self._region and self._region.holds(at))
        right_number = next(right, 0)
        if self._draw("pick") < self._chance:
            return right_number
        others = [n for n in range(len(places) + 1) if n != right_number]
        return others[int(self._draw("other pick") * len(others))]

    def _draw(self, purpose: str) -> float:
        """A number in 0..1 that depends on nothing else."""
        digest = hashlib.sha256(f"{self._seed}\0{self._key}\0{purpose}".encode()).digest()
        return int.from_bytes(digest[:8]) / 2**64
