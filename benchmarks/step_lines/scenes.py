"""Real applications on private desktops, acted on by scripts, and what they hold."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from benchmarks.step_lines.judge import Source
from benchmarks.step_lines.page import SERVER, Act, acts_on, make_page
from benchmarks.step_lines.restless import act_code, make_restless, restless_acts
from benchmarks.step_lines.situations import SITUATIONS, LoggedAct, make_situation, office_acts
from hisa.actions import Press
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.testing.scripted import tool_call

__all__ = ["PAGES", "SCENES", "LastingDesktop", "Scene", "make_scene"]

_HOME = "/home/user"
_CHROMIUM = "chromium --no-sandbox --test-type --no-first-run --disable-gpu --kiosk"
_NO_AUTOFILL = {"autofill": {"profile_enabled": False, "credit_card_enabled": False}}
_OFFICE = "soffice --norestore --accept='pipe,name=lines;urp' --{kind} {file}"
_UNO = """
import json, sys, uno
local = uno.getComponentContext()
resolve = local.ServiceManager.createInstanceWithContext(
    'com.sun.star.bridge.UnoUrlResolver', local)
there = resolve.resolve('uno:pipe,name=lines;urp;StarOffice.ComponentContext')
desktop = there.ServiceManager.createInstanceWithContext('com.sun.star.frame.Desktop', there)
d = desktop.CurrentComponent or next(iter(desktop.Components))
values, texts = {}, []
if d.supportsService('com.sun.star.sheet.SpreadsheetDocument'):
    sheet = d.CurrentController.ActiveSheet
    for row in range(30):
        for column in range(12):
            cell = sheet.getCellByPosition(column, row)
            if cell.String:
                values[chr(65 + column) + str(row + 1)] = cell.String
                texts.append(cell.String)
                if cell.Formula.startswith('='): texts.append(cell.Formula)
elif d.supportsService('com.sun.star.text.GenericTextDocument'):
    texts = [p.String for p in d.Text if hasattr(p, 'String')]
else:
    page = d.CurrentController.CurrentPage
    for at in range(page.Count):
        shape = page.getByIndex(at)
        if hasattr(shape, 'String'): texts.append(shape.String)
print(json.dumps({'values': values, 'texts': texts}))
"""


class LastingDesktop(DesktopEnvironment):
    """A desktop whose programs go on over a run's reset."""

    async def reset(self) -> None:
        """Nothing: what was opened stays."""


class Scene(Protocol):
    """An application: how it is opened, what a script does, and what it holds."""

    async def open(self, environment: LastingDesktop) -> None:
        """Open it and wait until it is there."""
        ...

    async def source(self, environment: LastingDesktop) -> Source:
        """What it holds now."""
        ...

    def replies(self) -> Iterator[Act]:
        """The acts, in order."""
        ...

    def reply(self, act: Act, now: Source) -> str:
        """A planner's reply that makes an act."""
        ...


async def _until(environment: LastingDesktop, part: str, seconds: float = 90.0) -> None:
    deadline = Deadline(seconds)
    while not deadline.passed:
        observation = await environment.observe(settle=0.5)
        if observation.active and part in observation.active.title:
            await environment.observe(settle=8.0)
            return
    raise RuntimeError(f"no window with {part!r} in front")


async def _windows(environment: LastingDesktop) -> tuple[list[str], str]:
    """Titles of all windows, and that of the one in front, as the window manager has them."""
    listed = await environment.execute(
        "wmctrl -l | cut -d' ' -f5-; echo ==; xdotool getactivewindow getwindowname"
    )
    titles, _, active = listed.output.partition("==")
    return [line.strip() for line in titles.splitlines() if line.strip()], active.strip()


async def _read_report(environment: LastingDesktop, name: str) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(
            await environment.read_file(f"{_HOME}/.lines/{name}.json")
        )
    except FileNotFoundError:
        return {}
    return report


async def _open_page(environment: LastingDesktop, text: str) -> None:
    """Show a page; the first time, start server and browser."""
    folder = f"{_HOME}/.lines"
    begun = (await environment.execute(f"test -e {folder}/server.py")).exit_code == 0
    await environment.write_file(f"{folder}/page.html", text.encode())
    await environment.execute(f"rm -f {folder}/state.json {folder}/asked.json")
    if begun:
        await environment.act([Press("f5")])
    else:
        preferences = f"{_HOME}/.config/chromium/Default/Preferences"
        await environment.write_file(preferences, json.dumps(_NO_AUTOFILL).encode())
        await environment.write_file(f"{folder}/server.py", SERVER.encode())
        await environment.execute(f"cd {folder} && setsid -f python3 server.py >/dev/null 2>&1")
        line = f"setsid -f {_CHROMIUM} http://127.0.0.1:8766/ >/dev/null 2>&1"
        await environment.execute(line, timeout=60.0)
    deadline = Deadline(60.0)
    while not (await _read_report(environment, "state")):
        if deadline.passed:
            raise RuntimeError("the page did not come")
        await environment.observe(settle=0.3)
    await environment.observe(settle=4.0)


