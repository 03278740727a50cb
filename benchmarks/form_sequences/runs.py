"""Runs on the form: a real agent on a real page, and what the page says was clicked."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import hisa
from benchmarks.form_sequences.filler import Filler, State, state_model
from benchmarks.form_sequences.page import FIELDS, PAGE, SERVER, WANTED
from hisa.config import Settings, load
from hisa.events import Acted, Event, Grounded, SequenceStopped
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Task
from hisa.runs.read import Run, load_run

__all__ = ["PAINTED", "AppForm", "Change", "Done", "Mode", "PageForm", "changes"]

PAINTED = 50.0
"""Milliseconds after a change until it shows at the latest: three frames. Nobody who looks at the
screen can know of it before."""
Kind = Literal["dialog", "overlay", "shift", "move"]
_KINDS = {"title": ":CB", "news": ":CHK"}
"""How yad is told what a field is, if not a line of text."""
_CHROMIUM = "chromium --no-sandbox --test-type --no-first-run --disable-gpu --kiosk"
_PREFERENCES = ".config/chromium/Default/Preferences"
_NO_AUTOFILL = {"autofill": {"profile_enabled": False, "credit_card_enabled": False}}
"""Chromium learns an address from a form that was sent. From then on it opens a list of its own
under each field, which takes the next click, and asks in a bubble, which takes the keys: after some
twenty runs on one desktop neither reached the page."""


@dataclass(frozen=True)
class Change:
    """What the page does by itself, once a field was typed into, after so many milliseconds."""

    kind: Kind
    after: str
    delay: int


@dataclass(frozen=True)
class Mode:
    """How the agent goes about it."""

    name: str
    sequence: int
    guards: bool = True


@dataclass(frozen=True)
class Done:
    """One run: what it took, and what came of it."""

    seconds: float
    calls: int
    steps: int
    actions: int
    saved: bool
    """Whether the page was saved, with the values that were wanted."""
    wrong: int
    """Clicks that the page had on another control than was meant."""
    unseen: int
    """Wrong clicks among these that came before the change can have been painted."""
    changed: bool
    """Whether the page had changed by itself by the end."""
    stops: tuple[str, ...] = ()
    """Why sequences were stopped."""
    meant: tuple[str, ...] = ()
    """What each click was for, in order."""
    clicked: tuple[str, ...] = ()
    """What each click met, as the page tells it."""
    since: tuple[float | None, ...] = ()
    """Milliseconds from the page's change to each click; None: it had not changed."""


class _Kept(DesktopEnvironment):
    """A desktop whose programs go on over a run's reset."""

    async def reset(self) -> None:
        """Nothing: the page begins anew by itself."""


def changes(seed: int) -> Change:
    """The change of a run, by its seed: any kind, after any field but the last, soon or late."""
    chance = random.Random(seed)
    kinds: Sequence[Kind] = ("dialog", "overlay", "shift", "move")
    return Change(chance.choice(kinds), chance.choice(list(WANTED)[:7]), chance.randrange(0, 1500))


