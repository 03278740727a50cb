"""A simulated model that picks from a list, and is right with a given probability.

It measures what a choice gains from a model of a given accuracy, without a GPU and with the same
result each time. It knows the answers, so only the bench may use it.
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
    """Answers with a number of the list that is offered; `aim` sets the target of the next request.

    Whether a description is answered correctly depends on a hash of it and of the seed alone, not
    on earlier requests. The right answer is the number of the first point within the target's
    region, or 0 if there is none; a wrong answer is any other number.

    Args:
        chance: probability of a right answer, 0 to 1.
        seed: another seed draws other answers.
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
        """Set the target of the next request.

        Args:
            key: a name that no other target has.
            region: where a click is right, in pixels of the screen; None: the target is absent.
            observation: the whole observation that the request is about.
        """
        self._key, self._region, self._look = key, region, observation
        self._offered = ()

    def hear(self, event: Event) -> None:
        """Take note of the list that the next request offers."""
        if isinstance(event, GroundingTried):
            self._offered = event.offered

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer with the number of a thing on the list, 0 for none."""
        if self._look is None:
            raise RuntimeError("call aim() before complete()")
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
        """Returns a number from 0 to 1 that depends on seed, key and purpose alone."""
        digest = hashlib.sha256(f"{self._seed}\0{self._key}\0{purpose}".encode()).digest()
        return int.from_bytes(digest[:8]) / 2**64
