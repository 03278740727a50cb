"""Measures how often a model picks rightly from lists, and keeps that and what points were worth.

The choice grounder made the thirty lists of ``known_lists.json`` from training screens of
benchmarks/grounding, for descriptions of which the elements were not sure. On ten of them there is
nothing that is described. Results lie in ``$XDG_CACHE_HOME/hisa/trust``, a file for each model,
server and profile; one that cannot be read counts as none.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from hisa.errors import ModelUnavailable
from hisa.events import Event, GroundingTried, GroundingVerdict, Noted
from hisa.grounder.base import PickTrust
from hisa.grounder.common import tried
from hisa.grounder.trust import PICKS_RIGHT, POINTS_RIGHT, Ask, Key, Trust
from hisa.machine.storage import PRIVATE_FOLDER, replace_file
from hisa.protocols import Emit
from hisa.screen.geometry import Size

__all__ = [
    "KNOWN_PICKS", "Counts", "Known", "KnownPicks", "MeasuredPicks", "asked",
    "known_lists", "recalled", "remember",
]  # fmt: skip

What = Literal["picks", "points"]
_LOGGED: dict[What, str] = {"picks": "known things on lists", "points": "known places"}
"""Stand in the log for what was described."""

LEAST_RIGHT, LEAST_REFUSED = 16, 7
"""Of 20 lists with what is described and of 10 without. On the training screens the likeliest of
the elements is right on 64% of such lists; stand-ins that are right with 0.8, and half of whose
mistakes are that likeliest one, add 17 points to what is right and double what is wrong."""
_VERSION = "1"
"""Of the lists and the bar: with another one everything is measured anew."""
_SIZE = Size(1280, 720)
"""Of the screens that the lists were made from."""
_MOST_BYTES, _MOST_FILES = 1_000, 200


class Known(NamedTuple):
    """A description, the things on a list in words, and the number that is right; 0 for none."""

    description: str
    things: tuple[str, ...]
    answer: int


def known_lists() -> list[Known]:
    """The lists in the order in which they are asked."""
    rows = json.loads(Path(__file__).with_name("known_lists.json").read_text(encoding="utf-8"))
    return [Known(row["description"], tuple(row["things"]), row["answer"]) for row in rows]


class Counts(BaseModel):
    """Questions about what is there, or not there, and right answers to them."""

    there: int = Field(0, ge=0, le=1000)
    right: int = Field(0, ge=0, le=1000)
    absent: int = Field(0, ge=0, le=1000)
    refused: int = Field(0, ge=0, le=1000)
    enough: bool = False

    @property
    def chance(self) -> float:
        """The mean of what may be the chance, if every chance was as likely before (Laplace)."""
        return (self.right + self.refused + 1) / (self.there + self.absent + 2)

    def picks(self) -> Trust:
        """The trust in picks that follows: at most that in a strong model, as lists are few."""
        words = (
            f"{self.right} of {self.there} known picks right, {self.refused} of {self.absent} "
            "refused where there is none"
        )
        if self.enough:
            return Trust(min(PICKS_RIGHT, self.chance), words)
        return Trust(None, f"{words}; wanted are {LEAST_RIGHT} of 20 and {LEAST_REFUSED} of 10")

    def points(self) -> Trust:
        """The trust in points that follows: no more than usual, as a drawn screen is easy."""
        words = f"{self.right} of {self.there} known places hit"
        return Trust(min(POINTS_RIGHT, self.chance) if self.enough else None, words)


class KnownPicks:
    """See `hisa.grounder.base.SelfTest`."""

    def picks(self, key: Key, emit: Emit, events: Iterable[Event]) -> PickTrust:
        """Returns the trust in a model that picks, which asks for the lists where it must."""
        return MeasuredPicks(key, emit, logged("picks", key[0], events))

    def points_right(self, key: Key, emit: Emit, events: Iterable[Event]) -> float | None:
        """Returns the chance that `hisa doctor --grounder` found, as far as it was asked."""
        if trust := logged("points", key[0], events):
            return trust.right
        counts = recalled("points", key)
        if counts is None:
            return POINTS_RIGHT
        write_down("points", key[0], counts.points(), emit)
        return counts.points().right


class MeasuredPicks:
    """The trust in the picks of one model, measured when it is first to pick.

    Args:
        key: see `hisa.grounder.base.SelfTest`.
        emit: gets a `hisa.events.GroundingTried` with what was found out, and notes for people.
        known: the trust that the run had so far.
    """

    def __init__(self, key: Key, emit: Emit, known: Trust | None = None) -> None:
        self._key, self._emit, self._known = key, emit, known
        self._lock = asyncio.Lock()

    async def chance(self, ask: Ask) -> float:
        """See `hisa.grounder.base.PickTrust`."""
        async with self._lock:  # searches at one time share one test
            if self._known is None:
                self._known = await self._measured(ask)
                write_down("picks", self._key[0], self._known, self._emit)
        return await self._known.chance(ask)

    async def _measured(self, ask: Ask) -> Trust:
        counts = recalled("picks", self._key)
        if counts is None:
            lists = known_lists()
            words = f"it is not known how well {self._key[0]} picks: it is tried on known lists,"
            self._emit(Noted(where="grounder", text=f"{words} {len(lists)} short requests, once"))
            try:
                counts = await asked(lists, ask)
            except ModelUnavailable as error:
                return Trust(None, f"it did not answer: {error}")
            remember("picks", self._key, counts)
        return counts.picks()


KNOWN_PICKS = KnownPicks()


def write_down(what: What, model: str, trust: Trust, emit: Emit) -> None:
    """Tell the log and people what a model is worth."""
    verdict: GroundingVerdict = "distrusted" if trust.right is None else "trusted"
    emit(tried(_LOGGED[what], model, verdict, score=trust.right, detail=trust.words))
    outcome = "not asked, the elements decide alone" if trust.right is None else "asked"
    emit(Noted(where="grounder", text=f"{model} is {outcome}: {trust.words}"))


def logged(what: What, model: str, events: Iterable[Event]) -> Trust | None:
    """Returns the trust that a run had in a model so far, where it had come to any."""
    tries = (e for e in events if isinstance(e, GroundingTried) and e.by == model)
    figures = (e for e in tries if e.verdict in ("trusted", "distrusted"))
    figure = next((e for e in figures if e.description == _LOGGED[what]), None)
    return Trust(figure.score, figure.detail) if figure else None


async def asked(lists: list[Known], ask: Ask) -> Counts:
    """Ask for the lists in turn, and stop once too many answers are wrong.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    counts = Counts(enough=True)
    there = sum(known.answer > 0 for known in lists)
    for known in lists:
        number, _ = await ask(known.description, known.things, _SIZE)
        if known.answer:
            counts.there += 1
            counts.right += number == known.answer
        else:
            counts.absent += 1
            counts.refused += number == 0
        misses = counts.there - counts.right, counts.absent - counts.refused
        if misses[0] > there - LEAST_RIGHT or misses[1] > len(lists) - there - LEAST_REFUSED:
            return counts.model_copy(update={"enough": False})
    return counts


def recalled(what: What, key: Key) -> Counts | None:
    """Returns the counts of an earlier run, where there are any that can be read."""
    with suppress(OSError, ValidationError), _file(what, key).open("rb") as file:
        return Counts.model_validate_json(file.read(_MOST_BYTES))
    return None


def remember(what: What, key: Key, counts: Counts) -> None:
    """Keep it beside the newest others; where that fails it is measured again."""
    path = _file(what, key)
    with suppress(OSError):
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        replace_file(path, counts.model_dump_json().encode())
        files = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in files[:-_MOST_FILES]:
            old.unlink(missing_ok=True)


def _file(what: What, key: Key) -> Path:
    """Named by a digest: an address may hold what nobody should read."""
    digest = hashlib.sha256(json.dumps([_VERSION, what, *key]).encode()).hexdigest()[:32]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "hisa" / "trust" / f"{digest}.json"
