"""`hisa mcp serve --http`: who may connect, when it listens, and what a signal leaves."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client

from hisa.runs.read import list_runs, load_run
from tests.cli.command import ROOT, Command
from tests.plugins.desktop.test_desktops import hisa as hisa_with_desktops
from tests.plugins.mcp.test_mcp_serve import LONG, Client

TOKEN = "open-sesame"
own_desktops = hisa_with_desktops


@contextmanager
def served(command: Command, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server and the address that it tells; it is ended where it still goes on."""
    server = subprocess.Popen(
        [sys.executable, "-m", "hisa", "mcp", "serve", "--http", "0", *options],
        env={**command.environ, "MCP_TOKEN": TOKEN},
        cwd=ROOT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr is not None
    with server:
        try:
            yield server, server.stderr.readline().split()[3].rstrip(";")
        finally:
            server.kill()


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        streamable_http_client(url, http_client=http) as (read, write),
        mcp.ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield Client(session)


@pytest.mark.process
async def test_nobody_connects_without_the_token_that_was_printed(tmp_path: Path) -> None:
    with served(Command(tmp_path)) as (server, url):
        async with httpx2.AsyncClient() as http:
            for shown in ({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer x"}):
                assert (await http.post(url, headers=shown, json={})).status_code == 401
        assert server.stderr is not None
        token = server.stderr.readline().split()[-1]
        foreign = {"Authorization": f"Bearer {token}", "Host": "evil.example"}
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, headers=foreign, json={})).status_code == 421
        async with connected(url, token) as used:
            assert "either" in await used.refused("run_task")


@pytest.mark.desktop
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_its_desktops_and_runs(
    number: signal.Signals, own_desktops: Command, tmp_path: Path
) -> None:
    with served(own_desktops, "--token-env", "MCP_TOKEN") as (server, url):
        try:
            async with connected(url, TOKEN) as used:
                await used.call("open_desktop")
                run = asyncio.create_task(used.call("run_task", instruction=LONG))
                await used.stepped.wait()
                server.send_signal(number)
                await asyncio.to_thread(server.wait)
                run.cancel()
                await asyncio.wait([run])
        except (BaseExceptionGroup, httpx2.HTTPError, mcp.MCPError):
            pass  # the server has gone
        await asyncio.to_thread(server.wait)
    assert own_desktops.json("desktop", "ls") == []
    kept = {load_run(folder).status for folder in list_runs(tmp_path / "runs")}
    assert kept == {"stopped"}
