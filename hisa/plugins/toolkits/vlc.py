"""VLC: what plays, how, and its settings, through its HTTP interface.

ComputerRL counts 12 functions for VLC (appendix B, table 5). A private desktop's VLC has the
interface from the start, as OSWorld's machines have it; to one without it, `restart` gives one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.machine.patience import patience
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["VLC"]

_LISTED = 60
"""Entries of a playlist, or settings, in one answer; chosen by hand."""
_SECONDS = 90.0
"""Of one call: a restart takes most of it on an emulated machine."""


async def _vlc(context: ToolContext, function: str, /, **given: Any) -> Any:
    return await call_guest(
        context.environment, "vlc_player", function, seconds=patience(_SECONDS), **given
    )


@tool(reads=True)
async def status(context: ToolContext) -> str:
    """Tell what VLC plays, where it is, volume, speed, repeat, full screen and tracks.

    Examples:
        {}
    """
    told = await _vlc(context, "status")
    tracks = [
        f"{name}: {each.get('Type')}, "
        + ", ".join(f"{k} {v}" for k, v in each.items() if k != "Type")
        for name, each in sorted(told.get("information", {}).get("category", {}).items())
        if name.startswith("Stream ")
    ]
    return "\n".join([_status(told), *tracks])


@tool()
async def play(context: ToolContext, what: str) -> str:
    """Play a file or an address now; it is added to the playlist.

    Examples:
        ~/Videos/holiday.mp4
        https://example.org/radio.mp3
    """
    return _status(await _vlc(context, "play", what=what))


@tool()
async def pause(context: ToolContext, on: bool = True) -> str:
    """Pause, or with false go on.

    Examples:
        true
        false
    """
    return _status(await _vlc(context, "pause", on=on))


@tool()
async def stop(context: ToolContext) -> str:
    """Stop what plays.

    Examples:
        {}
    """
    return _status(await _vlc(context, "stop"))


@tool()
async def seek(context: ToolContext, to: str) -> str:
    """Go to a time of what plays: 90, 1:30, 50%, or +10 and -10 seconds from here.

    Examples:
        1:30
        50%
        -10
    """
    return _status(await _vlc(context, "seek", to=to))


@tool()
async def volume(context: ToolContext, percent: Annotated[int, Field(ge=0, le=200)]) -> str:
    """Set the volume, 0 to 200 percent.

    Examples:
        80
    """
    return _status(await _vlc(context, "volume", percent=percent))


@tool(reads=True)
async def playlist(context: ToolContext) -> str:
    """List the playlist; the entry that plays has a star.

    Examples:
        {}
    """
    return _entries(await _vlc(context, "playlist"))


@tool()
async def select(context: ToolContext, entry: str) -> str:
    """Play an entry of the playlist, by its number or a part of its name.

    Examples:
        2
        holiday
    """
    return _status(await _vlc(context, "select", entry=entry))


@tool()
async def add(
    context: ToolContext, items: Annotated[list[str], Field(min_length=1)], play: bool = False
) -> str:
    """Add files or addresses to the playlist, and play the first of them where asked to.

    Examples:
        {"items": ["~/Music/a.mp3", "~/Music/b.mp3"]}
        {"items": ["~/Videos/holiday.mp4"], "play": true}
    """
    told = await _vlc(context, "add", items=items)
    if play:
        await _vlc(context, "select", entry=str(len(told) - len(items) + 1))
        told = await _vlc(context, "playlist")
    return _entries(told)


@tool()
async def clear(context: ToolContext) -> str:
    """Empty the playlist and stop; files stay.

    Examples:
        {}
    """
    return _status(await _vlc(context, "clear")) + "\nThe playlist is empty."


@tool()
async def fullscreen(context: ToolContext, on: bool = True) -> str:
    """Show the video on the full screen, or with false in the window.

    Examples:
        true
        false
    """
    return _status(await _vlc(context, "switch", name="fullscreen", on=on))


@tool()
async def repeat(context: ToolContext, what: Literal["one", "all", "off"]) -> str:
    """Repeat one entry, the whole playlist, or nothing.

    Examples:
        all
        off
    """
    return _status(await _vlc(context, "repeat", what=what))


@tool()
async def speed(context: ToolContext, rate: Annotated[float, Field(ge=0.05, le=30)]) -> str:
    """Set how fast it plays: 1 as recorded, 2 twice as fast.

    Examples:
        1.5
    """
    return _status(await _vlc(context, "number", command="rate", name="rate", value=rate))


@tool(reads=True)
async def settings(context: ToolContext, words: str) -> str:
    """Find VLC's settings by words of their names or descriptions, with what is set.

    Examples:
        sound
        max volume
    """
    told = await _vlc(context, "settings", words=words)
    lines = [
        f"{each['name']} ({each['kind']}) "
        + ("not set" if each["value"] is None else f"= {each['value']}")
        + f": {each['help']}"
        for each in told[:_LISTED]
    ]
    more = [f"… {len(told) - _LISTED} more"] if len(told) > _LISTED else []
    return "\n".join([*lines, *more]) or f"no setting has {words!r}"


@tool(effects=("security",))
async def setting(context: ToolContext, name: str, value: str) -> str:
    """Set one of VLC's settings by the name in vlc_settings; it holds from vlc_restart on.

    Examples:
        {"name": "snapshot-path", "value": "/home/user/Pictures"}
        {"name": "qt-max-volume", "value": "200"}
    """
    told = await _vlc(context, "setting", name=name, value=value)
    was = "not set" if told["before"] is None else told["before"]
    return (
        f"{told['path']}: {name}={told['now']}; it was {was}. It holds from vlc_restart on; a VLC"
        " that is closed in another way may write its file anew without it."
    )


@tool(seconds=180)
async def restart(context: ToolContext) -> str:
    """Restart VLC with its HTTP interface; it plays on where it was, new settings hold.

    Of a VLC that had no interface nothing is kept: what played is not known.

    Examples:
        {}
    """
    told = await _vlc(context, "restart")
    return _status(told) + "\n" + _entries(await _vlc(context, "playlist"))


def _time(seconds: int) -> str:
    hours, rest = divmod(max(0, seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def _status(told: Mapping[str, Any]) -> str:
    """The state on a line or two."""
    entry = told.get("entry")
    parts = [str(told["state"]).capitalize()]
    if entry and told["state"] != "stopped":
        parts = [
            f"{parts[0]}: {entry['name']!r} {entry['uri']} at {_time(told['time'])}"
            f" of {_time(told['length'])}"
        ]
    repeated = "one" if told["repeat"] else "all" if told["loop"] else "off"
    modes = [f"volume {round(told['volume'] / 2.56)} %", f"speed {told['rate']:g}"]
    modes += [f"repeat {repeated}", f"random {'on' if told['random'] else 'off'}"]
    modes += [f"full screen {'on' if told['fullscreen'] else 'off'}"]
    return "\n".join([*parts, ", ".join(modes)])


def _entries(told: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"{number}{'*' if each['current'] else ''} {each['name']!r} {each['uri']}"
        + (f" {_time(each['seconds'])}" if each["seconds"] >= 0 else "")
        for number, each in enumerate(told[:_LISTED], 1)
    ]
    more = [f"… {len(told) - _LISTED} more"] if len(told) > _LISTED else []
    return "\n".join([*lines, *more]) or "The playlist is empty."


VLC = Toolkit(
    name="vlc",
    title="VLC",
    functions=(
        *(status, play, pause, stop, seek, volume, playlist, select, add, clear, fullscreen),
        *(repeat, speed, settings, setting, restart),
    ),
    needs=Needs(capabilities=frozenset({"execute"}), apps=("vlc",)),
)
"""The toolkit, as the entry point names it."""
