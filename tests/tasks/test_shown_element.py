"""The check ``element``: what shows at the end, by a form in memory and on a real desktop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hisa.actions import Click, Hotkey, Write
from hisa.errors import UsageError
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Scoring, Task
from hisa.screen.geometry import Point
from hisa.screen.observation import Element, Observation
from hisa.screen.sight import SEEN
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from hisa.testing.form import FakeEnvironment


def task(folder: Path, element: str, more: str = "") -> Task:
    path = folder / "t.yaml"
    path.write_text(f"instruction: x\ncheck: {{element: {element}{more}}}")
    return load_task(path)


async def score_element(folder: Path, element: str, machine: FakeEnvironment) -> Scoring:
    return await TaskScorer().score(task(folder, element), machine, "succeeded")


@pytest.fixture
async def form() -> FakeEnvironment:
    machine = FakeEnvironment()
    await machine.act([Click(Point(300, 130, "screen")), Write(" Ana ")])
    return machine


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("{role: push button}", 1.0),
        ("{name: OK}", 1.0),
        ("{role: push button, name: OK, state: [enabled, showing], not: checked}", 1.0),
        ("{role: check box, name: OK}", 0.0),
        ("{role: text, name: 'Name:', value: Ana, state: editable}", 1.0),
        ("{role: text, value: An}", 0.0),
        ("{role: text, value: ''}", 0.0),
        ("{name: Agree, state: checked}", 0.0),
        ("{name: Agree, not: [checked, focused]}", 1.0),
        ("{name: Agree, not: [checked, enabled]}", 0.0),
        ("{name: Cancel, absent: true}", 1.0),
        ("{name: OK, absent: true}", 0.0),
        ("{name: Agree, state: checked, absent: true}", 1.0),
    ],
)
async def test_element_check_applies_all_keys_to_the_same_element(
    tmp_path: Path, form: FakeEnvironment, element: str, value: float
) -> None:
    assert (await score_element(tmp_path, element, form)).value == value


@pytest.mark.parametrize("element", ["{name: Save}", "{name: Save, absent: true}"])
async def test_element_missing_from_a_partial_look_gives_no_score(
    tmp_path: Path, element: str
) -> None:
    """The button is not among the elements that an incomplete look has."""
    scoring = await score_element(tmp_path, element, FakeEnvironment(partial=9))
    assert scoring.value is None
    assert "reported only some elements" in scoring.detail


async def test_a_look_that_is_complete_later_decides(tmp_path: Path) -> None:
    assert (await score_element(tmp_path, "{name: Save}", FakeEnvironment(partial=2))).value == 1.0
    gone = "{name: Save, absent: true}"
    assert (await score_element(tmp_path, gone, FakeEnvironment(partial=2))).value == 0.0


async def test_element_present_in_a_partial_look_scores(tmp_path: Path) -> None:
    assert (
        await score_element(tmp_path, "{name: 'Name:'}", FakeEnvironment(partial=9))
    ).value == 1.0


@pytest.mark.parametrize("element", ["{name: OK}", "{name: OK, absent: true}"])
async def test_elements_seen_on_a_picture_give_no_score(tmp_path: Path, element: str) -> None:
    class Seen(FakeEnvironment):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            look = await super().observe(elements=elements)
            seen = [replace(e, states=e.states | {SEEN}) for e in look.elements or ()]
            return replace(look, elements=tuple(seen), complete=False)

    scoring = await score_element(tmp_path, element, Seen())
    assert scoring.value is None
    assert "does not report elements" in scoring.detail


async def test_a_machine_without_elements_gives_no_score(tmp_path: Path) -> None:
    class Blind(FakeEnvironment):
        @property
        def capabilities(self) -> frozenset[str]:
            return frozenset({"execute"})

    for element in ("{name: OK}", "{name: OK, absent: true}"):
        scoring = await score_element(tmp_path, element, Blind())
        assert (scoring.state, scoring.value) == ("score_failed", None)
        assert "fake does not report elements" in scoring.detail


@pytest.mark.parametrize(
    ("element", "more", "reason"),
    [
        ("{state: checked}", "", "at least one of role and name"),
        ("{name: OK, states: checked}", "", "states"),
        ("{name: OK}", ", equals: x", "go only with file or command"),
        ("{name: OK}", ", excludes: x", "go only with file or command"),
        ("{name: OK}", ", file: ~/a", "exactly one of file, command, python and element"),
    ],
)
def test_a_wrong_one_is_refused(tmp_path: Path, element: str, more: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        task(tmp_path, element, more)


@pytest.mark.desktop
async def test_on_a_real_desktop(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("""
instruction: Type milk, open the dialog to find and replace, and let it match the case.
setup: [{launch: mousepad}, {wait_window: {title: Mousepad}}]
check:
  - {element: {role: text, value: milk, state: editable}}
  - {element: {role: check box, name: Match case, state: checked}}
  - {element: {role: check box, name: Match whole word, not: checked}}
  - {element: {role: file chooser, absent: true}}
""")
    desktop_task = load_task(path)
    async with DesktopEnvironment() as desktop:
        scorer = TaskScorer()
        await scorer.prepare(desktop_task, desktop)
        before = await scorer.score(desktop_task, desktop, "succeeded")
        assert (before.value, before.partial) == (0.0, 0.25)
        assert before.detail.startswith('no such text "" is showing; closest: text "": its value')
        await desktop.act([Write("milk"), Hotkey(("ctrl", "r"))])
        box = await await_element(desktop, "Match case")
        opened = await scorer.score(desktop_task, desktop, "succeeded")
        assert (opened.value, opened.partial) == (0.0, 0.75)
        assert 'closest: check box "Match case": not checked; ' in opened.detail
        await desktop.act([Click(Point(*box.box.centre.to_pixels(), "screen"))])
        after = await scorer.score(desktop_task, desktop, "succeeded")
        assert after.value == 1.0, after.detail


async def await_element(desktop: DesktopEnvironment, name: str) -> Element:
    wait = Deadline(30.0)
    while not wait.passed:
        observation = await desktop.observe(elements=True, settle=1.0)
        if named := [element for element in observation.elements or () if element.name == name]:
            return named[0]
    raise AssertionError(f"no {name} is showing")
