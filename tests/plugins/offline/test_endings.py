"""A run of the offline model ends as what it is: done only where nothing was left out or failed."""

from __future__ import annotations

import pytest

from hisa.plugins.offline.instruction_records import (
    Click,
    Press,
    Save,
    Type,
    Wait,
)
from hisa.plugins.offline.instructions import read_script
from tests.plugins.offline.talk import answer_job, line, plan_reply

SAVED = "Press Ctrl+S."


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("Open the text editor. Frobnicate the text. Delete everything nicely.", "Frobnicate"),
        (f"Delete everything nicely. {SAVED}", "Delete everything nicely"),
        ("Make a list of three fruits in the text editor and save it.", "Make a list of three"),
        (f'Type "a". It must be bold. {SAVED}', "It must be bold"),
        (f'Type "a". The title is to be in capitals. {SAVED}', "The title is to be in capitals"),
        ('Save it as "a.txt" in /tmp and print it twice.', "print it twice"),
        (f"Press Ctrl+Z if the text is long. {SAVED}", "if the text is long"),
        ("Click every button.", "Click every button"),
        (f"Type a friendly greeting. {SAVED}", "Type a friendly greeting"),
        ("Wait for the download to finish. Click OK.", "Wait for the download to finish"),
    ],
)
def test_a_sentence_that_asks_for_more_than_a_step_ends_infeasible(
    task: str, sentence: str
) -> None:
    reply = plan_reply(task)
    assert reply["tool"] == "infeasible"
    assert sentence in reply["input"]


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("Hello! I have a note. Press Ctrl+S. Thanks.", [Press(("ctrl", "s"))]),
        ("You will see a note. It has three lines. Press Enter.", [Press(("enter",))]),
        ('Save the file as "a.csv" in CSV format.', [Save("a.csv")]),
        ("Click the Next button.", [Click("Next button")]),
        ("Press OK.", [Click("OK button")]),
        ('When the "A" dialog opens, press F5.', [Wait(2.0, '"A" dialog'), Press(("f5",))]),
        ('Type "if every friend must go"', [Type("if every friend must go")]),
    ],
)
def test_remarks_and_usual_wordings_keep_a_task_from_nothing(
    task: str, steps: list[object]
) -> None:
    script = read_script(task)
    assert list(script.instructions) == steps
    assert not script.unread


@pytest.mark.parametrize(
    "result",
    [
        "Unexpected. “Error: the order could not be sent.” says the dialog that came up.",
        "Failed. not found: 'push button \"Send\"'",
    ],
)
def test_a_last_act_that_went_wrong_is_not_called_done(result: str) -> None:
    task = "Press F5."
    one_try_left = plan_reply(task)
    one_try_left["thought"] = one_try_left["thought"].replace(": press", ", try 3: press")
    reply = plan_reply(task, execution_history=line(3, one_try_left, result))
    assert reply["tool"] == "infeasible"


def test_last_failure_outlives_a_summary_and_a_wait() -> None:
    task = "Press F5."
    went_wrong = line(1, plan_reply(task), "Unexpected. “Error” says the alert that came up.")
    summary = answer_job("# Context refinement", task=task, new_steps=went_wrong)
    waited = "Step 2: wait | Input: 1 | Result: No visible change."
    reply = plan_reply(task, refined_context=summary, execution_history=waited)
    assert reply["tool"] == "infeasible"
