"""The toolkit ``files``: text files, in which every character means itself.

A shell does the rest. What a call writes is read back; a file that is overwritten goes to the bin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hisa.plugins.toolkits.guest_call import call_guest
from hisa.text.prompt_text import ends, one_line
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["FILES"]

_TEXT = "files_text"
_READ = 12_000
"""Characters of a file that a result holds, both ends of it."""


def _quote_name(name: str) -> str:
    """Returns a file's name on one line: quoted if it has hidden spaces or control characters."""
    hides = not name.isprintable() or name != name.strip() or "  " in name
    return repr(name) if hides else one_line(name)


def _format_count(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 file", "2 files"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


@tool(reads=True)
async def read(
    path: str, context: ToolContext, first: int = 1, last: int = -1, encoding: str = ""
) -> str:
    """Read a text file, or some of its lines; both ends of a long text.

    `first` and `last` are line numbers; -1 is the last line, -20 the twentieth from the end.
    Without `encoding` it is detected.

    Examples:
        {"path": "~/notes.txt"}
        {"path": "/var/log/dpkg.log", "first": -20}
    """
    answer = await call_guest(
        context.environment, _TEXT, "read", path=path, first=first, last=last, encoding=encoding
    )
    span = f"lines {answer['first']} to {answer['last']} of {answer['lines']}"
    head = f"{_quote_name(answer['path'])}: {span}, {answer['encoding']}"
    return f"{head}\n{ends(answer['text'], _READ)}"


def _describe_file(answer: Mapping[str, Any]) -> str:
    size = (
        f"{_format_count(answer['lines'], 'line')}, {answer['bytes']:,} bytes, {answer['encoding']}"
    )
    note = f"; {answer['note']}" if answer.get("note") else ""
    return f"{_quote_name(answer['path'])} reads back as written: {size}{note}"


@tool()
async def write(
    path: str,
    text: str,
    context: ToolContext,
    encoding: str = "utf-8",
    overwrite: bool = False,
) -> str:
    """Write a whole text file; folders are made as needed.

    Examples:
        {"path": "~/Documents/notes.txt", "text": "First line\\nSecond line\\n"}
        {"path": "~/list.csv", "text": "a,b\\n1,2\\n", "overwrite": true}
    """
    return _describe_file(
        await call_guest(
            context.environment,
            _TEXT,
            "write",
            path=path,
            text=text,
            encoding=encoding,
            overwrite=overwrite,
        )
    )


@tool()
async def replace(
    path: str,
    find: str,
    replacement: str,
    context: ToolContext,
    regex: bool = False,
) -> str:
    """Replace text in a file; its encoding and line ends stay.

    With `regex`, `find` is a Python regular expression in which ^ and $ mean a line's ends, and
    `replacement` may have groups, as in "\\1".

    Examples:
        {"path": "~/config.ini", "find": "port=80", "replacement": "port=8080"}
        {"path": "~/a.txt", "find": "(\\\\d+) EUR", "replacement": "€ \\\\1", "regex": true}
    """
    answer = await call_guest(
        context.environment,
        _TEXT,
        "replace",
        path=path,
        find=find,
        replacement=replacement,
        regex=regex,
    )
    head = f"{_format_count(answer['made'], 'replacement')}. {_describe_file(answer)}"
    return "\n".join([head, *map(one_line, answer["changed"])])


FILES = Toolkit(
    "files",
    "text files",
    (read, write, replace),
    Needs(capabilities=frozenset({"execute"})),
)
"""Text files of the machine."""
