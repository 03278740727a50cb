"""A connection to one server, held by a task of its own for as long as the run lasts.

The ``mcp`` package wants its parts entered and left by the same task, but a run may close its parts
in another task than it opened them in. Calls may come from any task.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
from asyncio import Task
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import mcp_types
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from pydantic import TypeAdapter

from hisa.config.tool_settings import McpServerSettings
from hisa.errors import ConfigError, ToolFailed
from hisa.machine.parts import DISTRIBUTION
from hisa.machine.patience import patience
from hisa.plugins.mcp.client.mcp_tool import ListedTool
from hisa.plugins.mcp.client.mcp_watch import Watch, watch_transport
from hisa.plugins.mcp.client.stdio_transport import LastWords, child
from hisa.text.prompt_text import excerpt, guard_tags
from hisa.tools.isolation import shorten_output

__all__ = ["Connection", "in_words"]

_MOST_TOOLS = 500
"""Most tools that are taken from one server; the largest public ones have about a hundred."""
_MOST_PAGES = 50
"""Most pages of its list, as a list can go round in a circle."""
_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""Variables that every command gets if they are set; none of them is a secret."""
_CLOSE = 10.0
"""Seconds to close a connection: about twice as long as ending a command takes at most."""
_ANSWER: TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)


class Connection:
    """One server of a run.

    Args:
        name: the server's name in the settings.
        settings: the settings of the server.
        note: takes a line that a reader of the run should know.
    """

    def __init__(self, name: str, settings: McpServerSettings, note: Callable[[str], None]) -> None:
        self.name = name
        self._settings = settings
        self._watch = Watch(lambda text: note(f"the server {name!r} {text}"))
        self._words = LastWords()
        self._closing = asyncio.Event()
        self._task: Task[None] | None = None
        self._client: Client | None = None

    async def open(self) -> list[ListedTool]:
        """Connect, and return the tools that the server lists.

        Raises:
            ConfigError: it cannot be reached, or does not follow the protocol.
        """
        transport = self._transport()
        opened: asyncio.Future[list[ListedTool]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(transport, opened), name=f"mcp {self.name}")
        limit = patience(self._settings.start_seconds)
        try:
            return await asyncio.wait_for(asyncio.shield(opened), limit)
        except TimeoutError:
            raise self._unreachable(f"it did not list its tools within {limit:g} s") from None
        except (MCPError, OSError, ValueError, RuntimeError) as error:
            raise self._unreachable(in_words(error)) from error
        finally:
            if not opened.done() or opened.cancelled() or opened.exception() is not None:
                opened.cancel()
                await self.close()

    async def close(self) -> None:
        """End the connection, and the command if the server is one."""
        if self._task is None:
            return
        self._closing.set()
        if self._client is None:  # it is still connecting
            self._task.cancel()
        finished, _ = await asyncio.wait([self._task], timeout=patience(_CLOSE))
        if not finished:
            self._task.cancel()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Returns the answer of a tool as text.

        Raises:
            ToolFailed: it failed, with the server's message; or no answer came, with the reason.
        """
        if self._client is None or self._watch.ended.is_set():
            raise ToolFailed(self._gone())
        request = mcp_types.CallToolRequest(
            params=mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        )
        # Not `call_tool`, which would run the server's own schemas over its answer.
        answer = await self._within_limits(self._client.session.send_request(request, _ANSWER))
        if isinstance(answer, mcp_types.InputRequiredResult):
            self._watch.note("wanted more from a model or a person during a call; it gets none")
            raise ToolFailed(
                f"the server {self.name!r} wants more from a model or a person before it answers, "
                "which it cannot have here"
            )
        reply = shorten_output(guard_tags(_text(answer)))
        if answer.is_error:
            raise ToolFailed(
                f"the server {self.name!r} says: {reply or 'nothing but that it failed'}"
            )
        return reply

    async def _within_limits(
        self, request: Coroutine[Any, Any, mcp_types.CallToolResult | mcp_types.InputRequiredResult]
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._watch.begin(lambda why: None if refused.done() else refused.set_result(why))
        work = asyncio.create_task(request)
        waits: list[asyncio.Future[Any]] = [work, refused]
        limit = patience(self._settings.seconds)
        try:
            await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if refused.done():
                raise ToolFailed(f"the server {self.name!r} was cut off: {refused.result()}")
            raise ToolFailed(
                f"the server {self.name!r} did not answer within {limit:g} s; whether it has done "
                "anything is not known"
            )
        except (MCPError, OSError, ValueError, RuntimeError) as error:
            if self._watch.ended.is_set():
                raise ToolFailed(self._gone()) from error
            raise ToolFailed(f"the server {self.name!r} says: {in_words(error)}") from error
        finally:
            self._watch.begin(self._watch.note)
            work.cancel()  # if it still goes on, the server is told

    async def _live(
        self,
        transport: AbstractAsyncContextManager[TransportStreams],
        opened: asyncio.Future[list[ListedTool]],
    ) -> None:
        """Hold the connection until it is to be closed, or the server has ended."""
        client = Client(
            watch_transport(transport, self._watch),
            cache=None,
            client_info=_about_us(),
            read_timeout_seconds=None,
        )
        try:
            async with client:
                listed = await self._list_tools(client)
                if opened.done():
                    return
                self._client = client
                opened.set_result(listed)
                await self._until_closed()
        except Exception as error:  # noqa: BLE001 - a foreign program may cause any error
            if not opened.done():
                opened.set_exception(_plain(error))
            else:
                self._watch.note(f"broke the connection: {excerpt(in_words(_plain(error)), 200)}")
        finally:
            self._watch.ended.set()
            if not opened.done():
                opened.set_exception(RuntimeError("the connection was ended"))

    async def _until_closed(self) -> None:
        waits = [
            asyncio.ensure_future(coroutine)
            for coroutine in (self._closing.wait(), self._watch.ended.wait())
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not self._closing.is_set():
            self._watch.note(f"ended during the run{self._last_words()}; its tools now fail")

    async def _list_tools(self, client: Client) -> list[ListedTool]:
        tools: dict[str, ListedTool] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in page.tools:
                tools.setdefault(tool.name, _listed_tool(tool))
            cursor = page.next_cursor
            if not cursor or len(tools) > _MOST_TOOLS:
                break
        if len(tools) > _MOST_TOOLS or cursor:
            self._watch.note(
                f"lists {'more than ' * bool(cursor)}{len(tools)} tools, of which the first "
                f"{min(len(tools), _MOST_TOOLS)} are taken; choose with `tools` in its settings"
            )
        return list(tools.values())[:_MOST_TOOLS]

    def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        settings = self._settings
        where = f"tools.mcp.{self.name}"
        if settings.command:
            environ = _variables(settings.env, where=f"{where}.env")
            passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
            return child(
                settings.command, {**passed, **environ}, watch=self._watch, words=self._words
            )
        from hisa.plugins.mcp.client.http_transport import remote  # most servers are commands

        headers = _variables(settings.header_env, where=f"{where}.header_env")
        return remote(settings.url, headers, seconds=patience(settings.seconds), watch=self._watch)

    def _unreachable(self, why: str) -> ConfigError:
        return ConfigError(
            f"the server of tools {self.name!r} ({self._place()}) cannot be used: "
            f"{excerpt(why, 300)}{self._last_words()}",
            fix=f"repair tools.mcp.{self.name} in the settings",
        )

    def _place(self) -> str:
        return excerpt(self._settings.url or " ".join(self._settings.command), 120)

    def _last_words(self) -> str:
        words = str(self._words)
        return f"; its last words: {words}" if words else ""

    def _gone(self) -> str:
        return f"the server {self.name!r} has ended{self._last_words()}; its tools cannot be used"


def _about_us() -> mcp_types.Implementation:
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        version = "0"
    return mcp_types.Implementation(name="hisa", version=version)


def _listed_tool(tool: mcp_types.Tool) -> ListedTool:
    hints = tool.annotations or mcp_types.ToolAnnotations()
    return ListedTool(
        tool.name,
        tool.description or tool.title or "",
        tool.input_schema,
        reads=hints.read_only_hint,
        destroys=hints.destructive_hint,
    )


def _variables(entries: Iterable[str], *, where: str) -> dict[str, str]:
    """The values of variables of this process, by the names under which they are passed on.

    Raises:
        ConfigError: a variable is not set.
    """
    values = {}
    for entry in entries:
        own, _, other = entry.partition(" as ")
        if own not in os.environ:
            raise ConfigError(
                f"{where}: the variable {own!r} for the server is not set",
                fix=f"export {own}=…",
            )
        values[other or own] = os.environ[own]
    return values


def _text(answer: mcp_types.CallToolResult) -> str:
    parts = [_part(block) for block in answer.content]
    if not any(parts) and answer.structured_content is not None:
        return json.dumps(answer.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _part(block: mcp_types.ContentBlock) -> str:
    """One part of an answer as text; other parts are described by their kind and size."""
    match block:
        case mcp_types.TextContent(text=text):
            return text
        case mcp_types.ImageContent(mime_type=kind, data=data):
            return f"(a picture, {kind}, about {_bytes(data)} bytes, is not shown)"
        case mcp_types.AudioContent(mime_type=kind, data=data):
            return f"(a sound, {kind}, about {_bytes(data)} bytes, is not played)"
        case mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(text=text)):
            return text
        case _:
            return "(a part of an unknown kind)"


def _bytes(encoded: str) -> str:
    return f"{len(encoded) * 3 // 4:,}"


def _plain(error: Exception) -> Exception:
    """The first error in nested groups of errors, as one of the kinds that callers expect."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    known = (MCPError, OSError, ValueError, RuntimeError)
    return error if isinstance(error, known) else RuntimeError(in_words(error))


def in_words(error: Exception) -> str:
    """Returns an error's text, or the name of its class if it has none."""
    if isinstance(error, FileNotFoundError):
        return f"no program {error.filename!r}"
    return excerpt(str(error), 400) or type(error).__name__
