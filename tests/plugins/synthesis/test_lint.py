"""The rules for writing tasks, on instructions that keep them and that break each one."""

from __future__ import annotations

import pytest

from hisa.plugins.synthesis.lint import lint
from hisa.plugins.synthesis.records import Change, Fact

FONT = Change(
    fact=Fact("gsettings", "org.xfce.mousepad.preferences.view", "font-name"),
    before="'Monospace 10'",
    after="'Monospace 14'",
)
TEXT = Change(
    fact=Fact("text", "~/Documents/notes.txt"), before="Meet Ana\n", after="Meet Ana\nBerlin\n"
)
SWITCH = Change(fact=Fact("gsettings", "a.b", "wrap"), before="false", after="true")


@pytest.mark.parametrize(
    ("instruction", "changes"),
    [
        ("Set the font of the text editor to Monospace 14.", [FONT]),
        ('Add the line "Berlin" to notes.txt and save the file.', [TEXT]),
        ("In the text editor, open Preferences in the Edit menu, then turn on Wrap.", [SWITCH]),
        ("Open notes.txt" + ", then add a line" * 5 + " and save notes.txt.", [SWITCH]),
        ('Turn on "Wrap this now or later" in the text editor.', [SWITCH]),
    ],
)
def test_a_good_instruction_has_no_reason_against_it(
    instruction: str, changes: list[Change]
) -> None:
    assert lint(instruction, changes=changes) == []


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        ("Save it in the folder Documents.", "refers to something"),
        ("Choose some good colours for the page.", "more than one reading"),
        ("Make the title bold or italic.", "leaves a choice"),
        ("Add a meeting for tomorrow to the calendar.", "a time that passes"),
        ("Set org.xfce.mousepad wrap to true.", "gives the check away"),
        ("Explore the preferences of the editor.", "no end that can be verified"),
        ("Click the button with the cross.", "which control to use"),
        ("Install the extension for dark pages.", "more than the start holds"),
        ("Fill the cell B2 with maroon.", "a colour"),
        ("Name the file {name} and save.", "a gap"),
        ("Wrap lines.", "fewer than 3 words"),
        ("word " * 100, "more than 80 words"),
        ("Open the File menu of the text editor.", "passes by itself"),
        ('Open "Go to" in the Search menu of the text editor.', "passes by itself"),
        ('In the shop, open the context menu of "50 bytes" in the window A.', "passes by itself"),
        ("In the text editor, open Fonts in the View menu, then click Cancel.", "passes by itself"),
        ("In the text editor, turn on A" + ", then turn on A" * 6, "a walk of many steps"),
        ("Открой файл notes.txt и сохрани документ", "not in English"),
    ],
)
def test_each_rule_is_told_apart(instruction: str, reason: str) -> None:
    assert any(reason in one for one in lint(instruction)), lint(instruction)


def test_values_that_are_checked_must_be_named() -> None:
    assert lint("Make the font of the text editor larger.", changes=[FONT]) == [
        "does not name the value '14'"
    ]


def test_with_several_documents_the_one_that_changes_is_named() -> None:
    documents = ["~/Documents/notes.txt", "~/Documents/plan.txt"]
    reasons = lint('Add the line "Berlin" and save.', changes=[TEXT], documents=documents)
    assert reasons == ["does not name the file 'notes.txt'"]
