"""Where a machine reports no elements, an act is judged by what is seen at its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from hisa.actions import Press
from hisa.plugins.eyes.detector import Control
from hisa.plugins.eyes.icon_reader import IconName
from hisa.plugins.eyes.pixel_scene import list_sightings
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation, Screenshot, Window
from hisa.screen.ocr import Line, Word
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import tool_call
from tests.bench import click
from tests.plugins.guard.test_acts_on_things import gui, refusals, run_replies, sides
from tests.plugins.guard.test_runs import decisions

DESKTOP = BoundingBox(0, 0, 1280, 720, "screen")
CLICK = "pyautogui.click(180, 120)"
BIN = IconName("trash", ("delete", "remove"), 0.99)
ARROW = IconName("arrow up", ("upward",), 0.99)


def control(role: str, left: float = 100, top: float = 100) -> Control:
    """A control of 160 by 40 pixels."""
    return Control(role, BoundingBox(left, top, left + 160, top + 40), 0.9)


def line(text: str, left: float = 120, top: float = 112) -> Line:
    """A line whose letters are 6 pixels wide and 14 high."""
    words, at = [], left
    for word in text.split():
        words.append(Word(word, BoundingBox(at, top, at + 6 * len(word), top + 14), 0.9))
        at += 6 * (len(word) + 1)
    return Line(tuple(words))


class Picture(FakeEnvironment):
    """A machine without accessibility, and what nets see on its picture.

    Args:
        controls: the controls they see.
        lines: the lines they read.
        icon: what the first control's icon may mean.
        title: of its window.
        app: of its window.
    """

    def __init__(
        self,
        controls: Sequence[Control],
        lines: Sequence[Line] = (),
        *,
        icon: IconName | None = None,
        title: str = "Orders",
        app: str = "shop",
    ) -> None:
        super().__init__()
        self.controls, self.lines = list(controls), list(lines)
        self._window = Window("1", title, app, DESKTOP, active=True)
        self._icons = {0: (icon,)} if icon is not None else {}
        self.opens: Control | None = None
        """What is drawn and seen after the first act."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        look = await super().observe(elements=elements, settle=settle)
        controls = [*self.controls, *([self.opens] if self.opens and self.acted else ())]
        picture = Image.new("RGB", look.screenshot.pixels.size, "white")
        pen = ImageDraw.Draw(picture)
        for shown in controls:
            pen.rectangle(sides(shown.box), outline="grey")
        look = replace(look, screenshot=Screenshot(picture), windows=(self._window,), elements=None)
        if not elements:
            return look
        sightings = list_sightings(look, controls, self.lines, self._icons)
        return replace(look, elements=tuple(s.element for s in sightings), complete=False)


DANGEROUS = {
    "a button": Picture([control("button")], [line("Delete user")]),
    "a text alone": Picture([], [line("Delete user", 150)]),
    "a row": Picture([control("list item")], [line("Delete user")]),
    "a heading": Picture([control("heading")], [line("Delete user")]),
    "a tab": Picture([control("tab")], [line("Delete user")]),
    "a field": Picture([control("field")], [line("Delete user")]),
    "several buttons read as a line": Picture(
        [], [line("Back to the list of all users of this shop or delete them for ever, now", 20)]
    ),
    "a yes to what stands above": Picture(
        [control("button")], [line("OK"), line("Delete the user Ada?", 40, 40)]
    ),
    "a yes to what was taken for a button": Picture(
        [control("button"), control("button", 40, 20)],
        [line("OK"), line("Delete user?", 50, 32)],
    ),
    "a yes to the title": Picture([control("button")], [line("Yes")], title="Delete user?"),
}


@pytest.mark.parametrize("case", DANGEROUS)
async def test_seen_words_that_delete_need_approval_whatever_the_role(
    case: str, tmp_path: Path
) -> None:
    machine = DANGEROUS[case]
    run = await run_replies(tmp_path, machine, gui(CLICK))

    assert machine.acted == []
    assert "ask before deleting" in decisions(run)[0].rule


@pytest.mark.parametrize("words", ["Show details", "Continue", "Cancel"])
@pytest.mark.parametrize("role", ["button", "link", "menu item", "list item", "field"])
async def test_seen_words_that_do_no_harm_need_no_approval(
    role: str, words: str, tmp_path: Path
) -> None:
    machine = Picture([control(role)], [line(words), line("42 orders are open", 40, 40)])
    run = await run_replies(tmp_path, machine, gui(CLICK))

    assert [decision.verdict for decision in decisions(run)] == ["allow"]
    assert machine.acted


async def test_described_button_that_is_seen_needs_no_approval(tmp_path: Path) -> None:
    machine = Picture([control("button")], [line("Show details")])
    run = await run_replies(tmp_path, machine, click("the button Show details"))

    assert refusals(run) == []