@dataclass
class Page:
    """A page made by seed in Chromium."""

    chance: random.Random
    part: str
    steps: int

    def make(self) -> tuple[str, dict[str, Any]]:
        """The page's source, and what is on it."""
        return make_page(self.chance, self.part)

    async def open(self, environment: LastingDesktop) -> None:
        """Write the page; the first time, start server and browser."""
        text, self.things = self.make()
        await _open_page(environment, text)

    async def source(self, environment: LastingDesktop) -> Source:
        """The page's own log, and the question that it asks."""
        await asyncio.sleep(0.15)  # the page tells every 60 ms
        state, query_state = (
            await _read_report(environment, "state"),
            await _read_report(environment, "asked"),
        )
        question = query_state.get("asked", "")
        texts = [*state["texts"], *filter(None, (question, state["painted"]))]
        return Source(
            texts=(*texts, *(["OK", "Cancel", "127.0.0.1:8766 says"] if question else [])),
            values=state["values"],
            checks=state["checks"],
            refused=max(state["refused"], query_state.get("refused", 0)),
            places=state["places"],
            more={} if question else {"focus": state["focus"]},
        )

    def replies(self) -> Iterator[Act]:
        """See `acts_on`."""
        return acts_on(self.things, self.chance, self.steps)

    def reply(self, act: Act, now: Source) -> str:
        """By the place that the page tells, or by a description."""
        x, y = now.places.get(act.name, (0, 0))
        described = self.chance.random() < 0.3 and act.kind == "click"
        match act.kind:
            case "click" if described:
                words = f'the "{act.name}" control'
                return tool_call(
                    "gui_action", "pyautogui.click(X_COORD, Y_COORD)", words, thought=act.thought
                )
            case "click":
                code = f"pyautogui.click({x}, {y})"
            case "type":
                code = f"pyautogui.tripleClick({x}, {y})\npyautogui.write({act.text!r})"
            case "many":
                code = (
                    f"pyautogui.tripleClick({x}, {y})\npyautogui.write({act.text!r})\n"
                    f"pyautogui.press('tab')\npyautogui.write({act.text[::-1]!r})"
                )
            case "at":
                code = f"pyautogui.click({act.text})"
            case _:
                code = f"pyautogui.press({act.text!r})"
        return tool_call("gui_action", code, thought=act.thought)


_STATE_KEYS = ("focus", "selected", "selection", "scrolled", "dead", "cut", "field", "entries")


@dataclass
class Restless(Page):
    """A page with things that go on by themselves."""

    def make(self) -> tuple[str, dict[str, Any]]:
        """The page's source, and what is on it."""
        return make_restless(self.chance)

    async def source(self, environment: LastingDesktop) -> Source:
        """The page's own log; what goes on by itself is told apart."""
        await asyncio.sleep(0.15)
        state = await _read_report(environment, "state")
        return Source(
            texts=state["texts"],
            values=state["values"],
            places=state["places"],
            own=state["own"],
            more={key: state[key] for key in _STATE_KEYS} | {"disabled": self.things["dead"]},
        )

    def replies(self) -> Iterator[Act]:
        """See `restless_acts`."""
        return restless_acts(self.things, self.chance, self.steps)

    def reply(self, act: Act, now: Source) -> str:
        """By the place that the page tells."""
        x, y = now.places.get(act.name, (600, 20))
        return tool_call("gui_action", act_code(act, (x, y)), thought=act.thought)


def _hotkey(*keys: str) -> str:
    return f"pyautogui.hotkey({', '.join(map(repr, keys))})"


def _write(text: str, *keys: str) -> str:
    return "\n".join([f"pyautogui.write({text!r})", *(f"pyautogui.press({key!r})" for key in keys)])


_FORMULAS = {"tune": ("=A1+", "=1/0", "=SUM(A1:A3)"), "report": ("=NOTHERE(1)", "=B1*2", "=A1/A9")}
_WORDS = ("apples", "12.5", "Porto", "March", "7", "total", "north", "0.25")
_SENTENCES = ("The harbour opens at seven.", "Dogs travel free.", "Bring a warm jacket.")


