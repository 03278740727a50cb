"""The record of attempts: what counts, what is due, and what a crash leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.attempt_records import (
    AttemptFinished,
    AttemptLost,
    AttemptStarted,
    Plan,
    Slot,
)
from hisa.plugins.benchmarks.bench.ledger import MAX_TRIES, AttemptLedger, read_attempts, read_plan
from tests.cli.command import ROOT
from tests.plugins.benchmarks.bench_suite.sample import plan

SLOT = Slot("full", "task-00", 1)


@pytest.fixture
def book(tmp_path: Path) -> AttemptLedger:
    return AttemptLedger(tmp_path, plan(tasks=2))


def begin(book: AttemptLedger, slot: Slot = SLOT) -> dict[str, Any]:
    key = {**slot._asdict(), "try": book.next_try(slot)}
    book.write(AttemptStarted.model_validate({**key, "worker": "host:1"}))
    return key


def end(book: AttemptLedger, status: str, score: float | None = None, *, steps: int = 4) -> None:
    record = {**begin(book), "status": status, "score": score, "run": "r", "steps": steps}
    book.write(AttemptFinished.model_validate(record))


def reopen(book: AttemptLedger) -> AttemptLedger:
    book.close()
    return AttemptLedger(book.folder, book.plan)


@pytest.mark.parametrize("status", ["succeeded", "infeasible", "max_steps", "budget", "defect"])
def test_a_result_is_never_made_again(book: AttemptLedger, status: str) -> None:
    end(book, status, 0.0)
    assert SLOT not in book.pending()
    assert SLOT not in reopen(book).pending()


def test_slot_on_broken_machines_is_given_up_after_three_tries(
    book: AttemptLedger,
) -> None:
    for _ in range(MAX_TRIES):
        assert SLOT in book.pending()
        end(book, "environment_error")
    assert SLOT not in book.pending()
    slot_state = reopen(book).slot_state(SLOT)
    assert (slot_state.given_up, slot_state.result, len(slot_state.attempts)) == (
        True,
        None,
        MAX_TRIES,
    )


def test_an_attempt_without_an_end_is_lost_stored_and_repeated(book: AttemptLedger) -> None:
    for number in range(1, 6):
        begin(book)
        book = reopen(book)
        slot_state = book.slot_state(SLOT)
        assert [attempt.lost.cause for attempt in slot_state.attempts if attempt.lost] == [
            "bench"
        ] * number
        assert SLOT in book.pending(), "a bench that was stopped often has broken nothing"
    end(book, "succeeded", 1.0)
    result = reopen(book).slot_state(SLOT).result
    assert result is not None
    assert result.number == 6


def test_every_cut_of_the_file_leaves_each_slot_with_at_most_one_result(
    book: AttemptLedger,
) -> None:
    end(book, "environment_error")
    end(book, "succeeded", 1.0)
    book.close()
    path = book.folder / "attempts.jsonl"
    full_content = path.read_bytes()
    for length in range(len(full_content) + 1):
        path.write_bytes(full_content[:length])
        again = AttemptLedger(book.folder, book.plan)
        pending = SLOT in again.pending()
        assert pending is (again.slot_state(SLOT).result is None)
        again.close()


def test_a_damaged_line_in_the_middle_is_named(book: AttemptLedger) -> None:
    end(book, "succeeded", 1.0)
    book.close()
    path = book.folder / "attempts.jsonl"
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    wrong = "not a record of an attempt: Invalid JSON: expected ident at line 1 column 2"
    message = f"{path} line 1: {wrong}"
    assert refusal(book.folder, book.plan) == (message, "repair the line, or give another --out")
    path.write_bytes(path.read_bytes().removeprefix(b"nonsense\n"))
    AttemptLedger(book.folder, book.plan).close()


def refusal(folder: Path, plan: Plan) -> tuple[str, str]:
    """What a ledger says that is not opened, and what helps; the folder is free afterwards."""
    with pytest.raises(UsageError) as caught:
        AttemptLedger(folder, plan)
    return str(caught.value), caught.value.fix


def test_a_folder_has_one_writer(book: AttemptLedger) -> None:
    wait = "wait for it, or give another --out"
    message = f"process {os.getpid()} runs the bench in {str(book.folder)!r}"
    assert [refusal(book.folder, book.plan) for _ in range(2)] == [(message, wait)] * 2
    book.close()
    AttemptLedger(book.folder, book.plan).close()


@pytest.mark.parametrize("cause", ["worker", "bench", "again"])
def test_lost_attempt_counts_as_broken_only_if_its_worker_died(
    book: AttemptLedger, cause: str
) -> None:
    for _ in range(MAX_TRIES):
        key = begin(book)
        book.write(AttemptLost.model_validate({**key, "cause": cause}))
    slot_state = book.slot_state(SLOT)
    assert [attempt.broken for attempt in slot_state.attempts] == [cause == "worker"] * MAX_TRIES
    assert (slot_state.given_up, slot_state.pending) == (cause == "worker", cause != "worker")


@pytest.mark.parametrize("state", ["score_failed", "unscored", "no_check"])
def test_results_can_be_made_again_by_how_they_were_scored(book: AttemptLedger, state: str) -> None:
    record = {**begin(book), "status": "succeeded", "score_state": state}
    book.write(AttemptFinished.model_validate(record))
    assert book.again(["scored", "environment_error"]) == 0
    assert book.again([state]) == 1
    (attempt,) = book.slot_state(SLOT).attempts
    assert (attempt.counts, attempt.broken) == (False, False)


def test_folder_of_a_different_plan_is_refused_with_the_differences(book: AttemptLedger) -> None:
    book.close()
    settings = json.loads(json.dumps(book.plan.variants["full"]))
    settings["run"]["max_steps"] = 7
    other = book.plan.model_copy(update={"variants": {"full": settings}})
    fix = "give another --out, or the command that began it"
    folder = repr(str(book.folder))
    assert refusal(book.folder, other) == (f"{folder} holds a bench with other variants", fix)
    assert read_plan(book.folder) == book.plan
    other = book.plan.model_copy(update={"suite": "own:else", "tasks": ()})
    assert refusal(book.folder, other) == (f"{folder} holds a bench with other suite, tasks", fix)


def test_more_repeats_go_on_and_fewer_forget_nothing(book: AttemptLedger) -> None:
    book.close()
    more = AttemptLedger(book.folder, book.plan.model_copy(update={"repeat": 3}))
    assert len(more.pending()) == 6
    more.close()
    fewer = AttemptLedger(book.folder, book.plan)
    assert fewer.plan.repeat == 3
    fewer.close()


@pytest.mark.parametrize("status", ["model_error", "budget"])
def test_a_run_that_ended_before_its_first_step_is_made_again(
    book: AttemptLedger, status: str
) -> None:
    for _ in range(MAX_TRIES):
        assert SLOT in book.pending()
        end(book, status, steps=0)
    assert book.slot_state(SLOT).given_up
    assert book.again(["refused"]) == 0
    assert book.again([status]) == 1
    assert SLOT in reopen(book).pending()


@pytest.mark.process
def test_a_full_disk_leaves_complete_records(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from hisa.plugins.benchmarks.bench.attempt_records import AttemptStarted
from hisa.errors import EnvironmentFailed
from tests.plugins.benchmarks.bench_suite.forms import ledger

book = ledger(Path(sys.argv[1]), "ada")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
key = {"variant": "full", "task": "ada", "repeat": 1, "worker": "host:1"}
try:
    for number in range(1, 10_000):
        book.write(AttemptStarted.model_validate({**key, "try": number}))
except EnvironmentFailed as error:
    print(error)
    print(error.fix)
"""
    process = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    path = tmp_path / "bench" / "attempts.jsonl"
    assert (
        process.stdout == f"cannot write {path}: only a part of the line could be written\ndf -h\n"
    )
    lines = (tmp_path / "bench" / "attempts.jsonl").read_bytes()
    assert lines.endswith(b"\n")
    (slot_state,) = read_attempts(tmp_path / "bench").values()
    assert len(slot_state.attempts) > 10
