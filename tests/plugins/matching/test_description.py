"""Reading descriptions: pure text to `Query`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.plugins.matching.description import Query, read_description
from hisa.text.similar import similarity


def kind_word(query: Query) -> str:
    return query.kind.word if query.kind else ""


def list_facts(query: Query) -> dict[str, Any]:
    """What a query says, without what it leaves open."""
    fields: dict[str, Any] = {
        "name": query.name,
        "kind": query.kind and query.kind.word,
        "window": query.window,
        "nth": query.nth,
        "where": set(query.where),
        "labelled": query.labelled,
        "relations": [(r.position, r.anchor.name or kind_word(r.anchor)) for r in query.relations],
    }
    return {key: value for key, value in fields.items() if value}


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("the Save button", {"name": "save", "kind": "button"}),
        ('push button "Save"', {"name": "Save", "kind": "button"}),
        ("checkbox Wrap text", {"name": "wrap text", "kind": "checkbox"}),
        ("don't save button", {"name": "don't save", "kind": "button"}),
        ("the text area", {"kind": "text area"}),
        ("the second row", {"kind": "row", "nth": 2}),
        ("the last menu but one", {"kind": "menu", "nth": -2}),
        (
            "bottom left radio button of the matrix",
            {
                "kind": "radio button",
                "where": {"bottom", "left"},
                "relations": [("within", "matrix")],
            },
        ),
        ("the tick in front of 'Tea'", {"kind": "checkbox", "relations": [("left", "Tea")]}),
        (
            "the last item in the list",
            {"kind": "item", "nth": -1, "relations": [("within", "list")]},
        ),
        ('text labelled "Name:"', {"name": "Name:", "kind": "text", "labelled": True}),
        ("the input field for the file name", {"name": "file name", "kind": "field"}),
        ("the button that says “Don't Save”", {"name": "Don't Save", "kind": "button"}),
        ("OK in the dialog 'Question'", {"name": "ok", "window": "Question"}),
        (
            "Save button in the Save As dialog",
            {"name": "save", "kind": "button", "window": "save as"},
        ),
        (
            "the 'Save As...' menu item in the File menu",
            {"name": "Save As...", "kind": "menu item", "relations": [("within", "file")]},
        ),
        (
            "The blue 'Save' button at the bottom right of the dialog",
            {"name": "Save", "kind": "button", "where": {"bottom", "right"}},
        ),
        (
            "The 'File' menu in the menu bar at the top left of the Mousepad window",
            {
                "name": "File",
                "kind": "menu",
                "window": "mousepad",
                "relations": [("within", "menu bar")],
                "where": {"top", "left"},
            },
        ),
        (
            "the button to the right of the Name field",
            {"kind": "button", "relations": [("right", "name")]},
        ),
        (
            "the text editing area of Mousepad",
            {"kind": "text area", "relations": [("within", "mousepad")]},
        ),
    ],
)
def test_the_usual_reading(description: str, expected: dict[str, Any]) -> None:
    usual = read_description(description)[-1]
    assert {key: list_facts(usual).get(key) for key in expected} == expected
    assert list_facts(usual).keys() - expected.keys() <= {"labelled"}


@given(st.text(max_size=300))
def test_any_text_has_a_reading(description: str) -> None:
    assert 1 <= len(read_description(description)) <= 7


@pytest.mark.parametrize(
    ("name", "text", "low", "high"),
    [
        ("save as", "Save As...", 1, 1),
        ("Name", "Name:", 1, 1),
        ("bold", "Bold (Ctrl+B)", 1, 1),
        ("file", "_File", 1, 1),
        ("letter.txt", "lettertxt", 0.9, 1),
        ("wrap text", "Wrap text automatically", 0.6, 0.9),
        (
            "Dear reader, this is a letter",
            "Dear reader,\nthis is a letter\nabout" + " x" * 999,
            0.9,
            1,
        ),
        ("save", "Save As...", 0, 0.6),
        ("save as", "Save", 0, 0.6),
        ("save", "Safe", 0, 0.6),
        ("open", "Open Recent", 0, 0.6),
        ("sheet1", "Sheet2", 0, 0.6),
        ("ok", "", 0, 0),
        ("", "OK", 0, 0),
    ],
)
def test_similarity(name: str, text: str, low: float, high: float) -> None:
    assert low <= similarity(name, text) <= high