@dataclass
class Keyed:
    """An application that is used by keys alone."""

    chance: random.Random
    part: str
    steps: int
    kind: str

    async def open(self, environment: LastingDesktop) -> None:
        """Start it with a new document."""
        self.refused = 0
        if self.kind == "mousepad":
            await environment.write_file(f"{_HOME}/notes.txt", b"first line\n")
            await environment.execute(f"setsid -f mousepad {_HOME}/notes.txt >/dev/null 2>&1")
            await _until(environment, "Mousepad")
            return
        if self.kind == "xterm":
            line = f"cd {_HOME} && setsid -f xterm -l -lf {_HOME}/term.log >/dev/null 2>&1"
            await environment.execute(line)
            await environment.observe(settle=3.0)
            return
        await environment.write_file(f"{_HOME}/read.py", _UNO.encode())
        line = _OFFICE.format(kind=self.kind, file="")
        await environment.execute(f"setsid -f {line} >/dev/null 2>&1", timeout=60.0)
        if self.kind == "impress":  # it begins with a choice of templates
            await _until(environment, "")
            await environment.act([Press("esc")])
        await _until(environment, "LibreOffice")

    async def source(self, environment: LastingDesktop) -> Source:
        """What UNO or a file says, and the window manager."""
        windows, active = await _windows(environment)
        state: dict[str, Any] = {"texts": [], "values": {}}
        if self.kind == "xterm":
            log = await environment.read_file(f"{_HOME}/term.log")
            state["texts"] = log.decode("utf-8", "replace").splitlines()
        elif self.kind == "mousepad":
            text = await environment.read_file(f"{_HOME}/notes.txt")
            state["texts"] = text.decode().splitlines()
        else:
            line = f"timeout 5 python3 {_HOME}/read.py"
            result = await environment.execute(line, timeout=30.0)
            state = json.loads(result.output) if result.exit_code == 0 else state
        errors = sum(text.startswith(("Err:", "#")) for text in state["values"].values())
        dialogs = sum(
            not any(app in title for app in ("LibreOffice", "Mousepad")) for title in windows
        )
        question_count = sum(title in ("LibreOffice 7.4", "LibreOffice Calc") for title in windows)
        self.refused = errors + question_count
        return Source(
            texts=state["texts"],
            values=state["values"],
            windows=windows,
            active=active,
            refused=self.refused,
            whole=False,
            more={"dialogs": dialogs},
        )

    def replies(self) -> Iterator[Act]:
        """Acts by chance; a dialog is closed next."""
        for _ in range(self.steps):
            yield from {"calc": self._calc, "mousepad": self._mousepad, "xterm": self._xterm}.get(
                self.kind, self._text
            )()

    def _calc(self) -> Iterator[Act]:
        chance = self.chance
        match chance.choice(("cell", "cell", "cell", "formula", "dialog", "bold", "row")):
            case "cell":
                yield Act("do", "", _write(chance.choice(_WORDS), "enter"), "Fill the cell.")
            case "row":
                both = "\t".join(chance.sample(_WORDS, 2))
                code = "\n".join(
                    (_write(both.split("\t")[0], "tab"), _write(both.split("\t")[1], "enter"))
                )
                yield Act("do", "", code, "Fill two cells.")
            case "formula":
                formula = chance.choice(_FORMULAS[self.part])
                yield Act("do", "", _write(formula, "enter"), "Enter the formula.")
                yield Act("do", "", "pyautogui.press('escape')", "Leave it.")
            case "dialog":
                yield Act("do", "", _hotkey("ctrl", "1"), "Open Format Cells.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the dialog.")
            case _:
                yield Act("do", "", _hotkey("ctrl", "b"), "Make it bold.")

    def _text(self) -> Iterator[Act]:
        chance = self.chance
        match chance.choice(("write", "write", "write", "find", "save", "select")):
            case "write":
                text = chance.choice(_SENTENCES)
                yield Act("do", "", _write(f"{text} ", "enter"), "Write a sentence.")
            case "find":
                yield Act("do", "", _hotkey("ctrl", "h"), "Open Find and Replace.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the dialog.")
            case "save":
                yield Act("do", "", _hotkey("ctrl", "s"), "Open the save dialog.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the dialog.")
            case _:
                yield Act("do", "", _hotkey("ctrl", "a"), "Select everything.")
                yield Act("do", "", "pyautogui.press('right')", "Go to its end.")

    def _mousepad(self) -> Iterator[Act]:
        chance = self.chance
        match chance.choice(("write", "write", "save", "saveas", "find", "menu")):
            case "write":
                code = _write(chance.choice(_SENTENCES), "enter") + "\n" + _hotkey("ctrl", "s")
                yield Act("do", "", code, "Write a sentence and save it.")
            case "save":
                yield Act("do", "", _hotkey("ctrl", "s"), "Save the file.")
            case "saveas":
                yield Act("do", "", _hotkey("ctrl", "shift", "s"), "Open the Save As dialog.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the dialog.")
            case "find":
                yield Act("do", "", _hotkey("ctrl", "h"), "Open Find and Replace.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the dialog.")
            case _:
                yield Act("do", "", _hotkey("alt", "f"), "Open the File menu.")
                yield Act("do", "", "pyautogui.press('escape')", "Close the menu.")

    def _xterm(self) -> Iterator[Act]:
        line = self.chance.choice(("echo morning train", "ls /usr/share", "date", "echo harbour"))
        yield Act("do", "", _write(line, "enter"), "Run it.")

    def reply(self, act: Act, now: Source) -> str:
        """The act's own code."""
        return tool_call("gui_action", act.text, thought=act.thought)


