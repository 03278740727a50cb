"""The command line without a desktop: help, errors, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture
def hisa(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        [], ["run"], ["runs"], ["runs", "ls"], ["runs", "show"], ["runs", "report"],
        ["runs", "resume"], ["patterns"], ["patterns", "search"], ["tools"], ["doctor"],
    ],
    ids=" ".join,
)  # fmt: skip
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
