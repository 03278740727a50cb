"""Starts the driver of a screen, and sends it requests."""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hisa.errors import ActionRefused, EnvironmentFailed, ScreenChanged
from hisa.machine.patience import patience
from hisa.plugins.screen.base import Reply, Request

__all__ = ["HelperProcess"]

_START_SECONDS = 20.0
"""Importing PyAutoGUI takes half a second; a cold disk takes longer."""
_END_SECONDS = 15.0
"""Keys come up at once; handing the clipboard over takes the start of a process."""
_FIX = "hisa doctor --env screen"
_ERRORS = {error.__name__: error for error in (ActionRefused, ScreenChanged)}


class HelperProcess:
    """A process of the screen's own, which answers one request after the other.

    Args:
        line: the command line that starts it.
        display: the X display; empty: that of DISPLAY.
        on_stop: called with the reason if a person ends the run.
    """

    def __init__(
        self,
        line: Sequence[str],
        *,
        display: str = "",
        on_stop: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._line, self._display, self._on_stop = line, display, on_stop
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._numbers = itertools.count(1)
        self._problem = "its process ended"

    async def start(self) -> None:
        """Start the process; its first answer tells whether it works."""
        more: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            more = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        variables = _environment(self._display)
        self._process = await asyncio.create_subprocess_exec(
            *self._line, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL, env=variables, **more
        )
        assert self._process.stdout is not None
        self._reading = asyncio.create_task(self._read(self._process.stdout))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                size = int.from_bytes(await stream.readexactly(8), "big")
                self._take(pickle.loads(await stream.readexactly(size)))
        self._fail_all()

    def _take(self, reply: Reply) -> None:
        if reply.number:
            waiting = self._waiting.get(reply.number)
            if waiting is not None and not waiting.done():
                waiting.set_result(reply)
        elif reply.kind == "stopped":
            self._on_stop(str(reply.value))
        else:
            self._problem = str(reply.value)

    def _fail_all(self) -> None:
        for number in self._waiting:
            self._take(Reply(number, "failed", self._problem))

    async def ask(self, kind: str, *values: Any, seconds: float = 0.0) -> Any:
        """Send a request, and return what it gives.

        Args:
            kind: of the request; see `hisa.plugins.screen.driver`.
            values: its values.
            seconds: how long it takes on an idle machine, beyond some time for everything else.

        Raises:
            ActionRefused: the process refuses it, or a person has ended the run.
            ScreenChanged: the screen is not as it was when the act was decided.
            EnvironmentFailed: the process failed, ended, or does not answer.
        """
        if self._reading is None:
            raise EnvironmentFailed("screen: not started", fix="use it as `async with`")
        number, waiting = next(self._numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            self._send(Request(number, kind, values))
            if self._reading.done():
                self._fail_all()
            async with asyncio.timeout(patience(_START_SECONDS + seconds)):
                return _value_of(await waiting)
        except asyncio.CancelledError:
            self._send(Request(number, "halt"))
            raise
        except TimeoutError:
            self._send(Request(number, "halt"))
            raise EnvironmentFailed(f"screen: no answer to {kind!r}", fix=_FIX) from None
        finally:
            del self._waiting[number]

    def _send(self, request: Request) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(pickle.dumps(request))

    async def stop(self) -> None:
        """End the process, which releases all keys first; may be called twice."""
        process, self._process = self._process, None
        if process is None or self._reading is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        for end in (process.terminate, process.kill):
            with suppress(TimeoutError):
                async with asyncio.timeout(patience(_END_SECONDS)):
                    await process.wait()
            if process.returncode is not None:
                break
            end()
        await process.wait()
        await self._reading


def _value_of(reply: Reply) -> Any:
    if reply.kind == "ok":
        return reply.value
    if reply.kind == "stopped":
        raise ActionRefused(f"a person ended the run: {reply.value}")
    if reply.kind in _ERRORS:
        raise _ERRORS[reply.kind](str(reply.value))
    raise EnvironmentFailed(f"screen: {reply.value}", fix=_FIX)


def _environment(display: str) -> Mapping[str, str]:
    """Returns the process's variables; python-xlib fails where there is no file of cookies."""
    variables = {**os.environ, **({"DISPLAY": display} if display else {})}
    if not Path("~/.Xauthority").expanduser().exists():
        variables.setdefault("XAUTHORITY", os.devnull)
    return variables
