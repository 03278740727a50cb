"""Differences of windows, focus and elements in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from hisa.state.changes import describe_changes
from tests.state.scene import SCREEN, element, look, picture

ROI = BoundingBox(0, 0, 160, 90)
BOX = BoundingBox(20, 50, 80, 60, "screen")
SAVE = element("push button", "Save", BoundingBox(20, 20, 80, 40, "screen"))
FAR = element("push button", "Far", BoundingBox(500, 300, 560, 340, "screen"))


def describe(
    before: tuple[Element, ...], after: tuple[Element, ...], roi: BoundingBox | None = ROI
) -> object:
    return describe_changes(look(elements=before), look(elements=after), roi)


def test_changes_without_elements_are_not_described() -> None:
    assert describe_changes(look(), look(elements=()), ROI) is None
    assert describe_changes(look(elements=()), look(), ROI) is None


def test_incomplete_list_reports_no_element_as_gone() -> None:
    full = look(elements=(SAVE, FAR), title="A")
    partial = replace(look(elements=(FAR,), title="B"), complete=False)
    assert describe_changes(full, partial, ROI) == ("The window in front is now “B”.",)


def test_appeared_and_gone() -> None:
    entry = element("entry", "Name", BOX, "abc")
    assert describe((SAVE,), (SAVE,)) == ()
    assert describe((), (SAVE, entry)) == ("New on the screen: push button “Save”, entry “abc”.",)
    assert describe((SAVE,), ()) == ("Gone: push button “Save”.",)


def test_boxes_are_compared_in_image_space() -> None:
    # In screen pixels this one lies right of the box, in image pixels inside it.
    inside = element("label", "In", BoundingBox(200, 100, 300, 120, "screen"))
    assert describe((), (inside,)) == ("New on the screen: label “In”.",)
    assert describe((), (FAR,)) == ()
    assert describe((), (inside,), None) == ()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (("entry", "Name", "a"), ("entry", "Name", "b"), "Entry “Name” now reads “b”."),
        (("label", "1 of 2", ""), ("label", "2 of 2", ""), "Label “1 of 2” now reads “2 of 2”."),
        (
            ("check box", "Bold", ""),
            ("check box", "Bold", "", "checked"),
            "Check box “Bold” is now checked.",
        ),
        (
            ("text", "Page", "x" * 500 + "old"),
            ("text", "Page", "x" * 500 + "new"),
            "Text “Page” now reads “…xxxxxxxxxxxxnew”.",
        ),
    ],
)
def test_changed_text_and_name_and_state(
    old: tuple[str, ...], new: tuple[str, ...], sentence: str
) -> None:
    was, now = (element(role, name, BOX, text, *states) for role, name, text, *states in (old, new))
    assert describe((was,), (now,)) == (sentence,)


def test_moved_element_does_not_count_as_change() -> None:
    moved = element("push button", "Save", BoundingBox(22, 60, 82, 80, "screen"))
    assert describe((SAVE,), (moved,)) == ()


def test_focus() -> None:
    frame = element("frame", "Window", BoundingBox(0, 0, 640, 360, "screen"), "", "focused")
    field = element("entry", "Name", BOX, "", "focused")
    assert describe((SAVE, frame), (SAVE, frame, field)) == (
        "New on the screen: entry “Name”.",
        "The focus is on entry “Name”.",
    )
    typed = element("entry", "Name", BOX, "a", "focused")
    assert describe((field,), (typed,)) == ("Entry “Name” now reads “a”.",)


def desktop(*titles: str) -> Observation:
    windows = tuple(
        Window(id=title.strip("*"), title=title, app="a", active=number == 0)
        for number, title in enumerate(titles)
    )
    return Observation(picture(), SCREEN, windows=windows)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (("Main",), ("Save as", "Main"), "Window “Save as” appeared."),
        (("Save as", "Main"), ("Main",), "Window “Save as” is gone."),
        (("a.txt",), ("*a.txt",), "The window in front is now “*a.txt”."),
        (("Save as", "*new"), ("new",), "Window “Save as” is gone."),
        ((), ("Main",), "Window “Main” appeared."),
    ],
)
def test_windows_opened_closed_and_renamed(
    before: tuple[str, ...], after: tuple[str, ...], sentence: str
) -> None:
    assert describe_changes(desktop(*before), desktop(*after), ROI) == (sentence,)


def test_passwords_stay_unread() -> None:
    before = element("password text", "PIN", BOX)
    assert "1234" not in str(describe((before,), (replace(before, text="1234"),)))


def test_an_element_without_a_name_is_called_by_its_label_or_description() -> None:
    labelled = replace(element("entry", "", BOX), label="Your name")
    described = replace(element("icon", "", BOX), description="A disk")
    assert describe((labelled, described, element("panel", "", BOX)), ()) == (
        "Gone: entry “Your name”.",
    )


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
def test_sentences_are_bounded_whatever_the_screen_says(
    before: tuple[Element, ...], after: tuple[Element, ...], old: str, new: str
) -> None:
    sentences = describe_changes(
        look(elements=before, title=old), look(elements=after, title=new), ROI
    )
    assert sentences is not None
    assert len(sentences) <= 12
    for sentence in sentences:
        assert len(sentence) <= 800
        assert "\n" not in sentence
        sentence.encode()
