"""What users copy runs: every block of the README and of docs/ is executed or checked."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hisa.cli import cli
from hisa.config import load
from hisa.models.faulty import FakeServer
from hisa.tasks.files import load_task
from tests.cli.command import ROOT, Command, endless
from tests.runs.sample import build

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[str]:
    found = re.finditer(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    yield from (match.group(1) for match in found)


def examples(*languages: str) -> list[tuple[str, str]]:
    return [
        (f"{page.name}-{language}-{number}", text)
        for page in PAGES
        for language in languages
        for number, text in enumerate(blocks(page, language), 1)
    ]


def commands() -> list[str]:
    """Every ``hisa …`` line of the documentation, without its comment."""
    lines = []
    for _, text in examples("console", "sh", "bash"):
        for line in text.replace("\\\n", " ").splitlines():
            stripped = line.removeprefix("$ ").strip()
            words = stripped.split()
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words.pop(0)
            if words and words[0] == "hisa":
                lines.append(stripped[stripped.index("hisa") :])
    return sorted(set(lines))


def ids(rows: list[tuple[str, str]]) -> list[str]:
    return [name for name, _ in rows]


@pytest.mark.desktop
@pytest.mark.parametrize("text", [t for _, t in examples("python")], ids=ids(examples("python")))
def test_python_blocks_run(text: str, tmp_path: Path) -> None:
    build(tmp_path / "runs")
    script = tmp_path / "block.py"
    script.write_text(text, "utf-8")
    environ = {**os.environ, "HISA_PATTERNS__PATH": str(tmp_path / "patterns")}
    ran = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("text", [t for _, t in examples("yaml")], ids=ids(examples("yaml")))
def test_yaml_blocks_are_task_files(text: str, tmp_path: Path) -> None:
    if "instruction:" not in text:
        return
    path = tmp_path / "task.yaml"
    path.write_text(text, "utf-8")
    assert load_task(path).instruction


@pytest.mark.parametrize("text", [t for _, t in examples("toml")], ids=ids(examples("toml")))
def test_toml_blocks_are_settings_or_entry_points(text: str, tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    path.write_text(text, "utf-8")
    if "[project" in text or "[[" in text:
        import tomllib

        assert tomllib.loads(text)
        return
    load(path, environ={})


@pytest.mark.parametrize("line", commands())
def test_command_lines_have_real_commands_and_options(line: str) -> None:
    words = shlex.split(line.split(" | ")[0].split(" > ")[0], comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        words = (
            click.Context(command)
            .command.make_parser(
                click.Context(command, allow_extra_args=True, allow_interspersed_args=False)
            )
            .parse_args(list(words))[1]
        )
        if not words:
            return
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"{line}: no command {words[0]!r}"
        command, words = found, words[1:]
    command.make_parser(click.Context(command)).parse_args(list(words))


@pytest.mark.desktop
def test_the_first_commands_of_the_readme_work_in_order(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    first = next(blocks(ROOT / "README.md", "console"))
    lines = [line.removeprefix("$ ") for line in first.splitlines() if line.startswith("$ hisa")]
    assert len(lines) >= 4
    for line in lines:
        hisa.run(*shlex.split(line, comments=True)[1:])


@pytest.mark.desktop
def test_the_readme_works_with_a_server_of_ones_own(tmp_path: Path) -> None:
    _, second, *_ = blocks(ROOT / "README.md", "console")
    line = next(line for line in second.splitlines() if line.startswith("$ hisa run"))
    words = shlex.split(line.removeprefix("$ "))[1:]
    words = [word for word in words if word not in ("--budget-usd", "1")]
    words[words.index("--max-steps") + 1] = "3"
    with FakeServer(then=endless) as server:
        hisa = Command(tmp_path, url=server.url)
        result = hisa.json(*words, code=1)
    assert (result["status"], result["steps"]) == ("max_steps", 3)