class PageForm:
    """The form in Chromium on a private desktop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = 0
        self._environment = _Kept()

    async def __aenter__(self) -> PageForm:
        environment = self._environment
        await environment.__aenter__()
        for name, text in (("page.html", PAGE), ("server.py", SERVER)):
            await environment.write_file(f"/home/user/form/{name}", text.encode())
        told = json.dumps(_NO_AUTOFILL).encode()
        await environment.write_file(f"/home/user/{_PREFERENCES}", told)
        await self._next(None)
        await environment.execute("cd ~/form && setsid -f python3 server.py >/dev/null 2>&1")
        await environment.execute(
            f"setsid -f {_CHROMIUM} http://127.0.0.1:8765/ >/dev/null 2>&1", timeout=60
        )
        await self._ready(60.0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._environment.__aexit__(*exc)

    async def _next(self, change: Change | None) -> None:
        self._turn += 1
        plan = vars(change) if change else None
        told = json.dumps({"turn": str(self._turn), "plan": plan})
        await self._environment.write_file("/home/user/form/turn.json", told.encode())

    async def state(self) -> State:
        """What the page told last."""
        try:
            told: Mapping[str, Any] = json.loads(
                await self._environment.read_file("/home/user/form/state.json")
            )
        except FileNotFoundError:
            return {"turn": ""}
        return told

    async def _ready(self, seconds: float) -> None:
        deadline = Deadline(seconds)
        while (await self.state())["turn"] != str(self._turn):
            if deadline.passed:
                raise RuntimeError("the page did not come")
            await self._environment.observe(settle=0.3)
        await self._environment.observe(settle=5.0)

    async def run(self, mode: Mode, *, latency: float, change: Change | None = None) -> Done:
        """Fill the form in once."""
        await self._next(change)
        await self._ready(30.0)
        filler = Filler(self.state, most=mode.sequence, latency=latency)
        started = time.monotonic()
        result = await hisa.run(
            Task("form", "Fill the form in and save it."),
            settings=_settings(mode, self._folder),
            model={"planner": filler.model(), "state": state_model(latency)},
            environment=self._environment,
        )
        seconds = time.monotonic() - started
        return _done(load_run(result.folder), await self.state(), seconds, filler.calls)


class AppForm:
    """The same form in yad, a program of GTK 3, on a private desktop.

    It tells nothing until it is saved: the planner goes by what was done, and what it wrote is
    compared at the end.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = _Kept()
        self._done = 0

    async def __aenter__(self) -> AppForm:
        await self._environment.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._environment.__aexit__(*exc)

    async def _saved(self) -> str:
        try:
            return (await self._environment.read_file("/home/user/form.txt")).decode().strip()
        except FileNotFoundError:
            return ""

    async def state(self) -> State:
        """What is done so far: the first so many controls, in the order of the form."""
        values = {
            name: wanted if at < self._done else ""
            for at, (name, wanted) in enumerate(WANTED.items())
        }
        return {"saved": bool(await self._saved()), "asks": False, "values": values}

    def _count(self, event: Event) -> None:
        if isinstance(event, Acted) and event.ok and event.tool == "gui_action":
            self._done += 1

    async def run(self, mode: Mode, *, latency: float) -> Done:
        """Fill the form in once."""
        await self._environment.execute(f"rm -f ~/form.txt; setsid -f sh -c '{_YAD}'")
        deadline = Deadline(30.0)
        while not (look := await self._environment.observe(settle=1.0)).active or not look.windows:
            if deadline.passed:
                raise RuntimeError("yad shows no window")
        self._done = 0
        filler = Filler(self.state, most=mode.sequence, latency=latency, app=True)
        started = time.monotonic()
        result = await hisa.run(
            Task("form", "Fill the form in and save it."),
            settings=_settings(mode, self._folder),
            model={"planner": filler.model(), "state": state_model(latency)},
            environment=self._environment,
            on_event=self._count,
        )
        seconds = time.monotonic() - started
        run = load_run(result.folder)
        wrote = (await self._saved()).rstrip("|").split("|")
        return Done(
            seconds=seconds,
            calls=filler.calls,
            steps=len(run.steps),
            actions=self._done,
            saved=[value.lower() for value in wrote] == [v.lower() for v in WANTED.values()],
            wrong=0,
            unseen=0,
            changed=False,
        )


_YAD = " ".join(
    [
        "yad --form --title=Order --width=520 --separator=\\|",
        *(f'--field="{FIELDS[name]}{_KINDS.get(name, "")}"' for name in WANTED),
        *(['""'] * 8),
        '"Mr!Ms!Dr!Prof" FALSE',
        "--button=Save:0 >~/form.new && mv ~/form.new ~/form.txt",
    ]
)


def _settings(mode: Mode, folder: Path) -> Settings:
    return load(
        overrides={
            "run": {"folder": folder, "max_steps": 40 if mode.guards else 8},
            "planner": {"sequence": mode.sequence, "guards": mode.guards},
            "grounder": {"kind": "elements"},
            "patterns": {"enabled": False},
        },
        environ={},
    )


def _done(run: Run, state: State, seconds: float, calls: int) -> Done:
    acts = [event for event in run.events if isinstance(event, Acted)]
    clicks = [event for event in acts if event.tool == "gui_action"]
    meant, clicked = tuple(_meant(run)), tuple(name for name, _ in state["clicks"])
    since = [ms for _, ms in state["clicks"]]
    return Done(
        seconds=seconds,
        calls=calls,
        steps=len(run.steps),
        actions=len(clicks),
        saved=bool(state["saved"]) and dict(state["values"]) == dict(WANTED),
        wrong=_wrong(meant, clicked),
        unseen=_unseen(meant, clicked, since),
        changed=bool(state["changed"]),
        stops=tuple(event.reason for event in run.events if isinstance(event, SequenceStopped)),
        meant=meant,
        clicked=clicked,
        since=tuple(since),
    )


def _meant(run: Run) -> list[str]:
    """The controls that were to be clicked, in order: what each click that was made was for."""
    ids = {label: name for name, label in FIELDS.items()} | {"Stay": "stay"}
    meant = []
    for record in run.steps:
        found = {event.input: event for event in record.events if isinstance(event, Grounded)}
        for act in record.acts:
            if act.points:
                meant.append(ids[found[act.input].places[0].description.split('"')[1]])
    return meant


def _wrong(meant: Sequence[str], clicked: Sequence[str]) -> int:
    """Clicks that met something else than was meant, those that met nothing included."""
    missed = abs(len(meant) - len(clicked))
    pairs = zip(meant, clicked, strict=False)
    return missed + sum(not _met(wanted, met) for wanted, met in pairs)


def _unseen(meant: Sequence[str], clicked: Sequence[str], since: Sequence[float | None]) -> int:
    """Wrong clicks within `PAINTED` milliseconds after the page changed."""
    rows = zip(meant, clicked, since, strict=False)
    return sum(not _met(a, b) and ms is not None and ms <= PAINTED for a, b, ms in rows)


def _met(wanted: str, met: str) -> bool:
    """Whether a click met a control, or the label or row that belongs to it and passes it on."""
    return met == wanted or (wanted == "stay" and met == "stay2")
