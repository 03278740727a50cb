"""Metrics of OSWorld's package: found without importing it, run apart, never a false 0."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.benchmarks.tasks.metric import Score
from hisa.plugins.benchmarks.tasks.metrics import BadRules, Unreadable
from hisa.plugins.benchmarks.tasks.osworld_metrics import index
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    PACKAGE,
    OSWorldMetric,
    find_installation,
    has_bubblewrap,
    install_commands,
)
from hisa.plugins.benchmarks.tasks.osworld_metrics.metric_sandbox import run as call
from hisa.protocols import CommandResult, Task
from hisa.runs.manifest import TaskRecord
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import Machine, at_once, offline

pytestmark = pytest.mark.process


def run(name: str, result: Any, expected: Any, options: dict[str, Any]) -> Score:
    return asyncio.run(call(name, result, expected, options))


METRICS = """
import os, sys, socket, math, json
import nowhere.parts as parts
from nowhere import Shape
from .tools import equal, colour
from desktop_env.evaluators.metrics.tools import Table as T

def same(result, expected, **options): return float(equal(result, expected))
def spins(result):
    while True: pass
def half(result): return 0.5
def painted(result: Shape, expected: Shape): return colour(result)
def hidden_lack(result):
    try:
        return float(parts.size(result))
    except Exception:
        return 0.0
def late_lack(result):
    import cv2_of_nobody
    return 1.0
def no_number(result): return None
def not_known(result): raise NotImplementedError("this type")
def old_library(result): return float(os.no_such_function())
def too_short(result): return result[100000]
def leaves(result): sys.exit(0)
def vanishes(result): os._exit(0)
def hogs(result): return len(bytearray(10 ** 12))
def sleeps(result):
    while True: pass
def keys(result): return float("SECRET_KEY" in os.environ)
def forges(result):
    print('[{"score": 1.0}]', flush=True)
    return 0.0
def connects(result):
    try:
        socket.create_connection(("127.0.0.1", int(result)), timeout=5).close()
    except OSError:
        return 0.0
    return 1.0
def writes(result, expected):
    for place in (result, expected["outside"]):
        try:
            open(place, "w").write("changed")
        except OSError:
            pass
    return 1.0
def lines(result, expected):
    count = lambda path: len(open(path).readlines())
    return float(count(result) / count(expected))
def exact_match(result, rules): return 0.25
def compare_table(result, expected=None, **options): return 0.75
def is_extension_installed(result, rules): os._exit(0)
"""
TOOLS = """
from also_nowhere import Canvas

class Table: pass

def equal(one, other): return one == other
def colour(one): return Canvas(one)

if __name__ == "__main__":
    Canvas()
"""
NAMES = [line[4:].partition("(")[0] for line in METRICS.splitlines() if line.startswith("def ")]


def bare_python(folder: Path) -> Path:
    """A Python without any library."""
    line = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(line, check=True, capture_output=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_python(tmp_path_factory.mktemp("bare") / "venv")


@pytest.fixture(scope="session")
def package_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python whose package imports what nobody has as soon as it is imported itself."""
    python = bare_python(tmp_path_factory.mktemp("other") / "venv")
    (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
    metrics = site / "desktop_env" / "evaluators" / "metrics"
    metrics.mkdir(parents=True)
    for package in (metrics.parent.parent, metrics.parent, metrics):
        (package / "__init__.py").write_text("import nobody_has_this")
    (metrics / "first.py").write_text(METRICS)
    (metrics / "tools.py").write_text(TOOLS)
    about = site / "desktop_env-1.0.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: desktop-env\nVersion: 1.0.2\n")
    return python


LACKING = {
    "painted": ("also_nowhere",),
    "hidden_lack": ("nowhere",),
    "late_lack": ("cv2_of_nobody",),
}


