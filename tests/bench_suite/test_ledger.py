"""The record of attempts: what counts, what is due, and what a crash leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hisa.bench.ledger import MAX_TRIES, AttemptLedger, read_attempts, read_plan
from hisa.bench.records import AttemptFinished, AttemptLost, AttemptStarted, Slot
from hisa.errors import UsageError
from tests.bench_suite.sample import plan
from tests.cli.command import ROOT

SLOT = Slot("full", "task-00", 1)


@pytest.fixture
def book(tmp_path: Path) -> AttemptLedger:
    return AttemptLedger(tmp_path, plan(tasks=2))


def begin(book: AttemptLedger, slot: Slot = SLOT) -> dict[str, Any]:
    key = {**slot._asdict(), "try": book.next_try(slot)}
    book.write(AttemptStarted.model_validate({**key, "worker": "host:1"}))
    return key


def end(book: AttemptLedger, status: str, score: float | None = None) -> None:
    book.write(
        AttemptFinished.model_validate(
            {**begin(book), "status": status, "score": score, "run": "r"}
        )
    )


def reopened(book: AttemptLedger) -> AttemptLedger:
    book.close()
    return AttemptLedger(book.folder, book.plan)


@pytest.mark.parametrize("status", ["succeeded", "infeasible", "max_steps", "budget", "defect"])
def test_a_result_is_never_made_again(book: AttemptLedger, status: str) -> None:
    end(book, status, 0.0)
    assert SLOT not in book.due()
    assert SLOT not in reopened(book).due()


def test_a_broken_machine_is_no_result_and_is_given_up_after_three_tries(
    book: AttemptLedger,
) -> None:
    for _ in range(MAX_TRIES):
        assert SLOT in book.due()
        end(book, "environment_error")
    assert SLOT not in book.due()
    standing = reopened(book).standing(SLOT)
    assert (standing.given_up, standing.result, len(standing.attempts)) == (True, None, MAX_TRIES)


def test_an_attempt_without_an_end_is_lost_kept_and_made_again(book: AttemptLedger) -> None:
    for number in range(1, 6):
        begin(book)
        book = reopened(book)
        standing = book.standing(SLOT)
        assert [attempt.lost.cause for attempt in standing.attempts if attempt.lost] == [
            "bench"
        ] * number
        assert SLOT in book.due(), "a bench that was stopped often has broken nothing"
    end(book, "succeeded", 1.0)
    result = reopened(book).standing(SLOT).result
    assert result is not None
    assert result.number == 6


def test_a_second_end_of_the_same_try_changes_nothing(book: AttemptLedger) -> None:
    key = begin(book)
    book.write(AttemptLost.model_validate({**key, "cause": "worker"}))
    late = {**key, "status": "succeeded", "score": 1.0}
    book.write(AttemptFinished.model_validate(late))
    assert book.standing(SLOT).result is None
    assert SLOT in book.due()


def test_a_record_that_was_cut_off_never_happened(book: AttemptLedger) -> None:
    end(book, "succeeded", 1.0)
    path = book.folder / "attempts.jsonl"
    whole = path.read_bytes()
    book.close()
    path.write_bytes(whole + b'{"v":1,"type":"finis')
    assert read_attempts(book.folder)[SLOT].result is not None
    again = AttemptLedger(book.folder, book.plan)
    assert path.read_bytes() == whole
    again.close()


def test_every_cut_of_the_file_leaves_each_slot_with_at_most_one_result(
    book: AttemptLedger,
) -> None:
    end(book, "environment_error")
    end(book, "succeeded", 1.0)
    book.close()
    path = book.folder / "attempts.jsonl"
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        again = AttemptLedger(book.folder, book.plan)
        due = SLOT in again.due()
        assert due is (again.standing(SLOT).result is None)
        again.close()


def test_a_damaged_line_in_the_middle_is_named(book: AttemptLedger) -> None:
    end(book, "succeeded", 1.0)
    book.close()
    path = book.folder / "attempts.jsonl"
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(UsageError, match=r"attempts\.jsonl line 1: not a record"):
        AttemptLedger(book.folder, book.plan)


def test_a_folder_has_one_writer(book: AttemptLedger) -> None:
    with pytest.raises(UsageError, match=r"process \d+ runs the bench"):
        AttemptLedger(book.folder, book.plan)
    book.close()
    AttemptLedger(book.folder, book.plan).close()


def test_another_plan_is_refused_and_says_what_differs(book: AttemptLedger) -> None:
    book.close()
    settings = json.loads(json.dumps(book.plan.variants["full"]))
    settings["run"]["max_steps"] = 7
    other = book.plan.model_copy(update={"variants": {"full": settings}})
    with pytest.raises(UsageError, match=r"other variants: run\.max_steps was 50, is 7"):
        AttemptLedger(book.folder, other)
    assert read_plan(book.folder) == book.plan


def test_more_repeats_go_on_and_fewer_forget_nothing(book: AttemptLedger) -> None:
    book.close()
    more = AttemptLedger(book.folder, book.plan.model_copy(update={"repeat": 3}))
    assert len(more.due()) == 6
    more.close()
    fewer = AttemptLedger(book.folder, book.plan)
    assert fewer.plan.repeat == 3
    fewer.close()


def test_results_can_be_made_again_by_how_they_ended(book: AttemptLedger) -> None:
    end(book, "model_error")
    assert book.again(["refused"]) == 0
    assert book.again(["model_error"]) == 1
    assert SLOT in reopened(book).due()


def test_what_was_given_up_can_be_tried_again(book: AttemptLedger) -> None:
    for _ in range(MAX_TRIES):
        end(book, "environment_error")
    assert book.again(["environment_error"]) == 1
    book = reopened(book)
    assert SLOT in book.due()
    assert len(book.standing(SLOT).attempts) == MAX_TRIES
    end(book, "succeeded", 1.0)
    assert book.standing(SLOT).result is not None


def test_a_full_disk_leaves_whole_records(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from pathlib import Path
from hisa.bench.records import AttemptStarted
from hisa.errors import EnvironmentFailed
from tests.bench_suite.forms import ledger

book = ledger(Path(sys.argv[1]), "ada")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
key = {"variant": "full", "task": "ada", "repeat": 1, "worker": "host:1"}
try:
    for number in range(1, 10_000):
        book.write(AttemptStarted.model_validate({**key, "try": number}))
except EnvironmentFailed as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert "cannot write" in done.stdout
    lines = (tmp_path / "bench" / "attempts.jsonl").read_bytes()
    assert lines.endswith(b"\n")
    (standing,) = read_attempts(tmp_path / "bench").values()
    assert len(standing.attempts) > 10
