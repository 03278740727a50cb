"""The watchdog outside a private desktop: enforces its limits, bounds its log, ends a silent one.

It starts the desktop as its child and lives as long as the desktop, even if HiSA ends. The system's
Python runs it with the standard library alone, as ``watchdog.py JSON COMMAND…``; nothing inside can
see or stop it. Before it ends a desktop, it writes down why.

As ``watchdog.py --cages PROCESSES,MEMORY_MB COMMAND…`` it starts the guest of an existing display,
and enforces the limits for all that the guest starts, together, even after the guest's end.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

__all__ = [
    "Log",
    "Process",
    "ProcessLimitTracker",
    "ResourceUsage",
    "WatchdogOptions",
    "blame",
    "children",
    "count_written_bytes",
    "first_inside",
    "main",
    "resource_usage",
]

_TICK_SECONDS, _SHARE = 0.5, 0.05
"""Shortest time between two looks at the processes, and their largest share of a processor."""
_GRACE_SECONDS = 5.0
"""An idle guest ends itself; the watchdog ends it only if it has not done so after this time."""
_LOG_BYTES = 256 << 10
"""Largest size of the log, which is read if a desktop does not start."""
_CROWDED, _CROWDED_SECONDS = 0.97, 10.0
"""Share of the limit of processes above which hardly any command can start, and how long that may
last."""
_WRITTEN = ("home/user", "tmp", "dev/shm", "run")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # of <sys/prctl.h>
_MEMORY = re.compile(r"^(RssAnon|RssShmem|VmSwap|Threads):\s+(\d+)", re.MULTILINE)
_HELD = ("RssAnon", "RssShmem", "VmSwap")
_SHARED = re.compile(r"^(Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class WatchdogOptions:
    """What the watchdog watches; a limit of 0 means no limit."""

    folder: str
    fds: tuple[int, ...]
    idle: float
    processes: int
    memory_mb: int
    disk_mb: int


@dataclass(frozen=True)
class ResourceUsage:
    """The resources that the processes of a desktop take."""

    processes: int = 0
    """Processes and threads."""
    memory: int = 0
    """Bytes; shared memory counts once for each process, so the true sum is never larger."""


class ProcessLimitTracker:
    """Tells a desktop that stays at its limit of processes from one that only touches it.

    The kernel keeps an ordinary user's desktop just below the limit: no command can start any more,
    and nothing would report that.

    Args:
        limit: most processes and threads; 0: no limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._since: float | None = None

    def stays(self, processes: int, at: float) -> bool:
        """Whether it has been at the limit for `_CROWDED_SECONDS`; ``at`` is a monotonic time."""
        if not 0 < self._limit * _CROWDED <= processes:
            self._since = None
            return False
        self._since = at if self._since is None else self._since
        return at - self._since >= _CROWDED_SECONDS


class Log:
    """A log file of limited size; its last line says how many bytes were dropped.

    Args:
        path: the file.
    """

    def __init__(self, path: str) -> None:
        self._file: IO[bytes] = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by `close`
        self._room = _LOG_BYTES
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Appends as much of the data as there is room for."""
        head = data[: self._room]
        self._room -= len(head)
        self._dropped += len(data) - len(head)
        self._put(head)

    def close(self) -> None:
        """Writes how much was dropped, and closes the file."""
        if self._dropped:
            self._put(f"\n[{self._dropped} bytes of output dropped]\n".encode())
        self._file.close()

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk must not end a desktop
            self._file.write(data)


def children(pid: int) -> list[int]:
    """Returns the ids of the processes that a process started; empty if it is gone."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(word) for word in text.split()]


def first_inside(launcher: int) -> int | None:
    """Returns the first process of the desktop that ``launcher`` (unshare or bwrap) made.

    None while it still has the host's file system, whose content is not the desktop's.
    """
    for pid in children(launcher):
        with contextlib.suppress(OSError):
            if not os.path.samestat(os.stat(f"/proc/{pid}/root/"), os.stat("/")):
                return pid
    return None


@dataclass(frozen=True)
class Process:
    """One process of a desktop, with the ids of the desktop's /proc."""

    pid: int
    parent: int
    started: int
    """Clock ticks since boot."""
    threads: int
    memory: int
    """Bytes."""


def blame(processes: Sequence[Process], limit: int, held: Callable[[Process], int]) -> int | None:
    """Returns the latest time since which over half of a limit was taken; None if there is none.

    A process counts from the start of its oldest living ancestor below the guest, so an agent is
    not blamed for what the task's own program takes later.

    Args:
        processes: all processes of one desktop.
        limit: the limit for all of them together.
        held: returns how much of it one process takes.

    Returns:
        Clock ticks since boot.
    """
    by_pid = {process.pid: process for process in processes}
    base = {1, min((pid for pid in by_pid if pid != 1), default=1)}  # the first, and the guest

    def find_start(process: Process) -> int:
        start = process.started
        while process.parent in by_pid and process.parent not in base:
            process = by_pid[process.parent]
            start = min(start, process.started)
        return start

    taken = 0
    others = [process for process in processes if process.pid not in base]
    for process in sorted(others, key=find_start, reverse=True):
        taken += held(process)
        if taken > limit // 2:
            return find_start(process)
    return None


