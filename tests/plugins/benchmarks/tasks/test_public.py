"""The lists of published tasks: how they are read, counted and shown."""

from __future__ import annotations

from collections import Counter

import pytest

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.public import domains, public_tasks, read
from hisa.plugins.benchmarks.tasks.task_needs import Source, count_pieces

SAMPLE = """\
os\ta1\t-\texact_match\tvm_command_line\trule\texecute,sleep,execute\t-
os\ta2\t-\tinfeasible\t-\t-\t-\t-
os\ta3\tand\tis_utc_0,exact_match\tvm_command_line,vm_command_line\trule\t-\texecute
chrome\tb1\tor\tdance\tcookies\t-\tlogin\t-
"""


def test_pieces_are_counted_by_tasks_and_by_uses() -> None:
    rows = count_pieces(task.pieces for task in read(SAMPLE))
    counts = {(row.kind, row.name): (row.source, row.tasks, row.uses) for row in rows}
    assert counts[("setup", "execute")] == ("ours", 2, 3)
    assert counts[("metric", "is_utc_0")] == ("theirs", 1, 1)
    assert counts[("metric", "dance")] == ("missing", 1, 1)


def test_a_broken_line_is_named() -> None:
    with pytest.raises(UsageError, match="line 2: 3 columns, 8 needed"):
        read(SAMPLE.splitlines()[0] + "\na\tb\tc")
    with pytest.raises(UsageError, match="no list of the tasks of 'webarena'"):
        public_tasks("webarena")


@pytest.mark.parametrize(
    ("name", "count", "scored"), [("osworld", 369, 241 + 116), ("spider2v", 247, 112)]
)
def test_every_published_task_is_listed_once_and_most_can_be_scored(
    name: str, count: int, scored: int
) -> None:
    tasks = public_tasks(name)
    assert len({(task.domain, task.id) for task in tasks}) == len(tasks) == count
    every = sum(domains(tasks).values(), Counter[Source]())
    assert every["ours"] + every["theirs"] >= scored
