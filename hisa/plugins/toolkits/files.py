"""The toolkit ``files``: files and folders of the desktop's machine.

What a call writes is read back; a file that another takes the place of goes to the bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.plugins.toolkits.guest_call import call_guest
from hisa.plugins.toolkits.new_window import new_window
from hisa.text.prompt_text import ends, one_line
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["FILES", "amount", "plain"]

_DISK = "files_disk"
_TEXT = "files_text"
_READ = 12_000
"""Characters of a file that are told, both ends of it: half of what a command may print more."""
_SLOW = 300.0
"""Seconds for a whole tree of files."""


def plain(name: str) -> str:
    """Returns a file's name on one line: quoted where a space or a control character hides."""
    hides = not name.isprintable() or name != name.strip() or "  " in name
    return repr(name) if hides else one_line(name)


def amount(count: int, noun: str) -> str:
    """Returns a number with its noun: "1 file", "2 files"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _rows(entries: Iterable[Mapping[str, Any]]) -> Sequence[str]:
    """Returns one line for each entry: name, kind or size, time."""
    lines = []
    for each in entries:
        size = f"{each['bytes']:,} bytes" if each["kind"] == "file" else each["kind"]
        rest = [size, *([each["changed"]] if each.get("changed") else [])]
        found = f" | {one_line(each['line'])}" if each.get("line") else ""
        lines.append(f"{plain(each['name'])} | {', '.join(rest)}{found}")
    return lines


def _placed(answer: Mapping[str, Any], verb: str) -> str:
    note = f"; {answer['note']}" if answer["note"] else ""
    size = f"{amount(answer['files'], 'file')}, {answer['bytes']:,} bytes"
    return f"{verb} {plain(answer['path'])}: {size}{note}"


@tool(reads=True)
async def list(context: ToolContext, folder: str = "~", hidden: bool = False) -> str:  # noqa: A001
    """List a folder: names, sizes and times.

    Examples:
        {"folder": "~/Documents"}
        {"folder": "/etc", "hidden": true}
    """
    answer = await call_guest(context.environment, _DISK, "list", folder=folder, hidden=hidden)
    head = f"{plain(answer['path'])}: {answer['count']} entries"
    left = answer["count"] - len(answer["entries"])
    more = [f"{left} more are not listed; use find with a name"] if left else []
    return "\n".join([head, *_rows(answer["entries"]), *more])


@tool(reads=True, seconds=_SLOW)
async def find(
    context: ToolContext,
    folder: str = "~",
    name: str = "",
    contains: str = "",
    kind: Literal["", "file", "folder", "link"] = "",
    newer_days: float | None = None,
    older_days: float | None = None,
    hidden: bool = False,
) -> str:
    """Find files below a folder by name, content or age.

    All that is given must hold. `name` is a pattern such as "*.pdf", in which capital and small
    letters are the same; `contains` is text that the file has, and its first line is told.
    `newer_days`: changed within so many days; `older_days`: not changed for so many days.

    Examples:
        {"folder": "~", "name": "*.pdf"}
        {"folder": "~/Documents", "contains": "invoice", "newer_days": 7}
    """
    answer = await call_guest(
        context.environment,
        _DISK,
        "find",
        seconds=_SLOW,
        folder=folder,
        name=name,
        contains=contains,
        kind=kind,
        newer_days=newer_days,
        older_days=older_days,
        hidden=hidden,
    )
    found = _rows(answer["entries"])
    head = f"{len(found)} found below {plain(answer['path'])}, of {answer['visited']:,} looked at"
    more = [] if answer["whole"] else ["There may be more: the search was ended at its limit"]
    return "\n".join([head, *found, *more])


@tool(reads=True)
async def read(
    path: str, context: ToolContext, first: int = 1, last: int = -1, encoding: str = ""
) -> str:
    """Read a text file, or some of its lines; of a long text both ends.

    `first` and `last` are line numbers; -1 is the last line, -20 the twentieth from the end.
    Without `encoding` it is found out.

    Examples:
        {"path": "~/notes.txt"}
        {"path": "/var/log/dpkg.log", "first": -20}
    """
    answer = await call_guest(
        context.environment, _TEXT, "read", path=path, first=first, last=last, encoding=encoding
    )
    span = f"lines {answer['first']} to {answer['last']} of {answer['lines']}"
    head = f"{plain(answer['path'])}: {span}, {answer['encoding']}"
    return f"{head}\n{ends(answer['text'], _READ)}"


def _written(answer: Mapping[str, Any]) -> str:
    size = f"{amount(answer['lines'], 'line')}, {answer['bytes']:,} bytes, {answer['encoding']}"
    note = f"; {answer['note']}" if answer.get("note") else ""
    return f"{plain(answer['path'])} reads back as written: {size}{note}"


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
    return _written(
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
async def append(path: str, text: str, context: ToolContext) -> str:
    """Add lines at the end of a text file, in its encoding; it is made where it is not.

    Examples:
        {"path": "~/notes.txt", "text": "One more line\\n"}
    """
    return _written(await call_guest(context.environment, _TEXT, "append", path=path, text=text))


@tool()
async def replace(
    path: str,
    find: str,
    replacement: str,
    context: ToolContext,
    regex: bool = False,
    most: Annotated[int, Field(ge=0)] = 0,
) -> str:
    """Replace text in a file; its encoding and line ends stay.

    With `regex`, `find` is a Python regular expression in which ^ and $ mean a line's ends, and
    `replacement` may have groups, as in "\\1". `most` replaces so many at most; 0: all.

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
        count=most,
    )
    head = f"{amount(answer['made'], 'replacement')}. {_written(answer)}"
    return "\n".join([head, *map(one_line, answer["changed"])])