def _processes(first: int) -> list[Process]:
    proc = f"/proc/{first}/root/proc"
    processes = []
    for pid in _pids(proc):
        with contextlib.suppress(OSError, IndexError, ValueError):
            text = Path(f"{proc}/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            fields = text.rpartition(")")[2].split()
            numbers = _numbers(_MEMORY, f"{proc}/{pid}/status")
            memory = sum(numbers.get(name, 0) for name in _HELD) << 10
            line = (int(pid), int(fields[1]), int(fields[19]), numbers.get("Threads", 0), memory)
            processes.append(Process(*line))
    return processes


def resource_usage(first: int) -> ResourceUsage:
    """Sums up the processes of the namespace whose first process is ``first``."""
    processes = _processes(first)
    unnamed = _sum_unnamed(f"/proc/{first}/root/proc", [str(process.pid) for process in processes])
    memory = sum(process.memory for process in processes) + unnamed
    return ResourceUsage(sum(process.threads for process in processes), memory)


def _held_exactly(proc: str, pids: Sequence[str]) -> int:
    """Returns bytes held, with shared ones counted once; slow, so only for a sum over the limit."""
    own = shared = 0
    for pid in pids:
        numbers = _numbers(_SHARED, f"{proc}/{pid}/smaps_rollup")
        if not numbers:
            own += _numbers(_MEMORY, f"{proc}/{pid}/status").get("RssAnon", 0) << 10
        own += (numbers.get("Pss_Anon", 0) + numbers.get("SwapPss", 0)) << 10
        shared += numbers.get("Pss_Shmem", 0) << 10
    return own + max(shared, _sum_unnamed(proc, pids))


def _sum_unnamed(proc: str, pids: Sequence[str]) -> int:
    """Returns bytes of memory files (memfd_create): no mount limits them, none need be mapped."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        folder = f"{proc}/{pid}/fd"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                _add_unnamed(f"{folder}/{name}", sizes)
    return sum(sizes.values())


def _add_unnamed(path: str, sizes: dict[tuple[int, int], int]) -> None:
    with contextlib.suppress(OSError):
        if os.readlink(path).startswith("/memfd:"):
            status = os.stat(path)
            sizes[status.st_dev, status.st_ino] = status.st_blocks * 512


def _pids(proc: str) -> list[str]:
    try:
        return [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return []


def _numbers(pattern: re.Pattern[str], path: str) -> dict[str, int]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return {name: int(value) for name, value in pattern.findall(file.read())}
    except OSError:
        return {}


def count_written_bytes(first: int) -> int:
    """Returns the bytes of files in the desktop's tmpfs file systems."""
    used: dict[int, int] = {}
    for name in _WRITTEN:
        path = f"/proc/{first}/root/{name}"
        with contextlib.suppress(OSError):
            status = os.statvfs(path)
            used[os.stat(path).st_dev] = (status.f_blocks - status.f_bfree) * status.f_frsize
    return sum(used.values())


class _Answers(threading.Thread):
    """Asks the guest now and then whether it lives; the guest's idle clock ignores the question."""

    def __init__(self, path: str, idle: float) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._idle = idle
        self.heard = time.monotonic()

    def run(self) -> None:
        """Asks until the process ends."""
        while True:
            time.sleep(min(60.0, max(0.1, self._idle / 5)))
            idle = self._ask()
            if idle is not None and idle < self._idle:
                self.heard = time.monotonic()

    def _ask(self) -> float | None:
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError, ValueError):
            client.settimeout(10.0)
            client.connect(self._path)
            client.sendall(b"GET /hisa/idle HTTP/1.0\r\n\r\n")
            response = b""
            while len(response) < 4096 and (chunk := client.recv(4096)):
                response += chunk
            return float(json.loads(response.rpartition(b"\r\n\r\n")[2]))
        return None


