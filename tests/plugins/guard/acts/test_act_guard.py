"""A call is done where it still means what it was decided to do, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PIL import ImageDraw, ImageOps

from hisa.actions import Action, Click, Drag, Move, Press, Scroll
from hisa.errors import ScreenChanged
from hisa.plugins.guard.acts.sequence_guard import SequenceGuard
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation, Window
from hisa.state.refusals import find_surprise
from hisa.testing.form import FakeEnvironment
from tests.plugins.guard.acts.test_sequence_guard import USABLE, WINDOW, Reader, look

GUARD = SequenceGuard(None)


def thing(role: str, name: str, top: int = 100, *, left: int = 100, parent: int = -1) -> Element:
    box = BoundingBox(left, top, left + 160, top + 40, "screen")
    return Element(role, name, box, name, states=USABLE, window="Form", app="app", parent=parent)


BUTTON = thing("push button", "Continue")
PAY = thing("push button", "Pay $49 now")
AT = Point(180, 120, "image")


def clicks(at: Point = AT, *, target_look: Observation | None = None) -> GroundedCall:
    return GroundedCall(
        ToolCall("", "gui_action", ""), "", (Click(at=at),), target_look=target_look
    )


def keys(*actions: Action) -> GroundedCall:
    return GroundedCall(ToolCall("", "gui_action", ""), "", actions or (Press("enter"),))


def focus(element: Element) -> Element:
    return replace(element, states=element.states | {"focused"})


OTHERS = {
    "covered": (look([BUTTON, PAY]), "push button “Pay $49 now” in place of"),
    "another label": (look([PAY]), "push button “Pay $49 now” in place of"),
    "gone": (look([]), "is no longer at (180, 120)"),
    "moved away": (look([thing("push button", "Continue", 200)]), "is no longer at"),
    "disabled": (
        look([replace(BUTTON, states=frozenset({"showing"}))]),
        "push button “Continue” at (180, 120) is disabled now",
    ),
    "a dialog": (look([BUTTON, thing("dialog", "Sure?", 300)]), "dialog “Sure?” came up"),
    "a message that asks": (
        look([BUTTON, thing("alert", "Sure?", 300), thing("push button", "OK", 300, parent=1)]),
        "alert “Sure?” came up",
    ),
    "a window": (look([BUTTON], WINDOW, Window("2", "Pay", "app")), "a window came up: “Pay”"),
    "another in front": (
        look([BUTTON], replace(WINDOW, active=False), Window("2", "Pay", "app", active=True)),
        "a window came up",
    ),
    "a veil": (
        look([BUTTON], veil=BoundingBox(0, 0, 639, 399, "screen")),
        "the screen around push button “Continue”",
    ),
    "drawn otherwise": (
        look([replace(BUTTON, text="Destroy it")]),
        "push button “Continue” at (180, 120) now holds “Destroy it”",
    ),
}
SAME = {
    "as it was": look([BUTTON]),
    "a pixel further": look([thing("push button", "Continue", 101)]),
    "a message that goes by itself": look([BUTTON, thing("alert", "Saved.", 300)]),
    "more below": look([BUTTON, thing("link", "News", 250), thing("link", "Older", 300)]),
    "a busy title": look([BUTTON], replace(WINDOW, title="(2) Form *")),
    "something beside it": look([BUTTON], veil=BoundingBox(262, 100, 268, 110, "screen")),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_click_on_another_thing_is_objected_to(case: str) -> None:
    now, reason = OTHERS[case]
    assert reason in GUARD.find_objection(clicks(), look([BUTTON]), now)


@pytest.mark.parametrize("case", SAME)
def test_a_click_on_the_same_thing_is_not(case: str) -> None:
    assert GUARD.find_objection(clicks(), look([BUTTON]), SAME[case]) == ""


@pytest.mark.parametrize(("label", "same"), [("Continue", True), ("Pay", False)])
def test_a_button_is_known_by_its_label_whatever_its_border(label: str, same: bool) -> None:
    """Borders that are drawn thicker have longer outlines than the words."""
    planned, now = look([BUTTON]), look([replace(BUTTON, text=label, label="Continue")])
    pen, box = ImageDraw.Draw(now.screenshot.pixels), BUTTON.box
    corners = (box.left, box.top, box.right - 1, box.bottom - 1)
    pen.rectangle(corners, outline="black", width=2)
    pen.line((box.left, box.top, box.right, box.top), fill="white", width=2)
    now = replace(now, elements=planned.elements)
    reason = GUARD.find_objection(clicks(), planned, now)
    assert reason == (
        "" if same else "what is drawn on push button “Continue” is another thing now"
    )


def test_repeated_button_is_identified_by_its_row() -> None:
    def rows(*names: str) -> Observation:
        shown = []
        for number, name in enumerate(names):
            shown += [
                thing("label", name, 100 + 60 * number, left=300),
                thing("push button", "Delete", 100 + 60 * number),
            ]
        return look(shown)

    planned = rows("Alice", "Bob")
    assert GUARD.find_objection(clicks(), planned, rows("Alice", "Bob", "Carol")) == ""
    reason = GUARD.find_objection(clicks(), planned, rows("Bob", "Alice"))
    assert "what stands beside push button “Delete” at (180, 120) is no longer the same" in reason
    held = GUARD.hold(clicks(), planned).precondition
    assert held is not None
    assert BoundingBox(300, 100, 460, 140, "screen") in held.boxes, "the machine watches it too"


def _list(*names: str | tuple[str, ...]) -> Observation:
    """Rows of texts, each with a button to delete it."""
    shown = []
    for number, name in enumerate(names):
        top = 40 + 60 * number
        texts = (name,) if isinstance(name, str) else name
        shown += [thing("label", t, top, left=300 + 170 * n) for n, t in enumerate(texts)]
        shown.append(thing("push button", "Delete", top))
    return look(shown)


FIGURES = {
    "drafts": (("Draft 2", "Draft 3", "Draft 6"), ("Draft 2", "Draft 6", "Draft 3")),
    "invoices": (("10021", "10022", "10023"), ("10021", "10023", "10022")),
    "dates": (("2026-11-02", "2026-11-03"), ("2026-11-02", "2026-11-13")),
    "amounts": ((("Tea", "$4.00"), ("Rye", "$5.00")), (("Tea", "$4.00"), ("Rye", "$9.00"))),
    "whole amounts": ((("Tea", "$4"), ("Rye", "$5")), (("Tea", "$4"), ("Rye", "$9"))),
    "two of one name": ((("Bill", "7"), ("Bill", "8")), (("Bill", "7"), ("Bill", "9"))),
    "appointments": (("9:00", "9:30"), ("9:00", "10:30")),
}


@pytest.mark.parametrize("case", FIGURES)
def test_rows_that_differ_by_figures_alone_are_other_rows(case: str) -> None:
    planned, now = (_list(*names) for names in FIGURES[case])
    second = Point(180, 120, "image")
    assert GUARD.find_objection(clicks(second), planned, planned) == ""
    assert "what stands beside" in GUARD.find_objection(clicks(second), planned, now)


@pytest.mark.parametrize("case", FIGURES)
def test_row_drawn_before_its_element_changes_is_another_row(case: str) -> None:
    """A browser's elements are told a while after they are painted."""
    planned, now = (_list(*names) for names in FIGURES[case])
    late = replace(now, elements=planned.elements)
    assert "what stands beside" in GUARD.find_objection(
        clicks(Point(180, 120, "image")), planned, late
    )


