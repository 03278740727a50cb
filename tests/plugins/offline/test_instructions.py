"""English into records."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hisa.plugins.offline.instruction_records import (
    Click,
    Instruction,
    Open,
    Press,
    Run,
    Save,
    Scroll,
    Tick,
    Type,
    Wait,
    phrase_instruction,
)
from hisa.plugins.offline.instructions import MAX_INSTRUCTIONS, read_script
from hisa.plugins.offline.quotes import mask

SENTENCES: list[tuple[str, list[Instruction]]] = [
    ("Open the text editor.", [Open("text editor")]),
    ("Please could you launch LibreOffice Calc", [Open("LibreOffice Calc")]),
    ('open "report.csv"', [Open("", "report.csv")]),
    ("Open the File menu", [Click("File menu")]),
    ("Open a new tab", [Press(("ctrl", "t"))]),
    ("Click the Save button", [Click("Save button")]),
    ("Press Submit", [Click("Submit button")]),
    ("Press any key", []),
    ('Type the word "a" or perhaps "b" into the field', []),
    ("Right click on the row labelled 'Total'", [Click('row labelled "Total"', "right")]),
    (
        "Click File > Save As…",
        [Click("File menu"), Click("Save As… menu item")],
    ),
    (
        'choose "Edit → Select All"',
        [Click("Edit menu"), Click("Select All menu item")],
    ),
    (
        "Click Save As in the File menu",
        [Click("File menu"), Click("Save As menu item")],
    ),
    (
        "In the File menu, click Print",
        [Click("File menu"), Click("Print menu item")],
    ),
    (
        'Select "France" from the Country dropdown',
        [Click("Country dropdown"), Click('"France"')],
    ),
    ("Select all text", [Press(("ctrl", "a"))]),
    (
        "go to https://example.org/a?b=c",
        [Press(("ctrl", "l")), Type("https://example.org/a?b=c"), Press(("enter",))],
    ),
    ('Type "Shopping list"', [Type("Shopping list")]),
    ('Type "He said: click OK. Then run away"', [Type("He said: click OK. Then run away")]),
    (r'type "say \"hi\""', [Type('say "hi"')]),
    ('Enter "Bob" in the Name field', [Type("Bob", "Name field")]),
    ('type into the "Name" field "Bob"', [Type("Bob", '"Name" field')]),
    ("type 5 in cell B2", [Type("5", "cell B2")]),
    ('Fill in the Name field with "Al"', [Type("Al", "Name field", replace=True)]),
    ("Set the Zoom field to 50", [Type("50", "Zoom field", replace=True)]),
    ("Press Enter three times", [Press(("enter",), 3)]),
    ("press the down arrow 4 times", [Press(("down",), 4)]),
    ("Use the keyboard shortcut Ctrl+F to search", [Press(("ctrl", "f"))]),
    ("In the Name field, press Enter", [Press(("enter",))]),
    ("Scroll down once", [Scroll("down", 1)]),
    ("scroll to the bottom", [Scroll("down", 100)]),
    ("wait for two minutes", [Wait(120.0)]),
    ('wait until the "Done" label appears', [Wait(2.0, '"Done" label')]),
    ("Save the file.", [Save()]),
    ("Save the file with Ctrl+S", [Press(("ctrl", "s"))]),
    ('save to "/path/my name.txt"', [Save("/path/my name.txt")]),
    (
        'Save the file as "list.txt" in /home/user/Documents.',
        [Save("/home/user/Documents/list.txt")],
    ),
    ('Save as "/home/user/t.csv" in CSV format', [Save("/home/user/t.csv")]),
    ("Run `ls -l | wc`", [Run("ls -l | wc")]),
    ("Execute the following command:\n```bash\ncd /tmp\nls\n```", [Run("cd /tmp\nls")]),
    ("Close the window", [Press(("alt", "f4"))]),
    ('Check the "Agree" checkbox', [Tick('"Agree" checkbox')]),
    ("untick Wrap lines", [Tick("Wrap lines checkbox", on=False)]),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=[text for text, _ in SENTENCES])
def test_sentence_is_read_as_instructions(text: str, expected: list[Instruction]) -> None:
    assert list(read_script(text).instructions) == expected


def test_the_ways_to_write_several_steps_mean_the_same() -> None:
    expected = [Open("text editor"), Type("a. b; c"), Press(("enter",)), Save()]
    for text in (
        'Open the text editor. Type "a. b; c" and press Enter. Save it.',
        'Open the text editor, then type "a. b; c", press Enter and then save it',
        '1. Open the text editor\n2. Type "a. b; c"\n3. Press Enter\n4. Save it',
        '1) Open the text editor\n2) Type "a. b; c"\n3) Press Enter\n4) Save it',
        '- Open the text editor\n- Type "a. b; c"\n* press Enter\n• Save it',
        'Open the text editor\nType "a. b; c"\nPress Enter\nSave it',
        'First, open the text editor. Next, type "a. b; c". After that, press Enter; then save it.',
        'Step 1: Open the text editor\nStep 2: please type\n"a. b; c"\nStep 3: press Enter\n'
        "Step 4: save it",
        'Open the text editor. Type "a. b; c" Press Enter. Save it.',
    ):
        assert list(read_script(text).instructions) == expected, text


def test_remarks_around_steps_are_no_steps() -> None:
    script = read_script(
        "1. Click OK. You will see a list.\n2. Press F5. Now we have a table.\n"
        "You can also do it in another way."
    )
    assert list(script.instructions) == [Click("OK"), Press(("f5",))]
    assert not script.unread
    assert len(script.ignored) == 3
    assert read_script("1. Press F5\n2. It should be red").unread


@pytest.mark.parametrize(
    "text", ["", "Make the chart nicer.", "Write a poem.", "Check whether it works.", "?!.;", "1."]
)
def test_text_without_an_instruction_gives_none(text: str) -> None:
    assert read_script(text).instructions == ()


@pytest.mark.parametrize(
    "text",
    [
        '"' * 1_000_000,
        "click " * 160_000,
        "1. " * 300_000,
        "type " + '"x" ' * 200_000,
        "<task>\n</task>\n" * 60_000,
        "((((" * 250_000,
        "click a" + " " * 1_000_000 + "b",
        "type " + "x in " * 200_000,
        "press ctrl + " * 80_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_megabyte_of_anything_is_read_in_bounded_work(text: str) -> None:
    """Quadratic work on a megabyte would take hours, so that this ends is what it shows."""
    assert len(read_script(text).instructions) <= MAX_INSTRUCTIONS + 50


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_quotes_are_verbatim(text: str) -> None:
    quoted = text.replace("”", "").replace("“", "").replace("\r", "")
    masked = mask(f"type “{quoted}” now")
    assert masked.quoted[0] == quoted


@given(st.text(alphabet=st.sampled_from("clik typesav \"'“”`.,;:>1\n-/"), max_size=200))
@settings(max_examples=300, deadline=None)
def test_instruction_reader_accepts_any_text(text: str) -> None:
    script = read_script(text)
    assert all(phrase_instruction(instruction) for instruction in script.instructions)
