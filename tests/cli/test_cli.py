"""The command line without a desktop: help, errors, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hisa.cli.findings import places
from hisa.cli.run import read_task
from hisa.config import load
from hisa.errors import UsageError
from tests.cli.command import Command

pytestmark = pytest.mark.process


@pytest.fixture
def hisa(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.yaml"], "no task file"),
        (["run", "  "], "the task is empty"),
        (["run", "x", "--env", "moon"], "allowed are desktop"),
        (["run", "x", "--set", "run.max_steps=0"], "run.max_steps"),
        (["run", "x", "--confirm", "always"], "standard input is no terminal"),
        (["--config", "missing.toml", "tools", "ls"], "missing.toml"),
        (["--set", "run.colour=red", "tools", "ls"], "run.colour: no such setting"),
        (["runs", "show", "20990101"], "no runs in"),
        (["tools", "show", "nothing"], "known: bash_execution"),
        (["patterns", "show", "nothing"], "nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_with_the_value(
    hisa: Command, arguments: list[str], message: str
) -> None:
    errors = hisa.run_refused(*arguments)
    assert message in errors
    assert len(errors.splitlines()) <= 6


BAD_CHECK = """
instruction: Open the text editor.
check: [{python: "nowhere.py:is_right"}]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x", "--env", "moon"],
        ["run", "x", "--model", "m", "--profile", "nothing"],
        ["run", "x", "--set", "patterns.embedder=nothing"],
        ["run", "{folder}/bad task.yaml"],
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_no_run_behind(hisa: Command, arguments: list[str]) -> None:
    (hisa.folder / "bad task.yaml").write_text(BAD_CHECK, "utf-8")
    hisa.run_refused(*[word.replace("{folder}", str(hisa.folder)) for word in arguments])
    assert not (hisa.folder / "runs").exists()


def test_a_path_with_a_space_is_a_path(hisa: Command) -> None:
    (hisa.folder / "my task.yaml").write_text("instruction: {}\n", "utf-8")
    assert "instruction" in hisa.run_refused("run", str(hisa.folder / "my task.yaml"))
    errors = hisa.run_refused("run", str(hisa.folder / "my tsk.yaml"))
    assert f"try: hisa run '{hisa.folder}/my task.yaml'" in errors


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("tasks/my list.yaml", True),
        ("my lists.yaml", True),
        ("Save the file as notes.yaml", False),
        ("Open the text editor.", False),
        ("a\nb.yaml", False),
        ("x" * 5000 + ".yaml", False),
        ("~no-such-user/x.yaml", True),
    ],
)
def test_text_like_a_file_name_is_never_an_instruction(
    text: str, is_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "my list.yaml").write_text("instruction: x\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    if is_one:
        with pytest.raises(UsageError, match="no task file"):
            read_task(text, domain="", seed=0)
    else:
        assert read_task(text, domain="", seed=0).instruction == text.strip()


def test_a_public_endpoint_without_a_key_is_named(hisa: Command) -> None:
    errors = hisa.run_refused("run", "x", "--model", "gpt-5", code=3)
    assert "OPENAI_API_KEY" in errors


def test_tools_show_prints_the_text_for_models(hisa: Command) -> None:
    assert "X_COORD" in hisa.run("tools", "show", "gui_action")
    names = [tool["name"] for tool in hisa.json("tools", "ls")["tools"]]
    assert {"gui_action", "bash_execution", "wait", "termination", "infeasible"} <= set(names)


def test_doctor_passes_with_the_default_settings(hisa: Command) -> None:
    findings = hisa.json("doctor")
    assert all(finding["ok"] for finding in findings if finding["needed"])
    assert json.dumps(findings)
    text = hisa.run("doctor")
    assert "everything needed is here" in text
    count = len(hisa.json("tools", "ls")["tools"])
    (line,) = [line for line in text.splitlines() if "registry" in line]
    assert line.endswith(f" {count} tools; hisa tools ls"), "their names are not for one line"


@pytest.mark.parametrize(
    ("assignment", "detail"),
    [
        ("run.seed=1", "auto: the elements: accessibility and OCR, no model"),
        ("models.grounder.model=gta1-7b", "auto: the elements if they are sure, else gta1-7b"),
        ("grounder.kind=vision", "vision: offline alone, which cannot see"),
    ],
)
def test_doctor_says_which_grounder_finds_places(assignment: str, detail: str) -> None:
    settings = load(None, [assignment], environ={})
    finding = places(settings.grounder, settings.models)
    assert finding.detail.startswith(detail)
    assert finding.ok == ("cannot see" not in detail)