def test_a_row_that_is_chosen_is_drawn_in_other_colours_and_the_same() -> None:
    planned = _list("Draft 3", "Draft 6")
    now = _list("Draft 3", "Draft 6")
    row = now.screenshot.pixels.crop((290, 90, 640, 150))
    now.screenshot.pixels.paste(ImageOps.colorize(row.convert("L"), "white", "navy"), (290, 90))
    assert GUARD.find_objection(clicks(Point(180, 120, "image")), planned, now) == ""


@pytest.mark.parametrize(("was", "current"), [("7", "8"), ("(7)", "(12)"), ("9:41:07", "9:41:08")])
def test_changed_count_or_clock_leaves_a_named_row_the_same(was: str, current: str) -> None:
    planned, now = (_list(("Inbox", "3"), ("Spam", text)) for text in (was, current))
    assert GUARD.find_objection(clicks(Point(180, 120, "image")), planned, now) == ""


def test_field_value_in_a_tool_bar_does_not_name_a_row() -> None:
    def bar(cell: str, *, role: str = "filler", within: str = "tool bar") -> Observation:
        holder = replace(thing(within, "Formula"), box=BoundingBox(50, 90, 700, 150, "screen"))
        field = replace(thing("text", "", left=300), text=cell)
        return look([holder, field, thing("push button", "Sum", left=500), thing(role, "")])

    assert GUARD.find_objection(clicks(), bar("A1"), bar("H4")) == ""
    for other in ({"role": "check box"}, {"within": "table"}):
        moved = GUARD.find_objection(clicks(), bar("A1", **other), bar("H4", **other))
        assert "what stands beside" in moved, "a field may name the row of a control, or of a table"


