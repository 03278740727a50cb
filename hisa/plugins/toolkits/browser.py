"""Chromium and Chrome: pages read and worked by name, through the DevTools protocol.

ComputerRL counts 11 functions for Chrome (appendix B, table 5). These work the browser that is
open, in the tab in front, so that a person sees each change; where it has no DevTools port,
`restart` gives it one. A page can be hostile: its texts are answers and nothing more, and what a
model writes reaches it as typed text or as a name to look for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.machine.patience import patience
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Aim, Needs, tool

__all__ = ["BROWSER"]


_SECONDS = 90.0
"""Of one call: a page's own 20 to load, on a machine that is emulated."""


@tool(seconds=180)
async def restart(context: ToolContext) -> str:
    """Restart the browser with its tabs and a DevTools port; text typed into pages may be lost.

    Examples:
        {}
    """
    told = await call_guest(
        context.environment, "browser_restart", "restart", seconds=patience(150)
    )
    gone = (Counter(told["before"] or ()) - Counter(told["tabs"])).elements()
    lines = ["The browser runs with a DevTools port. Tabs:", *told["tabs"]]
    lines += [f"Not there any more: {url}" for url in gone]
    if told["before"] is None:
        lines.append("Which tabs there were before is not known.")
    return "\n".join(lines)


_SHOWN = 6_000
"""Characters of a page in one answer: what the planner keeps of a tool's output is 8,000."""

Nth = Annotated[int, Field(ge=0, le=1000)]


async def _pages(context: ToolContext, function: str, /, **given: Any) -> Any:
    return await call_guest(
        context.environment, "browser_pages", function, seconds=patience(_SECONDS), **given
    )


async def _aim(context: ToolContext, **given: Any) -> Aim | None:
    """Tell what a call of click, fill or check would press; see `Traits`."""
    fields = list(given.get("fields", ""))
    if fields and not given["submit"]:
        return None
    target = fields[-1] if fields else given.get("target", given.get("field", ""))
    nth, enter = given.get("nth", 0), bool(fields)
    told = await _pages(context, "aim", target=target, nth=nth, enter=enter)
    return None if told is None else Aim(tuple(told["names"]), (told["around"],))


@tool(reads=True)
async def read(context: ToolContext, start: Annotated[int, Field(ge=0)] = 0) -> str:
    """Read the page in front as text: what is seen of headings, links, fields and tables.

    Inputs:
        start: the character to begin at, where a page is longer than one answer.

    Examples:
        6000
    """
    told = await _pages(context, "look", function="outline")
    text, head = told["text"], await _pages(context, "info")
    part = text[start : start + _SHOWN]
    end = start + len(part)
    notes = []
    if start or end < len(text):
        more = f"; go on with start={end}" if end < len(text) else ""
        notes.append(f"characters {start} to {end} of {len(text)}{more}")
    if told["cut"]:
        notes.append("the page is larger than is read")
    if told["unread"]:
        notes.append(f"{told['unread']} frames of other sites are not read")
    return "\n".join([_page(head), *(f"({note})" for note in notes), part])


@tool(aim=_aim)
async def click(context: ToolContext, target: str, nth: Nth = 0, double: bool = False) -> str:
    """Click a link, button or other element of the page by its text.

    Inputs:
        target: the text, or a part of it; "css=SELECTOR" for a selector.
        nth: which one, from 1, where several fit.
        double: click twice.

    Examples:
        {"target": "Sign in"}
        {"target": "Delete", "nth": 2}
        {"target": "css=#menu li:nth-child(3)"}
    """
    told = await _pages(context, "click", target=target, nth=nth, double=double)
    opened = "".join(f"\nIt opened a tab: {url}" for url in told["opened"])
    return f"Clicked {told['what']}.{opened}\n{_page(told['page'])}"


@tool(aim=_aim)
async def fill(context: ToolContext, fields: dict[str, str], submit: bool = False) -> str:
    """Fill one or more fields of the page by their labels; what was in them goes.

    Inputs:
        fields: label, name or "css=SELECTOR" of each field, and its text or, of a drop-down list,
            its option; a date as 2026-11-24.
        submit: press Enter in the last one.

    Examples:
        {"fields": {"E-mail": "ada@example.org", "Name": "Ada"}}
        {"fields": {"Search": "tea"}, "submit": true}
    """
    told = await _pages(context, "fill", fields=fields, submit=submit)
    lines = [
        f"{each['what']} says {each['says']!r}" + ("" if each["fits"] else ", not what was typed")
        for each in told["fields"]
    ]
    return "\n".join([*lines, *([f"Pressed Enter. {_page(told['page'])}"] if submit else [])])


