"""Differences of windows, focus and elements in words."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from hisa.state.changes import MAX_CHARS, MAX_LINES, describe_changes
from tests.state.scene import SCREEN, element, look, picture

ROI = BoundingBox(0, 0, 160, 90)
SAVE = element("push button", "Save", BoundingBox(20, 20, 80, 40, "screen"))
FAR = element("push button", "Far", BoundingBox(500, 300, 560, 340, "screen"))


def told(
    before: tuple[Element, ...], after: tuple[Element, ...], roi: BoundingBox | None = ROI
) -> object:
    return describe_changes(look(elements=before), look(elements=after), roi)


def test_nothing_is_told_where_elements_are_unknown() -> None:
    assert describe_changes(look(), look(elements=()), ROI) is None
    assert describe_changes(look(elements=()), look(), ROI) is None


def test_nothing_is_gone_from_a_list_that_is_not_complete() -> None:
    whole = look(elements=(SAVE, FAR), title="A")
    partial = replace(look(elements=(FAR,), title="B"), complete=False)
    assert describe_changes(whole, partial, ROI) == ("window: A -> B",)
    assert describe_changes(partial, whole, ROI) == ("window: B -> A",)


def test_windows_are_told_without_elements() -> None:
    assert describe_changes(look(title="A"), look(title="B"), ROI) == ("window: A -> B",)


def test_no_difference_is_an_empty_answer() -> None:
    assert told((SAVE,), (SAVE,)) == ()


def test_appeared_and_gone() -> None:
    entry = element("entry", "Name", BoundingBox(20, 50, 80, 60, "screen"), "abc")
    assert told((), (SAVE, entry)) == ('+ push button "Save"', '+ entry "Name" text="abc"')
    assert told((SAVE,), ()) == ('- push button "Save"',)


def test_boxes_are_compared_in_image_space() -> None:
    # In screen pixels this one lies right of the box, in image pixels inside it.
    inside = element("label", "In", BoundingBox(200, 100, 300, 120, "screen"))
    assert told((), (inside,)) == ('+ label "In"',)
    assert told((), (FAR,)) == ()
    assert told((), (inside,), None) == ()


def test_changed_text_and_name_and_state() -> None:
    box = BoundingBox(20, 50, 80, 60, "screen")
    assert told((element("entry", "Name", box, "a"),), (element("entry", "Name", box, "b"),)) == (
        '~ entry "Name": "a" -> "b"',
    )
    assert told((element("label", "1 of 2", box),), (element("label", "2 of 2", box),)) == (
        '~ label "1 of 2": "1 of 2" -> "2 of 2"',
    )
    off, on = (
        element("check box", "Bold", box),
        element("check box", "Bold", box, "", "checked"),
    )
    assert told((off,), (on,)) == ('~ check box "Bold": "" -> "checked"',)


def test_a_change_deep_in_a_long_text_is_shown() -> None:
    box = BoundingBox(20, 50, 80, 60, "screen")
    was, now = "x" * 500 + "old", "x" * 500 + "new"
    (line,) = describe_changes(
        look(elements=(element("text", "Page", box, was),)),
        look(elements=(element("text", "Page", box, now),)),
        ROI,
    ) or ("",)
    assert line.endswith('old" -> "…xxxxxxxxxxxxnew"')


def test_a_moved_element_is_no_change() -> None:
    moved = element("push button", "Save", BoundingBox(22, 60, 82, 80, "screen"))
    assert told((SAVE,), (moved,)) == ()


def test_focus() -> None:
    box = BoundingBox(20, 50, 80, 60, "screen")
    frame = element("frame", "Window", BoundingBox(0, 0, 640, 360, "screen"), "", "focused")
    one = element("entry", "Name", box, "", "focused")
    assert told((), (frame, one)) != ()
    assert told((SAVE, frame), (SAVE, frame, one)) == (
        'focus: frame "Window" -> entry "Name"',
        '+ entry "Name"',
    )
    typed = element("entry", "Name", box, "a", "focused")
    assert told((one,), (typed,)) == ('~ entry "Name": "" -> "a"',)


def test_windows_opened_closed_and_renamed() -> None:
    def desktop(*titles: str) -> Observation:
        windows = tuple(
            Window(id=title, title=title, app="a", active=number == 0)
            for number, title in enumerate(titles)
        )
        return Observation(picture(), SCREEN, windows=windows)

    assert describe_changes(desktop("Main"), desktop("Save as", "Main"), ROI) == (
        "window: Main -> Save as",
        '+ window "Save as"',
    )
    assert describe_changes(desktop("Save as", "Main"), desktop("Main"), ROI) == (
        "window: Save as -> Main",
        '- window "Save as"',
    )
    assert describe_changes(desktop("a.txt"), desktop("*a.txt"), ROI) == (
        "window: a.txt -> *a.txt",
    )
    assert describe_changes(desktop(), desktop("Main"), ROI) == (
        "window: (none) -> Main",
        '+ window "Main"',
    )


def test_a_window_that_got_another_title_is_not_gone() -> None:
    def desktop(*windows: tuple[str, str]) -> Observation:
        shown = tuple(
            Window(id=id_, title=title, app="a", active=number == 0)
            for number, (id_, title) in enumerate(windows)
        )
        return Observation(picture(), SCREEN, windows=shown)

    saving, saved = desktop(("2", "Save as"), ("1", "*new")), desktop(("1", "a.txt"))
    assert describe_changes(saving, saved, ROI) == (
        "window: Save as -> a.txt",
        '- window "Save as"',
    )


def test_passwords_stay_unread() -> None:
    box = BoundingBox(20, 50, 80, 60, "screen")
    before = element("password text", "PIN", box)
    after = element("password text", "PIN", box, "1234")
    assert "1234" not in str(told((before,), (after,)))


def test_dialogs_come_first() -> None:
    dialog = element("dialog", "Question", BoundingBox(10, 10, 90, 90, "screen"))
    answer = replace(SAVE, window="Question")
    assert told((), (answer, dialog)) == ('+ dialog "Question"', '+ push button "Save"')


names = st.text(max_size=300)
boxes = st.builds(
    lambda x, y: BoundingBox(x, y, x + 30, y + 10, "screen"),
    st.integers(0, 100),
    st.integers(0, 60),
)
element_lists = st.lists(
    st.builds(element, st.sampled_from(["label", "entry"]) | names, names, boxes, names),
    max_size=40,
).map(tuple)


@given(element_lists, element_lists, names, names)
def test_lines_are_bounded_whatever_the_screen_says(
    before: tuple[Element, ...], after: tuple[Element, ...], old: str, new: str
) -> None:
    lines = describe_changes(look(elements=before, title=old), look(elements=after, title=new), ROI)
    assert lines is not None
    assert len(lines) <= MAX_LINES
    for line in lines:
        assert len(line) <= MAX_CHARS
        assert "\n" not in line
        line.encode()


def test_the_number_of_left_out_lines_is_told() -> None:
    many = tuple(
        element("label", f"Row {number}", BoundingBox(0, number, 50, number + 1, "screen"))
        for number in range(100)
    )
    lines = told((), many)
    assert isinstance(lines, tuple)
    assert len(lines) == MAX_LINES
    assert lines[-1] == "… and 81 more changes"
