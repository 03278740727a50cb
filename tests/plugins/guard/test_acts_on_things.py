"""An act is judged by what it meets, however its place is given, and harmless ones go through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

import hisa
from hisa.actions import Action, Press
from hisa.events import Abstracted, Acted
from hisa.plugins.computer_use.responses_server import ResponsesServer, computer_call
from hisa.protocols import Environment
from hisa.runs.run_reader import Run, load_run
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import tool_call
from tests.bench import click, finish, together
from tests.plugins.guard.test_runs import decisions, run_agent

SHOWING = frozenset({"showing", "visible", "enabled", "sensitive"})
TITLE = "Users - Admin"
X, Y = 135, 497
"""The middle of what deletes."""


def thing(role: str, name: str, at: tuple[int, int], *states: str, **more: Any) -> Element:
    """A thing of 80 by 24 pixels around a place."""
    x, y = at
    box = BoundingBox(x - 40, y - 12, x + 40, y + 12, "screen")
    more = {"app": "admin", "window": TITLE, **more}
    return Element(role, name, box, states=SHOWING | set(states), **more)


FRAME = replace(thing("frame", TITLE, (0, 0)), box=BoundingBox(0, 0, 1280, 720, "screen"))


class Screen(FakeEnvironment):
    """A window with these things on it; what is done is kept, and changes nothing."""

    def __init__(self, *things: Element, app: str = "admin", title: str = TITLE) -> None:
        super().__init__()
        self._things, self._app, self._title = (FRAME, *things), app, title
        self.complete = True
        self.comes_up = False
        """Whether something is drawn after the first click that no element tells of."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        window = Window("1", self._title, self._app, FRAME.box, active=True)
        shown = self._things if elements else None
        pixels = Image.new("RGB", observation.screenshot.pixels.size, "white")
        pen = ImageDraw.Draw(pixels)
        for thing in self._things[1:]:
            pen.rectangle(sides(thing.box), outline="grey")
            pen.text((thing.box.left + 4, thing.box.top + 4), thing.name, fill="black")
        if self.comes_up and self.acted:
            pen.rectangle((560, 32, 760, 140), fill="white", outline="black")
        return replace(
            observation,
            screenshot=Screenshot(pixels),
            windows=(window,),
            elements=shown,
            complete=self.complete,
        )


def sides(box: BoundingBox) -> tuple[float, float, float, float]:
    return box.left, box.top, box.right, box.bottom


async def run_replies(
    folder: Path, machine: Environment, *replies: str, **settings: dict[str, Any]
) -> Run:
    """A run of these replies with the policy on and nobody to ask."""
    tree: dict[str, Any] = {
        "patterns": {"enabled": False},
        "environment": {"settle": 0.0},
        "grounder": {"kind": "elements"},
        "run": {"folder": folder, "confirm": "never"},
        "policy": {"defaults": "always"},
        **settings,
    }
    return await run_agent(hisa.Settings.model_validate(tree), [*replies, finish()], machine)


def list_presses(machine: FakeEnvironment) -> Sequence[Action]:
    """What was done, but for keys that move the focus to what a later press is decided on."""
    return [action for action in machine.acted if action != Press("tab")]


def refusals(run: Run) -> Sequence[str]:
    return [event.error for event in run.events if isinstance(event, Acted) and not event.ok]


def gui(source: str) -> str:
    return tool_call("gui_action", source)


NAME = thing("entry", "Name", (135, 300), "editable", "single-line")
DELETE = thing("push button", "Delete user", (X, Y))
FOCUSED = replace(DELETE, states=DELETE.states | {"focused"})
WAYS = {
    "description": (click("the button Delete user"), DELETE),
    "another description": (click("the second button from the left"), DELETE),
    "pixels": (gui(f"pyautogui.click({X}, {Y})"), DELETE),
    "double click": (gui(f"pyautogui.doubleClick({X}, {Y})"), DELETE),
    "button down and up": (
        gui(f"pyautogui.moveTo({X}, {Y}); pyautogui.mouseDown(); pyautogui.mouseUp()"), DELETE,
    ),
    "Enter": (gui("pyautogui.press('enter')"), FOCUSED),
    "a typed line break": (gui("pyautogui.write('\\n')"), FOCUSED),
    "Space": (gui("pyautogui.press('space')"), FOCUSED),
    "its letter": (gui("pyautogui.hotkey('alt', 'd')"), DELETE),
    "Tab and Enter": (
        gui("pyautogui.press('tab'); pyautogui.press('enter')"),
        replace(NAME, states=NAME.states | {"focused"}),
    ),
    "a drag's end": (
        gui(f"pyautogui.moveTo(135, 300); pyautogui.dragTo({X}, {Y})"),
        thing("list item", "Wastebasket", (X, Y)),
    ),
}  # fmt: skip
"""How the same thing is met: a reply, and what is there besides the rest."""