@pytest.fixture
def package(package_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of `package_python`, and a list of its metrics."""
    metrics = {name: OSWorldMetric("first", LACKING.get(name, ())) for name in NAMES}
    monkeypatch.setattr(index, "known", lambda: metrics)
    monkeypatch.setenv("HISA_OSWORLD_PYTHON", str(package_python))


CAGE = pytest.mark.skipif(not has_bubblewrap(), reason="bubblewrap does not work here")
REAL = pytest.mark.skipif(
    find_installation().version != PACKAGE.partition("==")[2], reason=f"{PACKAGE} is not installed"
)


@pytest.mark.usefixtures("package")
def test_scores() -> None:
    assert run("same", "a", "a", {"loosely": True}) == (1.0, "1 by OSWorld's own same")
    assert run("same", {"a": [1, None]}, {"a": [1, None]}, {})[0] == 1.0
    assert run("same", "a", None, {})[0] == 0.0
    assert run("half", "a", None, {})[0] == 0.5


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("painted", "also_nowhere is not installed"),
        ("hidden_lack", "nowhere is not installed"),
        ("no_number", "no number: None"),
        ("not_known", "this type"),
        ("old_library", "no_such_function"),
        ("hogs", "MemoryError"),
        ("same", "missing a required|multiple values|unexpected"),
    ],
)
def test_defect_of_the_package_gives_no_score(name: str, message: str) -> None:
    options = {"result": "twice"} if name == "same" else {}
    with pytest.raises(BadRules, match=message):
        run(name, "a", "a" if name in ("same", "painted") else None, options)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", ["too_short", "leaves"])
def test_a_result_that_makes_it_fail_is_unreadable(name: str) -> None:
    with pytest.raises(Unreadable):
        run(name, "a", None, {})


@pytest.mark.usefixtures("package")
def test_the_expected_file_separates_a_broken_result_from_a_broken_function(tmp_path: Path) -> None:
    good, bad, gone = (tmp_path / name for name in ("good.txt", "bad.txt", "empty.txt"))
    good.write_text("a\nb\n")
    bad.write_bytes(b"\xff\xfe\xfa")
    gone.write_text("")
    assert run("lines", good, good, {})[0] == 1.0
    with pytest.raises(Unreadable, match="UnicodeDecodeError"):
        run("lines", bad, good, {})
    with pytest.raises(BadRules, match="on the expected file too: ZeroDivisionError"):
        run("lines", good, gone, {})


@pytest.mark.usefixtures("package")
def test_metric_sees_no_keys_and_cannot_print_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    assert run("keys", "a", None, {})[0] == 0.0
    assert run("forges", "a", None, {})[0] == 0.0


@CAGE
@pytest.mark.usefixtures("package")
def test_metric_has_no_network_and_cannot_write_outside(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert run("connects", str(server.getsockname()[1]), None, {})[0] == 0.0
    input_file, outside = tmp_path / "given.txt", tmp_path / "outside.txt"
    input_file.write_text("kept")
    outside.write_text("kept")
    assert run("writes", input_file, {"outside": str(outside)}, {})[0] == 1.0
    assert (input_file.read_text(), outside.read_text()) == ("kept", "kept")


def check(func: str, expected: Any = None) -> dict[str, Any]:
    tree = {"func": func, "result": {"type": "vm_command_line", "command": "say", "shell": True}}
    return {**tree, "expected": {"type": "rule", "rules": expected}} if expected else tree


async def score(folder: Path, tree: dict[str, Any], output: str) -> tuple[float | None, str]:
    task = Task(id="t", instruction="x", check=tree, folder=str(folder))
    scorer = TaskScorer(cache=FileCache(folder / "cache", offline), pause=at_once)
    scoring = await scorer.score(task, Machine({"say": CommandResult(0, output)}), "succeeded")
    return scoring.value, scoring.detail


@pytest.mark.usefixtures("package")
async def test_a_task_is_scored_by_the_package_where_we_have_no_metric(tmp_path: Path) -> None:
    assert (await score(tmp_path, check("same", "yes"), "yes"))[0] == 1.0
    assert await score(tmp_path, check("too_short"), "a") == (
        0.0,
        "too_short: OSWorld's own too_short cannot read it: IndexError: string index out of range",
    )
    value, why = await score(tmp_path, check("not_known"), "a")
    assert value is None
    assert why.startswith("OSWorld's own not_known cannot be used")


@pytest.mark.usefixtures("package")
async def test_missing_library_is_named_before_a_run_and_never_scores_zero(
    tmp_path: Path, package_python: Path
) -> None:
    task = Task(id="t", instruction="x", check=check("late_lack"), folder=str(tmp_path))
    assert problems(task) == [
        "metric late_lack needs cv2_of_nobody beside OSWorld's package:"
        f" {package_python} -m pip install cv2_of_nobody"
    ]
    value, why = await score(tmp_path, check("late_lack"), "a")
    assert value is None
    assert "needs cv2_of_nobody beside OSWorld's package" in why
    assert why.endswith(f"try: {package_python} -m pip install cv2_of_nobody")
    value, why = await score(tmp_path, check("dance"), "a")
    assert value is None
    assert "no metric 'dance'" in why


@pytest.mark.parametrize(
    ("place", "keys", "benchmark"),
    [
        ("examples/os/{0}.json", {}, "osworld"),
        ("{0}.json", {"snapshot": "os", "proxy": False}, "osworld"),
        ("examples/dbt/{0}/{0}.json", {}, "spider2v"),
        ("{0}.json", {"action_number": 5}, "spider2v"),
    ],
)
def test_a_task_file_says_whose_it_is_and_a_run_keeps_it(
    tmp_path: Path, place: str, keys: dict[str, Any], benchmark: str
) -> None:
    path = tmp_path / place.format("a1")
    path.parent.mkdir(parents=True, exist_ok=True)
    tree = {"id": "a1", "instruction": "Do it.", "evaluator": {"func": "infeasible"}, **keys}
    path.write_text(json.dumps(tree))
    task = load_task(path)
    assert task.format == benchmark
    assert TaskRecord.of(task).task().format == benchmark


NOW = "a\nb\nc\n                Time zone: Etc/UTC (UTC, +0000)"
PREFS = 'user_pref("mail.count", 3);\nuser_pref("mail.name", "a");\n'
COUNT = {"expect": {"mail.count": {"method": "ge", "ref": 3}}}


@REAL
@pytest.mark.parametrize(
    ("name", "result", "expected", "expected_score"),
    [
        ("is_utc_0", NOW, None, 1),
        ("is_utc_0", NOW.replace("+0000", "+0100"), None, 0),
        ("check_thunderbird_prefs", PREFS, COUNT, 1),
        ("check_thunderbird_prefs", PREFS.replace("3", "2"), COUNT, 0),
        pytest.param("check_gnome_favorite_apps", "['a']", {"expected": ["a"]}, 1, marks=CAGE),
        pytest.param("check_gnome_favorite_apps", "[]", {"expected": ["a"]}, 0, marks=CAGE),
    ],
)
def test_real_functions(
    tmp_path: Path, name: str, result: Any, expected: Any, expected_score: float
) -> None:
    if name == "check_thunderbird_prefs":
        (tmp_path / "prefs.js").write_text(result)
        result = tmp_path / "prefs.js"
    assert install_commands(name) == ""
    assert run(name, result, expected, {})[0] == expected_score


@REAL
@CAGE
def test_code_that_an_agent_left_runs_in_the_cage_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    evil = f"[open({str(outside)!r}, 'w').write('x')]"
    with pytest.raises(Unreadable):
        run("check_gnome_favorite_apps", evil, {"expected": ["a"]}, {})
    with pytest.raises(Unreadable, match="NameError"):
        run("check_gnome_favorite_apps", "no_list", {"expected": ["a"]}, {})
    assert not outside.exists()
