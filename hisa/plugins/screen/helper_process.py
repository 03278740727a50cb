"""Starts a process that serves a screen, and sends it requests: the driver, or a tree reader."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.screen.base import Reply, Request

__all__ = ["HelperProcess"]

_START_SECONDS = 20.0
"""Importing PyAutoGUI takes half a second; a cold disk takes longer."""
_END_SECONDS = 15.0
"""Keys come up at once; handing the clipboard over takes the start of a process."""
_FIX = "hisa doctor --env screen"


class HelperProcess:
    """A process of the screen's own, which answers one request after the other.

    Args:
        line: the command line that starts it.
        display: the X display; empty: that of DISPLAY.
        on_stop: called in the event loop with the reason if a person ends the run.
    """

    def __init__(
        self,
        line: Sequence[str],
        *,
        display: str = "",
        on_stop: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._line = list(line)
        self._display = display
        self._on_stop = on_stop
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader: threading.Thread | None = None
        self._problem = ""

    @property
    def pid(self) -> int | None:
        """The process's id; None if it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process; its first answer tells whether it works."""
        more: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            more = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self._loop = asyncio.get_running_loop()
        self._process = subprocess.Popen(
            self._line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(self._display),
            **more,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout,), name="hisa-screen", daemon=True
        )
        self._reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        assert self._loop is not None
        reply = Reply(0, "failed", "")
        with suppress(EOFError, OSError, pickle.UnpicklingError, ValueError, RuntimeError):
            while True:
                reply = pickle.load(stream)
                self._loop.call_soon_threadsafe(self._take, reply)
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._fail_all)

    def _take(self, reply: Reply) -> None:
        if not reply.number:
            if reply.kind == "stopped":
                self._on_stop(str(reply.value))
            else:
                self._problem = str(reply.value)
            return
        waiting = self._waiting.pop(reply.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)

    def _fail_all(self) -> None:
        reason = self._problem or "its process ended"
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(Reply(0, "failed", reason))
        self._waiting.clear()

    async def ask(self, kind: str, *values: Any, seconds: float = _START_SECONDS) -> Any:
        """Send a request, and return what it gives.

        Args:
            kind: of the request; see the process.
            values: its values.
            seconds: time limit on an idle machine.

        Raises:
            ActionRefused: the process refuses it, or a person has ended the run.
            EnvironmentFailed: the process failed, ended, or does not answer.
        """
        if self._process is None or self._loop is None:
            raise EnvironmentFailed("screen: not started", fix="use it as `async with`")
        self._number += 1
        number, waiting = self._number, self._loop.create_future()
        self._waiting[number] = waiting
        try:
            self._send(Request(number, kind, values))
            async with asyncio.timeout(patience(seconds)):
                reply = await waiting
        except asyncio.CancelledError:
            self._halt(number)
            raise
        except TimeoutError:
            self._halt(number)
            raise EnvironmentFailed(f"screen: no answer to {kind!r}", fix=_FIX) from None
        finally:
            self._waiting.pop(number, None)
        return _value_of(reply)

    def _send(self, request: Request) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()
        except (OSError, ValueError):
            self._fail_all()

    def _halt(self, number: int) -> None:
        self._send(Request(number, "halt"))

    def stop(self) -> None:
        """End the process; a driver releases all keys first; may be called twice."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(patience(_END_SECONDS))
        except subprocess.TimeoutExpired:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            process.kill()
            process.wait()
        if self._reader is not None:
            self._reader.join(_END_SECONDS)
        process.stdout.close()


def _value_of(reply: Reply) -> Any:
    if reply.kind == "ok":
        return reply.value
    if reply.kind == "refused":
        raise ActionRefused(str(reply.value))
    if reply.kind == "stopped":
        raise ActionRefused(f"a person ended the run: {reply.value}")
    raise EnvironmentFailed(f"screen: {reply.value}", fix=_FIX)


def _environment(display: str) -> Mapping[str, str]:
    """Returns the process's variables; python-xlib fails where there is no file of cookies."""
    variables = dict(os.environ)
    if display:
        variables["DISPLAY"] = display
    if "XAUTHORITY" not in variables and not Path("~/.Xauthority").expanduser().exists():
        variables["XAUTHORITY"] = os.devnull
    return variables