@tool(seconds=_SLOW)
async def copy(source: str, target: str, context: ToolContext, overwrite: bool = False) -> str:
    """Copy a file or a folder; into `target` where that is a folder.

    Examples:
        {"source": "~/report.odt", "target": "~/Documents/"}
    """
    answer = await call_guest(
        context.environment,
        _DISK,
        "copy",
        seconds=_SLOW,
        source=source,
        target=target,
        overwrite=overwrite,
    )
    return _placed(answer, "Copied to")


@tool(seconds=_SLOW)
async def move(source: str, target: str, context: ToolContext, overwrite: bool = False) -> str:
    """Move or rename a file or a folder; into `target` where that is a folder.

    Examples:
        {"source": "~/a.txt", "target": "~/b.txt"}
        {"source": "~/Downloads/photo.jpg", "target": "~/Pictures/"}
    """
    answer = await call_guest(
        context.environment,
        _DISK,
        "move",
        seconds=_SLOW,
        source=source,
        target=target,
        overwrite=overwrite,
    )
    return _placed(answer, "Moved to")


@tool()
async def rename(
    folder: str, pattern: str, replacement: str, context: ToolContext, preview: bool = True
) -> str:
    """Rename many entries of a folder by a regular expression; with `preview` only show it.

    The part of a name that `pattern` finds becomes `replacement`, which may have groups ("\\1") and
    {n}, a running number. Nothing is renamed where two would get the same name.

    Examples:
        {"folder": "~/Pictures", "pattern": "^IMG_", "replacement": "holiday_"}
        {"folder": "~/in", "pattern": ".*\\\\.png$", "replacement": "{n}.png", "preview": false}
    """
    answer = await call_guest(
        context.environment,
        _DISK,
        "rename",
        folder=folder,
        pattern=pattern,
        replacement=replacement,
        preview=preview,
    )
    pairs = answer["renamed"]
    did = "would be renamed" if preview else "are renamed"
    head = f"{len(pairs)} of {amount(answer['entries'], 'entry')} {did}"
    head = head.replace("entrys", "entries")
    return ends("\n".join([head, *(f"{plain(a)} -> {plain(b)}" for a, b in pairs)]), _READ)


@tool()
async def make_folder(folder: str, context: ToolContext) -> str:
    """Make a folder, and those above it as needed.

    Examples:
        ~/Documents/2024/invoices
    """
    answer = await call_guest(context.environment, _DISK, "make_folder", folder=folder)
    return f"The folder {plain(answer['path'])} is there now"


@tool(effects=("delete",), seconds=_SLOW)
async def delete(
    paths: Annotated[tuple[str, ...], Field(min_length=1)],
    context: ToolContext,
    for_good: bool = False,
) -> str:
    """Delete files and folders: to the bin, or for good.

    Examples:
        {"paths": ["~/old.txt", "~/Downloads/setup"]}
    """
    answer = await call_guest(
        context.environment, _DISK, "delete", seconds=_SLOW, paths=paths, for_good=for_good
    )
    where = "Deleted for good" if for_good else "In the bin now"
    told = (
        f"{plain(path)} | {amount(files, 'file')}, {size:,} bytes"
        for path, files, size in answer["deleted"]
    )
    return "\n".join([f"{where}:", *told])


@tool(reads=True)
async def info(path: str, context: ToolContext) -> str:
    """Tell size, type, times, rights and SHA-256 of a file, or the size of a whole folder.

    Examples:
        ~/Downloads/setup.iso
    """
    answer = await call_guest(context.environment, _DISK, "info", seconds=_SLOW, path=path)
    return "\n".join(f"{name}: {plain(str(value))}" for name, value in answer.items())


@tool()
async def open(path: str, context: ToolContext, app: str = "") -> str:  # noqa: A001
    """Open a file or folder with its default application, or with another program.

    Examples:
        {"path": "~/report.odt"}
        {"path": "~/notes.txt", "app": "mousepad"}
    """
    before = await context.environment.observe()
    answer = await call_guest(context.environment, _DISK, "open", path=path, app=app)
    return f"Asked to open {plain(answer['path'])}. {await new_window(context, before)}"


FILES = Toolkit(
    "files",
    "files and folders",
    (list, find, read, write, append, replace, copy, move, rename, make_folder, delete, info, open),
    Needs(capabilities=frozenset({"execute"})),
)
"""Files and folders of the machine."""
