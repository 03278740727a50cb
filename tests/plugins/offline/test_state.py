"""The state manager's jobs by rule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hisa.models.tokens import estimate_tokens
from hisa.outcomes.verdicts import split_verdict
from hisa.plugins.offline.role_answers import Turn, Unanswerable, answer
from tests.plugins.offline.talk import answer_job, sections

ABSTRACT, REFINE = "# Step abstraction", "# Context refinement"
INDUCE, SYNTHESISE = "# Pattern induction", "# Pattern synthesis"


@pytest.mark.parametrize(
    ("outcome", "changes", "expected"),
    [
        ("ok", "Dialog “Save As” appeared.", "Succeeded. Dialog “Save As” appeared."),
        (
            "ok",
            "Text “Name:” now reads “Alice”.\nGone: label “None”.\nThe focus is on entry “A”.",
            "Succeeded. Text “Name:” now reads “Alice”. Gone: label “None”.",
        ),
        ("ok", "", "No visible change."),
        ("failed\nerror: not found: button X", "", "Failed. not found: button X."),
        ("ok\nexit: 0\noutput: 5", "", "Succeeded."),
        ("failed\nexit: 127", "", "Failed. Exit status 127."),
    ],
)
def test_step_is_abstracted_to_its_sentence(outcome: str, changes: str, expected: str) -> None:
    assert (
        answer_job(ABSTRACT, action="tool: gui_action", outcome=outcome, changes=changes)
        == expected
    )


@given(st.text(max_size=400), st.text(max_size=400))
@settings(max_examples=200, deadline=None)
def test_a_step_is_short_and_begins_with_its_verdict(outcome: str, changes: str) -> None:
    reply = answer_job(ABSTRACT, action="x", outcome=outcome, changes=changes)
    assert split_verdict(reply)[0] is not None
    assert len(reply) <= 300
    assert "\n" not in reply
    assert "|" not in reply


def test_answer_stays_within_the_limit_of_the_system_prompt() -> None:
    system = Turn("system", f"{ABSTRACT}\n\nat most 40 tokens (about 30 words)")
    changes = "Text “N” now reads “" + "ä" * 200 + "”."
    user = Turn("user", sections(action="a", outcome="ok", changes=changes))
    assert estimate_tokens(answer((system, user))) <= 40


TASK = 'Open the text editor. Type "SECRET 42". Save the file as "secret.txt".'
STEP = (
    "Step {n}: gui_action | Thought: press the button number {n} | Description: button {n}"
    " | Input: pyautogui.click(1{n}, 20) | Result: {result}"
)


def test_summary_keeps_clicks_and_continues_the_previous_summary() -> None:
    first = answer_job(REFINE, task="x", new_steps=STEP.format(n=1, result="Succeeded. Done."))
    assert first == "Steps 1~1: gui_action pyautogui.click(11, 20): Succeeded. Done"
    second = answer_job(
        REFINE,
        task="x",
        previous_summary=first,
        new_steps=STEP.format(n=2, result="Failed. It is grey."),
    )
    assert second == (
        "Steps 1~2: gui_action pyautogui.click(11, 20): Succeeded. Done"
        "; gui_action pyautogui.click(12, 20): Failed. It is grey"
    )


def test_a_summary_stays_bounded_and_forgets_the_oldest() -> None:
    summary = ""
    for n in range(1, 121):
        step = STEP.format(n=n, result="Succeeded. " + "x" * 100)
        summary = answer_job(REFINE, task="x", previous_summary=summary, new_steps=step)
        assert estimate_tokens(summary) <= 800
    assert summary.startswith("Steps 1~120: ")
    assert "click(1120, 20)" in summary
    assert "click(11, 20)" not in summary


def looking(first: str) -> str:
    """A click that is found in a menu after a first try with that result."""
    head = "gui_action | Thought: Instruction 2 of 4"
    return (
        "Step 1: bash_execution | Thought: Instruction 1 of 4 | Input: setsid -f mousepad"
        " | Result: Succeeded.\n"
        f'Step 2: {head} | Description: "Wrap" | Input: pyautogui.click(9, 9) | Result: {first}\n'
        f"Step 3: {head}, look 2: open a menu"
        ' | Description: menu "Document" | Input: pyautogui.click(9, 9) | Result: Succeeded.\n'
        f'Step 4: {head} | Description: "Wrap" | Input: pyautogui.click(9, 90) | Result: Succeeded.'
    )


@pytest.mark.parametrize("result", ["No visible change.", "Failed. Grey.", "Unexpected. A beep."])
def test_a_way_that_failed_before_another_one_worked_is_a_general_lesson(result: str) -> None:
    reply = answer_job(INDUCE, task=TASK, steps=looking(result))
    (pattern,) = json.loads(reply)["patterns"]
    assert (pattern["type"], pattern["scope"]) == ("success", "application")
    assert pattern["steps"] == [3, 4]
    assert "text editor" in pattern["lesson"]
    assert 'open the "Document" menu' in pattern["lesson"]
    assert all(pattern.values())
    assert not any(word in reply for word in ("SECRET", "42", "secret.txt"))
    assert answer_job(INDUCE, task=TASK, steps=looking(result)) == reply


def test_advice_is_lessons_by_similarity_with_their_marks() -> None:
    reply = answer_job(
        SYNTHESISE,
        task="x",
        requirements="- Save in the given format.\n- Never delete files.",
        lessons=(
            "[p1] (success, 0.55) Click the field before typing.\n"
            "[p2] (failure, 0.81) Don't use the menu to save.\n"
            "[p3] (failure, 0.70) Don't use the menu to save!\n"
            "[p4] (success, 0.60) Wait for the window."
        ),
    )
    assert reply.split("\n") == [
        "- [p2] Don't use the menu to save.",
        "- [p4] Wait for the window.",
        "- [p1] Click the field before typing.",
    ]


def test_an_unknown_job_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Unanswerable, match="Global planner"):
        answer((Turn("system", "# Element locator"), Turn("user", "find it")))
