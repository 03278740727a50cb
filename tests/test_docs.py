"""What users copy runs: every block of the README and of docs/ is executed or checked."""

from __future__ import annotations

import importlib.util
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hisa.cli import cli
from hisa.config import load, preset_sources
from hisa.machine.plugins import ENTRY_POINT_GROUPS
from hisa.tasks.taskfile import load_task
from tests.cli.command import ROOT, Command
from tests.runs.sample import build

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> Iterator[str]:
    matches = re.finditer(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    yield from (match.group(1) for match in matches)


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


PROGRAMS = [row for row in examples("python") if not row[0].startswith("adding.md")]
"""Of that page, tests/test_plugins.py sees to it that its modules are those that others test."""
OF_PAGES = sorted({name.partition("-python")[0] for name, _ in PROGRAMS})
ONE_BY_ONE = "import runpy, sys\nfor path in sys.argv[1:]: runpy.run_path(path, None, '__main__')"


@pytest.mark.desktop
@pytest.mark.parametrize("page", OF_PAGES)
def test_python_blocks_run(page: str, tmp_path: Path) -> None:
    """One after the other in one Python; those that are tests, by pytest."""
    build(tmp_path / "runs")
    for name, text in PROGRAMS:
        if name.startswith(f"{page}-python"):
            start = "test_" if "\ndef test_" in text else "block_"
            (tmp_path / f"{start}{name.rpartition('-')[2]}.py").write_text(text, "utf-8")
    own = {"HISA_PATTERNS__PATH": str(tmp_path / "patterns"), "XDG_CACHE_HOME": str(tmp_path)}
    for start, program in (
        ("block_", ["-c", ONE_BY_ONE]),
        ("test_", ["-m", "pytest", "-p", "no:cacheprovider"]),
    ):
        scripts = [str(path) for path in sorted(tmp_path.glob(f"{start}*.py"))]
        if not scripts:
            continue
        ran = subprocess.run(
            [sys.executable, *program, *scripts],
            cwd=tmp_path,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


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
    parse_line(line)


def parse_line(line: str) -> None:
    """Read a ``hisa`` line as the command itself would; a word that is none fails."""
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
        subcommand = command.get_command(click.Context(command), words[0])
        assert subcommand is not None, f"{line}: no command {words[0]!r}"
        command, words = subcommand, words[1:]
    command.make_parser(click.Context(command)).parse_args(list(words))


def is_module(name: str) -> bool:
    """Returns whether there is such a module; it is not imported, since it may need torch."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_pages_name_are_there(page: Path) -> None:
    names = re.findall(r"(?:`|-m )((?:hisa|benchmarks)(?:\.\w+)+)", page.read_text("utf-8"))
    groups = {f"hisa.{group}" for group in ENTRY_POINT_GROUPS}
    for name in sorted({*names} - groups - {"hisa.toml"}):
        if not is_module(name):
            pkgutil.resolve_name(name)


PAPERS = {  # tables and figures of each, as printed
    "HiSA": (8, 3), "GTA1": (18, 8), "OS-Catalyst": (4, 9), "ComputerRL": (10, 17),
    "OS-Genesis": (6, 11),
}  # fmt: skip


def paper_rows() -> dict[str, list[list[str]]]:
    """Rows of the page on the papers, by the heading they stand under."""
    parts = re.split(r"^## (.*)$", (ROOT / "docs" / "papers.md").read_text("utf-8"), flags=re.M)
    return {
        name: [
            row.strip("| ").split(" | ")
            for row in re.findall(r"^\| (?:table|figure).*", text, re.M)
        ]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_every_table_and_figure_of_the_papers_has_its_row() -> None:
    rows = paper_rows()
    assert set(rows) == set(PAPERS)
    for paper, counts in PAPERS.items():
        for kind, count in zip(("table", "figure"), counts, strict=True):
            named = [
                number
                for first, *_ in rows[paper]
                if (match := re.fullmatch(rf"{kind}s? (\d+)(?: to (\d+))?", first))
                for number in range(int(match[1]), int(match[2] or match[1]) + 1)
            ]
            assert named == [*range(1, count + 1)], (paper, kind)


def test_every_row_has_a_command_that_is_there_or_says_why_not() -> None:
    titles = (ROOT / "hisa/plugins/benchmarks/bench/tables.py").read_text("utf-8")
    targets = (ROOT / "Makefile").read_text("utf-8")
    for paper, rows in paper_rows().items():
        for first, shows, ours in rows:
            commands = [code for code in re.findall(r"`([^`]+)`", ours) if " " in code]
            assert commands or re.search(r"left out on purpose: \w+", ours), (paper, first, shows)
            for line in commands:
                words = shlex.split(line)
                match words:
                    case ["hisa", *_]:
                        parse_line(line)
                    case ["make", target]:
                        assert f"\n{target}:" in targets, line
                    case ["python", "-m", module, *rest]:
                        check_options(module, rest)
                    case _:
                        pytest.fail(f"{paper}, {first}: {line}")
                if "--print" in words:
                    assert f'"{words[words.index("--print") + 1]}"' in titles, line
                paths = [word for word in words if word.startswith(("benchmarks/", "tests/"))]
                assert all((ROOT / path).exists() for path in paths), line


def check_options(module: str, words: list[str]) -> None:
    """Each option is named in the module's source; loading it may need what is not installed."""
    place = ROOT / module.replace(".", "/")
    source = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    text = source.read_text("utf-8")
    for option in (word for word in words if word.startswith("-")):
        quoted = rf'"(?:{option}|{option.lstrip("-")})"'
        assert re.search(quoted, text), f"{module} {option}"


NOT_RUN = re.compile(r"^\*No test runs this: .{10,}\.\*$")


def shell_blocks() -> Iterator[tuple[str, str, bool]]:
    """Name and text of every block of commands, and whether it says why no test runs it."""
    for page in PAGES:
        text = page.read_text("utf-8")
        matches = re.finditer(r"^```(console|sh|bash)\n(.*?)^```$", text, re.M | re.S)
        for number, match in enumerate(matches, 1):
            before = text[: match.start()].rstrip().splitlines()[-1]
            yield f"{page.name}-{number}", match[2], bool(NOT_RUN.match(before))


TO_RUN = [(name, text) for name, text, left in shell_blocks() if not left]
RUN = list({text: (name, text) for name, text in reversed(TO_RUN)}.values())
"""What stands on two pages is run once."""


def extract_typed(text: str) -> str:
    """What a person types of a block: all of it, or what stands behind its prompts."""
    if not re.search(r"^\$ ", text, re.M):
        return text
    return "".join(f"{line[2:]}\n" for line in text.splitlines() if line.startswith("$ "))


@pytest.mark.desktop
@pytest.mark.parametrize(("name", "text"), RUN, ids=ids(RUN))
def test_blocks_of_commands_run_as_they_stand(name: str, text: str, tmp_path: Path) -> None:
    """In a network of its own, where a server of models listens at the address of the pages."""
    for folder in ("examples", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "hisa"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m hisa "$@"\n', "utf-8")
    program.chmod(0o755)
    environ = {
        **os.environ,
        "HOME": str(tmp_path / "home"),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    line = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*line, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    line += [
        sys.executable,
        "-m",
        "tests.stand_in",
        "bash",
        "-euo",
        "pipefail",
        "-c",
        extract_typed(text),
    ]
    process = subprocess.run(
        line, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=600, check=False
    )
    assert process.returncode == 0, f"{name}\n{process.stdout}\n{process.stderr}"


def test_most_of_the_readme_is_run() -> None:
    assert len([name for name, _ in RUN if name.startswith("README")]) >= 3


@pytest.mark.desktop
def test_the_python_sample_of_the_readme_is_resumed_after_a_kill(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    script = tmp_path / "sample.py"
    script.write_text(next(blocks(ROOT / "README.md", "python")), "utf-8")
    process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, env=hisa.environ)
    deadline = time.monotonic() + 120
    while not any(b"step_finished" in log.read_bytes() for log in logs(tmp_path)):
        assert time.monotonic() < deadline, "the sample does not get to its first step"
        assert process.poll() is None, "the sample ended before it could be killed"
        time.sleep(0.01)
    process.kill()
    process.wait()
    result = hisa.json("runs", "resume")
    assert result["status"] == "succeeded"
    assert result["steps"] >= 2


def logs(folder: Path) -> list[Path]:
    return list(folder.glob("runs/*/events.jsonl"))


def test_preset_table_matches_the_presets() -> None:
    text = (ROOT / "docs" / "papers.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_]+\.[a-z_.]+)` \|(.*)\|(.*)\|$", text, re.M)
    for column, preset in ((1, "hisa-paper"), (2, "gta1")):
        shown = {row[0]: row[column].strip() for row in rows if row[column].strip()}
        expected = {
            name: f"`{json.dumps(value)}`, {source}"
            for name, (value, source) in preset_sources(preset).items()
        }
        assert shown == expected
