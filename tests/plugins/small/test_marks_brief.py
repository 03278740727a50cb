"""The list for a small model: ranked by the task, nothing twice, the task's own words last."""

from __future__ import annotations

from hisa.plugins.small.brief_marks import BriefMarks
from hisa.protocols import Task
from hisa.screen.observation import Observation
from tests.grounder.scenes import element, scene


def brief(observation: Observation, instruction: str, room: int = 300) -> list[str]:
    marks, _ = BriefMarks().build_brief(Task("t", instruction), observation, room)
    return [mark.line for mark in marks]


def test_the_tasks_own_words_are_marked_and_last() -> None:
    observation = scene(
        element("static", 'Press "Save" now.', (0, 0, 200, 20)),
        element("push button", "Save", (0, 40, 60, 20)),
    )
    assert brief(observation, 'Press "Save" now.') == [
        'button "Save"',
        "text \"Press 'Save' now.\" (the task's own words)",
    ]


def test_a_text_that_the_task_quotes_is_a_target() -> None:
    observation = scene(element("static", "How to win many friends", (0, 0, 200, 20)))
    assert brief(observation, 'Click "How to win many friends".') == [
        'text "How to win many friends"'
    ]


def test_fields_tell_that_they_are_empty_and_carry_their_labels() -> None:
    observation = scene(
        element("label", "User", (0, 0, 60, 20)),
        element("entry", "", (80, 0, 200, 20)),
        element("password text", "", (80, 40, 200, 20), text="••"),
    )
    assert brief(observation, "Log in.") == ['field near "User" (empty)', "password text (filled)"]


def test_thing_that_the_task_names_is_listed_from_a_crowd() -> None:
    buttons = [element("push button", f"Choice {at}", (10, 14 * at, 90, 12)) for at in range(50)]
    target = element("push button", "Export as PDF", (200, 690, 90, 12))
    listed = brief(scene(*buttons, target), "Export the page as PDF.", room=80)
    assert 'button "Export as PDF"' in listed
    assert len(listed) < 15


def test_things_with_equal_lines_are_named_by_their_rows() -> None:
    observation = scene(
        element("table row", "Anne, Monday", (0, 0, 400, 30)),
        element("push button", "Delete", (300, 5, 60, 20)),
        element("table row", "Misty, Tuesday", (0, 40, 400, 30)),
        element("push button", "Delete", (300, 45, 60, 20)),
        element("label", "Bo", (0, 90, 100, 20)),
        element("push button", "Delete", (300, 90, 60, 20)),
        element("push button", "Send", (0, 200, 60, 20)),
    )
    lines = brief(observation, "Delete the row of Misty")
    assert [line for line in lines if "button" in line] == [
        'button "Delete" of "Anne, Monday"',
        'button "Delete" of "Misty, Tuesday"',
        'button "Delete" of "Bo"',
        'button "Send"',
    ]
