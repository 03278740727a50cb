"""Runs a plug-in's function where it can neither hold HiSA up nor print over its output.

A plug-in is a function that somebody else wrote: it may block, print, return a hundred megabytes or
never return. It runs in a thread with an event loop of its own, and reaches the machine through the
loop of the run.
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
"""Characters of a tool's output that are kept, beginning and end; as of a command."""
_READ_CHARACTERS = 1_000_000
"""Characters of an output that are looked at."""


def shorten_output(text: str) -> str:
    """Returns both ends of what a tool said, and how much is left out."""
    if len(text) <= _READ_CHARACTERS:
        return ends(text, OUTPUT_CHARACTERS)
    cut = f"{text[: OUTPUT_CHARACTERS // 3]}\n… {len(text):,} characters in all …\n"
    return cut + text[-OUTPUT_CHARACTERS // 3 :]


async def run_isolated(tool: BaseTool, context: ToolContext, *, seconds: float) -> Outcome:
    """Run a plug-in's tool in a thread of its own.

    Args:
        tool: the plug-in's.
        context: what it gets; its environment is reached through the present event loop.
        seconds: time limit. A thread cannot be ended: after it the function may go on, but what it
            asks of the machine is refused.

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
    """Returns an outcome with what was printed, both ends of it, that ends no run.

    Only HiSA's own tools end one: a plug-in's word on it would be taken for success.
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
    """The machine, as a plug-in's thread reaches it; see `hisa.protocols.Environment`.

    Args:
        inner: the run's.
        loop: the run's.
    """

    def __init__(self, inner: Environment, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = inner
        self._loop = loop
        self.closed = False

    @property
    def name(self) -> str:
        """The inner one's."""
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[str]:
        """The inner one's, without what needs more than this passes on."""
        return self._inner.capabilities - {"unchanged", "hidden"}

    async def reset(self) -> None:
        """Refused: a run's machine is no plug-in's to reset.

        Raises:
            ToolFailed: always.
        """
        raise ToolFailed("a tool cannot reset the machine")

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Look."""
        return await self._run_in_loop(self._inner.observe(elements=elements, settle=settle))

    async def act(self, actions: Sequence[Action], /) -> None:
        """Act."""
        await self._run_in_loop(self._inner.act(actions))

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Run a command."""
        return await self._run_in_loop(self._inner.execute(command, timeout=timeout, limit=limit))

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """A file of the machine."""
        return await self._run_in_loop(self._inner.read_file(path, limit=limit))

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Put a file there."""
        await self._run_in_loop(self._inner.write_file(path, data))

    async def __aenter__(self) -> PluginEnvironment:
        """Nothing: it is started."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing: it goes on."""

    async def _run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that the run's loop does.

        Raises:
            ToolFailed: the call's time is up.
        """
        if self.closed:
            work.close()
            raise ToolFailed("this call's time is up")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class _Printed:
    """What one thread prints; other threads print as ever."""

    def __init__(self) -> None:
        self._text = io.StringIO()

    def text(self) -> str:
        """Returns the text printed so far."""
        return self._text.getvalue().strip()

    @contextmanager
    def by_this_thread(self) -> Iterator[None]:
        """Take what this thread prints inside."""
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
    """A stream that some threads' prints do not reach."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write it, or keep it where this thread's prints are taken."""
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
