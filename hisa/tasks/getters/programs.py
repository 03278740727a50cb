"""Getters for what the desktop, a terminal, GIMP, VLC and VS Code are set to or show."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

from hisa.actions import Hotkey, Press, Write
from hisa.errors import EnvironmentFailed
from hisa.protocols import FileRefused
from hisa.tasks.clean import clean, python
from hisa.tasks.context import Context, file_name
from hisa.tasks.getters.base import getter
from hisa.tasks.getters.files import VmFile, vm_file
from hisa.tasks.setup.base import Parameters
from hisa.tasks.setup.files import GuestPath

__all__ = ["DbtProfiles", "GimpFile", "KeptAs", "VsCodeCommand"]

_MAX_LAUNCHERS = 200
_VIDEO = """
for kind in 3gpp mp4 mpeg ogg quicktime webm x-matroska x-msvideo x-flv x-ms-wmv; do
  xdg-mime query default "video/$kind"
done
"""
_VLC = """
import base64, sys, urllib.request
request = urllib.request.Request("http://127.0.0.1:8080/requests/status.xml")
request.add_header("Authorization", "Basic " + base64.b64encode(b":password").decode())
with urllib.request.urlopen(request, timeout=10) as answer:
    sys.stdout.write(answer.read().decode("utf-8", "replace"))
"""
"""Runs in the machine; the password is the one that OSWorld's images set."""
_WALLPAPER = "gsettings get org.gnome.desktop.background picture-uri"


async def _one_file(context: Context, path: str, dest: str) -> Path | None:
    found = await vm_file(context, VmFile(path=(path,), dest=(dest,)))
    return found if isinstance(found, Path) else None


class GimpFile(Parameters):
    """A file of GIMP's own folder, by its plain name."""

    file_name: str
    dest: str


@getter("gimp_config_file", GimpFile)
async def gimp_config_file(context: Context, wanted: GimpFile) -> Path | None:
    """A file of GIMP's settings, of the newest version that has it."""
    for version in ("3.0", "2.10"):
        path = f"~/.config/GIMP/{version}/{file_name(wanted.file_name)}"
        if found := await _one_file(context, path, wanted.dest):
            return found
    return None


class DbtProfiles(Parameters):
    """Folders to look into, in order; ``$NAME`` is what that variable of the machine says."""

    dirs: tuple[GuestPath, ...]
    dest: str


@getter("dbt_profiles", DbtProfiles)
async def dbt_profiles(context: Context, wanted: DbtProfiles) -> Path | None:
    """The first file profiles.yml that there is."""
    for folder in wanted.dirs:
        if folder.startswith("$"):
            said = await context.environment.execute(["printenv", folder[1:]])
            folder = said.output.strip()
        if folder and (found := await _one_file(context, f"{folder}/profiles.yml", wanted.dest)):
            return found
    return None


class KeptAs(Parameters):
    """The name under which a file is kept while scoring."""

    dest: str


@getter("vlc_config", KeptAs)
async def vlc_config(context: Context, wanted: KeptAs) -> Path | None:
    """VLC's settings."""
    return await _one_file(context, "~/.config/vlc/vlcrc", wanted.dest)


@getter("vlc_playing_info", KeptAs)
async def vlc_playing_info(context: Context, wanted: KeptAs) -> Path | None:
    """What VLC says that it plays; None where its web interface does not answer."""
    place = context.place(wanted.dest)
    answer = await context.environment.execute(python(_VLC), limit=1_000_000)
    if answer.exit_code != 0:
        return None
    place.write_text(answer.output, "utf-8")
    return place


class VsCodeCommand(Parameters):
    """A command of VS Code's palette that writes the file at ``path``."""

    vscode_extension_command: str
    path: GuestPath
    dest: str


@getter("vscode_config", VsCodeCommand)
async def vscode_config(context: Context, wanted: VsCodeCommand) -> Path | None:
    """The file that a command of the palette writes; VS Code must be in front."""
    keys = (Hotkey(("ctrl", "shift", "p")), Write(wanted.vscode_extension_command), Press("enter"))
    for key in keys:
        await context.environment.act((key,))
        await context.pause(1.0)
    return await _one_file(context, wanted.path, wanted.dest)


class _Nothing(Parameters):
    pass


@getter("shortcuts_on_desktop", _Nothing)
async def shortcuts(context: Context, wanted: _Nothing) -> dict[str, str]:
    """Launchers on the desktop: file name to content."""
    listed = await context.environment.execute(
        clean(["/bin/bash", "--norc", "-c", "ls -1 ~/Desktop"])
    )
    names = [name for name in listed.output.splitlines() if name.endswith(".desktop")]
    found = {}
    for name in names[:_MAX_LAUNCHERS]:
        try:
            data = await context.environment.read_file(f"~/Desktop/{name}")
        except (FileNotFoundError, FileRefused):
            continue
        found[name] = data.decode("utf-8", errors="replace")
    return found


@getter("default_video_player", _Nothing)
async def default_video_player(context: Context, wanted: _Nothing) -> str:
    """The launcher that opens most kinds of video; "unknown" where none does."""
    named = (
        await context.environment.execute(clean(["/bin/bash", "--norc", "-c", _VIDEO]))
    ).output.split()
    return Counter(named).most_common(1)[0][0] if named else "unknown"


@getter("vm_wallpaper", KeptAs)
async def wallpaper(context: Context, wanted: KeptAs) -> Path | None:
    """The picture behind the windows; None where there is none."""
    answer = (await context.environment.execute(clean(_WALLPAPER.split()))).output
    named = re.fullmatch(r"'file://(/.+)'", answer.strip())
    return await _one_file(context, unquote(named[1]), wanted.dest) if named else None


@getter("vm_terminal_output", _Nothing)
async def terminal_output(context: Context, wanted: _Nothing) -> str | None:
    """What the last terminal window shows; None where there is none."""
    seen = await context.environment.observe(elements=True)
    shown = [element.text for element in seen.elements or () if element.role == "terminal"]
    if not shown and not seen.complete:
        raise EnvironmentFailed(
            "the elements on the screen could not be read in time, so that it is not known what "
            "the terminal shows",
            fix="hisa doctor",
        )
    return shown[-1].rstrip() if shown else None
