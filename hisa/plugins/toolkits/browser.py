"""Chromium and Chrome: tools that read pages and act on them by name, through DevTools.

ComputerRL counts 11 functions for Chrome (appendix B, table 5). These act on the open browser, in
the tab in front, so that a person sees each change; if it has no DevTools port, `restart` gives it
one. A page can be hostile: its texts are output and nothing more, and what a model writes reaches
the page only as typed text or as a name to look for.
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
"""Time limit of one call: a page may take 20 s to load, and longer on an emulated machine."""


@tool(seconds=180)
async def restart(context: ToolContext) -> str:
    """Restart the browser with its tabs and a DevTools port; text typed into pages may be lost.

    Examples:
        {}
    """
    answer = await call_guest(
        context.environment, "browser_restart", "restart", seconds=patience(150)
    )
    gone = (Counter(answer["before"] or ()) - Counter(answer["tabs"])).elements()
    lines = ["The browser runs with a DevTools port. Tabs:", *answer["tabs"]]
    lines += [f"No longer open: {url}" for url in gone]
    if answer["before"] is None:
        lines.append("The tabs that were open before are not known.")
    return "\n".join(lines)


_SHOWN = 6_000
"""Characters of a page in one answer: the planner keeps 8,000 of a tool's output."""

Nth = Annotated[int, Field(ge=0, le=1000)]


async def _call_pages(context: ToolContext, function: str, /, **arguments: Any) -> Any:
    return await call_guest(
        context.environment, "browser_pages", function, seconds=patience(_SECONDS), **arguments
    )


async def _find_aim(context: ToolContext, **arguments: Any) -> Aim | None:
    """Returns what a call of click, fill or check would press; see `Traits`."""
    fields = list(arguments.get("fields", ""))
    if fields and not arguments["submit"]:
        return None
    target = fields[-1] if fields else arguments.get("target", arguments.get("field", ""))
    nth, enter = arguments.get("nth", 0), bool(fields)
    answer = await _call_pages(context, "aim", target=target, nth=nth, enter=enter)
    return None if answer is None else Aim(tuple(answer["names"]), (answer["around"],))


@tool(reads=True)
async def read(context: ToolContext, start: Annotated[int, Field(ge=0)] = 0) -> str:
    """Read the page in front as text: what is seen of headings, links, fields and tables.

    Inputs:
        start: the character to begin at, if a page is longer than one answer.

    Examples:
        6000
    """
    outline = await _call_pages(context, "look", function="outline")
    text, head = outline["text"], await _call_pages(context, "info")
    part = text[start : start + _SHOWN]
    end = start + len(part)
    notes = []
    if start or end < len(text):
        more = f"; go on with start={end}" if end < len(text) else ""
        notes.append(f"characters {start} to {end} of {len(text)}{more}")
    if outline["cut"]:
        notes.append("the page is too large to be read whole")
    if outline["unread"]:
        notes.append(f"{outline['unread']} frames of other sites were not read")
    return "\n".join([_describe_page(head), *(f"({note})" for note in notes), part])


@tool(aim=_find_aim)
async def click(context: ToolContext, target: str, nth: Nth = 0, double: bool = False) -> str:
    """Click a link, button or other element of the page by its text.

    Inputs:
        target: the text, or a part of it; "css=SELECTOR" for a selector.
        nth: which one, from 1, if several fit.
        double: click twice.

    Examples:
        {"target": "Sign in"}
        {"target": "Delete", "nth": 2}
        {"target": "css=#menu li:nth-child(3)"}
    """
    answer = await _call_pages(context, "click", target=target, nth=nth, double=double)
    opened = "".join(f"\nIt opened a tab: {url}" for url in answer["opened"])
    return f"Clicked {answer['what']}.{opened}\n{_describe_page(answer['page'])}"


@tool(aim=_find_aim)
async def fill(context: ToolContext, fields: dict[str, str], submit: bool = False) -> str:
    """Fill one or more fields of the page by their labels, replacing their contents.

    Inputs:
        fields: label, name or "css=SELECTOR" of each field, and its text or, of a drop-down list,
            its option; a date as 2026-11-24.
        submit: press Enter in the last one.

    Examples:
        {"fields": {"E-mail": "ada@example.org", "Name": "Ada"}}
        {"fields": {"Search": "tea"}, "submit": true}
    """
    answer = await _call_pages(context, "fill", fields=fields, submit=submit)
    lines = [
        f"{field['what']} says {field['says']!r}"
        + ("" if field["fits"] else ", not what was typed")
        for field in answer["fields"]
    ]
    return "\n".join(
        [*lines, *([f"Pressed Enter. {_describe_page(answer['page'])}"] if submit else [])]
    )


