"""Servers of tools over streamable HTTP: those of the protocol's own package, and worse ones."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import Context, MCPServer

from hisa.config.tool_settings import McpServerSettings
from hisa.errors import ConfigError, ToolFailed
from hisa.plugins.mcp.client.mcp_tool import McpTool
from hisa.plugins.mcp.client.open_tools import open_mcp_tools


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def large(size: int) -> str:
    """Return so many letters."""
    return "a" * size


async def authorization(ctx: Context[Any, Any]) -> str:
    """Tell the header."""
    return (ctx.headers or {}).get("authorization", "")


async def broken() -> str:
    """Fail."""
    raise RuntimeError("inside")


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    """The address of an application on this machine."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    work = asyncio.create_task(server.serve(sockets=[bound]))
    while not server.started:  # noqa: ASYNC110 - it tells in no other way
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await work


def application(*, json: bool) -> Any:
    server: MCPServer[Any] = MCPServer("sums", log_level="CRITICAL")
    for function in (add, large, authorization, broken):
        server.add_tool(function)
    return server.streamable_http_app(json_response=json)


@asynccontextmanager
async def connect(url: str, **settings: Any) -> AsyncIterator[dict[str, McpTool]]:
    servers = {"sums": McpServerSettings(url=url, **settings)}
    async with open_mcp_tools(servers, lambda _: None) as tools:
        yield {tool.name: tool for tool in tools}


async def call(tool: McpTool, **arguments: Any) -> str:
    return await tool._call(tool.name.removeprefix("sums_"), tool.arguments(arguments))


@pytest.mark.parametrize("json", [True, False], ids=["json", "stream"])
async def test_tools_over_http_have_the_same_limits(
    json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUMS_TOKEN", "Bearer x")
    async with (
        serve_app(application(json=json)) as url,
        connect(url, header_env=("SUMS_TOKEN as Authorization",)) as tools,
    ):
        assert await call(tools["sums_add"], a=1, b=2) == "3"
        assert await call(tools["sums_authorization"]) == "Bearer x"
        assert len(await call(tools["sums_large"], size=100_000)) < 9_000
        with pytest.raises(ToolFailed, match="the server 'sums'"):
            await call(tools["sums_large"], size=20_000_000)
        with pytest.raises(ToolFailed, match="Error executing tool broken"):
            await call(tools["sums_broken"])
        assert await call(tools["sums_add"], a=2, b=2) == "4"


async def test_a_server_that_goes_makes_its_tools_fail_with_words() -> None:
    async with serve_app(application(json=True)) as url:
        entered = connect(url, seconds=5)
        tools = await entered.__aenter__()
        assert await call(tools["sums_add"], a=1, b=2) == "3"
    for _ in range(2):
        with pytest.raises(ToolFailed, match="the server 'sums' says: it cannot be reached"):
            await call(tools["sums_add"], a=1, b=2)
    await entered.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (404, [], b"no such page"),
        (200, [(b"content-type", b"text/html")], b"<html>Sign in</html>"),
        (200, [(b"content-type", b"application/json")], b"[1, 2"),
        (200, [(b"content-type", b"application/json"), (b"content-encoding", b"gzip")], b"x"),
        (307, [(b"location", b"http://localhost:1/mcp")], b""),
    ],
    ids=["absent", "page", "garbage", "packed", "elsewhere"],
)
async def test_address_without_a_tool_server_raises_a_named_error(
    status: int, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async with serve_app(app) as url:
        with pytest.raises(ConfigError, match=r"the server of tools 'sums' \(http"):
            async with connect(url, start_seconds=20):
                pytest.fail("it was opened")
