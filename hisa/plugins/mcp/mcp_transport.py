"""Serves one MCP client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from hisa.plugins.mcp.mcp_offer import Offer

__all__ = ["serve_client"]


async def serve_client(offer: Offer) -> None:
    """Serve until the client has gone, or a signal comes."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[int] = loop.create_future()

    def stopped(number: int) -> None:
        if not stop.done():
            stop.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped, number)
    # The package's own standard output is for the protocol alone; prints go to standard error.
    serving = asyncio.create_task(offer.server.run_stdio_async())
    waits: list[asyncio.Future[Any]] = [serving, stop]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    await offer.close()
    if stop.done():
        os._exit(128 + stop.result())  # a thread waits for standard input, and cannot be ended
    serving.result()
