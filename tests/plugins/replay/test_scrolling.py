"""A target that is out of sight is looked for by the wheel, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.actions import Click, Scroll
from hisa.plugins.replay.program_player import ProgramPlayer
from hisa.plugins.replay.program_records import Program, ProgramStep, Target
from hisa.plugins.replay.target_ladder import Found, find_target, target_of
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation
from tests.plugins.replay.order_looks import ANN, BO, CY, Row, button_of, look, thing

TASK = Task(id="ship", instruction="Ship.")
MANY: list[Row] = [(str(n), "Lu Tan", "open") for n in range(900, 940)]
LINE, TOP, BOTTOM = 40, 80, 480


class Page:
    """A list in a part of a window that scrolls: only what shows is in its tree.

    With ``late`` the tree tells of a turn one look later.
    """

    def __init__(
        self, rows: Sequence[Row], *, at: int = 0, over: Sequence[Element] = (), late: bool = False
    ) -> None:
        self.rows, self.at, self.over, self.late = rows, at, over, late
        self.clicked: list[Row] = []
        self.turned: list[Point] = []
        self._told = at

    def look(self) -> Observation:
        told, self._told = (self._told if self.late else self.at), self.at
        view = thing("section", "", (0, TOP, 1000, BOTTOM - TOP))
        held = thing("table", "", (0, TOP - told, 900, LINE * len(self.rows)), 0)
        elements = [view, held]
        for row, top in self._tops(told):
            if top + LINE <= TOP or top >= BOTTOM:
                continue
            elements.append(thing("table row", "", (0, top, 900, LINE), 1))
            holder = len(elements) - 1
            elements += [
                thing("static", word, (10 + 150 * n, top + 8, 120, 20), holder)
                for n, word in enumerate(row)
            ]
            elements.append(thing("push button", "Ship", (700, top + 4, 80, 26), holder))
        return look([*elements, *self.over])

    def obey(self, call: ToolCall) -> None:
        for action in call.actions:
            if isinstance(action, Scroll) and isinstance(action.at, Point):
                self.turned.append(action.at)
                most = max(0, LINE * len(self.rows) - (BOTTOM - TOP))
                self.at = min(most, max(0, self.at - 90 * action.dy))
            elif isinstance(action, Click) and isinstance(action.at, Point):
                at = action.at.y
                assert TOP <= at < BOTTOM, "beyond what shows"
                self.clicked += [r for r, top in self._tops(self.at) if top <= at < top + LINE]

    def _tops(self, at: int) -> list[tuple[Row, int]]:
        return [(row, TOP + LINE * n - at) for n, row in enumerate(self.rows)]


def ship(row: Row) -> Target:
    seen = Page([ANN, BO, CY]).look()
    return target_of(button_of(seen, row), seen)


async def last_call(page: Page, target: Target) -> ToolCall:
    """Play one step on a page to its end."""
    step = ProgramStep(action="pyautogui.click(740, 100)", targets=(target,))
    program = Program(name="ship", instruction="Ship.", screen=(1280, 720), task={}, steps=(step,))
    player = ProgramPlayer(lambda _: None, program, Path("/nowhere"))
    for _ in range(60):
        call = await player.plan(TASK, page.look(), StateView())
        if call.tool in ("termination", "infeasible"):
            return call
        page.obey(call)
    raise AssertionError("no end")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", [0, 385, 500, 1240])
@pytest.mark.parametrize("rows", [[*MANY, BO], [BO, *MANY], [*MANY[:20], BO, *MANY[20:]]])
async def test_found_wherever_it_is_in_the_list(rows: list[Row], at: int, late: bool) -> None:
    page = Page(rows, at=at, late=late)
    call = await last_call(page, ship(BO))
    assert (call.tool, page.clicked) == ("termination", [BO])


async def test_what_is_cut_off_is_brought_into_sight_first() -> None:
    page = Page([*MANY[:10], BO, *MANY[10:]], at=10)
    assert button_of(page.look(), BO).box.centre.y > BOTTOM
    assert (await last_call(page, ship(BO))).tool == "termination"
    assert page.clicked == [BO]


async def test_what_is_in_sight_is_not_scrolled_to() -> None:
    page = Page([BO, *MANY])
    assert (await last_call(page, ship(BO))).tool == "termination"
    assert not page.turned


async def test_what_is_nowhere_ends_where_nothing_moves_any_more() -> None:
    page = Page([*MANY, ANN, CY])
    call = await last_call(page, ship(BO))
    assert call.thought.startswith("halted before effect: step 1 of 1")
    assert "another row has one" in call.thought
    assert not page.clicked
    assert 2 <= len(page.turned) <= 48


@pytest.mark.parametrize(
    "over", [thing("dialog", "", (300, 200, 300, 100)), thing("alert", "", (0, 0, 300, 50))]
)
async def test_nothing_is_scrolled_beneath_a_dialog(over: Element) -> None:
    page = Page([*MANY, BO], over=[over])
    assert (await last_call(page, ship(BO))).tool == "infeasible"
    assert not page.turned


async def test_another_window_is_not_scrolled() -> None:
    page = Page([*MANY, BO])
    target = ship(BO)
    behind = thing("table", "", (0, 0, 1280, 2000), 41, window="Notice")
    page.over = [thing("section", "", (0, 0, 1280, 720), window="Notice"), behind]
    page.rows = []
    assert (await last_call(page, target)).tool == "infeasible"
    assert not page.turned


async def test_the_wheel_is_not_turned_over_what_it_changes() -> None:
    field = thing("spin button", "Amount", (450, TOP + 100, 120, 300), 0)
    page = Page([*MANY, BO], over=[field])
    assert (await last_call(page, ship(BO))).tool == "termination"
    assert page.turned
    assert not any(field.box.contains(Point(at.x, at.y, "screen")) for at in page.turned)


def test_a_menu_may_reach_beyond_its_window() -> None:
    elements = [
        thing("frame", "Notes", (319, 106, 642, 507)),
        thing("menu", "Edit", (366, 128, 52, 31), 0),
        thing("menu item", "Find", (366, 500, 472, 31), 1),
        thing("menu item", "Preferences", (366, 600, 472, 31), 1),
    ]
    screen = look(elements)
    target = target_of(elements[-1], screen)
    assert isinstance(find_target(target, screen, None, Path()), Found)
