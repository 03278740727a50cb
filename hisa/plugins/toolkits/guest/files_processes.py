"""Starts, lists and ends programs without a shell; runs inside the machine."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .files_common import Refused, owner_of, path_of, serve

KEPT = 200_000
"""Bytes of output that are kept of each end; the tool tells fewer of them."""
DRAIN_SECONDS = 0.3
"""For what is still in the pipes after a program has ended; chosen by hand."""
LISTED = 200
"""Processes that are told; chosen by hand: more is no longer read."""
TICKS = os.sysconf("SC_CLK_TCK")


class Ends(threading.Thread):
    """Reads a stream to its end and keeps its beginning and its last part."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._first = bytearray()
        self._last = bytearray()
        self._left_out = 0
        self.start()

    def run(self) -> None:
        """Read to the end."""
        while chunk := os.read(self._stream.fileno(), 65536):
            room = KEPT - len(self._first)
            self._first += chunk[:room]
            self._last += chunk[room:] if room > 0 else chunk
            if len(self._last) > KEPT:
                self._left_out += len(self._last) - KEPT
                del self._last[:-KEPT]

    def text(self) -> str:
        """Returns the text so far, after a short wait for the end of the stream."""
        self.join(DRAIN_SECONDS)
        first, last = (bytes(each).decode("utf-8", "replace") for each in (self._first, self._last))
        between = f"\n… {self._left_out} bytes left out …\n" if self._left_out else ""
        return first + between + last


def _folder(text: str) -> Path:
    path = path_of(text)
    if not path.is_dir():
        raise Refused(f"there is no folder {str(path)!r}")
    return path


def _program(command: Sequence[str], folder: Path) -> list[str]:
    """Returns the words of a command, its program found."""
    if not command or not command[0] or any("\0" in word for word in command):
        raise Refused("a command is a list of words, a program's name first")
    name = os.path.expanduser(command[0])
    found = shutil.which(name if "/" not in name else os.fspath(folder / name))
    if found is None:
        hint = "; each word is one item of the list" if " " in name else ""
        raise Refused(f"there is no program {command[0]!r}{hint}")
    return [found, *command[1:]]


def run(command: Sequence[str], stdin: str, folder: str, limit: float) -> dict[str, Any]:
    """Runs a command to its end; at its time limit all that it started is killed."""
    where = _folder(folder)
    with tempfile.TemporaryFile() as given:
        given.write(stdin.encode("utf-8", "surrogateescape"))
        given.seek(0)
        process = subprocess.Popen(
            _program(command, where),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=where,
            start_new_session=True,
        )
    if process.stdout is None or process.stderr is None:
        raise Refused("it has no output")
    output, error = Ends(process.stdout), Ends(process.stderr)
    timed_out = False
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return {
        "exit_code": process.returncode,
        "output": output.text(),
        "error": error.text(),
        "timed_out": timed_out,
    }


def start(command: Sequence[str], folder: str, wait: float) -> dict[str, Any]:
    """Starts a program that goes on by itself; tells how it is after some seconds."""
    where = _folder(folder)
    words = _program(command, where)
    number, log = tempfile.mkstemp(prefix="started-", suffix=".log")
    with os.fdopen(number, "wb") as file:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=where,
            start_new_session=True,
        )
    ended: int | None = None
    with suppress(subprocess.TimeoutExpired):
        ended = process.wait(wait)
    with open(log, "rb") as written:
        said = written.read(KEPT).decode("utf-8", "replace")
    return {"pid": process.pid, "exit_code": ended, "log": log, "said": said}


def processes(name: str) -> dict[str, Any]:
    """Returns the processes of this user, the newest first."""
    boot = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    rows = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        row = _process(int(entry.name))
        if row is not None and name.lower() in f"{row['name']} {row['command']}".lower():
            began = boot + row.pop("ticks") / TICKS
            rows.append({**row, "started": time.strftime("%H:%M:%S", time.localtime(began))})
    rows.sort(key=lambda row: -row["pid"])
    return {"processes": rows[:LISTED], "count": len(rows)}


def _process(pid: int) -> dict[str, Any] | None:
    """Returns what /proc tells of a process; None where it is gone or the kernel's own."""
    try:
        folder = Path("/proc", str(pid))
        owner = folder.stat().st_uid
        before, _, after = (folder / "stat").read_text(errors="replace").rpartition(")")
        words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    fields = after.split()
    if fields[0] == "Z" or not words[0]:
        return None
    return {
        "pid": pid,
        "parent": int(fields[1]),
        "name": before.partition("(")[2],
        "user": owner_of(owner),
        "memory_mb": int(fields[21]) * os.sysconf("SC_PAGE_SIZE") >> 20,
        "command": " ".join(word.decode("utf-8", "replace") for word in words)[:300],
        "ticks": int(fields[19]),
    }


def end(pid: int, force: bool, wait: float) -> dict[str, Any]:
    """Asks a process to end, or kills it, and waits for its end."""
    row = _process(pid)
    if row is None:
        raise Refused(f"there is no process {pid}")
    if pid in _above():
        raise Refused(f"process {pid} ({row['name']}) is one that this desktop stands on")
    try:
        handle = os.pidfd_open(pid)
        now = _process(pid)
        if now is None or now["ticks"] != row["ticks"]:
            raise Refused(f"process {pid} has ended by itself")
        signal.pidfd_send_signal(handle, signal.SIGKILL if force else signal.SIGTERM)
    except ProcessLookupError as error:
        raise Refused(f"process {pid} has ended by itself") from error
    except PermissionError as error:
        raise Refused(f"process {pid} ({row['name']}) belongs to {row['user']}") from error
    gone = bool(select.select([handle], [], [], wait)[0])
    os.close(handle)
    return {"pid": pid, "name": row["name"], "gone": gone}


def _above() -> set[int]:
    """Returns the numbers of this process and those above it."""
    numbers, pid = {1}, os.getpid()
    while pid > 1 and pid not in numbers:
        numbers.add(pid)
        row = _process(pid)
        pid = row["parent"] if row else 0
    return numbers


def environment(name: str) -> dict[str, Any]:
    """Returns the names of the variables, or the value of one."""
    if name and name not in os.environ:
        raise Refused(f"there is no variable {name!r}; there are {sorted(os.environ)}")
    return {"names": sorted(os.environ), "value": os.environ[name] if name else None}


def which(program: str) -> dict[str, Any]:
    """Returns where a program is; None where it is nowhere."""
    found = shutil.which(program)
    real = os.path.realpath(found) if found else None
    return {"path": found, "real": real, "searched": os.environ.get("PATH", "")}


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "run": run, "start": start, "processes": processes, "end": end, "environment": environment,
    "which": which,
}  # fmt: skip


if __name__ == "__main__":
    serve(FUNCTIONS)
    os._exit(0)  # a reader may still wait for a pipe that a background program holds
