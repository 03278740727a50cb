"""Steps for the machine's Chrome."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from typing import Annotated
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import Field

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.chrome import ask, tabs
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.plugins.machines.machine_apps import window_names
from hisa.protocols import FileRefused
from hisa.tasks.pieces import SETUP, Parameters
from hisa.tasks.program_start import start

__all__ = ["Browser", "CloseTabs", "History", "OpenTabs", "same_address"]

_BLANK = ("about:blank", "chrome://newtab", "chrome://new-tab-page")
_EPOCH = 11_644_473_600
"""Seconds between Chrome's first day, 1601, and 1970."""
Url = Annotated[str, Field(min_length=1, max_length=4096)]


class Browser(Parameters):
    """Chrome with a debugging port, and a second port that other machines can reach."""

    debugging_port: Annotated[int, Field(gt=0, lt=65536)] = 1337
    listening_port: Annotated[int, Field(gt=0, lt=65536)] = 9222
    urls: tuple[Url, ...] = ()


@SETUP("google_chrome_browser", Browser)
async def google_chrome_browser(context: StepContext, params: Browser) -> None:
    """Start Chrome with its debugging port, and open pages in it."""
    inside, outside = params.debugging_port, params.listening_port
    line = await context.line(["google-chrome", f"--remote-debugging-port={inside}"])
    await start(context, line, names=window_names(line))
    if await context.program("socat"):
        await start(
            context, f"socat tcp-listen:{outside},fork tcp:localhost:{inside}", watched=False
        )
    if params.urls:
        await chrome_open_tabs(context, OpenTabs(urls_to_open=params.urls))


class OpenTabs(Parameters):
    """Pages to open."""

    urls_to_open: tuple[Url, ...]


@SETUP("chrome_open_tabs", OpenTabs)
async def chrome_open_tabs(context: StepContext, params: OpenTabs) -> None:
    """Open each page in a tab of its own, and close the empty first tab."""
    blank = [tab for tab in await tabs(context) if str(tab.get("url")).startswith(_BLANK)]
    for url in params.urls_to_open:
        await ask(context, f"/json/new?{quote(url, safe='')}", method="PUT")
    for tab in blank if params.urls_to_open else []:
        await ask(context, f"/json/close/{quote(str(tab.get('id')))}")


class CloseTabs(Parameters):
    """Pages to close."""

    urls_to_close: tuple[Url, ...]


@SETUP("chrome_close_tabs", CloseTabs)
async def chrome_close_tabs(context: StepContext, params: CloseTabs) -> None:
    """Close every tab that shows one of the pages."""
    for tab in await tabs(context):
        if any(same_address(url, str(tab.get("url"))) for url in params.urls_to_close):
            await ask(context, f"/json/close/{quote(str(tab.get('id')))}")


class _Visit(Parameters):
    url: Url
    title: str = ""
    visit_time_from_now_in_seconds: float = 0.0


class History(Parameters):
    """Visits to add to the browser's history."""

    history: tuple[_Visit, ...]


_FIRST_START = (
    "timeout 30 google-chrome --headless=new --no-first-run --virtual-time-budget=2000 --dump-dom "
    '--user-data-dir="$HOME/.config/chromium" about:blank'
)
"""Starts Chrome once, so that it makes its history file."""


@SETUP("update_browse_history", History)
async def update_browse_history(context: StepContext, params: History) -> None:
    """Add visits to the history file; the browser must not be running.

    A browser that has no history file yet is started once.

    Raises:
        EnvironmentFailed: there is no history file, and no browser to make one.
    """
    history_file = await _history_file(context)
    if history_file is None:
        await context.environment.execute(_FIRST_START, timeout=patience(60.0))
        history_file = await _history_file(context)
    if history_file is None:
        raise EnvironmentFailed(
            "the machine has no history file of Chrome", fix="start Chrome there once"
        )
    path, data = history_file
    await context.environment.write_file(
        path, await asyncio.to_thread(_with_visits, context, data, params)
    )


async def _history_file(context: StepContext) -> tuple[str, bytes] | None:
    """Returns path and content of the browser's history; None if there is none."""
    for folder in ("google-chrome", "chromium"):
        path = f"~/.config/{folder}/Default/History"
        try:
            return path, await context.environment.read_file(path)
        except (FileNotFoundError, FileRefused):
            continue
    return None


def _with_visits(context: StepContext, data: bytes, params: History) -> bytes:
    path = context.scratch / "browse-history"
    path.write_bytes(data)
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            for visit in params.history:
                ago = visit.visit_time_from_now_in_seconds
                when = int((time.time() - ago + _EPOCH) * 1_000_000)
                added = connection.execute(
                    "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time,"
                    " hidden) VALUES (?, ?, 1, 0, ?, 0)",
                    (visit.url, visit.title, when),
                )
                connection.execute(
                    "INSERT INTO visits (url, visit_time, from_visit, transition, segment_id,"
                    " visit_duration) VALUES (?, ?, 0, 805306368, 0, 0)",
                    (added.lastrowid, when),
                )
    except sqlite3.Error as error:
        raise EnvironmentFailed(f"Chrome's history file cannot be extended: {error}") from error
    return path.read_bytes()


def same_address(first: str | None, second: str | None) -> bool:
    """Whether two addresses are the same page; www., a lone / and a missing http do not count."""
    if first is None or second is None:
        return first is second
    return _plain(first) == _plain(second)


def _plain(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    place = parts.netloc.lower().replace("www.", "")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower() or "http", place, path, parts.query, parts.fragment))
