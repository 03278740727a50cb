"""Agent Skills that are made of programs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hisa.errors import UsageError
from hisa.plugins.replay.cli.skill import skill
from hisa.plugins.replay.program_records import (
    Effect,
    Program,
    ProgramStep,
    Target,
    read_program,
    write_program,
)

FIELD = Target(role="text", name="Name:", box=(220, 120, 580, 152))
SAVE = Target(role="push button", name="Save", box=(330, 220, 420, 254))
PROGRAM = Program(
    name="save_a_name",
    instruction='Type "Ada" as the name.\nSave <b>the form</b>. --- [x](../../y)',
    screen=(1280, 720),
    task={
        "id": "form",
        "instruction": 'Type "Ada".',
        "folder": "/somebody/elses/home",
        "check": {"all": [{"command": "echo Ada", "equals": "Ada"}]},
    },
    steps=(
        ProgramStep(action="echo begin", tool="bash_execution", purpose="Look around"),
        ProgramStep(action="pyautogui.click(400, 136)", targets=(FIELD,), purpose="Go there"),
        ProgramStep(action="pyautogui.write('Ada')"),
        ProgramStep(
            action="pyautogui.click(375, 237)",
            targets=(SAVE,),
            effects=(Effect(what="came", role="label", name="Saved"),),
        ),
    ),
)


def run(*words: str) -> Result:
    return CliRunner().invoke(skill, words)


def program(tmp_path: Path, source: Program = PROGRAM) -> Path:
    write_program(source, tmp_path / "programs" / source.name)
    return tmp_path / "programs"


def export_skill(tmp_path: Path, *, source: Program = PROGRAM) -> Path:
    programs = program(tmp_path, source)
    result = run("export", str(programs / source.name), "-o", str(tmp_path / "out"))
    if result.exception:
        raise result.exception
    return tmp_path / "out" / "save-a-name"


def test_an_exported_skill_keeps_the_rules_of_the_specification(tmp_path: Path) -> None:
    folder = export_skill(tmp_path)
    text = (folder / "SKILL.md").read_text("utf-8")
    head, body = text.split("---", 2)[1:]  # as the reference validator splits it
    fields = yaml.safe_load(head)
    assert set(fields) == {
        "name",
        "description",
        "compatibility",
        "metadata",
        "allowed-tools",
    }
    assert fields["name"] == folder.name
    assert len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    assert all(isinstance(value, str) for value in fields["metadata"].values())
    for words in ("Look around", "push button “Save”", "echo Ada"):
        assert words in body
    assert "](../" not in text


def test_exported_skill_is_self_contained(tmp_path: Path) -> None:
    folder = export_skill(tmp_path)
    assert "/somebody" not in (folder / "program.yaml").read_text("utf-8")
    assert read_program(folder).steps == PROGRAM.steps
    assert os.access(folder / "scripts" / "replay.sh", os.X_OK)


def test_files_beside_the_task_come_along_and_no_others(tmp_path: Path) -> None:
    home = tmp_path / "task"
    home.mkdir()
    (home / "check.py").write_text("def right():\n    return True\n", "utf-8")
    task = {**PROGRAM.task, "folder": str(home), "check": {"all": [{"python": "check.py:right"}]}}
    folder = export_skill(tmp_path, source=PROGRAM.model_copy(update={"task": task}))
    assert (folder / "check.py").is_file()
    assert 'cd "$(dirname' in (folder / "scripts" / "replay.sh").read_text("utf-8")
    task["check"] = {"all": [{"python": "../programs.py:right"}]}
    (tmp_path / "programs.py").write_text("")
    with pytest.raises(UsageError, match="lies outside"):
        export_skill(tmp_path / "second", source=PROGRAM.model_copy(update={"task": task}))


def test_a_secret_stays_a_name(tmp_path: Path) -> None:
    step = ProgramStep(action="pyautogui.write('{{secret:mail}}')")
    source = PROGRAM.model_copy(update={"steps": (*PROGRAM.steps[:2], step)})
    text = (export_skill(tmp_path, source=source) / "SKILL.md").read_text("utf-8")
    assert "`{{secret:mail}}`: a secret, never written down" in text


def test_a_credential_is_not_exported(tmp_path: Path) -> None:
    step = ProgramStep(action="curl -H 'Authorization: Bearer abcdefgh12345678' http://a.example/x")
    source = PROGRAM.model_copy(
        update={"steps": (step.model_copy(update={"tool": "bash_execution"}),)}
    )
    with pytest.raises(UsageError, match="would hold a credential"):
        export_skill(tmp_path, source=source)
    assert not list((tmp_path / "out").iterdir())