@pytest.mark.parametrize("role", ["field", "check box", "radio", "switch", "slider"])
async def test_bare_seen_control_that_only_takes_a_value_needs_no_approval(
    role: str, tmp_path: Path
) -> None:
    machine = Picture([control(role)])
    await run_replies(tmp_path, machine, gui(CLICK))

    assert machine.acted


async def test_description_that_deletes_needs_approval_at_a_bare_field(tmp_path: Path) -> None:
    machine = Picture([control("field")])
    call = tool_call("gui_action", CLICK, "the button that deletes the user")
    run = await run_replies(tmp_path, machine, call)

    assert machine.acted == []
    assert "ask before deleting" in decisions(run)[0].rule


NEXT = Picture([control("button")], [line("Next")])
UNKNOWN = {
    "nothing": (Picture([control("button", 500)], [line("Next", 520)]), CLICK),
    "a button without words": (Picture([control("button")]), CLICK),
    "a dialog around it": (Picture([control("dialog")]), CLICK),
    "a row without words": (Picture([control("list item")]), CLICK),
    "an image": (Picture([control("image")]), CLICK),
    "an icon that deletes": (Picture([control("icon")], icon=BIN), CLICK),
    "an icon that may send": (Picture([control("icon")], icon=ARROW), CLICK),
    "an icon that was read as a letter": (Picture([control("icon")], [line("x", 178)]), CLICK),
    "Enter": (NEXT, "pyautogui.press('enter')"),
    "a letter with Alt": (NEXT, "pyautogui.hotkey('alt', 'n')"),
    "Enter beside a menu": (
        Picture([control("menu item")], [line("File")]),
        "pyautogui.press('enter')",
    ),
    "Enter after a click": (Picture([control("field")]), f"{CLICK}; pyautogui.press('enter')"),
    "text after Tab": (
        Picture([control("field")]),
        f"{CLICK}; pyautogui.press('tab'); pyautogui.write('a b')",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
async def test_what_was_not_seen_needs_approval(case: str, tmp_path: Path) -> None:
    machine, source = UNKNOWN[case]
    run = await run_replies(tmp_path, machine, gui(source))

    assert decisions(run)[-1].verdict == "ask"
    assert "effects are not known" in refusals(run)[0]


async def test_text_typed_into_a_clicked_field_needs_no_approval(tmp_path: Path) -> None:
    machine = Picture([control("field")])
    run = await run_replies(tmp_path, machine, gui(f"{CLICK}; pyautogui.write('Ada Byron')"))

    assert refusals(run) == []


@pytest.mark.parametrize(("command", "verdict"), [("ls", "allow"), ("rm -r x", "ask")])
async def test_text_typed_into_a_seen_terminal_is_judged_as_a_command(
    command: str, verdict: str, tmp_path: Path
) -> None:
    machine = Picture([control("field")], [line("rm -r all")], app="xterm")
    run = await run_replies(tmp_path, machine, gui(f"{CLICK}; pyautogui.write('{command}\\n')"))

    assert [decision.verdict for decision in decisions(run)] == [verdict]


async def test_later_press_is_done_if_its_thing_is_seen_unchanged(tmp_path: Path) -> None:
    machine = Picture([control("field", 500), control("button")], [line("Show details")])
    machine.opens = control("image", 900, 500)
    run = await run_replies(tmp_path, machine, gui(f"pyautogui.click(580, 120); {CLICK}"))

    assert refusals(run) == []


async def test_later_press_is_stopped_if_another_thing_is_seen(tmp_path: Path) -> None:
    class Renamed(Picture):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            self.lines = [line("Pay now" if self.acted else "Show details")]
            return await super().observe(elements=elements, settle=settle)

    machine = Renamed([control("field", 500), control("button")])
    machine.opens = control("image", 900, 500)
    run = await run_replies(
        tmp_path,
        machine,
        gui(f"pyautogui.click(580, 120); {CLICK}"),
        policy={"defaults": "never"},
    )

    assert "push button “Pay now” in place of push button “Show details”" in refusals(run)[0]


KEYS = f"{CLICK}; pyautogui.write('Ada'); pyautogui.press('enter')"
ALLOWED = {"defaults": "never"}


class Answering(Picture):
    """A picture on which a text comes up once something was done."""

    def __init__(self, answer: str) -> None:
        super().__init__([control("field")])
        self.opens = control("button", 500, 400)
        self._answer = line(answer, 520, 412)

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self.lines = [line("42 orders", 40, 40), *[self._answer] * bool(self.acted)]
        return await super().observe(elements=elements, settle=settle)


async def test_later_key_is_stopped_if_something_new_is_seen(tmp_path: Path) -> None:
    run = await run_replies(tmp_path, Answering("Pay now"), gui(KEYS), policy=ALLOWED)

    assert "push button “Pay now” came up" in refusals(run)[0]


async def test_later_key_is_pressed_if_only_figures_changed(tmp_path: Path) -> None:
    machine = Answering("43 orders")
    run = await run_replies(tmp_path, machine, gui(KEYS), policy=ALLOWED)

    assert refusals(run) == []
    assert machine.acted[-1] == Press("enter")
