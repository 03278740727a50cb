"""The lines of real runs mislead nobody: what once did is found by a checker, and is no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from hisa.actions import parse
from hisa.events import Abstracted, Planned, Refined
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.runs.read import load_run
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation, Window
from hisa.state.changes import describe_changes
from hisa.state.context import in_short
from tests.plugins.offline.talk import asked
from tests.state.line_faults import line_faults, run_faults
from tests.state.scene import SCREEN, element, look, picture
from tests.state.test_changes import element_lists

OLD = Path(__file__).parents[1] / "data" / "runs_of_version_1" / "runs"
HEAD = "Step 1: gui_action | Thought: Go on. | Input: pyautogui.click(1, 2) | Result: Succeeded. "
TITLE = "a window's title told as a value"


def acts(source: str, *places: Point) -> GroundedCall:
    call = ToolCall("Go on.", "gui_action", source, actions=parse(source))
    return GroundedCall(call, source, call.actions, tuple(Place("it", at) for at in places))


def said(before: Observation, after: Observation, call: GroundedCall | None = None) -> str:
    """What the state role's rules say of a step between two looks."""
    changes = describe_changes(before, after, BoundingBox(0, 0, 320, 180), call) or ()
    return asked("# Step abstraction", action="a", outcome="ok", changes="\n".join(changes))


def boxed(number: int, name: str, *states: str, role: str = "check box") -> Element:
    """One of several controls below each other, 20 image pixels high."""
    top = 40 * number
    return element(role, name, BoundingBox(20, top, 200, top + 40, "screen"), "", *states)


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        ("Frame “a.txt” now reads “*a.txt”.", TITLE),
        ("Text now reads “x”; Root pane “a” now reads “b”.", TITLE),
        ("Combo box “Medium” now reads “Medium”.", "a thing that now reads what it is called"),
        ("Text “Name” now reads “\ufffc”.", "an object replacement character"),
        ("New text: “Save”, “|=”. Text gone: “Ready”.", "noise read as text"),
        ("New text: “Case sensitive”, “Inc … “Sort Key 1”.", "two quotations made one"),
    ],
)
def test_a_fault_in_a_line_is_found(result: str, fault: str) -> None:
    assert line_faults(HEAD + result) == [fault]


@pytest.mark.parametrize(
    "result",
    [
        "Label “1 of 2” now reads “2 of 2”. The window in front is now “*a.txt”.",
        "New text: “Save”, “7”. Text gone: “né a”.",
        "New text: “Time”, … Text gone: “F19”, … “Date Time”.",
        "Clicked it: check box “Bold” is now checked.",
    ],
)
def test_a_true_line_has_none(result: str) -> None:
    assert line_faults(HEAD + result) == []


def test_a_scroll_told_as_a_click_is_found() -> None:
    line = HEAD.replace("click(1, 2)", "moveTo(1, 2); pyautogui.scroll(-5)")
    assert line_faults(line + "Clicked the list.") == ["a scroll told as a click"]
    assert line_faults(line + "The list shows more rows.") == []


def test_a_step_in_short_makes_no_two_quotations_one() -> None:
    came, gone = (
        "“Case sensitive”, “Include formats”, “Natural sort”",
        "“Sort Key 1”, “Ascending”",
    )
    line = f"{HEAD}New text: {came}. Text gone: {gone}."
    for brief in (True, False):
        assert line_faults(in_short(line, brief=brief)) == []
    assert "“Case sensitive”, “Include" in in_short(line, brief=False)


def test_a_quotation_that_a_summary_cuts_is_closed() -> None:
    line = (
        "Step 3: gui_action | Input: pyautogui.click(626, 440) | Result: Succeeded. Toggle button "
        "is no longer checked. Gone: table cell “ODF Spreadsheet (.ods)”, table cell “Text CSV”."
    )
    short = in_short(line, brief=False)
    assert short.endswith("“ODF …”")
    assert line_faults(f"{short}; gui_action x … y: Succeeded. Text now reads “a”") == []


def test_what_is_lost_between_the_lines_of_a_run_is_found() -> None:
    thought = "The next page. Prices so far: $337."
    planned = Planned(step=1, thought=thought, tool="gui_action", input="pyautogui.press('a')")
    line = "Step 1: gui_action | Thought: The next page.… | Result: Failed. not found: 'x': no."
    missed = Abstracted(line=f'{line} Closest: link "y" at (3, 4)', result="Failed.")
    folded = Refined(text="Steps 1~1: click(3, 4).", first=1, last=1)
    found = [fault.partition(":")[0] for fault in run_faults([planned, missed, folded])]
    assert found == [
        "a value in the thought's tail is cut away",
        "a click that no step made",
        "the candidates of a failed grounding are lost",
    ]


