"""A stand-in for a vision model that is right as often as one says.

What a cascade gains from a model of a given accuracy can be measured with it, without a GPU and
the same way each time. It knows the answers, so it belongs to the bench and to nothing else.
"""

from __future__ import annotations

import hashlib

from hisa.events import Event, GroundingTried
from hisa.plugins.benchmarks.bench.grounding.targets import Region
from hisa.protocols import ModelReply, ModelRequest
from hisa.screen.closer import ENLARGED
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Observation

__all__ = ["SimulatedModel"]

_OF_ONE_MIND = 0.5
"""Share of second looks at which it means what it meant before."""
_TRIES = 1000
"""Random points that are drawn before a screen counts as full of the right thing."""


class SimulatedModel:
    """Answers ``(x,y)`` in pixels of the picture, as GTA1 does; `aim` says what is asked next.

    A description is answered rightly or wrongly by a hash of it: always the same for one seed,
    and nothing that was asked before matters. A wrong answer is the middle of another element
    where there is one, as wrong answers of models mostly are. For a thing that is not there a
    point is answered too, because models trained to point do.

    Asked again about an enlarged part of the picture, it is of the same mind half of the time: as
    right as before, or the same mistake. Else it is right or wrong anew, by the same chance. What
    it means and does not see on the part becomes another thing there.

    Where it is to pick from a list, the right pick is the number of what holds the right thing, and
    0 where nothing on the list does; a wrong one is any other.

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
        self._part: BoundingBox | None = None
        self._offered: tuple[tuple[float, float], ...] = ()

    def aim(self, key: str, region: Region | None, look: Observation) -> None:
        """Choose the answer to what is asked next.

        Args:
            key: tells this target from all others.
            region: the right thing, in screen space; None: it is not there.
            look: the whole look that will be asked about.
        """
        self._key, self._region, self._look, self._part = key, region, look, None
        self._offered = ()

    def hear(self, event: Event) -> None:
        """Take note of the part of the picture, or the list, that is asked about next."""
        if isinstance(event, GroundingTried):
            self._offered = event.offered
            if event.closer is not None:
                self._part = BoundingBox(*event.closer)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer with the chosen point.

        The picture must be the whole screen, or the part that was heard of, padded or resized.
        """
        if self._look is None:
            raise RuntimeError("aim comes first")
        if self._offered:
            return ModelReply(str(self._pick(self._look)), model=self.name)
        whole = BoundingBox(0, 0, self._look.image.width, self._look.image.height)
        times, part = (1, whole) if self._part is None else (ENLARGED, self._part)
        meant = self._first(self._look) if self._part is None else self._second(self._look, part)
        sent = request.pictures[-1].size
        wide, high = times * part.width, times * part.height
        padded = sent.width >= wide and sent.height >= high
        x = (meant.x - part.left) * (times if padded else sent.width / part.width)
        y = (meant.y - part.top) * (times if padded else sent.height / part.height)
        return ModelReply(f"({x:.2f},{y:.2f})", model=self.name)

    def _pick(self, look: Observation) -> int:
        """The number of a thing on the list, 0 for none."""
        places = [look.convert(Point(x, y), "screen") for x, y in self._offered]
        right = (n for n, at in enumerate(places, 1) if self._region and self._region.holds(at))
        meant = next(right, 0)
        if self._draw("pick") < self._chance:
            return meant
        others = [n for n in range(len(places) + 1) if n != meant]
        return others[int(self._draw("other pick") * len(others))]

    def _first(self, look: Observation) -> Point:
        return self._drawn(look, "", None)

    def _second(self, look: Observation, part: BoundingBox) -> Point:
        """The answer on a part of the picture."""
        same = self._draw("the same") < _OF_ONE_MIND
        meant = self._first(look) if same else self._drawn(look, "again ", part)
        return meant if part.contains(meant) else self._wrong(look, "again ", part)

    def _drawn(self, look: Observation, turn: str, part: BoundingBox | None) -> Point:
        right = self._region is not None and self._draw(f"{turn}chance") < self._chance
        if self._region is not None and right:
            return _middle(self._region, look)
        return self._wrong(look, turn, part)

    def _wrong(self, look: Observation, turn: str, part: BoundingBox | None) -> Point:
        """The middle of another element, else a point anywhere else; in image space."""
        seen = part or BoundingBox(0, 0, look.image.width, look.image.height)
        others = [
            middle
            for element in look.elements or ()
            if not _unfit(element.box.centre, self._region, look.screen)
            and seen.contains(middle := look.convert(element.box.centre, "image"))
        ]
        if others:
            return others[int(self._draw(f"{turn}other") * len(others))]
        for number in range(_TRIES):
            x = seen.left + self._draw(f"{turn}x{number}") * seen.width
            y = seen.top + self._draw(f"{turn}y{number}") * seen.height
            at = look.convert(Point(x, y), "screen")
            if self._region is None or not self._region.holds(at):
                break
        return Point(x, y)

    def _draw(self, what: str) -> float:
        """A number in 0..1 that depends on nothing else."""
        digest = hashlib.sha256(f"{self._seed}\0{self._key}\0{what}".encode()).digest()
        return int.from_bytes(digest[:8]) / 2**64


def _unfit(point: Point, region: Region | None, screen: Size) -> bool:
    """Whether a point is no wrong answer: it is the right thing, or off the screen."""
    off = not BoundingBox(0, 0, screen.width, screen.height, "screen").contains(point)
    return off or (region is not None and region.holds(point))


def _middle(region: Region, look: Observation) -> Point:
    box = region.inner or region.box
    return look.convert(box.centre, "image")
