"""What help texts show can be pasted: every example goes through the parser of its command."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import pytest

from hisa.cli import cli
from hisa.errors import ConfigError
from hisa.tasks.taskfile import load_task

WIDTH = 200
EXAMPLE = re.compile(r"^(?:export )?(?:[A-Z][A-Z_0-9]*=\S* )*hisa\b")


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(above), group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)
        else:
            yield " ".join([*above, name]), command


def help_of(command: click.Command) -> str:
    return command.get_help(click.Context(command, max_content_width=WIDTH, terminal_width=WIDTH))


def examples() -> list[tuple[str, str]]:
    pairs = []
    for name, command in commands(cli, "hisa"):
        text = re.sub(r"\\\n\s*", "", help_of(command))
        lines = (line.strip() for line in text.splitlines())
        pairs += [(name, line) for line in lines if EXAMPLE.match(line)]
    return pairs


def parse(line: str) -> None:
    """Put one line through the whole parser, types and required arguments included."""
    words = shlex.split(line.split(" | ")[0], comments=True)
    while words[0] == "export" or "=" in words[0]:
        words.pop(0)
    assert words[0] == "hisa"
    with ExitStack() as opened:
        _parse(words[1:], opened)


def _parse(words: list[str], opened: ExitStack) -> None:
    context = cli.make_context("hisa", words)
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, subcommand, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert subcommand is not None
        command = subcommand
        context = opened.enter_context(command.make_context(name, rest, parent=context))


def test_help_of_every_command_needs_no_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hisa.toml").write_text("run = 3\n[[[", "utf-8")
    names = [name for name, _ in commands(cli, "hisa")]
    assert len(names) > 30
    for name in names:
        cli.main([*name.split()[1:], "--help"], prog_name="hisa", standalone_mode=False)
        assert capsys.readouterr().out.startswith(f"Usage: {name} "), name
    for words in (["runs", "ls"], ["run", "Click it."], ["tools", "ls"], ["mcp", "tools"]):
        with pytest.raises(ConfigError, match="not valid TOML"):
            cli.main(words, prog_name="hisa", standalone_mode=False)


@pytest.mark.parametrize(("command", "line"), examples(), ids=lambda text: str(text)[:60])
def test_an_example_can_be_pasted(
    command: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "backup.jsonl").touch()  # what the example before it makes
    monkeypatch.chdir(tmp_path)
    assert "…" not in line
    assert "..." not in line
    parse(line)


def test_every_group_and_the_commands_of_the_first_minutes_have_examples() -> None:
    shown = {name for name, _ in examples()}
    groups = {name for name, command in commands(cli, "hisa") if isinstance(command, click.Group)}
    assert groups | {"hisa run", "hisa doctor", "hisa install", "hisa settings"} <= shown


def test_the_task_file_of_the_help_is_one(tmp_path: Path) -> None:
    run = cli.get_command(click.Context(cli), "run")
    assert run is not None
    lines = help_of(run).splitlines()
    start = next(number for number, line in enumerate(lines) if "A task file" in line) + 1
    text = textwrap.dedent("\n".join(lines[start : start + 2]))
    (tmp_path / "task.yaml").write_text(text, "utf-8")
    task = load_task(tmp_path / "task.yaml")
    assert "hi.txt" in task.instruction
    assert task.check
