"""The rules for writing tasks, on instructions that keep them and that break each one."""

from __future__ import annotations

import pytest

from hisa.plugins.synthesis.task_writing import no_task


@pytest.mark.parametrize(
    "instruction",
    [
        "Set the font of the text editor to Monospace 14.",
        'Add the line "Berlin" to notes.txt and save the file.',
        "In the text editor, open Preferences in the Edit menu, then turn on Wrap.",
        "Open notes.txt" + ", then add a line" * 5 + " and save notes.txt.",
    ],
)
def test_a_task_has_no_reason_against_it(instruction: str) -> None:
    assert no_task(instruction) == []


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        ("Set org.xfce.mousepad wrap to true.", "gives the check away"),
        ("Explore the preferences of the editor.", "no end that can be verified"),
        ("Name the file {name} and save.", "a gap"),
        ("Wrap lines.", "fewer than 3 words"),
        ("Open the File menu of the text editor.", "passes by itself"),
        ('Open "Go to" in the Search menu of the text editor.', "passes by itself"),
        ('In the shop, open the context menu of "50 bytes" in the window A.', "passes by itself"),
        ("In the text editor, open Fonts in the View menu, then click Cancel.", "passes by itself"),
        ("In the text editor, turn on A" + ", then turn on A" * 6, "a walk of many steps"),
        ("Открой файл notes.txt и сохрани документ", "not in English"),
    ],
)
def test_broken_writing_rule_gives_its_own_reason(instruction: str, reason: str) -> None:
    assert any(reason in violation for violation in no_task(instruction)), no_task(instruction)
