"""What Chromium and Chrome keep: bookmarks, history, cookies, settings; and their new start."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hisa.errors import ToolFailed
from hisa.machine.patience import patience
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.tools.base import ToolContext
from hisa.tools.traits import tool

__all__ = [
    "bookmark",
    "bookmarks",
    "clear_cookies",
    "restart",
    "setting",
    "settings",
]

_LISTED = 60
"""Bookmarks, addresses, settings in one answer; chosen by hand."""
_SECONDS = 90.0
"""Of one call: a page's own 20 to load, on a machine that is emulated."""


async def _data(context: ToolContext, function: str, /, **given: Any) -> Any:
    return await call_guest(
        context.environment, "browser_data", function, seconds=patience(_SECONDS), **given
    )


@tool(reads=True)
async def bookmarks(context: ToolContext, words: str = "") -> str:
    """List the bookmarks, or those with some words in title, address or folder.

    Examples:
        recipes
    """
    lines = [
        f"{each['folder']}: {each['title']!r} {each['url']}"
        for each in await _data(context, "bookmarks")
        if words.lower() in " ".join(each.values()).lower()
    ]
    return _listed(lines, "bookmarks")


@tool()
async def bookmark(
    context: ToolContext, address: str = "", title: str = "", folder: str = "Bookmarks bar"
) -> str:
    """Bookmark an address, or the page in front.

    Inputs:
        address: empty: that of the page in front.
        title: empty: that of the page, or the address.
        folder: made as needed, as "Bookmarks bar/Work"; a folder of the bar may stand alone.

    Examples:
        {}
        {"address": "https://example.org/", "title": "Example", "folder": "Work"}
    """
    page = {"url": address, "title": ""}
    if not address:
        page = await call_guest(context.environment, "browser_pages", "info")
    title = title or page["title"] or page["url"]
    told = await _data(context, "bookmark", address=page["url"], title=title, folder=folder)
    return f"{told['folder']}: {told['title']!r} {told['url']}"


@tool(effects=("delete",))
async def clear_cookies(context: ToolContext, site: str) -> str:
    """Delete the cookies of a site and its subdomains, or of "all"; people are signed out there.

    Examples:
        example.org
    """
    wanted = "" if site == "all" else site
    if site != "all" and not site.strip("."):
        raise ToolFailed('site is empty: want a host such as "example.org", or "all"')
    told = await _data(context, "clear_cookies", site=wanted)
    return f"Deleted {told['deleted']} cookies; {told['left']} are left"


@tool(reads=True)
async def settings(context: ToolContext, words: str) -> str:
    """List the browser's settings whose names have some words, with their values.

    Examples:
        do_not_track
        font size
    """
    told = await _data(context, "settings", words=words)
    return _listed([f"{name} = {json.dumps(value)}" for name, value in told.items()], "settings")


@tool(effects=("security",))
async def setting(context: ToolContext, name: str, value: bool | int | float | str) -> str:
    """Set one of the browser's settings, by the name that browser_settings lists.

    Examples:
        {"name": "enable_do_not_track", "value": true}
        {"name": "webkit.webprefs.default_font_size", "value": 20}
    """
    told = await _data(context, "setting", name=name, value=value)
    return f"{name} = {json.dumps(told['now'])}; it was {json.dumps(told['was'])}"


@tool(seconds=180)
async def restart(context: ToolContext) -> str:
    """Restart the browser with its tabs and a DevTools port; text typed into pages may be lost.

    Examples:
        {}
    """
    told = await call_guest(context.environment, "browser_data", "restart", seconds=patience(150))
    gone = (Counter(told["before"] or ()) - Counter(told["tabs"])).elements()
    lines = ["The browser runs with a DevTools port. Tabs:", *told["tabs"]]
    lines += [f"Not there any more: {url}" for url in gone]
    if told["before"] is None:
        lines.append("Which tabs there were before is not known.")
    return "\n".join(lines)


def _listed(lines: Sequence[str], what: str) -> str:
    """The first of them, one a line, and how many there are."""
    if not lines:
        return f"no {what}"
    more = [f"… {len(lines) - _LISTED} more {what}"] if len(lines) > _LISTED else []
    return "\n".join([*lines[:_LISTED], *more])
