"""Known lists that show how often a model picks rightly, and what is kept of picks and points.

`hisa doctor --grounder` asks for the lists; a run goes by what is kept and asks for nothing.
The choice grounder made the thirty lists of ``known_lists.json`` from training screens of
benchmarks/grounding, for descriptions of which the elements were not sure. On ten of them there is
nothing that is described. Results lie in ``$XDG_CACHE_HOME/hisa/trust``, a file for each model,
server and profile; one that cannot be read counts as none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from hisa.events import Event, GroundingTried, GroundingVerdict, Noted
from hisa.grounder.common import build_tried_event
from hisa.grounder.trust import PICKS_RIGHT, POINTS_RIGHT, Ask, Key, Trust
from hisa.machine.storage import PRIVATE_FOLDER, replace_file
from hisa.protocols import Emit
from hisa.screen.geometry import Size

__all__ = [
    "KNOWN_PICKS",
    "Counts",
    "KnownList",
    "KnownPicks",
    "known_lists",
    "measure_picks",
    "recall_counts",
    "store_counts",
]

Measured = Literal["picks", "points"]
_LOGGED: dict[Measured, str] = {"picks": "known things on lists", "points": "known places"}
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


class KnownList(NamedTuple):
    """A description, the things on a list in words, and the number that is right; 0 for none."""

    description: str
    things: tuple[str, ...]
    answer: int


def known_lists() -> list[KnownList]:
    """The lists in the order in which they are asked."""
    rows = json.loads(Path(__file__).with_name("known_lists.json").read_text(encoding="utf-8"))
    return [KnownList(row["description"], tuple(row["things"]), row["answer"]) for row in rows]


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

    def picks(self, key: Key, emit: Emit, events: Iterable[Event], *, command: str) -> Trust:
        """Returns what `hisa doctor --grounder` found; a model that it never asked is not asked.

        Args:
            key: of the model, its name first.
            emit: gets the trust as an event.
            events: of the run so far; a trust among them is returned.
            command: measures the model, for the message.
        """
        if trust := read_logged_trust("picks", key[0], events):
            return trust
        counts = recall_counts("picks", key)
        if counts is None:
            requests = f"{len(known_lists())} short requests, once"
            words = f"it is not known how well it picks; to find out ({requests}): {command}"
            trust = Trust(None, words)
        else:
            trust = counts.picks()
        log_trust("picks", key[0], trust, emit)
        return trust

    def points_right(self, key: Key, emit: Emit, events: Iterable[Event]) -> float | None:
        """Returns the chance that `hisa doctor --grounder` found, as far as it was asked.

        Args:
            key: of the model, its name first.
            emit: gets the trust as an event.
            events: of the run so far; a trust among them is returned.
        """
        if trust := read_logged_trust("points", key[0], events):
            return trust.right
        counts = recall_counts("points", key)
        if counts is None:
            return POINTS_RIGHT
        log_trust("points", key[0], counts.points(), emit)
        return counts.points().right


KNOWN_PICKS = KnownPicks()


def log_trust(kind: Measured, model: str, trust: Trust, emit: Emit) -> None:
    """Tells the log how far a model is trusted, and people if it is not asked.

    Args:
        kind: "picks" or "points".
        model: its name.
        trust: the measured trust.
        emit: gets the events.
    """
    verdict: GroundingVerdict = "distrusted" if trust.right is None else "trusted"
    emit(build_tried_event(_LOGGED[kind], model, verdict, score=trust.right, detail=trust.words))
    if trust.right is None:
        doing = "pick from lists" if kind == "picks" else "point"
        text = f"{model} is not asked to {doing}, the elements decide alone: {trust.words}"
        emit(Noted(where="grounder", text=text))


def read_logged_trust(kind: Measured, model: str, events: Iterable[Event]) -> Trust | None:
    """Returns the trust in a model that a run has logged; None if it has logged none.

    Args:
        kind: "picks" or "points".
        model: its name.
        events: of the run so far.
    """
    tries = (e for e in events if isinstance(e, GroundingTried) and e.by == model)
    figures = (e for e in tries if e.verdict in ("trusted", "distrusted"))
    figure = next((e for e in figures if e.description == _LOGGED[kind]), None)
    return Trust(figure.score, figure.detail) if figure else None


async def measure_picks(lists: list[KnownList], ask: Ask) -> Counts:
    """Ask for the lists in turn, and stop once too many answers are wrong.

    Raises:
        ModelUnavailable, BudgetExceeded: from the model.
    """
    counts = Counts(enough=True)
    answerable = sum(known.answer > 0 for known in lists)
    for known in lists:
        number, _ = await ask(known.description, known.things, _SIZE)
        if known.answer:
            counts.there += 1
            counts.right += number == known.answer
        else:
            counts.absent += 1
            counts.refused += number == 0
        misses = counts.there - counts.right, counts.absent - counts.refused
        if (
            misses[0] > answerable - LEAST_RIGHT
            or misses[1] > len(lists) - answerable - LEAST_REFUSED
        ):
            return counts.model_copy(update={"enough": False})
    return counts


def recall_counts(kind: Measured, key: Key) -> Counts | None:
    """Returns the counts of an earlier run, where there are any that can be read."""
    with suppress(OSError, ValidationError), _counts_path(kind, key).open("rb") as file:
        return Counts.model_validate_json(file.read(_MOST_BYTES))
    return None


def store_counts(kind: Measured, key: Key, counts: Counts) -> None:
    """Stores the counts of a model beside the newest others; if that fails, it is measured again.

    Args:
        kind: "picks" or "points".
        key: of the model, its name first.
        counts: of right and wrong answers.
    """
    path = _counts_path(kind, key)
    with suppress(OSError):
        path.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        replace_file(path, counts.model_dump_json().encode())
        files = sorted(path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for old in files[:-_MOST_FILES]:
            old.unlink(missing_ok=True)


def _counts_path(kind: Measured, key: Key) -> Path:
    """Named by a digest: an address may hold what nobody should read."""
    digest = hashlib.sha256(json.dumps([_VERSION, kind, *key]).encode()).hexdigest()[:32]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "hisa" / "trust" / f"{digest}.json"
