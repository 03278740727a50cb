"""A Ray cluster of two nodes, one of which dies: it loses its attempts in flight and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    ray_cluster: Any = import_module("ray.cluster_utils").Cluster()
    try:
        ray_cluster.add_node(num_cpus=0)
        for _ in range(2):
            ray_cluster.add_node(num_cpus=2)
        yield ray_cluster
    finally:
        ray_cluster.shutdown()


def node_of(task: str, nodes: Sequence[Any], out: Path) -> Any:
    """The node whose worker began this task first."""
    worker = next(row for row in lines(out) if row["type"] == "started" and row["task"] == task)
    parent = _parent(int(worker["worker"].rpartition(":")[2]))
    return next(node for node in nodes if node.all_processes["raylet"][0].process.pid == parent)


def _parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(text.partition("PPid:")[2].split()[0])


@pytest.mark.process
def test_a_dead_node_loses_only_its_attempts_in_flight(tmp_path: Path, cluster: Any) -> None:
    nodes = list(cluster.worker_nodes)
    names = ["stuck-1", *(f"form{number:02}" for number in range(9))]
    for name in names:
        write_task(tmp_path / "tasks", name)
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
    process = hisa(tmp_path, seconds=0.2).start(*arguments)

    begun = tmp_path / "tasks" / "stuck-1.tries"  # a try that ends before this is not stuck
    await_that(begun.exists, process)
    cluster.remove_node(node_of("stuck-1", nodes, out), allow_graceful=False)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, f"{output}\n{errors}"
    rows = lines(out)
    results = Counter(row["task"] for row in rows if row["type"] == "finished")
    assert len(results) == 10
    assert set(results.values()) == {1}
    lost = [row for row in rows if row["type"] == "lost"]
    assert {row["cause"] for row in lost} == {"worker"}
    assert "stuck-1" in {row["task"] for row in lost}, "its first try ends with its node alone"
    assert len(lost) <= 4
