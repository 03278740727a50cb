"""Runs a plug-in's function so that it can neither block HiSA nor print over its output.

A plug-in is a function that somebody else wrote: it may block, print, return a hundred megabytes or
never return. It runs in a thread with its own event loop, and reaches the machine through the run's
loop.
"""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TextIO, TypeVar

from hisa.actions import Action
from hisa.errors import ToolFailed
from hisa.protocols import CommandResult, Environment, Outcome
from hisa.screen.observation import Observation
from hisa.text.prompt_text import ends
from hisa.tools.base import BaseTool, ToolContext

__all__ = ["OUTPUT_CHARACTERS", "PluginEnvironment", "run_isolated", "shorten_output"]

T = TypeVar("T")
OUTPUT_CHARACTERS = 8_000
"""Most characters of a tool's output to keep, from both ends; the same as for a command."""
_READ_CHARACTERS = 1_000_000
"""Most characters of an output to read."""


def shorten_output(text: str) -> str:
    """Returns both ends of a tool's output, and how much was left out."""
    if len(text) <= _READ_CHARACTERS:
        return ends(text, OUTPUT_CHARACTERS)
    cut = f"{text[: OUTPUT_CHARACTERS // 3]}\n… {len(text):,} characters in all …\n"
    return cut + text[-OUTPUT_CHARACTERS // 3 :]


async def run_isolated(tool: BaseTool, context: ToolContext, *, seconds: float) -> Outcome:
    """Run a plug-in's tool in a thread of its own.

    Args:
        tool: the plug-in's tool.
        context: passed to the tool; its environment is reached through the current event loop.
        seconds: time limit. A thread cannot be stopped: afterwards the function may continue, but
            its requests to the machine are refused.

    Raises:
        ToolFailed: it did not end in time.
        Exception: anything that it raises.
    """
    loop = asyncio.get_running_loop()
    machine = PluginEnvironment(context.environment, loop)
    future: asyncio.Future[Outcome] = loop.create_future()
    printed = _Printed()

    def work() -> None:
        try:
            with printed.by_this_thread():
                outcome = asyncio.run(tool.run(replace(context, environment=machine)))
            outcome = _bound_outcome(outcome, printed.text())
        except BaseException as error:  # noqa: BLE001 - raised again where the tool was called
            _tell(loop, future, error=error)
        else:
            _tell(loop, future, outcome=outcome)

    thread = threading.Thread(target=work, name=f"tool {tool.name}", daemon=True)
    thread.start()
    try:
        return await asyncio.wait_for(asyncio.shield(future), seconds)
    except TimeoutError:
        raise ToolFailed(
            f"{tool.name} did not end within {seconds:g} s; whether it has done anything is not "
            "known"
        ) from None
    finally:
        machine.closed = True
        future.cancel()


def _bound_outcome(outcome: Outcome, printed: str) -> Outcome:
    """Returns an outcome with the printed text added, shortened, that cannot end the run.

    Only HiSA's own tools may end a run: a plug-in's claim would count as success.
    """
    output = "\n".join(filter(None, (outcome.output, printed)))
    return replace(
        outcome, output=shorten_output(output), error=shorten_output(outcome.error), ends=None
    )


def _tell(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Outcome],
    *,
    outcome: Outcome | None = None,
    error: BaseException | None = None,
) -> None:
    def settle() -> None:
        if future.done():
            return
        if outcome is not None:
            future.set_result(outcome)
        elif isinstance(error, Exception):
            future.set_exception(error)
        else:
            future.set_exception(ToolFailed(f"{type(error).__name__}: {error}"))

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the run is over
        return


class PluginEnvironment:
    """The machine as a plug-in's thread reaches it; see `hisa.protocols.Environment`.

    Args:
        inner: the run's environment.
        loop: the run's event loop.
    """

    def __init__(self, inner: Environment, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self.closed = False

    @property
    def name(self) -> str:
        """The name of the inner environment."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities of the inner environment that this class passes on."""
        return self._inner.capabilities - {"unchanged", "hidden"}

    async def reset(self) -> None:
        """Refuse: a plug-in may not reset the run's machine.

        Raises:
            ToolFailed: always.
        """
        raise ToolFailed("a tool cannot reset the machine")

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Take a look."""
        return await self._run_in_loop(self._inner.observe(elements=elements, settle=settle))

    async def act(self, actions: Sequence[Action], /) -> None:
        """Perform the actions."""
        await self._run_in_loop(self._inner.act(actions))

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command on the machine.

        Args:
            command: a shell line, or a program and its arguments.
            timeout: time limit in seconds.
            limit: most bytes of output to read.
        """
        return await self._run_in_loop(self._inner.execute(command, timeout=timeout, limit=limit))

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Read a file of the machine."""
        return await self._run_in_loop(self._inner.read_file(path, limit=limit))

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Write a file on the machine."""
        await self._run_in_loop(self._inner.write_file(path, data))

    async def __aenter__(self) -> PluginEnvironment:
        """Do nothing: the machine is started already."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Do nothing: the run still uses the machine."""

    async def _run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work in the run's loop, and return its result.

        Raises:
            ToolFailed: the call's time is up.
        """
        if self.closed:
            work.close()
            raise ToolFailed("this call's time is up")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class _Printed:
    """Captures the prints of one thread; other threads print as usual."""

    def __init__(self) -> None:
        self._text = io.StringIO()

    def text(self) -> str:
        """Returns the text printed so far."""
        return self._text.getvalue().strip()

    @contextmanager
    def by_this_thread(self) -> Iterator[None]:
        """Capture the prints of this thread within this context."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, _ByThread):
                setattr(sys, name, _ByThread(stream))
        _taken[threading.get_ident()] = self._text
        try:
            yield
        finally:
            del _taken[threading.get_ident()]


_taken: dict[int, io.StringIO] = {}


class _ByThread(io.TextIOBase):
    """A stream that captures the prints of some threads."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write the text, or capture it if this thread's prints are captured."""
        taken = _taken.get(threading.get_ident())
        if taken is None:
            return self._stream.write(text)
        if taken.tell() < _READ_CHARACTERS:
            taken.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the real stream."""
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