@tool(aim=_aim)
async def check(context: ToolContext, field: str, on: bool = True, nth: Nth = 0) -> str:
    """Tick a check box or radio button of the page, or take the tick away.

    Inputs:
        field: its label, name or "css=SELECTOR".
        on: false takes the tick away.
        nth: which one, from 1, where several fit.

    Examples:
        {"field": "Remember me"}
        {"field": "Newsletter", "on": false}
    """
    told = await _pages(context, "check", field=field, on=on, nth=nth)
    return f"{told['what']} is {told['says']}; it was {told['was']}"


@tool()
async def visit(context: ToolContext, address: str, new_tab: bool = False) -> str:
    """Open an address in the tab in front or a new one, chrome://settings pages too.

    Examples:
        {"address": "https://example.org/prices"}
        {"address": "chrome://settings/privacy", "new_tab": true}
    """
    whole = address if ":" in address.split("/", 1)[0] else f"https://{address}"
    return _page(await _pages(context, "open", address=whole, new_tab=new_tab))


@tool(reads=True)
async def tabs(context: ToolContext) -> str:
    """List the open tabs, that in front first.

    Examples:
        {}
    """
    return _tabs(await _pages(context, "tabs"))


@tool()
async def switch(context: ToolContext, tab: str) -> str:
    """Bring a tab to the front, by a part of its title or address, or by its id.

    Examples:
        Inbox
        5F03A1
    """
    return _page(await _pages(context, "switch", tab=tab))


@tool()
async def close(context: ToolContext, tab: str = "") -> str:
    """Close a tab; without a name that in front. The last one stays.

    Inputs:
        tab: a part of its title or address, or its id.

    Examples:
        Inbox
    """
    told = await _pages(context, "close", tab=tab)
    return f"Closed {told['closed']!r}. Left:\n{_tabs(told['left'])}"


@tool()
async def go(context: ToolContext, to: Literal["back", "forward", "reload"]) -> str:
    """Go back or forward in the tab in front, or load its page again.

    Examples:
        back
    """
    return _page(await _pages(context, "go", to=to))


@tool(reads=True)
async def fields(context: ToolContext) -> str:
    """List the form fields of the page with what they hold and what can be chosen.

    Examples:
        {}
    """
    told = await _pages(context, "look", function="fields")
    return "\n".join(map(_field, told)) or "the page has no fields"


@tool(seconds=180)
async def download(
    context: ToolContext, link: str, folder: str = "~/Downloads", nth: Nth = 0
) -> str:
    """Download what a link or button of the page leads to, and tell the file.

    Inputs:
        link: its text, or "css=SELECTOR".
        folder: where it goes.
        nth: which one, from 1, where several fit.

    Examples:
        {"link": "Annual report (PDF)"}
        {"link": "Export", "folder": "~/Documents"}
    """
    told = await _pages(context, "download", link=link, folder=folder, nth=nth, limit=60)
    return f"{told['path']}: {told['bytes']} bytes"


def _page(told: Mapping[str, Any]) -> str:
    """Title, address and state of a page on one line."""
    if not told:
        return "The page is not known: it changes just now."
    state = "" if told["state"] == "complete" else f" (still loading: {told['state']})"
    return f"Page {told['title']!r} {told['url']}{state}"


def _tabs(told: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{each['id'][:6]} {each['title']!r} {each['url']}" for each in told)


def _field(told: Mapping[str, Any]) -> str:
    marks = [name for name in ("required", "disabled", "read_only") if told[name]]
    shown = f"{told['kind']} {told['name']!r} = {told['value']!r}"
    options = told["options"][:30]
    more = len(told["options"]) - len(options)
    listed = f"; options: {', '.join(options)}" + (f" and {more} more" if more else "")
    return shown + (listed if options else "") + "".join(f", {mark}" for mark in marks)


BROWSER = Toolkit(
    name="browser",
    title="Chromium",
    functions=(
        *(read, click, fill, check, visit, tabs, switch, close, go, fields),
        *(download, restart),
    ),
    needs=Needs(
        capabilities=frozenset({"execute"}), apps=("chrom*", "google-chrome*", "brave-browser*")
    ),
)
"""The toolkit, as the entry point names it."""
