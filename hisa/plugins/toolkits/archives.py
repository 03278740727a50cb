"""The toolkit ``archives``: zip and tar files. A call unpacks or packs all, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from hisa.plugins.toolkits.files import amount, plain, rows
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["ARCHIVES"]

_PROGRAM = "files_archives"
_SLOW = 300.0
"""Seconds for a whole tree of files."""
_NAMED = 10
"""Names of what was left out that are told; chosen by hand."""


def _left_out(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    named = ", ".join(plain(name) for name in names[:_NAMED])
    return f"; left out, as links and devices are: {named}{more}"


@tool(reads=True, seconds=_SLOW)
async def list(archive: str, context: ToolContext) -> str:  # noqa: A001
    """List what a zip or tar archive holds.

    Examples:
        ~/Downloads/data.zip
    """
    answer = await call_guest(context.environment, _PROGRAM, "list", seconds=_SLOW, archive=archive)
    size = f"{answer['bytes']:,} bytes unpacked"
    head = f"{plain(answer['path'])}: {amount(answer['count'], 'part')}, {size}"
    left = answer["count"] - len(answer["entries"])
    return "\n".join([head, *rows(answer["entries"]), *([f"and {left} more"] if left else [])])


@tool(seconds=_SLOW)
async def pack(
    paths: Annotated[tuple[str, ...], Field(min_length=1)],
    archive: str,
    context: ToolContext,
    overwrite: bool = False,
) -> str:
    """Pack files and folders into an archive: .zip, .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz.

    Examples:
        {"paths": ["~/Documents/report", "~/notes.txt"], "archive": "~/backup.tar.gz"}
    """
    answer = await call_guest(
        context.environment, _PROGRAM, "pack",
        seconds=_SLOW, paths=paths, archive=archive, overwrite=overwrite,
    )  # fmt: skip
    size = f"{answer['bytes']:,} bytes in {answer['packed']:,}"
    parts = amount(answer["count"], "part")
    return f"{plain(answer['path'])} holds {parts}, {size}{_left_out(answer['left_out'])}"


@tool(seconds=_SLOW)
async def unpack(archive: str, folder: str, context: ToolContext, overwrite: bool = False) -> str:
    """Unpack a zip or tar archive into a folder, which is made as needed.

    Refused as a whole: parts that would leave the folder, and archives made to fill a disk.

    Examples:
        {"archive": "~/Downloads/data.zip", "folder": "~/Documents/data"}
    """
    answer = await call_guest(
        context.environment, _PROGRAM, "unpack",
        seconds=_SLOW, archive=archive, folder=folder, overwrite=overwrite,
    )  # fmt: skip
    size = f"{amount(answer['files'], 'file')}, {answer['bytes']:,} bytes"
    count = answer["replaced"]
    replaced = f"; {amount(count, 'older file')} went to the bin" if count else ""
    return f"In {plain(answer['path'])}: {size}{replaced}{_left_out(answer['left_out'])}"


ARCHIVES = Toolkit(
    "archives",
    "zip and tar archives",
    (list, pack, unpack),
    Needs(capabilities=frozenset({"execute"})),
)
"""Zip and tar files."""