class _Watchdog:
    def __init__(self, options: WatchdogOptions, child: subprocess.Popen[bytes]) -> None:
        self._orders = options
        self._child = child
        self._answers = _Answers(f"{options.folder}/socket", options.idle)
        self._answers.start()
        self._next = 0.0
        self._crowd = ProcessLimitTracker(options.processes)

    def stand(self, output: int, log: Log) -> int:
        """Watches until the desktop has ended; returns the exit code of its launcher."""
        gone = os.pidfd_open(self._child.pid)
        while True:
            wait = max(0.0, self._next - time.monotonic())
            readable, _, _ = select.select([output, gone], [], [], wait)
            if output in readable:
                log.write(os.read(output, 1 << 16))
            if gone in readable:
                break
            if time.monotonic() >= self._next:
                self._look()
        os.set_blocking(output, False)
        with contextlib.suppress(BlockingIOError):
            log.write(os.read(output, 1 << 16))
        return self._child.wait()

    def end(self, why: str = "", since: int | None = None) -> None:
        """Kills the first process inside; the kernel ends the others with it.

        Args:
            why: the limit that was passed, as a sentence.
            since: the result of `blame` for it.
        """
        if why:
            draft = Path(self._orders.folder, "ended.new")
            draft.write_text(json.dumps({"why": why, "since": since}), encoding="utf-8")
            draft.rename(draft.with_name("ended"))
        for pid in children(self._child.pid) or [self._child.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _look(self) -> None:
        begun = time.monotonic()
        first = first_inside(self._child.pid)
        why, since = ("", None) if first is None else self._excess(first)
        silent = time.monotonic() - self._answers.heard
        if not why and silent > self._orders.idle + _GRACE_SECONDS:
            why = f"its guest gave no answer for {silent:.0f} s"
        if why:
            self.end(why, since)
        now = time.monotonic()
        self._next = now + max(_TICK_SECONDS, (now - begun) / _SHARE)

    def _excess(self, first: int) -> tuple[str, int | None]:
        """Describes the first limit that is exceeded, with its `blame`; empty if none is."""
        options = self._orders
        now = resource_usage(first)
        stays = self._crowd.stays(now.processes, time.monotonic())
        if stays or 0 < options.processes < now.processes:
            why = _describe_excess(
                "ran", f"{now.processes} processes and threads", "processes", options
            )
            return why, blame(_processes(first), options.processes, lambda process: process.threads)
        if 0 < options.memory_mb << 20 < now.memory:
            proc = f"/proc/{first}/root/proc"
            exact = _held_exactly(proc, _pids(proc))
            if exact > options.memory_mb << 20:
                why = _describe_excess("held", f"{exact >> 20} MB of memory", "memory_mb", options)
                limit = options.memory_mb << 20
                return why, blame(_processes(first), limit, lambda process: process.memory)
        size = count_written_bytes(first)
        if 0 < options.disk_mb << 20 < size:
            return _describe_excess("wrote", f"{size >> 20} MB of files", "disk_mb", options), None
        return "", None


class _Cages:
    """Watches all that a guest starts; orphans become children of this process."""

    def __init__(self, processes: int, memory_mb: int, guest: subprocess.Popen[bytes]) -> None:
        self._processes = processes
        self._memory = memory_mb << 20
        self._guest = guest
        self._left: set[int] = set()
        self._crowd = ProcessLimitTracker(processes)

    def look(self) -> bool:
        """Ends what is over the limits; returns whether any started process is left."""
        processes = {process.pid: process for process in _processes(os.getpid())}
        self._left &= processes.keys()
        tops = [os.getpid(), self._guest.pid, *self._left]
        for process in sorted(processes.values(), key=lambda process: process.started):
            if process.parent in tops and process.pid not in tops:
                tops.append(process.pid)
        self._left = {pid for pid in tops if pid in processes} - {os.getpid(), self._guest.pid}
        held = [processes[pid] for pid in self._left]
        threads = sum(process.threads for process in held)
        pids = [str(pid) for pid in self._left]
        over = self._crowd.stays(threads, time.monotonic()) or 0 < self._processes < threads
        memory = sum(process.memory for process in held) + _sum_unnamed("/proc", pids)
        if over or (0 < self._memory < memory and self._memory < _held_exactly("/proc", pids)):
            for pid in self._left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return bool(self._left)


def _watch_cages(limits: str, line: list[str]) -> int:
    processes, memory_mb = map(int, limits.split(","))
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _die_with_parent(signal.SIGTERM)
    fds = [int(line[line.index(name) + 1]) for name in ("--fd", "--ready")]
    guest = subprocess.Popen(line, pass_fds=fds)
    for number in (*fds, 0):
        os.close(number)
    signal.signal(signal.SIGTERM, lambda *_: guest.terminate())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that no ended process stays as a zombie
    cages = _Cages(processes, memory_mb, guest)
    while guest.poll() is None:
        started = time.process_time()
        cages.look()
        with contextlib.suppress(subprocess.TimeoutExpired):
            guest.wait(max(_TICK_SECONDS, (time.process_time() - started) / _SHARE))
    if cages.look() and os.fork() == 0:  # a child watches what goes on; this process may end
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)
        while cages.look():
            time.sleep(_TICK_SECONDS)
    return guest.returncode


def _describe_excess(did: str, amount: str, name: str, options: WatchdogOptions) -> str:
    return f"it {did} {amount}; environment.limits.{name} is {getattr(options, name)}"


def _die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def main() -> int:
    """Starts the desktop and watches it until its end."""
    if sys.argv[1] == "--cages":
        return _watch_cages(sys.argv[2], sys.argv[3:])
    known = json.loads(sys.argv[1])
    options = WatchdogOptions(**{**known, "fds": tuple(known["fds"])})
    output, output_in = os.pipe()
    log = Log(f"{options.folder}/log")
    child = subprocess.Popen(
        sys.argv[2:],
        stdout=output_in,
        stderr=output_in,
        pass_fds=options.fds,
        preexec_fn=_die_with_parent,
    )
    for number in (*options.fds, output_in, 0):
        os.close(number)
    watchdog = _Watchdog(options, child)
    signal.signal(signal.SIGTERM, lambda *_: watchdog.end())
    try:
        return watchdog.stand(output, log)
    finally:
        log.close()


if __name__ == "__main__":
    sys.exit(main())
