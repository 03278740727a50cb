"""A task's words choose a program, or none: as a whole, in one way, whatever they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.plugins.replay.fitting import fitting_program
from hisa.plugins.replay.program_records import (
    Parameter,
    Program,
    ProgramStep,
    Proof,
    write_program,
)
from hisa.protocols import Task

PROOF = Proof(run="r", by="check", at="2026-01-01T00:00:00")


def store(
    folder: Path,
    name: str,
    instruction: str,
    /,
    *,
    proof: Proof | None = PROOF,
    source: tuple[str, ...] = ("r1",),
    **values: str,
) -> Path:
    program = Program(
        name=name,
        instruction=instruction,
        screen=(1, 1),
        task={},
        proof=proof,
        source=source,
        steps=(ProgramStep(action="pyautogui.press('enter')"),),
        parameters={key: Parameter(value=value) for key, value in values.items()},
    )
    write_program(program, folder / name)
    return folder / name


def fit(folder: Path, instruction: str) -> tuple[Path, dict[str, str]] | None:
    program = fitting_program(Task("t", instruction), folder)
    return None if isinstance(program, str) else program


LOGIN = 'Enter the username "{{user}}" and the password "{{password}}" into the fields.'


def test_the_values_are_what_stands_for_the_marks(tmp_path: Path) -> None:
    place = store(tmp_path, "login", LOGIN, user="ann", password="x1")
    asked = 'Enter the username "bo lind"  and the password\n"q, and z" into the fields.\n'
    assert fit(tmp_path, asked) == (place, {"user": "bo lind", "password": "q, and z"})


@pytest.mark.parametrize(
    "instruction",
    [
        'Enter the username "bo" and the password "q" into the fields. Then log out.',
        'Please enter the username "bo" and the password "q" into the fields.',
        'Enter the username "" and the password "q" into the fields.',
        'Enter the username "{{secret:bank}}" and the password "q" into the fields.',
        'Enter the username "a" and the password "b" and the password "c" into the fields.',
        'Enter the username "two\nlines" and the password "q" into the fields.',
        "",
    ],
)
def test_what_says_more_less_or_two_things_does_not_fit(tmp_path: Path, instruction: str) -> None:
    store(tmp_path, "login", LOGIN, user="ann", password="x1")
    assert fit(tmp_path, instruction) is None


def test_words_without_quotes_do_not_swallow_another_wish(tmp_path: Path) -> None:
    place = store(tmp_path, "type", "Type {{text}} and save it as {{file}}.", text="a", file="b")
    assert fit(tmp_path, "Type soy milk and save it as c.txt.") == (
        place,
        {"text": "soy milk", "file": "c.txt"},
    )
    assert fit(tmp_path, "Type milk. Close it, and save it as c.txt.") is None
    assert fit(tmp_path, "Type milk and save it as c.txt and mail it to Bo.") is None


def test_forms_bind_only_to_one_path(tmp_path: Path) -> None:
    place = store(
        tmp_path,
        "save",
        "Save {{file|stem}} as {{file}}, that is {{file|file}}.",
        file="/home/user/a.txt",
    )
    assert fit(tmp_path, "Save b as ~/x/b.md, that is b.md.") == (place, {"file": "~/x/b.md"})
    assert fit(tmp_path, "Save b as ~/x/b.md, that is c.md.") is None
    assert fit(tmp_path, "Save c as ~/x/b.md, that is b.md.") is None


def test_a_form_alone_changes_that_part_of_the_path(tmp_path: Path) -> None:
    place = store(tmp_path, "save", "Save it as {{file|file}}.", file="/home/user/a.txt")
    assert fit(tmp_path, "Save it as b.txt.") == (place, {"file": "/home/user/b.txt"})
    assert fit(tmp_path, "Save it as x/b.txt.") is None


def test_what_no_word_speaks_of_is_not_guessed(tmp_path: Path) -> None:
    store(tmp_path, "note", "Save the shopping list.", source=("r1", "r2"), text="milk")
    assert fit(tmp_path, "Save the shopping list.") is None
    place = store(tmp_path, "file", "Save it under ~/a.txt.", path="/home/user/a.txt")
    assert fit(tmp_path, "Save it under ~/a.txt.") == (place, {})


def test_a_program_of_one_run_fits_the_task_that_it_was_made_of(tmp_path: Path) -> None:
    """A date is typed as figures, and the task says it in words: these are that date's."""
    place = store(tmp_path, "trip", "Book a trip for 24 November 2026.", departure="11242026")
    assert fit(tmp_path, "Book a trip for 24 November 2026.") == (place, {})
    assert fit(tmp_path, "Book a trip for 25 November 2026.") is None


@pytest.mark.parametrize(
    ("template", "instruction", "reason"),
    [
        ("Book {{town}} now.", "Sell Porto now.", "{{town}}"),
        ("Book {{town}} or {{town}}.", "Book Porto or Faro.", "two texts"),
        ("Book {{town}}.", "Book Porto and then pay.", "Porto and then pay"),
        ("Book a trip.", "Book a trip.", "--set town"),
    ],
)
def test_why_no_program_fits_is_said_of_the_closest(
    tmp_path: Path, template: str, instruction: str, reason: str
) -> None:
    store(tmp_path, "trip", template, source=("r1", "r2"), town="Faro")
    store(tmp_path, "other", "Open the text editor.")
    assert fitting_program(Task("t", "Book a trip."), tmp_path / "none") == "there is none"
    found = fitting_program(Task("t", instruction), tmp_path)
    assert isinstance(found, str)
    assert found.startswith("closest is trip: ")
    assert reason in found


def test_the_one_that_says_most_wins_and_a_tie_is_nobody(tmp_path: Path) -> None:
    store(tmp_path, "any", "Open {{what}}.", what="a")
    place = store(tmp_path, "file", "Open the file {{name}}.", name="a")
    assert fit(tmp_path, "Open the file b.txt.") == (place, {"name": "b.txt"})
    store(tmp_path, "twin", "Open the file {{other}}.", other="a")
    assert fit(tmp_path, "Open the file b.txt.") is None


def test_a_template_without_words_of_its_own_fits_nothing(tmp_path: Path) -> None:
    store(tmp_path, "all", "“{{what}}”.", what="a")
    assert fit(tmp_path, "“a”.") is None


def test_unproved_ones_and_what_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    store(tmp_path, "draft", "Open {{what}}.", proof=None, what="a")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "program.yaml").write_text("steps: [", "utf-8")
    notes: list[str] = []
    reason = fitting_program(Task("t", "Open b."), tmp_path, note=notes.append)
    assert reason == "closest is draft: no second run proved it"
    assert len(notes) == 1
    assert "broken" in notes[0]
    place = store(tmp_path, "good", "Open {{what}}.", what="a")
    assert fit(tmp_path, "Open b.") == (place, {"what": "b"})


def test_a_hostile_instruction_is_given_up(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(30)]
    store(
        tmp_path,
        "many",
        " a ".join(f"{{{{{name}}}}}" for name in names) + " b",
        proof=PROOF,
        source=("r1",),
        **dict.fromkeys(names, "x"),
    )
    assert fit(tmp_path, "x a " * 900 + "c b") is None, "more ways than can be tried"
    assert fit(tmp_path, "x" * 1_000_000) is None
    store(tmp_path, "open", "Type {{text}}", text="x")
    assert fit(tmp_path, "Type " + "x" * 1_000_000) is None, "nor is the beginning a value"
