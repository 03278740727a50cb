"""VLC: what plays, how, and its settings, through its HTTP interface.

ComputerRL counts 12 functions for VLC (appendix B, table 5). The VLC of a private desktop has the
interface from the start, as on OSWorld's machines; `restart` gives it to one that lacks it.
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
"""Most entries of a playlist, or settings, in one answer; chosen by hand."""
_SECONDS = 90.0
"""Time limit of one call: a restart takes most of it on an emulated machine."""


async def _call_vlc(context: ToolContext, function: str, /, **arguments: Any) -> Any:
    return await call_guest(
        context.environment, "vlc_player", function, seconds=patience(_SECONDS), **arguments
    )


@tool(reads=True)
async def status(context: ToolContext) -> str:
    """Tell what VLC plays, where it is, volume, speed, repeat, full screen and tracks.

    Examples:
        {}
    """
    playback = await _call_vlc(context, "status")
    tracks = [
        f"{name}: {track.get('Type')}, "
        + ", ".join(f"{k} {v}" for k, v in track.items() if k != "Type")
        for name, track in sorted(playback.get("information", {}).get("category", {}).items())
        if name.startswith("Stream ")
    ]
    return "\n".join([_describe_playback(playback), *tracks])


@tool()
async def play(context: ToolContext, what: str) -> str:
    """Play a file or an address now; it is added to the playlist.

    Examples:
        ~/Videos/holiday.mp4
        https://example.org/radio.mp3
    """
    return _describe_playback(await _call_vlc(context, "play", what=what))


@tool()
async def pause(context: ToolContext, on: bool = True) -> str:
    """Pause, or resume with false.

    Examples:
        true
        false
    """
    return _describe_playback(await _call_vlc(context, "pause", on=on))


@tool()
async def stop(context: ToolContext) -> str:
    """Stop playing.

    Examples:
        {}
    """
    return _describe_playback(await _call_vlc(context, "stop"))


@tool()
async def seek(context: ToolContext, to: str) -> str:
    """Go to a time of what plays: 90, 1:30, 50%, or +10 and -10 seconds from here.

    Examples:
        1:30
        50%
        -10
    """
    return _describe_playback(await _call_vlc(context, "seek", to=to))


@tool()
async def volume(context: ToolContext, percent: Annotated[int, Field(ge=0, le=200)]) -> str:
    """Set the volume, 0 to 200 percent.

    Examples:
        80
    """
    return _describe_playback(await _call_vlc(context, "volume", percent=percent))


@tool(reads=True)
async def playlist(context: ToolContext) -> str:
    """List the playlist; the entry that plays has a star.

    Examples:
        {}
    """
    return _list_entries(await _call_vlc(context, "playlist"))


@tool()
async def select(context: ToolContext, entry: str) -> str:
    """Play an entry of the playlist, by its number or a part of its name.

    Examples:
        2
        holiday
    """
    return _describe_playback(await _call_vlc(context, "select", entry=entry))


@tool()
async def add(
    context: ToolContext, items: Annotated[list[str], Field(min_length=1)], play: bool = False
) -> str:
    """Add files or addresses to the playlist, and play the first of them if asked to.

    Examples:
        {"items": ["~/Music/a.mp3", "~/Music/b.mp3"]}
        {"items": ["~/Videos/holiday.mp4"], "play": true}
    """
    entries = await _call_vlc(context, "add", items=items)
    if play:
        await _call_vlc(context, "select", entry=str(len(entries) - len(items) + 1))
        entries = await _call_vlc(context, "playlist")
    return _list_entries(entries)


@tool()
async def clear(context: ToolContext) -> str:
    """Empty the playlist and stop; files stay.

    Examples:
        {}
    """
    return _describe_playback(await _call_vlc(context, "clear")) + "\nThe playlist is empty."


@tool()
async def fullscreen(context: ToolContext, on: bool = True) -> str:
    """Show the video on the full screen, or with false in the window.

    Examples:
        true
        false
    """
    return _describe_playback(await _call_vlc(context, "switch", name="fullscreen", on=on))


@tool()
async def repeat(context: ToolContext, what: Literal["one", "all", "off"]) -> str:
    """Repeat one entry, the whole playlist, or nothing.

    Examples:
        all
        off
    """
    return _describe_playback(await _call_vlc(context, "repeat", what=what))


@tool()
async def speed(context: ToolContext, rate: Annotated[float, Field(ge=0.05, le=30)]) -> str:
    """Set how fast it plays: 1 as recorded, 2 twice as fast.

    Examples:
        1.5
    """
    return _describe_playback(
        await _call_vlc(context, "number", command="rate", name="rate", value=rate)
    )


@tool(reads=True)
async def settings(context: ToolContext, words: str) -> str:
    """Find VLC's settings by words of their names or descriptions, with their values.

    Examples:
        sound
        max volume
    """
    rows = await _call_vlc(context, "settings", words=words)
    lines = [
        f"{row['name']} ({row['kind']}) "
        + ("not set" if row["value"] is None else f"= {row['value']}")
        + f": {row['help']}"
        for row in rows[:_LISTED]
    ]
    more = [f"… {len(rows) - _LISTED} more"] if len(rows) > _LISTED else []
    return "\n".join([*lines, *more]) or f"no setting has {words!r}"


@tool(effects=("security",))
async def setting(context: ToolContext, name: str, value: str) -> str:
    """Set one of VLC's settings by the name in vlc_settings; applies after vlc_restart.

    Examples:
        {"name": "snapshot-path", "value": "/home/user/Pictures"}
        {"name": "qt-max-volume", "value": "200"}
    """
    change = await _call_vlc(context, "setting", name=name, value=value)
    was = "not set" if change["before"] is None else change["before"]
    return (
        f"{change['path']}: {name}={change['now']}; it was {was}. "
        "It applies after vlc_restart; a VLC that is closed in another way may rewrite its file"
        " without it."
    )


@tool(seconds=180)
async def restart(context: ToolContext) -> str:
    """Restart VLC with its HTTP interface; it resumes where it was, with new settings.

    If VLC had no interface, nothing is kept: what it played is not known.

    Examples:
        {}
    """
    playback = await _call_vlc(context, "restart")
    return _describe_playback(playback) + "\n" + _list_entries(await _call_vlc(context, "playlist"))


def _format_time(seconds: int) -> str:
    hours, rest = divmod(max(0, seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def _describe_playback(playback: Mapping[str, Any]) -> str:
    """Describes the state in a line or two."""
    entry = playback.get("entry")
    parts = [str(playback["state"]).capitalize()]
    if entry and playback["state"] != "stopped":
        parts = [
            f"{parts[0]}: {entry['name']!r} {entry['uri']} at {_format_time(playback['time'])}"
            f" of {_format_time(playback['length'])}"
        ]
    repeated = "one" if playback["repeat"] else "all" if playback["loop"] else "off"
    modes = [f"volume {round(playback['volume'] / 2.56)} %", f"speed {playback['rate']:g}"]
    modes += [f"repeat {repeated}", f"random {'on' if playback['random'] else 'off'}"]
    modes += [f"full screen {'on' if playback['fullscreen'] else 'off'}"]
    return "\n".join([*parts, ", ".join(modes)])


def _list_entries(entries: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        f"{number}{'*' if entry['current'] else ''} {entry['name']!r} {entry['uri']}"
        + (f" {_format_time(entry['seconds'])}" if entry["seconds"] >= 0 else "")
        for number, entry in enumerate(entries[:_LISTED], 1)
    ]
    more = [f"… {len(entries) - _LISTED} more"] if len(entries) > _LISTED else []
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
