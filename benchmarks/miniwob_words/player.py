"""A planner that follows a script, and keeps count of how its words were taken."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hisa
from benchmarks.miniwob_words.pages import PAGES, half
from benchmarks.miniwob_words.script import Call, Seen, Truth, inside
from hisa.config import Settings
from hisa.events import Event, Grounded, GroundingFailed, Instructed, PlaceFound
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.offline.role_answers import Turn, answer
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation
from hisa.testing.scripted import FunctionModel, tool_call

__all__ = ["Episode", "by_rules", "play"]

_MAX_STEPS = 45
"""The longest script takes 20 calls; each may be asked twice."""
_LOOKS = 20
"""How often a page is read before it counts as drawn; a browser tells its tree late."""


@dataclass
class Episode:
    """One attempt at a page."""

    page: str
    seed: int
    half: str = ""
    done: bool = False
    status: str = ""
    reason: str = ""
    steps: int = 0
    places: int = 0
    """Descriptions that were answered with a place."""
    refused: int = 0
    """Descriptions that were answered with "not found"."""
    judged: int = 0
    """Places that are known to be right or wrong."""
    wrong: int = 0
    broken: str = ""
    """What the script could not read: no fault of the grounder."""
    misses: list[dict[str, str]] = field(default_factory=list)


class _Player:
    """Answers the planner's requests from a script; hears the run's events."""

    def __init__(self, desktop: DesktopEnvironment, episode: Episode, *, shows: bool) -> None:
        self._desktop, self._episode = desktop, episode
        self._shows = self._waits = shows
        self._seen = Seen("")
        self._calls: Iterator[Call] | None = None
        self._call: Call | None = None
        self._wording = 0
        self._failed = False
        self._found: Observation | None = None

    def hear(self, event: Event) -> None:
        """Note the instruction and what came of the last description."""
        match event:
            case Instructed():
                self._seen.task = event.instruction
            case GroundingFailed():
                self._failed = True
                self._episode.refused += 1
                self._miss("refused", event.description, event.reason)
            case Grounded() if event.places and self._call is not None:
                truths = (self._call.truth, self._call.truth_to)
                for place, truth in zip(event.places, truths, strict=False):
                    self._judge(place, truth)
            case _:
                pass

    def _judge(self, place: PlaceFound, truth: Truth | None) -> None:
        self._episode.places += 1
        meant = truth(self._seen.on_page()) if truth is not None else []
        if not meant:
            return
        self._episode.judged += 1
        if not inside(Point(place.x, place.y, "screen"), meant):
            self._episode.wrong += 1
            found = f"{place.label} at ({place.x:.0f}, {place.y:.0f}) by {place.source}"
            self._miss("wrong", place.description, found)

    def _miss(self, outcome: str, description: str, answer: str) -> None:
        miss = {"outcome": outcome, "description": description, "answer": answer}
        self._episode.misses.append(miss)

    async def reply(self, request: ModelRequest) -> str:
        """The next call, or the last one in other words where it was refused.

        The state manager's requests go to the offline model.
        """
        if request.role != "planner":
            return await asyncio.to_thread(by_rules, request)
        if self._waits:
            self._waits = False
            await self._look()
            return tool_call("wait", {"seconds": 1})
        failed, self._failed = self._failed, False
        if failed and self._call is not None:
            self._wording += 1
            if self._wording >= len(self._call.words):
                return tool_call("infeasible", f"not found: {self._call.words[0]}")
            return _said(self._call, self._wording)
        await self._look()
        try:
            self._call, self._wording = self._next(), 0
        except Exception as error:  # noqa: BLE001 - a script that misreads its page ends that page alone
            self._episode.broken = f"{type(error).__name__}: {error}"
            return tool_call("infeasible", "the script cannot read the page")
        if self._call is None:
            return tool_call("termination", "All done.")
        return (self._pointed(self._call) if self._shows else "") or _said(self._call, 0)

    def _pointed(self, call: Call) -> str:
        """The call with the places of what is meant; empty where one of them is not known."""
        source = call.source
        for truth, end in ((call.truth, ""), (call.truth_to, "_2")):
            meant = truth(self._seen.on_page()) if truth is not None else []
            if meant and self._found is not None:
                x, y = self._found.convert(meant[0].box.centre, "image").rounded()
                source = source.replace(f"X_COORD{end}, Y_COORD{end}", f"{x}, {y}")
        return "" if "X_COORD" in source else tool_call(call.tool, source)

    def _next(self) -> Call | None:
        if self._calls is None:
            self._calls = PAGES[self._episode.page](self._seen)
        return next(self._calls, None)

    async def _look(self) -> None:
        """Read the page; the first time, until two readings agree."""
        for _ in range(_LOOKS if self._calls is None else 1):
            before = len(self._seen.on_page())
            found = await self._desktop.observe(elements=True, settle=1.0)
            self._found, self._seen.elements = found, _shown(found.elements or ())
            if before > 1 and len(self._seen.on_page()) == before:
                return
            await asyncio.sleep(0.1)


def _shown(elements: tuple[Element, ...]) -> list[Element]:
    return [e for e in elements if e.box.width > 0 and e.box.height > 0]


def by_rules(request: ModelRequest) -> str:
    """The offline model's answer, for the roles that a script does not play."""
    return answer([*map(_turn, request.messages)])


def _turn(message: Message) -> Turn:
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    images = [part.image.png for part in message.parts if isinstance(part, ImagePart)]
    return Turn(message.role, "\n".join(texts), images)


def _said(call: Call, wording: int) -> str:
    if not call.words:
        return tool_call(call.tool, call.source)
    reply = json.loads(tool_call(call.tool, call.source, call.words[wording]))
    return json.dumps({**reply, "description_2": call.to} if call.to else reply)


async def play(
    desktop: DesktopEnvironment,
    page: str,
    seed: int,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
    folder: Path | None = None,
) -> Episode:
    """Do a page once, through the whole agent.

    Args:
        desktop: where; it is brought to its initial state.
        page: one that has a script.
        seed: what the page draws.
        on_event: gets each event of the run.
        folder: keeps its run, as one that shows the page: it points at what is meant where that is
            known, and begins with a wait, so that a browser has told its tree when the first act
            is decided on; None: it is not kept, and only describes.
    """
    episode = Episode(page, seed, half(page))
    player = _Player(desktop, episode, shows=folder is not None)

    def hear(event: Event) -> None:
        player.hear(event)
        on_event(event)

    with tempfile.TemporaryDirectory() as passing:
        result = await hisa.run(
            f"miniwob:{page}",
            settings=_settings(folder or Path(passing), seed),
            model={"planner": FunctionModel(player.reply)},
            environment=desktop,
            on_event=hear,
        )
    episode.done = result.score == 1.0
    episode.status, episode.reason = result.status, result.score_detail or result.message
    episode.steps = result.steps
    return episode


def _settings(folder: Path, seed: int) -> Settings:
    return Settings.model_validate(
        {
            "run": {"folder": folder, "seed": seed, "max_steps": _MAX_STEPS},
            "grounder": {"kind": "elements"},
            "patterns": {"enabled": False},
        }
    )
