"""llama.cpp in a child process: started by the first request, shared, ended after its last user.

``use`` and ``release`` count the users in this process. Three things end the child: the release of
the last user, the end of its standard input, and the death of the thread that started it.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import secrets
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from hisa.errors import ModelUnavailable
from hisa.machine.patience import patience
from hisa.models.endpoint import Endpoint
from hisa.plugins.gguf.host_memory import free_bytes, gigabytes
from hisa.text.safe_text import safe_line

__all__ = ["LINGER_SECONDS", "LlamaServer", "ServerSpec", "release", "use"]

LINGER_SECONDS = 60.0
"""How long a server waits for the next user: between two runs of a bench, a desktop starts."""
_LOAD_SECONDS, _BYTES_A_SECOND = 120.0, 20e6
"""A load hangs if it takes longer than this plus reading the file from a slow disk."""
_STOP_SECONDS, _LINE, _LINES = 5.0, 2000, 40
"""Seconds until a child is killed; longest line and most lines of output kept for an error."""


@dataclass(frozen=True)
class ServerSpec:
    """What a server runs; users with equal specifications share one."""

    weights: Path
    eyes: Path | None
    """The ``mmproj`` file that lets the model see; None: it sees nothing."""
    context: int
    """Tokens in and out together."""
    threads: int | None
    """None: llama.cpp's choice."""
    adapter: Path | None = None
    """The LoRA adapter that is added to the weights; None: none."""
    name: str = field(compare=False, kw_only=True)
    """The model's name in its answers: as its first user calls it."""
    bytes_needed: int = field(compare=False, kw_only=True)
    """Memory that it takes, estimated."""


class LlamaServer:
    """One server of one model, which may not be running yet."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self._lock = threading.Lock()
        self._ready: Future[Endpoint] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._output: deque[str] = deque(maxlen=_LINES)
        self._turns = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()

    @property
    def turn(self) -> asyncio.Lock:
        """The lock of a request: the model answers one at a time.

        The time limits of a request do not include the wait for this lock.
        """
        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    @property
    def pid(self) -> int | None:
        """The child's process id; None if it is not running."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def ready(self) -> Future[Endpoint]:
        """Returns address and key, once the model is loaded, or `ModelUnavailable`."""
        with self._lock:
            loading = self._ready is not None and not self._ready.done()
            if self._ready is None or not (loading or self.pid):
                self._ready = Future()
                threading.Thread(target=self._keep, args=(self._ready,), daemon=True).start()
            return self._ready

    def stop(self, process: subprocess.Popen[bytes] | None = None) -> None:
        """End a child, if there is one; by default the newest. May be called twice."""
        if (process := process or self._process) is None:
            return
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
        process.kill()  # without effect if it has ended
        process.wait()

    def _keep(self, ready: Future[Endpoint]) -> None:
        """Start the child and wait for its end, in a thread of its own.

        The kernel ends the child with the thread that started it.
        """
        key = secrets.token_urlsafe(32)
        try:
            process = self._start_process(key)
            ready.set_result(Endpoint(f"{self._address(process)}/v1", key))
            process.wait()
            self.stop(process)  # by now another one may have been started
        except ModelUnavailable as error:
            ready.set_exception(error)
        except (OSError, ValueError) as error:
            self.stop()
            ready.set_exception(
                ModelUnavailable(f"{self.spec.name}: the server did not start: {error}")
            )

    def _start_process(self, key: str) -> subprocess.Popen[bytes]:
        spec, free = self.spec, free_bytes()
        if free is not None and spec.bytes_needed > free:
            raise ModelUnavailable(
                f"{spec.name}: takes about {gigabytes(spec.bytes_needed)} of memory with "
                f"{spec.context} tokens of context, but only {gigabytes(free)} are free",
                fix=self._smaller(),
            )
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "hisa.plugins.gguf.llama_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C at the terminal is for the run, which may still have requests.
            start_new_session=True,
        )
        order = {
            "weights": str(spec.weights),
            "eyes": str(spec.eyes or ""),
            "adapter": str(spec.adapter or ""),
            "name": spec.name,
            "context": spec.context,
            "threads": spec.threads,
            "key": key,
            "parent": os.getpid(),
        }
        self._output.clear()
        threading.Thread(target=self._drain, args=(process,), daemon=True).start()
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it ended at once; its output says why
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        return process

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        with process.stderr:
            while line := process.stderr.readline(_LINE):
                self._output.append(line.decode("utf-8", "replace"))

    def _address(self, process: subprocess.Popen[bytes]) -> str:
        """Returns the address that the child writes once it serves.

        Raises:
            ModelUnavailable: the child reports an error, ends, or takes too long.
        """
        assert process.stdout is not None
        seconds = patience(_LOAD_SECONDS + self.spec.weights.stat().st_size / _BYTES_A_SECOND)
        limit = threading.Timer(seconds, process.kill)
        limit.daemon = True
        limit.start()
        with process.stdout:
            message = json.loads(process.stdout.readline(1 << 16) or "{}")
        limit.cancel()
        if "url" in message:
            return str(message["url"])
        self.stop()
        raise self._failure(str(message.get("error", "")), process.returncode)

    def _failure(self, error: str, code: int) -> ModelUnavailable:
        lines = [line for line in self._output if " E " in line] or [*self._output][-1:]
        reason = lines[0].partition(" E ")[2] or lines[0] if lines else error
        ended = f"ended by signal {-code}, as happens if memory is short" if code < 0 else ""
        words = safe_line("; ".join(filter(None, (ended, reason))), 300) or f"it ended with {code}"
        words = f"{self.spec.name}: llama.cpp cannot load {self.spec.weights}: {words}"
        return ModelUnavailable(words, fix=self._smaller())

    def _smaller(self) -> str:
        half = max(512, self.spec.context // 2)
        return f"--set models.planner.context={half}, or a smaller model: hisa models ls"


_lock = threading.RLock()
_servers: dict[ServerSpec, LlamaServer] = {}
_users: dict[LlamaServer, int] = {}
_timers: dict[LlamaServer, threading.Timer] = {}


def use(spec: ServerSpec) -> LlamaServer:
    """Returns this process's server for a specification; `release` it when done."""
    with _lock:
        server = _servers.setdefault(spec, LlamaServer(spec))
        _users[server] = _users.get(server, 0) + 1
        if timer := _timers.pop(server, None):
            timer.cancel()
        return server


def release(server: LlamaServer, *, linger: float = LINGER_SECONDS) -> None:
    """Take back one `use`; the server ends ``linger`` seconds after the last one."""
    with _lock:
        _users[server] = max(0, _users.get(server, 0) - 1)
        if _users[server]:
            return
        timer = _timers[server] = threading.Timer(linger, _end_unused, (server,))
        timer.daemon = True
        timer.start()


def _end_unused(server: LlamaServer) -> None:
    with _lock:
        if _users.get(server):
            return
        _users.pop(server, None)
        _timers.pop(server, None)
        if _servers.get(server.spec) is server:
            del _servers[server.spec]
    server.stop()


@atexit.register
def _end_all() -> None:
    for server in list(_servers.values()):
        server.stop()


# In a fork, the servers still belong to the process that started them.
os.register_at_fork(after_in_child=_servers.clear)