@dataclass
class Situation:
    """A page of one situation, whose acts say what is true of them."""

    chance: random.Random
    kind: str

    async def open(self, environment: LastingDesktop) -> None:
        """Show the page."""
        text, self.acts = make_situation(self.kind, self.chance)
        self.truth: dict[str, list[str]] = {}
        for name in ("plan", "crew"):
            await environment.write_file(f"{_HOME}/{name}.txt", f"The {name}.\n".encode())
        await _open_page(environment, text)

    async def source(self, environment: LastingDesktop) -> Source:
        """The page's own log, and what is true of the act just done."""
        await asyncio.sleep(0.15)  # the page tells every 60 ms
        state = await _read_report(environment, "state")
        return Source(
            texts=state["texts"],
            values=state["values"],
            checks=state["checks"],
            places=state["places"],
            more={**self.truth, "cut": state["cut"]},
            whole=self.kind not in ("ticking", "file chooser"),  # what ticks is not in the log
        )

    def replies(self) -> Iterator[Act]:
        """One act for each of the situation's."""
        for act in self.acts:
            self.act = act
            yield Act("do", act.name, act.code, act.thought)

    def reply(self, act: Act, now: Source) -> str:
        """By the place that the page tells; an entry by number is one of those that show."""
        name = act.name
        if name.startswith("#"):
            showing = [text for text in now.texts if text in now.places]
            name = showing[int(name[1:])]
        x, y = now.places.get(name, (0, 0))
        self.truth = _truth(self.act, name)
        return tool_call("gui_action", act.text.format(x=x, y=y), thought=act.thought)


def _truth(act: LoggedAct, name: str) -> dict[str, list[str]]:
    return {
        "tells": [pattern.replace("{name}", name) for pattern in act.mentions],
        "denies": list(act.denies),
    }


class KeyedTruth(Keyed):
    """An application whose acts, by keys, say what is true of them."""

    async def open(self, environment: LastingDesktop) -> None:
        """Start it with a new document."""
        self.truth: dict[str, list[str]] = {}
        for name in ("plan", "crew"):
            await environment.write_file(f"{_HOME}/{name}.txt", f"The {name}.\n".encode())
        await super().open(environment)

    async def source(self, environment: LastingDesktop) -> Source:
        """What UNO or a file says, and what is true of the act just done."""
        return replace(await super().source(environment), more=self.truth, refused=0)

    def replies(self) -> Iterator[Act]:
        """One act for each that is written down."""
        for act in office_acts(self.kind, self.chance):
            self.act = act
            yield Act("do", "", act.code, act.thought)

    def reply(self, act: Act, now: Source) -> str:
        """The act's own code."""
        self.truth = _truth(self.act, "")
        return super().reply(act, now)


PAGES: dict[str, type[Page]] = {"page": Page, "restless": Restless}
"""Scenes that are pages of a seed, drawn several times."""


def _scene(kind: str, chance: random.Random, part: str, steps: int) -> Scene:
    if kind in SITUATIONS:
        return Situation(chance, kind)
    if kind.endswith(" dialogs"):
        return KeyedTruth(chance, part, steps, kind.removesuffix(" dialogs"))
    if kind in PAGES:
        return PAGES[kind](chance, part, steps)
    return Keyed(chance, part, steps, kind)


SCENES = (
    *(*PAGES, "calc", "writer", "impress", "mousepad", "xterm"),
    *SITUATIONS,
    *("calc dialogs", "writer dialogs", "mousepad dialogs"),
)


def make_scene(kind: str, seed: str, part: str, steps: int) -> Scene:
    """A scene by seed."""
    return _scene(kind, random.Random(f"{kind} {seed} {part}"), part, steps)
