"""Whose a task is: by what it says, by its data where it says nothing, and loaded when asked."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.plugins.benchmarks.tasks.benchmark_format import BENCHMARK
from hisa.plugins.gym.gym_format import BROWSERGYM_TASKS, MINIWOB_TASKS
from hisa.protocols import Task
from hisa.runs.manifest import TaskRecord
from hisa.tasks.find_format import format_of, problems
from hisa.tasks.hisa_format import OWN
from hisa.tasks.task_format import TaskFormat
from hisa.tasks.taskfile import load_task

EXAMPLE = Path(__file__).parents[2] / "examples" / "laptop_order.yaml"
PAGE = Task(
    "click-test",
    "What the page asks for.",
    setup=({"type": "miniwob_page", "parameters": {"task": "click-test", "seed": 1}},),
    check={"func": "miniwob_solved", "result": {"type": "miniwob_reward"}},
)
STEP = {"type": "sleep", "parameters": {"seconds": 0}}
WRITE = {"write": {"path": "~/a", "text": "x"}}
COMMAND = {"all": [{"command": "true"}]}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (Task("t", "x"), OWN),
        (Task("t", "x", setup=(WRITE,), check=COMMAND), OWN),
        (Task("t", "x", setup=({"fly": "a"},)), OWN),
        (Task("t", "x", setup=(STEP,)), BENCHMARK),
        (Task("t", "x", setup=(WRITE, STEP), check=COMMAND), BENCHMARK),
        (Task("t", "x", check={"func": "exact_match"}), BENCHMARK),
        (PAGE, MINIWOB_TASKS),
        (replace(PAGE, setup=(STEP, *PAGE.setup)), BENCHMARK),
        (replace(load_task("browsergym:openended"), format=""), BROWSERGYM_TASKS),
        (load_task("browsergym:openended"), BROWSERGYM_TASKS),
    ],
)
def test_a_task_that_does_not_say_whose_it_is_is_known_by_its_data(
    task: Task, expected: TaskFormat
) -> None:
    assert format_of(task) is expected
    record = TaskRecord.of(task).model_dump_json()
    assert format_of(TaskRecord.model_validate_json(record).task()) is expected


def test_a_check_that_no_format_scores_is_named_before_a_run() -> None:
    task = Task("t", "x", check={"answer": "Paris"})
    assert problems(task) == ["check: no known format scores answer"]


def list_loaded(code: str) -> list[str]:
    """Modules of plug-ins that are loaded once code has run."""
    code += "\nimport sys\nprint(*(m for m in sys.modules if m.startswith('hisa.plugins.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.split()


@pytest.mark.process
def test_a_task_of_ones_own_loads_no_plugin() -> None:
    code = (
        "from hisa.tasks.named_task import named_task\n"
        "from hisa.tasks.scorer import TaskScorer, check_possible\n"
        "check_possible(named_task('Open the editor.'))\n"
        f"check_possible(named_task({str(EXAMPLE)!r}))"
    )
    assert list_loaded(code) == []


@pytest.mark.process
def test_a_page_needs_nothing_of_the_benchmarks() -> None:
    code = (
        "from hisa.tasks.named_task import named_task\n"
        "from hisa.tasks.scorer import check_possible\n"
        "check_possible(named_task('browsergym:openended'))"
    )
    modules = list_loaded(code)
    assert "hisa.plugins.gym.gym_format" in modules
    assert [name for name in modules if "benchmarks" in name] == []


@pytest.mark.process
def test_a_benchmarks_file_is_read_without_its_metrics() -> None:
    tree = '{"id": "t", "instruction": "x", "evaluator": {"func": "exact_match"}}'
    code = (
        "import json\nfrom pathlib import Path\nfrom hisa.tasks.find_format import task_of_file\n"
        f"task_of_file(Path('t.json'), json.loads({tree!r}))"
    )
    assert not [name for name in list_loaded(code) if ".metric" in name or ".getters" in name]
