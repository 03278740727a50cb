"""Runs code that reads the agent's files in a separate process with limits."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hisa.errors import CheckFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.metric import BadRules, NotScored, Unreadable
from hisa.plugins.benchmarks.tasks.process_limits import OWN_LIMITS, Limits

__all__ = [
    "Exceeded",
    "ProcessResult",
    "check_limits",
    "read_isolated",
    "run_isolated",
    "run_process",
]

_SCRIPT = Path(__file__).with_name("isolated_worker.py")
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_ROOT = str(Path(__file__).resolve().parents[4])


class Exceeded(Exception):
    """The process exceeded a limit or crashed; the message says which, not whose fault that is."""


@dataclass(frozen=True)
class ProcessResult:
    """The exit status and the output of a process."""

    code: int
    """Exit status, or the negative number of the signal that ended it."""
    stdout: bytes
    stderr: str
    """The end of its standard error."""


async def run_isolated(
    function: Callable[..., Any], *arguments: Any, limits: Limits = OWN_LIMITS
) -> Any:
    """Call a module's function in a process of its own, with arguments that can be pickled.

    Args:
        function: one defined at the top level of a module.
        arguments: texts, numbers, paths, lists and mappings of these.
        limits: time and memory that the process may use.

    Raises:
        Unreadable, NotScored: as the function raised it.
        Exceeded: too much processor time or memory, or a crash.
        CheckFailed: it did not end in time although it used little, or was ended from outside.
    """
    pickled_call = pickle.dumps((function, arguments))
    roots = [_ROOT, *filter(os.path.isabs, sys.path)]  # a metric may belong to a package elsewhere
    request = json.dumps({**asdict(limits), "roots": roots})
    line = [sys.executable, "-I", "-X", "utf8", str(_SCRIPT), request]
    with tempfile.TemporaryDirectory(prefix="hisa-isolated-") as folder:
        process_result = await run_process(line, pickled_call, folder=Path(folder), limits=limits)
    return _read_answer(process_result, limits)


async def read_isolated(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that reads the agent's files, in a separate process with limits.

    Raises:
        Unreadable: the file cannot be read, or takes more time or memory than it may.
        NotScored: the machine that scores is at fault.
    """
    try:
        return await run_isolated(function, *arguments)
    except Exceeded as error:
        raise Unreadable(f"what was left {error}") from error


def _read_answer(process_result: ProcessResult, limits: Limits) -> Any:
    check_limits(process_result.code, limits)
    try:
        answer: dict[str, Any] = json.loads(process_result.stdout, object_hook=_unpack_bytes)
    except ValueError:
        why = process_result.stderr.strip()[-300:] or f"exit status {process_result.code}"
        raise CheckFailed(f"the process that scores ended without an answer: {why}") from None
    match answer:
        case {"value": value}:
            return value
        case {"unreadable": why}:
            raise Unreadable(why)
        case {"rules": why}:
            raise BadRules(why)
        case {"memory": _}:
            raise Exceeded(f"takes more than {limits.memory / 1e9:g} GB of memory")
        case _:
            raise NotScored(str(answer.get("broken")))


def check_limits(code: int, limits: Limits) -> None:
    """Check from the exit status that a process stayed within its limits.

    Raises:
        Exceeded: too much processor time, or it crashed.
    """
    number = -code if code < 0 else code - 128  # a shell or bubblewrap adds 128 to the number
    if number == signal.SIGXCPU:
        raise Exceeded(f"takes more than {limits.processor} s of processor time")
    if number in _CRASHES:
        raise Exceeded(f"crashes its reader ({signal.Signals(number).name})")


def _unpack_bytes(tree: dict[str, Any]) -> Any:
    return base64.b64decode(tree["$bytes"]) if tree.keys() == {"$bytes"} else tree


async def run_process(
    line: Sequence[str], request: bytes, *, folder: Path, limits: Limits
) -> ProcessResult:
    """Run a program that gets none of this process's variables, and wait for its end.

    It is killed with all that it started when the wait is over, for whatever reason.

    Args:
        line: the program and its arguments.
        request: what it reads from standard input.
        folder: its working and home folder.
        limits: of these, the wall time and the bytes of its answer count here.

    Raises:
        CheckFailed: it cannot be started, or did not end in time.
        Exceeded: it wrote more than it may.
    """
    variables = _few_variables(folder)
    seconds = patience(limits.wall)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = await asyncio.create_subprocess_exec(
                *line,
                stdin=asyncio.subprocess.PIPE,
                stdout=out,
                stderr=err,
                env=variables,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise CheckFailed(f"{line[0]}: cannot be started: {error}") from error
        try:
            await asyncio.wait_for(process.communicate(request), seconds)
        except TimeoutError as error:
            raise CheckFailed(
                f"a metric did not end within {seconds:.0f} s, although it used little of that time"
            ) from error
        finally:
            await _end(process)
        assert process.returncode is not None
        if out.seek(0, os.SEEK_END) > limits.answer:
            raise Exceeded(f"gives more than {limits.answer} bytes")
        return ProcessResult(process.returncode, _tail(out, limits.answer), _text(_tail(err, 500)))


def _few_variables(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process and all that it started, even if this wait is cancelled."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())


def _tail(file: Any, most: int) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    data: bytes = file.read()
    return data


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