@pytest.mark.parametrize("way", WAYS)
async def test_click_on_delete_is_refused_however_its_place_is_given(
    way: str, tmp_path: Path
) -> None:
    reply, own = WAYS[way]
    others = [element for element in (NAME, DELETE) if element.box != own.box]
    machine = Screen(thing("push button", "Rename", (300, Y)), *others, own)
    if way == "another description":
        machine = Screen(thing("push button", "the second button", (300, 60)), own)
        reply = tool_call("gui_action", f"pyautogui.click({X}, {Y})", "the second button")
    run = await run_replies(tmp_path, machine, reply)
    assert list_presses(machine) == [], "nothing that presses reached the machine"
    *_, decided = decisions(run)
    assert (decided.verdict, decided.allowed) == ("ask", False)
    assert "ask before deleting" in decided.rule
    (refusal,) = refusals(run)
    assert own.name in refusal or "Delete user" in refusal
    assert "497" not in refusal
    if "description" in way and "another" not in way:
        line = next(event for event in run.events if isinstance(event, Abstracted)).line
        assert "497" not in line


async def test_by_number_and_by_pixels_the_same_is_refused(tmp_path: Path) -> None:
    machine = Screen(DELETE)
    numbered = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "element: 1")
    run = await run_replies(
        tmp_path, machine, numbered, gui(f"pyautogui.click({X}, {Y})"), planner={"sees": "both"}
    )
    assert machine.acted == []
    assert ["ask before deleting" in decision.rule for decision in decisions(run)] == [True, True]


def test_a_computer_use_models_pixels_are_judged(tmp_path: Path) -> None:
    calls = iter(
        [
            computer_call({"type": "click", "button": "left", "x": X, "y": Y}),
            computer_call({"type": "keypress", "keys": ["ENTER"]}),
            json_done(),
        ]
    )

    def answer(received: Any) -> str:
        return next(calls) if received.role == "planner" else "Succeeded. It did."

    machine = Screen(FOCUSED)
    with ResponsesServer(then=answer) as server:
        tree = {
            "patterns": {"enabled": False},
            "run": {"folder": tmp_path},
            "policy": {"defaults": "always"},
            "models": {"planner": {"model": "computer-use-preview", "base_url": server.url}},
        }
        result = hisa.run_sync(
            "Do it.", settings=hisa.Settings.model_validate(tree), environment=machine
        )
    assert machine.acted == []
    assert [decision.allowed for decision in decisions(load_run(result.folder))] == [False, False]


def json_done() -> str:
    from tests.plugins.computer_use.test_computer import DONE

    return DONE


DIALOG = (
    replace(
        thing("dialog", "Question", (640, 360), window="Question"),
        box=BoundingBox(500, 250, 800, 450, "screen"),
    ),
    thing("label", "Do you want to delete this user for good?", (640, 300), window="Question"),
)
YES = thing("push button", "OK", (560, 420), "focused", "is-default", window="Question")
NO = thing("push button", "Cancel", (740, 420), window="Question")
ENTRY = thing("entry", "Why", (640, 350), "focused", "single-line", window="Question")


@pytest.mark.parametrize(
    ("source", "things"),
    [
        ("pyautogui.press('enter')", (*DIALOG, NO, YES)),
        ("pyautogui.press('space')", (*DIALOG, NO, YES)),
        ("pyautogui.click(560, 420)", (*DIALOG, NO, YES)),
        ("pyautogui.hotkey('alt', 'o')", (*DIALOG, NO, YES)),
        ("pyautogui.press('enter')", (*DIALOG, ENTRY, NO, replace(YES, states=SHOWING))),
        ("pyautogui.press('tab'); pyautogui.press('space')", (*DIALOG, ENTRY, NO, YES)),
    ],
    ids=["enter", "space", "pixels", "letter", "default button", "tab and space"],
)
async def test_dialog_confirmation_is_judged_by_the_dialog_text(
    source: str, things: tuple[Element, ...], tmp_path: Path
) -> None:
    machine = Screen(DELETE, *things, title="Question")
    run = await run_replies(tmp_path, machine, gui(source))
    assert list_presses(machine) == []
    assert "ask before deleting" in decisions(run)[-1].rule
    machine = Screen(DELETE, *things, title="Question")
    await run_replies(
        tmp_path, machine, gui("pyautogui.click(740, 420)"), gui("pyautogui.press('esc')")
    )
    assert len(machine.acted) == 2, "Cancel and Escape do no harm"


