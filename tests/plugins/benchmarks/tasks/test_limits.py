"""Every check has limits: nothing that an agent leaves holds a scoring, and the fault is named."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import CheckFailed
from hisa.plugins.benchmarks.tasks.isolated_process import Exceeded, read_isolated, run_isolated
from hisa.plugins.benchmarks.tasks.judge import judge
from hisa.plugins.benchmarks.tasks.metric import reading
from hisa.plugins.benchmarks.tasks.metrics import BadRules, NotScored, Unreadable
from hisa.plugins.benchmarks.tasks.process_limits import OWN_LIMITS
from hisa.plugins.benchmarks.tasks.readers import rows_of

pytestmark = pytest.mark.process

SHORT = replace(OWN_LIMITS, processor=1)


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    time.sleep(600)


def eat() -> int:
    return len(bytearray(OWN_LIMITS.memory))


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def vanish() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def talk() -> str:
    return "x" * 2000


def write() -> None:
    with reading("result file"), open("big", "wb") as file:
        file.write(bytes(2_000_000))


def lack() -> None:
    with reading("result file"):
        import a_library_that_nobody_has  # type: ignore[import-not-found] # noqa: F401


def full() -> None:
    with reading("result file"):
        raise OSError(errno.ENOSPC, "No space left on device")


def defect() -> None:
    raise RuntimeError("oh no")


def torn() -> None:
    with reading("result file"):
        json.loads("{}")["sheet"]


def environment() -> list[str]:
    return sorted(os.environ)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (spin, Exceeded, "more than 1 s of processor time"),
        (eat, Exceeded, "more than 4 GB of memory"),
        (crash, Exceeded, "crashes its reader"),
        (talk, Exceeded, "more than 1000 bytes"),
        (vanish, CheckFailed, "ended without an answer"),
        (write, NotScored, "File too large"),
        (lack, NotScored, "a_library_that_nobody_has"),
        (full, NotScored, "No space left"),
        (defect, NotScored, "a defect in HiSA: RuntimeError: oh no"),
        (torn, Unreadable, "KeyError: 'sheet'"),
    ],
)
async def test_check_failure_names_whose_fault_it_is(
    function: Callable[[], Any], error: type[Exception], message: str
) -> None:
    limits = replace(SHORT, answer=1000, written=1_000_000)
    with pytest.raises(error, match=message):
        await run_isolated(function, limits=limits)


async def test_a_process_that_does_nothing_for_too_long_is_the_machines_fault() -> None:
    with pytest.raises(CheckFailed, match="did not end within"):
        await run_isolated(sleep, limits=replace(OWN_LIMITS, wall=0.3))


async def test_a_scoring_that_is_called_off_ends_its_process() -> None:
    task = asyncio.create_task(run_isolated(sleep))
    await asyncio.sleep(1.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    children_file = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    for child in (await asyncio.to_thread(Path(children_file).read_text)).split():
        words = await asyncio.to_thread(Path(f"/proc/{child}/cmdline").read_bytes)
        assert b"worker.py" not in words


async def test_isolated_check_cannot_see_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    variables = set(await run_isolated(environment))
    assert variables <= {
        "HOME",
        "LANG",
        "LC_CTYPE",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "TMPDIR",
        "PWD",
    }


def database(path: Path, view: str) -> Path:
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE t (a)")
        base.execute(f"CREATE VIEW v AS {view}")
        base.commit()
    return path


ENDLESS = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT count(*) AS a FROM n"""


async def test_an_endless_view_cannot_hold_a_scoring(tmp_path: Path) -> None:
    left = database(tmp_path / "left.db", ENDLESS)
    expected = database(tmp_path / "wanted.db", "SELECT count(*) AS a FROM t")
    options = {"db_type": "sqlite3", "check_type": ["view-schema-content"]}
    with pytest.raises(Unreadable, match="what was left takes more than 1 s"):
        await judge("check_local_database", left, expected, options, limits=SHORT)
    assert (await judge("check_local_database", expected, expected, options))[0] == 1.0
    with pytest.raises(BadRules, match="the expected file cannot even be compared"):
        await judge("check_local_database", expected, left, options, limits=SHORT)


async def test_a_getter_reads_apart_too(tmp_path: Path) -> None:
    base = database(tmp_path / "a.db", "SELECT 1 AS one, x'00ff' AS two")
    assert await read_isolated(rows_of, base, "SELECT * FROM v") == [[1, b"\x00\xff"]]
    with pytest.raises(Unreadable, match="what was left"):
        await read_isolated(crash)