@tool(aim=_find_aim)
async def check(context: ToolContext, field: str, on: bool = True, nth: Nth = 0) -> str:
    """Tick a check box or radio button of the page, or take the tick away.

    Inputs:
        field: its label, name or "css=SELECTOR".
        on: false takes the tick away.
        nth: which one, from 1, if several fit.

    Examples:
        {"field": "Remember me"}
        {"field": "Newsletter", "on": false}
    """
    answer = await _call_pages(context, "check", field=field, on=on, nth=nth)
    return f"{answer['what']} is {answer['says']}; it was {answer['was']}"


@tool()
async def visit(context: ToolContext, address: str, new_tab: bool = False) -> str:
    """Open an address in the tab in front or a new one, chrome://settings pages too.

    Examples:
        {"address": "https://example.org/prices"}
        {"address": "chrome://settings/privacy", "new_tab": true}
    """
    url = address if ":" in address.split("/", 1)[0] else f"https://{address}"
    return _describe_page(await _call_pages(context, "open", address=url, new_tab=new_tab))


@tool(reads=True)
async def tabs(context: ToolContext) -> str:
    """List the open tabs, the front one first.

    Examples:
        {}
    """
    return _list_tabs(await _call_pages(context, "tabs"))


@tool()
async def switch(context: ToolContext, tab: str) -> str:
    """Bring a tab to the front, by a part of its title or address, or by its id.

    Examples:
        Inbox
        5F03A1
    """
    return _describe_page(await _call_pages(context, "switch", tab=tab))


@tool()
async def close(context: ToolContext, tab: str = "") -> str:
    """Close a tab, by default the front one. The last one stays.

    Inputs:
        tab: a part of its title or address, or its id.

    Examples:
        Inbox
    """
    answer = await _call_pages(context, "close", tab=tab)
    return f"Closed {answer['closed']!r}. Left:\n{_list_tabs(answer['left'])}"


@tool()
async def go(context: ToolContext, to: Literal["back", "forward", "reload"]) -> str:
    """Go back or forward in the tab in front, or load its page again.

    Examples:
        back
    """
    return _describe_page(await _call_pages(context, "go", to=to))


@tool(reads=True)
async def fields(context: ToolContext) -> str:
    """List the form fields of the page with what they hold and what can be chosen.

    Examples:
        {}
    """
    form_fields = await _call_pages(context, "look", function="fields")
    return "\n".join(map(_describe_field, form_fields)) or "the page has no fields"


@tool(seconds=180)
async def download(
    context: ToolContext, link: str, folder: str = "~/Downloads", nth: Nth = 0
) -> str:
    """Download what a link or button of the page leads to, and name the file.

    Inputs:
        link: its text, or "css=SELECTOR".
        folder: where it goes.
        nth: which one, from 1, if several fit.

    Examples:
        {"link": "Annual report (PDF)"}
        {"link": "Export", "folder": "~/Documents"}
    """
    answer = await _call_pages(context, "download", link=link, folder=folder, nth=nth, limit=60)
    return f"{answer['path']}: {answer['bytes']} bytes"


def _describe_page(page: Mapping[str, Any]) -> str:
    """Title, address and state of a page on one line."""
    if not page:
        return "The page is not known: it is changing right now."
    state = "" if page["state"] == "complete" else f" (still loading: {page['state']})"
    return f"Page {page['title']!r} {page['url']}{state}"


def _list_tabs(open_tabs: Sequence[Mapping[str, str]]) -> str:
    return "\n".join(f"{tab['id'][:6]} {tab['title']!r} {tab['url']}" for tab in open_tabs)


def _describe_field(field: Mapping[str, Any]) -> str:
    marks = [name for name in ("required", "disabled", "read_only") if field[name]]
    shown = f"{field['kind']} {field['name']!r} = {field['value']!r}"
    options = field["options"][:30]
    more = len(field["options"]) - len(options)
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
