"""The lists of published tasks: how they are read, counted and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.public import NAMES, domains, public_tasks, read
from scripts.coverage_tables import markdown
from tests.cli.command import ROOT

SAMPLE = """\
os\ta1\t-\texact_match\tvm_command_line\trule\texecute,sleep,execute\t-
os\ta2\t-\tinfeasible\t-\t-\t-\t-
os\ta3\tand\tis_utc_0,exact_match\tvm_command_line,vm_command_line\trule\t-\texecute
chrome\tb1\tor\tdance\tcookies\t-\tlogin\t-
"""


def test_a_line_is_a_task_with_its_pieces() -> None:
    one, two, three, four = read(SAMPLE)
    assert (one.domain, one.id) == ("os", "a1")
    assert one.pieces == (
        ("metric", "exact_match"),
        ("getter", "vm_command_line"),
        ("getter", "rule"),
        ("setup", "execute"),
        ("setup", "sleep"),
        ("setup", "execute"),
    )
    assert two.pieces == (("metric", "infeasible"),)
    assert three.pieces[:2] == (("metric", "is_utc_0"), ("metric", "exact_match"))
    assert ("setup", "login") in four.pieces


def test_a_task_is_as_weak_as_its_weakest_piece() -> None:
    found = domains(read(SAMPLE))
    assert found == {"os": {"ours": 2, "theirs": 1}, "chrome": {"missing": 1}}


def test_the_tables_count_tasks_and_not_uses() -> None:
    lines = markdown(read(SAMPLE)).splitlines()
    assert "| os | 3 | 2 | 1 | 0 |" in lines
    assert "| all | 4 | 2 | 1 | 1 |" in lines
    assert "| setup (2) | ours | `execute` 2 `sleep` 1 |" in lines
    assert "| metric (1) | theirs | `is_utc_0` 1 |" in lines
    assert "| metric (1) | missing | `dance` 1 |" in lines


def test_a_broken_line_is_named() -> None:
    with pytest.raises(UsageError, match="line 2: 3 columns, 8 needed"):
        read(SAMPLE.splitlines()[0] + "\na\tb\tc")
    with pytest.raises(UsageError, match="no list of the tasks of 'webarena'"):
        public_tasks("webarena")


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_shows_the_tables_as_they_are_now(name: str) -> None:
    page = Path(ROOT, "docs", "tasks.md").read_text("utf-8")
    _, _, after = page.partition(f"<!-- {name} -->\n")
    shown = after.partition(f"<!-- /{name} -->")[0]
    assert shown == markdown(public_tasks(name)), "python scripts/coverage_tables.py"


def test_osworld_has_369_tasks_each_once_in_its_domain() -> None:
    tasks = public_tasks("osworld")
    assert len({(task.domain, task.id) for task in tasks}) == len(tasks) == 369
