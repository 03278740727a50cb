"""A Ray cluster of two nodes, one of which dies: it loses its attempts in flight and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.benchmarks.bench_suite.test_cli import FIXED, await_that, hisa, lines

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: hisa install ray"),
    # Ray's own modules warn and leave pipes to its processes open.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that takes no work, and two nodes."""
    made: Any = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0}
    )
    yield made
    made.shutdown()


def busy(node: Any, out: Path) -> bool:
    """Whether a worker of the node is at work."""
    (raylet,) = node.all_processes["raylet"]
    at_work: dict[str, str] = {}
    for row in lines(out):
        if row["type"] == "started":
            at_work[row["task"]] = row["worker"]
        elif row["type"] == "finished":
            at_work.pop(row["task"], None)
    pids = [int(worker.rpartition(":")[2]) for worker in at_work.values()]
    return any(_parent(pid) == raylet.process.pid for pid in pids)


def _parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(text.partition("PPid:")[2].split()[0])


@pytest.mark.process
def test_a_dead_node_loses_only_its_attempts_in_flight(tmp_path: Path, cluster: Any) -> None:
    nodes = [cluster.add_node(num_cpus=2) for _ in range(2)]
    for number in range(10):
        write_task(tmp_path / "tasks", f"form{number:02}")
    out = tmp_path / "bench"
    arguments = (
        "bench",
        "run",
        f"own:{tmp_path / 'tasks'}",
        "--workers",
        "4",
        "--out",
        str(out),
        "--executor",
        "ray",
        "--ray",
        cluster.address,
        *FIXED,
    )
    process = hisa(tmp_path, seconds=1.0).start(*arguments)

    await_that(lambda: any(busy(node, out) for node in nodes), process)
    cluster.remove_node(next(node for node in nodes if busy(node, out)), allow_graceful=False)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, f"{output}\n{errors}"
    rows = lines(out)
    results = Counter(row["task"] for row in rows if row["type"] == "finished")
    assert len(results) == 10
    assert set(results.values()) == {1}
    lost = [row for row in rows if row["type"] == "lost"]
    assert {row["cause"] for row in lost} == {"worker"}
    assert 1 <= len(lost) <= 4
