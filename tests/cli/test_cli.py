"""The command line without a desktop: help, errors, exit codes."""

from __future__ import annotations

import json
from importlib.util import find_spec
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
    "command",
    [
        [],
        ["run"],
        ["runs"],
        ["runs", "ls"],
        ["runs", "show"],
        ["runs", "report"],
        ["runs", "resume"],
        ["patterns"],
        ["patterns", "search"],
        ["tools"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_every_command_explains_itself(hisa: Command, command: list[str]) -> None:
    text = hisa.run(*command, "--help")
    assert text.startswith("Usage: hisa")
    assert len(text) > 150


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "missing.yaml"], "no task file"),
        (["run", "  "], "the task is empty"),
        (["run", "x", "--env", "moon"], "allowed are desktop"),
        (["run", "x", "--set", "run.max_steps=0"], "run.max_steps"),
        (["run", "x", "--confirm", "always"], "standard input is no terminal"),
        (["run", "x", "--model", "m", "--profile", "nothing"], "nothing"),
        (["--config", "missing.toml", "tools", "ls"], "missing.toml"),
        (["--set", "run.colour=red", "tools", "ls"], "run.colour: no such setting"),
        (["runs", "show", "20990101"], "no runs in"),
        (["runs", "show", "../../etc"], "no runs in"),
        (["tools", "show", "nothing"], "known: bash_execution"),
        (["patterns", "show", "nothing"], "nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_with_the_value(
    hisa: Command, arguments: list[str], said: str
) -> None:
    errors = hisa.refused(*arguments)
    assert said in errors
    assert len(errors.splitlines()) <= 6


BAD_CHECK = """
instruction: Open the text editor.
check: [{python: "nowhere.py:is_right"}]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x", "--env", "moon"],
        ["run", "x", "--env", "guest=nonsense"],
        ["run", "x", "--model", "m", "--profile", "nothing"],
        ["run", "x", "--set", "patterns.embedder=nothing"],
        ["run", "x", "--set", "grounder.kind=vision"],
        ["run", "{folder}/bad task.yaml"],
        ["run", "{folder}/missing task.yaml"],
        ["run", "{folder}"],
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_no_run_behind(hisa: Command, arguments: list[str]) -> None:
    (hisa.folder / "bad task.yaml").write_text(BAD_CHECK, "utf-8")
    hisa.refused(*[word.replace("{folder}", str(hisa.folder)) for word in arguments])
    assert not (hisa.folder / "runs").exists()


@pytest.mark.skipif(find_spec("FlagEmbedding") is not None, reason="the part is here")
def test_a_part_that_is_missing_leaves_no_run_behind(hisa: Command) -> None:
    said = hisa.refused("run", "x", "--set", "patterns.embedder=bge-m3")
    assert "try: hisa install bge" in said
    assert not (hisa.folder / "runs").exists()


def test_a_path_with_a_space_is_a_path(hisa: Command) -> None:
    (hisa.folder / "my task.yaml").write_text("instruction: {}\n", "utf-8")
    assert "instruction" in hisa.refused("run", str(hisa.folder / "my task.yaml"))
    said = hisa.refused("run", str(hisa.folder / "my tsk.yaml"))
    assert f"try: hisa run '{hisa.folder}/my task.yaml'" in said


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("tasks/my list.yaml", True),
        ("./other list.yaml", True),
        ("my lists.yaml", True),
        ("gone.json", True),
        ("Save the file as notes.yaml", False),
        ("Open /home/user/my data.json", False),
        ("Open the text editor.", False),
        ("a\nb.yaml", False),
        ("x" * 5000 + ".yaml", False),
        ("~no-such-user/x.yaml", True),
    ],
)
def test_what_is_meant_as_a_file_is_never_an_instruction(
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
    errors = hisa.refused("run", "x", "--model", "gpt-5", code=3)
    assert "OPENAI_API_KEY" in errors


def test_tools_show_what_models_read(hisa: Command) -> None:
    assert "X_COORD" in hisa.run("tools", "show", "gui_action")
    names = [tool["name"] for tool in hisa.json("tools", "ls")["tools"]]
    assert {"gui_action", "bash_execution", "wait", "termination", "infeasible"} <= set(names)


def test_doctor_finds_what_the_defaults_need(hisa: Command) -> None:
    findings = hisa.json("doctor")
    assert all(finding["ok"] for finding in findings if finding["needed"])
    assert json.dumps(findings)
    text = hisa.run("doctor")
    assert "everything that is needed is here" in text
    count = len(hisa.json("tools", "ls")["tools"])
    (line,) = [line for line in text.splitlines() if "registry" in line]
    assert line.endswith(f" {count} tools; hisa tools ls"), "their names are not for one line"


def test_doctor_lists_every_part_that_can_be_installed(hisa: Command) -> None:
    parts = {part["part"] for part in hisa.json("install") if not part["by_script"]}
    rows = {row["name"]: row for row in hisa.json("doctor")}
    assert parts <= set(rows)
    assert [rows[part]["fix"] for part in parts if not rows[part]["ok"]] == [
        f"hisa install {part}" for part in parts if not rows[part]["ok"]
    ]


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("run.seed=1", "auto: the elements: accessibility and OCR, no model"),
        ("models.grounder.model=gta1-7b", "auto: the elements where they are sure, else gta1-7b"),
        ("models.planner.model=ui-tars-1.5-7b", "auto: the elements where they are sure, else ui-"),
        ("grounder.kind=vision", "vision: offline alone, which sees nothing"),
        ("grounder.kind=planner", "planner: the planner's own coordinates"),
    ],
)
def test_doctor_says_which_grounder_finds_places(assignment: str, said: str) -> None:
    settings = load(None, [assignment], environ={})
    found = places(settings.grounder, settings.models)
    assert found.detail.startswith(said)
    assert found.ok == ("nothing" not in said)
