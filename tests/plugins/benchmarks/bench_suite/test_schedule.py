"""The bench on real worker processes: every slot filled once, whatever dies."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.plugins.benchmarks.bench.executors.base import Worker, WorkerLost
from hisa.plugins.benchmarks.bench.executors.local import LocalExecutor
from hisa.plugins.benchmarks.bench.jobs import Job, Message, RunEnded, RunMade
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger, read_attempts
from hisa.plugins.benchmarks.bench.pages import html_page
from hisa.plugins.benchmarks.bench.schedule import Bench, Progress
from hisa.plugins.benchmarks.bench.summary import summarise
from hisa.runs.run_reader import list_runs, read_manifest
from tests.plugins.benchmarks.bench_suite.forms import PARTS, ledger, plan

pytestmark = pytest.mark.process


def bench(book: AttemptLedger, workers: int, progress_list: list[Progress] | None = None) -> Bench:
    on_progress = (lambda _: None) if progress_list is None else progress_list.append
    executor = LocalExecutor(book.folder / "workers.log")
    return Bench(book, executor, workers=workers, environment=PARTS, on_progress=on_progress)


async def test_every_slot_gets_one_result_and_every_try_its_own_run_folder(tmp_path: Path) -> None:
    names = ["ada", "bob", "broken-1", "broken-9", "deadly-1", "unscored-1"]
    book = ledger(tmp_path, *names, repeat=1)
    progress_list: list[Progress] = []
    await bench(book, 2, progress_list).run()
    sums = summarise(book.slot_state(slot) for slot in book.plan.slots)
    assert (sums.slots, sums.scored, sums.succeeded, sums.given_up) == (6, 5, 5, 1)
    assert (sums.lost, sums.environment_errors, sums.missing) == (1, 5, 0)
    assert sums.attempts == 6 + 5
    tries = {
        slot.task: len(slot_state.attempts)
        for slot, slot_state in read_attempts(book.folder).items()
    }
    assert tries == {
        "ada": 1,
        "bob": 1,
        "broken-1": 2,
        "broken-9": 3,
        "deadly-1": 2,
        "unscored-1": 2,
    }
    attempts = [a for s in read_attempts(book.folder).values() for a in s.attempts]
    assert len(list_runs(book.runs)) == len(attempts)
    finished_runs = [attempt.run for attempt in attempts if attempt.finished]
    assert len(set(finished_runs)) == len(attempts) - 1
    assert set(finished_runs) <= {folder.name for folder in list_runs(book.runs)}
    first, second = book.slot_state(Slot("full", "unscored-1", 1)).attempts
    assert first.finished is not None
    assert (first.finished.status, first.finished.score_state) == ("environment_error", "unscored")
    assert "could not be scored (succeeded)" in first.finished.message
    assert second.finished is not None
    assert (second.finished.status, second.finished.score_state) == ("succeeded", "scored")
    ends = [(p.slot.task, p.end) for p in progress_list if p.end]
    assert ends.count(("deadly-1", "lost")) == 1
    assert ends.count(("broken-9", "environment_error")) == 3
    lines = (book.folder / "attempts.jsonl").read_text().splitlines()
    started = [row for row in map(json.loads, lines) if row["type"] == "started"]
    assert len({row["worker"] for row in started}) >= 3, "a dead worker is replaced"


@pytest.mark.parametrize("independent", [False, True])
async def test_repeats_learn_apart_where_they_are_independent(
    tmp_path: Path, independent: bool
) -> None:
    planned = plan(tmp_path, "ada", repeat=2)
    tree = planned.variants["full"]
    tree = {**tree, "patterns": {**tree["patterns"], "path": str(tmp_path / "store")}}
    changes = {"variants": {"full": tree}, "independent": independent}
    book = AttemptLedger(tmp_path / "bench", planned.model_copy(update=changes))
    await bench(book, 1).run()
    manifests = [read_manifest(folder) for folder in list_runs(book.runs)]
    stores = {manifest.settings["patterns"]["path"] for manifest in manifests}
    store = tmp_path / "store"
    apart = {str(store / "repeat-1"), str(store / "repeat-2")}
    assert stores == (apart if independent else {str(store)})


async def test_a_check_that_cannot_be_carried_out_is_counted_apart_and_made_again_on_request(
    tmp_path: Path,
) -> None:
    book = ledger(tmp_path, "ada", "bob")
    task = tmp_path / "tasks" / "ada.yaml"
    (task.parent / "c.py").write_text("def f(): return True")
    tree = yaml.safe_load(task.read_text("utf-8"))
    task.write_text(yaml.safe_dump({**tree, "check": [{"python": "c.py:f"}]}), "utf-8")
    progress_list: list[Progress] = []
    await bench(book, 1, progress_list).run()
    sums = summarise(book.slot_state(slot) for slot in book.plan.slots)
    assert (sums.scored, sums.succeeded, sums.score_failed) == (1, 1, 1)
    assert (sums.no_check, sums.unscored, sums.unusable, sums.missing) == (0, 0, 0, 0)
    (failed,) = [
        progress for progress in progress_list if progress.end and progress.slot.task == "ada"
    ]
    assert (failed.end, failed.score_state, failed.success) == ("succeeded", "score_failed", False)
    report = build_report(book.folder)
    (trouble,) = report.troubles
    assert (trouble.task, trouble.what) == ("ada", "succeeded, check failed")
    assert "needs Python on the machine" in trouble.message == failed.message
    assert "1 whose check failed" in html_page(report)
    assert book.again(["score_failed"]) == 1
    assert [slot.task for slot in book.pending()] == ["ada"]


class Learner:
    """A worker that gives a result and dies before it is free again."""

    name = "host:1"

    async def do(self, job: Job, /) -> AsyncIterator[Message]:
        yield RunMade(run="20990101-000000-0000", host="host", process=1)
        yield RunEnded(status="succeeded", score=1.0, score_state="scored", steps=4)
        raise WorkerLost("worker host:1 was killed while it learned")

    async def close(self, *, patience: float = 20.0) -> None:
        """Nothing is left of it."""


class Learners:
    """Hires them."""

    name = "learners"

    def __init__(self) -> None:
        self.hired = 0

    async def start_worker(self) -> Worker:
        self.hired += 1
        return Learner()

    async def close(self) -> None:
        """Nothing is left of them."""


async def test_a_worker_that_dies_while_it_learns_keeps_its_result_and_is_replaced(
    tmp_path: Path,
) -> None:
    book = ledger(tmp_path, "ada", "bob")
    executor, progress_list = Learners(), list[Progress]()
    await Bench(book, executor, on_progress=progress_list.append).run()
    sums = summarise(book.slot_state(slot) for slot in book.plan.slots)
    assert (sums.scored, sums.succeeded, sums.attempts, sums.lost) == (2, 2, 2, 0)
    assert executor.hired == 2
    assert [progress.end for progress in progress_list if progress.end] == ["succeeded"] * 2


class NoRoom:
    """An executor that has one worker and no second."""

    name = "no room"

    def __init__(self, folder: Path) -> None:
        self._local = LocalExecutor(folder / "workers.log")
        self._hired = 0

    async def start_worker(self) -> Worker:
        self._hired += 1
        if self._hired > 1:
            raise EnvironmentFailed("no room for a worker", fix="fewer --workers")
        return await self._local.start_worker()

    async def close(self) -> None:
        await self._local.close()


async def test_a_bench_without_workers_says_so_and_nothing_is_left_open(tmp_path: Path) -> None:
    book = ledger(tmp_path, "slow", "ada")
    work = Bench(book, NoRoom(book.folder), workers=2, environment=PARTS)
    with pytest.raises(EnvironmentFailed, match="no room for a worker"):
        await work.run()
    attempts = [a for slot in book.plan.slots for a in book.slot_state(slot).attempts]
    assert not any(attempt.open for attempt in attempts)
    assert len(book.pending()) == 2
