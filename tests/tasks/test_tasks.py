"""Task files are hostile input; setups and checks work on a real environment's protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.patterns.sops import load_sops
from hisa.protocols import CommandResult
from hisa.tasks.domains import guess_domain
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from hisa.testing.form import FakeEnvironment
from hisa.text.prompts import data_folder
from tests.plugins.benchmarks.tasks.machine import Machine

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def write(folder: Path, text: str) -> Path:
    path = folder / "task.yaml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_loads_and_has_a_check(path: Path) -> None:
    task = load_task(path)
    assert task.check
    assert task.instruction


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("Sum the cells of the worksheet", "calc"),
        ("Open Chrome and visit the website", "browser"),
        ("Do something", "general"),
    ],
)
def test_domains_are_guessed(text: str, domain: str) -> None:
    assert guess_domain(text) == domain


@pytest.mark.parametrize("file", sorted(data_folder("patterns_db").glob("*.md")), ids=str)
def test_every_file_of_house_rules_is_found_by_a_text_that_names_its_application(
    file: Path,
) -> None:
    title = file.read_text("utf-8").partition("\n")[0].removeprefix("# ")
    if file.stem in ("README", "general"):
        return
    named = title.partition("(")[2].rstrip(")").partition(",")[0] or title
    (sop,) = (sop for sop in load_sops(file.parent) if sop.file == file)
    assert guess_domain(f"Please do this in {named}: make it ready for Monday") in sop.domains


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "mapping"),
        ("- a\n- b", "mapping"),
        ("instruction: [", "not valid YAML"),
        ("id: x", "instruction: is missing"),
        ("instruction: x\nsurprise: 1", "surprise"),
        ("instruction: x\nid: ../../etc", "id"),
        ("instruction: x\nsetup: [{run: a, launch: b}]", "exactly one"),
        ("instruction: x\nsetup: [{fly: a}]", "fly"),
        ("instruction: x\ncheck: {equals: a}", "exactly one of file, command"),
        ("instruction: !!python/object/apply:os.system ['true']", "not valid YAML"),
        ("instruction: " + "x" * 30_000, "20000"),
        ("[" * 5000, "not valid YAML"),
    ],
)
def test_a_bad_file_is_refused_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        load_task(write(tmp_path, text))


async def score(tmp_path: Path, check: str, files: dict[str, bytes]) -> tuple[Any, str]:
    task = load_task(write(tmp_path, f"instruction: x\ncheck: {check}"))
    environment = Machine({r"-c ok$": CommandResult(0, "3\n"), "-c other": CommandResult(127, "")})
    for path, data in files.items():
        await environment.write_file(path, data)
    result = await TaskScorer().score(task, environment, "succeeded")
    return result.value, result.detail


@pytest.mark.parametrize(
    ("check", "expected", "reason"),
    [
        ("{file: /a, equals: hello}", 1.0, "hold"),
        ("{file: /a, equals: hell}", 0.0, "not 'hell'"),
        ("{file: /a, contains: [he, llo]}", 1.0, "hold"),
        ("{file: /a, contains: x}", 0.0, "'x' is not in"),
        ("{file: /a, excludes: ell}", 0.0, "'ell' is in it"),
        ("{file: /b, contains: x}", 0.0, "no such file"),
        ("{command: ok, equals: '3'}", 1.0, "hold"),
        ("{command: other}", 0.0, "ended with 127"),
        ("[{file: /a, equals: hello}, {command: other}]", 0.0, "ended with 127"),
    ],
)
async def test_checks(tmp_path: Path, check: str, expected: float, reason: str) -> None:
    value, detail = await score(tmp_path, check, {"/a": b"hello\n"})
    assert (value, reason in detail) == (expected, True), detail


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ("~/list.txt", ("~/list.txt",)),
        ("[~/list.txt, /home/user/Documents]", ("~/list.txt", "/home/user/Documents")),
        ("[]", ()),
    ],
)
def test_task_names_its_result_files(
    tmp_path: Path, results: str, expected: tuple[str, ...]
) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(f"instruction: x\nresults: {results}\n")
    assert load_task(path).results == expected


@pytest.mark.parametrize(
    "results", ["list.txt", "[~/a, ../b]", "/", "~", '"/a\\nb"', "{a: 1}", "7"]
)
def test_invalid_result_path_is_refused(tmp_path: Path, results: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(f"instruction: x\nresults: {results}\n")
    with pytest.raises(UsageError, match="results"):
        load_task(path)


@pytest.mark.parametrize(
    "results", ["&a [*a]", "[" * 5000 + "]" * 5000], ids=["part of itself", "deep"]
)
def test_results_without_an_end_are_refused(tmp_path: Path, results: str) -> None:
    with pytest.raises(UsageError, match="not valid YAML"):
        load_task(write(tmp_path, f"instruction: x\nresults: {results}\n"))


def test_aliases_that_unfold_into_millions_are_refused(tmp_path: Path) -> None:
    """Ten lines of ten aliases each hung the run for hours, at the first message about them."""
    rows = ["a0: &a0 x"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    with pytest.raises(UsageError, match="aliases unfold into"):
        load_task(write(tmp_path, "\n".join(rows) + "\ninstruction: *a10\n"))
    shared = "instruction: x\nsetup: [&run {run: ls}, *run, *run]\n"
    assert load_task(write(tmp_path, shared)).instruction == "x"


async def test_setup_writes_copies_and_names_the_step_that_fails(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("from beside")
    text = "instruction: x\nsetup:\n- write: {path: /w, text: hi}\n"
    text += "- copy: {source: data.txt, path: /c}\n- run: ok\n"
    environment = FakeEnvironment(commands={"ok": CommandResult(0, "")})
    await TaskScorer().prepare(load_task(write(tmp_path, text)), environment)
    assert await environment.read_file("/w") == b"hi"
    assert await environment.read_file("/c") == b"from beside"

    task = load_task(write(tmp_path, text + "- run: missing\n"))
    with pytest.raises(EnvironmentFailed, match=r"setup step 4 .*ended with 127"):
        await TaskScorer().prepare(task, environment)


@pytest.mark.parametrize("source", ["../secret.txt", "/etc/passwd", "a/../../secret.txt"])
async def test_a_task_file_reads_nothing_outside_its_folder(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    text = f"instruction: x\nsetup: [{{copy: {{source: {source}, path: /c}}}}]"
    with pytest.raises(UsageError, match="outside"):
        await TaskScorer().prepare(load_task(write(folder, text)), FakeEnvironment())