def test_typing_that_nobody_looked_for_is_found() -> None:
    source = "pyautogui.write('tea')"
    planned = Planned(step=1, thought="Type.", tool="gui_action", input=source)
    head = f"Step 1: gui_action | Thought: Type. | Input: {source} | Result: "
    told = "The focus is on entry “Name”, which holds what was typed: “tea”."
    lines = ("No visible change.", f"No visible change. {told}", "Succeeded. It shows tea.")
    found = [run_faults([planned, Abstracted(line=head + line, result=line)]) for line in lines]
    assert [len(faults) for faults in found] == [1, 0, 0]
    assert "was not verified" in found[0][0]


def test_lines_of_recorded_runs_have_no_fault() -> None:
    assert [fault for run in OLD.iterdir() for fault in run_faults(load_run(run).events)] == []


@given(element_lists, element_lists)
@settings(deadline=None)
def test_no_two_looks_make_a_faulty_line(
    before: tuple[Element, ...], after: tuple[Element, ...]
) -> None:
    names = {each.name.casefold() for each in (*before, *after)}
    if not any("“" in name or "”" in name for name in names):
        assert line_faults(said(look(elements=before), look(elements=after))) == []


def test_a_title_is_told_once_and_what_was_typed_before_it() -> None:
    def editor(title: str, text: str) -> Observation:
        frame = element("frame", title, BoundingBox(0, 0, 640, 360, "screen"), "", "active")
        field = element("text", "", BoundingBox(0, 40, 640, 360, "screen"), text, "focused")
        windows = (Window("1", title, "editor", active=True),)
        return Observation(picture(), SCREEN, windows=windows, elements=(frame, field))

    told = said(editor("a.txt", ""), editor("*a.txt", "hi"), acts("pyautogui.write('hi')"))
    assert told == "Succeeded. Text now reads “hi”. The window in front is now “*a.txt”."


def test_a_title_is_told_where_no_window_is_known() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    before, after = (look(elements=(element("frame", t, box, "", "active"),)) for t in "AB")
    assert said(before, after) == "Succeeded. The window in front is now “B”."


def test_a_line_break_is_told_as_one() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    before, after = (look(elements=(element("text", "", box, t),)) for t in ("one", "one\n"))
    assert said(before, after) == "Succeeded. Text now reads “one ⏎”."


def test_a_value_that_is_its_things_name_names_nothing() -> None:
    box = BoundingBox(20, 20, 80, 40, "screen")
    before, after = (look(elements=(element("combo box", "Big", box, t),)) for t in ("Old", "Big"))
    assert said(before, after) == "Succeeded. Combo box now reads “Big”."


def test_the_control_acted_on_comes_first() -> None:
    names = ("Clock", "Price", "Total")
    before = look(elements=tuple(boxed(n, f"{name} 1") for n, name in enumerate(names)))
    after = look(elements=tuple(boxed(n, f"{name} 2") for n, name in enumerate(names)))
    told = said(before, after, acts("pyautogui.click(50, 50)", Point(50, 50)))
    assert told.startswith("Succeeded. Check box “Total 1” now reads “Total 2”.")


def test_all_boxes_that_one_call_ticked_are_named() -> None:
    names = ("tea", "milk", "salt", "rice")
    before = look(elements=tuple(boxed(n, name) for n, name in enumerate(names)))
    after = look(elements=tuple(boxed(n, name, "checked") for n, name in enumerate(names)))
    source = "; ".join(f"pyautogui.click(50, {20 * n + 10})" for n in range(4))
    assert said(before, after, acts(source)) == (
        "Succeeded. Check box “tea”, check box “milk”, check box “salt” and check box “rice” "
        "are now checked."
    )


def test_what_is_in_a_text_and_no_text_is_not_told() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    texts = ("\ufffc\ufffc", "\ufffc tea", "tea")
    none, some, plain = (look(elements=(element("paragraph", "", box, t),)) for t in texts)
    assert said(none, some) == "Succeeded. Paragraph now reads “tea”."
    assert describe_changes(some, plain, BoundingBox(0, 0, 320, 180)) == ()