PAGE = replace(
    thing("document web", "Users", (0, 0), "focusable"), box=BoundingBox(0, 90, 1280, 700, "screen")
)
FIELD = replace(NAME, states=NAME.states | {"focused"})
BOLD = thing("push button", "Bold", (600, 420))
SEARCH = thing("push button", "Search", (300, 300), "focused")

UNKNOWN = {
    "no elements": ([], "pyautogui.click(600, 600)"),
    "no name": ([thing("push button", "", (600, 600))], "pyautogui.click(600, 600)"),
    "a canvas": ([thing("canvas", "", (600, 600))], "pyautogui.click(600, 600)"),
    "no focus": ([DELETE], "pyautogui.press('enter')"),
    "an icon of a page": ([PAGE, thing("section", "", (600, 600))], "pyautogui.click(600, 600)"),
    "a key that stays down": ([FIELD], "pyautogui.keyDown('alt')"),
    "another window's focus": (
        [replace(FIELD, window="Other")],
        "pyautogui.write('d'); pyautogui.press('enter')",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
async def test_unknown_effect_needs_approval(case: str, tmp_path: Path) -> None:
    things, source = UNKNOWN[case]
    machine = Screen(*things)
    if case == "no elements":
        machine._things = ()
    run = await run_replies(tmp_path, machine, gui(source))
    assert machine.acted == []
    assert decisions(run)[0].verdict == "ask"


@pytest.mark.parametrize("comes_up", [True, False])
async def test_change_without_elements_needs_approval(comes_up: bool, tmp_path: Path) -> None:
    machine = Screen(thing("push button", "More", (600, 20)), BOLD)
    machine.comes_up = comes_up
    source = "pyautogui.click(600, 20); pyautogui.click(600, 420)"
    run = await run_replies(tmp_path, machine, gui(source))
    first, later = decisions(run)
    assert (first.verdict, later.verdict) == ("allow", "ask" if comes_up else "allow")


async def test_a_key_is_decided_by_the_focus_that_the_key_before_it_moved(tmp_path: Path) -> None:
    class Tabbing(Screen):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            self._things = (FRAME, DELETE, focused if self.acted else FIELD)
            return await super().observe(elements=elements, settle=settle)

    source = "pyautogui.press('tab'); pyautogui.press('enter')"
    for focused, verdict in ((FOCUSED, "ask"), (FIELD, "ask"), (SEARCH, "allow")):
        run = await run_replies(tmp_path, Tabbing(), gui(source))
        assert decisions(run)[-1].verdict == verdict, focused.name


async def test_partial_elements_are_read_again_and_then_need_approval(
    tmp_path: Path,
) -> None:
    machine = Screen(NAME)
    machine.complete = False
    await run_replies(tmp_path, machine, gui("pyautogui.click(135, 300)"))
    assert machine.acted == []


async def test_action_of_a_sequence_is_judged_on_a_fresh_look(tmp_path: Path) -> None:
    class Opening(Screen):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            observation = await super().observe(elements=elements, settle=settle)
            shown = (DELETE,) if self.acted else (replace(DELETE, name="Rename"),)
            return replace(observation, elements=(FRAME, *shown) if elements else None)

    machine = Opening()
    replies = together(gui(f"pyautogui.click({X}, {Y})"), gui(f"pyautogui.click({X}, {Y})"))
    run = await run_replies(tmp_path, machine, replies, planner={"sequence": 5, "guards": False})
    assert len(machine.acted) == 1
    assert [decision.allowed for decision in decisions(run)] == [True, False]


async def test_an_effect_in_a_rule_has_the_elements_read(tmp_path: Path) -> None:
    rules = {"rules": [{"then": "deny", "effect": "delete", "why": "Users stay."}]}
    machine = Screen(DELETE)
    run = await run_replies(tmp_path, machine, gui(f"pyautogui.click({X}, {Y})"), policy=rules)
    assert machine.acted == []
    assert "Users stay." in refusals(run)[0]


AREA = replace(FIELD, role="text", states=SHOWING | {"focused", "editable", "multi-line"})
ROW = thing("list item", "delete-me.txt", (600, 300))
CELL = thing("table cell", "A1", (600, 340), "focused")
PAYMENTS = thing("page tab", "Payments", (700, 40))
MENUS = (thing("menu", "File", (40, 10)), thing("menu", "Edit", (120, 10)))
OPEN = (MENUS[0], thing("menu item", "Save", (60, 40), "selected"), MENUS[1])
BAR = replace(thing("tool bar", "Standard", (0, 0)), box=BoundingBox(0, 0, 1280, 40, "screen"))
BARRED = thing("push button", "Delete Decimal Place", (600, 20))
TERMINAL = {"app": "xterm", "title": "user@desktop"}
HARMLESS: Sequence[tuple[str, tuple[Element, ...], dict[str, str]]] = [
    ("pyautogui.write('Ada Lovelace')", (FIELD, DELETE), {}),
    ("pyautogui.click(135, 300)", (NAME, DELETE), {}),
    ("pyautogui.click(135, 300); pyautogui.write('Ada')", (NAME, DELETE), {}),
    ("pyautogui.write('Ada'); pyautogui.press('tab'); pyautogui.write('L')", (FIELD, DELETE), {}),
    ("pyautogui.press('enter')", (FIELD,), {}),
    ("pyautogui.press('enter')", (AREA, DELETE), {}),
    ("pyautogui.write('one\\ntwo delete\\n')", (AREA, DELETE), {}),
    ("pyautogui.press('enter')", (PAGE, FIELD, thing("push button", "Search", (300, 300))), {}),
    ("pyautogui.click(700, 40)", (PAYMENTS, DELETE), {}),
    ("pyautogui.click(600, 300)", (ROW, DELETE), {}),
    ("pyautogui.click(600, 340)", (CELL, DELETE), {}),
    ("pyautogui.write('=SUM(A1:A9)'); pyautogui.press('enter')", (CELL, DELETE), {}),
    ("pyautogui.write('a'); pyautogui.press('tab'); pyautogui.write('b\\n')", (CELL, DELETE), {}),
    ("pyautogui.scroll(-5, 600, 300)", (ROW, DELETE), {}),
    ("pyautogui.press('esc')", (DELETE,), {}),
    ("pyautogui.hotkey('ctrl', 's')", (FIELD, DELETE), {}),
    ("pyautogui.hotkey('ctrl', 'a'); pyautogui.press('delete')", (FIELD, DELETE), {}),
    ("pyautogui.click(40, 10)", (*MENUS, DELETE), {}),
    ("pyautogui.hotkey('alt', 'f')", (*MENUS, DELETE), {}),
    ("pyautogui.press('enter')", OPEN, {}),
    ("pyautogui.click(600, 420)", (thing("push button", "Bold", (600, 420)), DELETE), {}),
    ("pyautogui.click(600, 420)", (thing("check box", "Agree", (600, 420)), DELETE), {}),
    ("pyautogui.click(600, 420)", (thing("check box", "", (600, 420)), DELETE), {}),
    ("pyautogui.click(600, 420)", (thing("combo box", "Country", (600, 420)), DELETE), {}),
    ("pyautogui.click(600, 420)", (thing("link", "News", (600, 420)), DELETE), {}),
    ("pyautogui.click(600, 420)", (PAGE, DELETE), {}),
    ("pyautogui.click(600, 420)", (PAGE, thing("static", "How to pay", (600, 420))), {}),
    ("pyautogui.click(600, 420)", (PAGE, thing("push button", "OK", (600, 420))), {}),
    ("pyautogui.rightClick(600, 300)", (ROW, DELETE), {}),
    ("pyautogui.moveTo(600, 300); pyautogui.dragTo(600, 420)", (ROW, PAGE), {}),
    ("pyautogui.click(600, 420)", (thing("toggle button", "", (600, 420)), DELETE), {}),
    ("pyautogui.hotkey('alt', 'i')", (BAR, BARRED), {}),
    ("pyautogui.mouseDown(600, 420); pyautogui.mouseUp()", (PAGE, BOLD), {}),
    ("pyautogui.write('Ada Delete')", (PAGE, FIELD, thing("menu item", "Delete", (9, 9))), {}),
    ("pyautogui.write('ls -l\\n')", (), TERMINAL),
    ("pyautogui.click(600, 300)", (), TERMINAL),
]  # fmt: skip
"""Source, what is on the screen, and the window."""


@pytest.mark.parametrize("number", range(len(HARMLESS)))
async def test_harmless_act_needs_no_approval(number: int, tmp_path: Path) -> None:
    source, things, window = HARMLESS[number]
    machine = Screen(*things, **window)
    if window:
        machine._things = ()
    run = await run_replies(tmp_path, machine, gui(source))
    assert {(decision.verdict, decision.rule) for decision in decisions(run)} == {
        ("allow", "no rule applies")
    }
    assert machine.acted