def test_target_must_have_existed_when_the_click_was_decided() -> None:
    planned, later = look([thing("push button", "Cancel", 200)]), look([BUTTON])
    reason = GUARD.find_objection(clicks(target_look=later), planned, later)
    assert "push button “Continue” came up only after this was decided" in reason
    moved = look([thing("push button", "Continue", 300)])
    assert GUARD.find_objection(clicks(target_look=later), moved, later) == "", "it went there"
    partial = replace(planned, complete=False)
    assert GUARD.find_objection(clicks(target_look=later), partial, later) == "", "nobody knows"


def test_keys_are_refused_where_the_focus_moved() -> None:
    planned = look([focus(BUTTON), thing("push button", "Pay", 200)])
    other = look([BUTTON, focus(thing("push button", "Pay", 200))])
    nowhere = look([BUTTON, thing("push button", "Pay", 200)])
    assert GUARD.find_objection(keys(), planned, planned) == ""
    assert GUARD.find_objection(keys(), planned, other) == (
        "the focus is on push button “Pay”, no longer on push button “Continue”"
    )
    assert "the focus is on push button “Pay” now" in GUARD.find_objection(keys(), nowhere, other)
    assert "no longer on push button “Continue”" in GUARD.find_objection(keys(), planned, nowhere)


def test_drag_is_held_to_both_ends_and_scroll_to_windows_alone() -> None:
    planned = look([BUTTON, thing("label", "Bin", 200)])
    to = Point(180, 220, "image")
    drag = keys(Move(to=AT), Drag(to=to))
    held = GUARD.hold(drag, planned).precondition
    assert held is not None
    for box, at in zip(held.boxes, (AT, to), strict=True):
        assert box.contains(planned.convert(at, "screen"))
    assert "label “Bin”" in GUARD.find_objection(drag, planned, look([BUTTON]))
    scroll = GUARD.hold(keys(Scroll(dy=-3, at=AT)), planned).precondition
    assert scroll is not None
    assert scroll.boxes == ()


async def test_without_elements_the_pixels_around_the_place_decide() -> None:
    async with FakeEnvironment() as machine:
        planned = await machine.observe()
        call = clicks(Point(375, 237, "image"))
        await GUARD.look_again(call, planned, machine)
        machine.move(("save",), 60)
        with pytest.raises(ScreenChanged, match=r"around \(375, 237\) is no longer as it was"):
            await GUARD.look_again(call, planned, machine)


async def test_elements_are_read_where_the_machine_has_them() -> None:
    reader = Reader(look([BUTTON]), look([PAY]))
    with pytest.raises(ScreenChanged, match="Pay"):
        await SequenceGuard(reader).look_again(clicks(), look([BUTTON]), FakeEnvironment())
    assert reader.reads == 1


def test_element_over_a_clicked_one_under_another_name_is_unexpected() -> None:
    place = Place('button "Continue"', AT)
    call = replace(clicks(), places=(place,))
    before = look([BUTTON])
    over = "Over push button “Continue” lies push button “Pay $49 now” now."
    assert find_surprise(call, before, look([BUTTON, PAY])) == over
    assert find_surprise(call, before, look([BUTTON, thing("menu item", "Open")])) == ""
    assert find_surprise(call, before, look([PAY])) == "", "another page lies there"
    assert find_surprise(call, before, before) == ""
