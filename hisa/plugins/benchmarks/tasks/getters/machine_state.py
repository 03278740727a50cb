"""Getters for the output of commands, and the state of the desktop and its programs."""

from __future__ import annotations

import re
import secrets
import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import Field

from hisa.actions import Hotkey, Press, Write
from hisa.environments.clean_commands import bash, clean, python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.getters.file_getters import VmFile, vm_file
from hisa.plugins.benchmarks.tasks.metric import Unreadable
from hisa.plugins.benchmarks.tasks.setup.put_files import Copy, GuestPath, put
from hisa.plugins.benchmarks.tasks.step_context import StepContext, file_name
from hisa.protocols import CommandResult, FileRefused
from hisa.tasks.limits import ANSWER, too_much
from hisa.tasks.missing_programs import fix_for, fix_from_output
from hisa.tasks.pieces import GETTERS, Parameters

__all__ = [
    "Command",
    "DbtProfiles",
    "Destination",
    "Folder",
    "GimpFile",
    "VsCodeCommand",
    "WindowSize",
    "script_output",
]


class Command(Parameters):
    """A command to run on the machine."""

    command: Annotated[str | tuple[str, ...], Field(min_length=1)]
    shell: bool = False


_SCRIPT_SECONDS = 600.0  # chosen by hand
_MISSING_COMMAND_LOGGER = """\
command_not_found_handle() {{ echo "$1" >>{log}; echo "$1: command not found" >&2; return 127; }}
export -f command_not_found_handle
"""
"""bash calls it for every missing program, even in $(…) and where errors are hidden."""
_MISSED_BY_SH = re.compile(r"^\S*sh: \d+: (\S+): not found$", re.M)


async def _run_command(context: StepContext, params: Command) -> CommandResult | None:
    """Returns the result; None if the missing program is one that the task names.

    Raises:
        EnvironmentFailed: any other program is missing.
    """
    words = params.command if isinstance(params.command, str) else list(params.command)
    first = "" if params.shell or not words else _first_word(words)
    if first and not await context.program(first):
        _require(context, first)
        return None
    return await _run(context, await context.line(words, shell=params.shell))


async def _run(context: StepContext, line: str, *, timeout: float = 120.0) -> CommandResult:
    """Run a line of a check.

    Raises:
        EnvironmentFailed: it calls a missing program, without ``||`` to make up for it.
    """
    log = f"/tmp/.hisa-missing-{secrets.token_hex(6)}"
    result = await context.run_line(_MISSING_COMMAND_LOGGER.format(log=log) + line, timeout=timeout)
    missing = await context.environment.execute(f"cat {log} 2>/dev/null; rm -f {log}")
    for name in (*missing.output.split(), *_MISSED_BY_SH.findall(result.error)):
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])[^|;&\n]*\|\|", line):
            _require(context, name)
    return result


def _require(context: StepContext, program: str) -> None:
    """Check that a missing program is one that the task names, and may have asked to install.

    Raises:
        EnvironmentFailed: it is not, so nothing is known of what the agent did.
    """
    pattern = rf"(?<![\w-]){re.escape(program)}(?![\w-])"
    if not re.search(pattern, context.task.instruction, re.IGNORECASE):
        raise EnvironmentFailed(
            f"{context.environment.name} has no program {program!r}, which the check calls",
            fix=fix_for(program),
        )


def _check_output(output: str) -> str:
    """Returns a command's output.

    Raises:
        Unreadable: it is longer than an answer may be.
    """
    if why := too_much(output):
        raise Unreadable(f"the command {why}")
    return output


def _first_word(words: str | list[str]) -> str:
    return words.split(maxsplit=1)[0] if isinstance(words, str) else words[0]


@GETTERS("vm_command_line", Command)
async def vm_command_line(context: StepContext, params: Command) -> str | None:
    """Returns a command's output; None if there is no such program."""
    result = await _run_command(context, params)
    return None if result is None else _check_output(result.output)


@GETTERS("vm_command_error", Command)
async def vm_command_error(context: StepContext, params: Command) -> str | None:
    """Returns a command's error output; None if there is no such program."""
    result = await _run_command(context, params)
    return None if result is None else _check_output(result.error)


@GETTERS("vm_script_output", Copy)
async def vm_script_output(context: StepContext, params: Copy) -> str:
    """Run a script of the task on the machine and return its output."""
    return await script_output(context, params.src, params.dest)


async def script_output(context: StepContext, source: str, dest: str) -> str:
    """Run a script of the task on the machine and return its output.

    Args:
        context: the task and its machine.
        source: path of the script in the task's folder, or its http or https address.
        dest: path on the machine where the script is put.

    Raises:
        EnvironmentFailed: the machine cannot run the script at all.
        Unreadable: the output is longer than an answer may be.
    """
    await put(context, source, dest)
    line = f"chmod a+x {shlex.quote(dest)} && /bin/bash {shlex.quote(dest)}"
    result = await _run(context, line, timeout=patience(_SCRIPT_SECONDS))
    if result.exit_code in (126, 127) and not result.output.strip():
        raise EnvironmentFailed(f"{source}: cannot run: {result.error.strip()[-300:]}")
    return _check_output(result.output)


@GETTERS("vm_screen_size", Parameters)
async def vm_screen_size(context: StepContext, params: Parameters) -> dict[str, int]:
    """Returns width and height of the screen, in pixels."""
    screen = await context.screen()
    return {"width": screen.width, "height": screen.height}


class WindowSize(Parameters):
    """A window by the class of its application."""

    app_class_name: Annotated[str, Field(min_length=1, max_length=200)]


@GETTERS("vm_window_size", WindowSize)
async def vm_window_size(context: StepContext, params: WindowSize) -> dict[str, int] | None:
    """Returns width and height of a window, in pixels; None if there is no such window."""
    for window in await context.windows():
        size = window.size or window.box
        if params.app_class_name.lower() in window.app.lower() and size is not None:
            return {"width": round(size.width), "height": round(size.height)}
    return None


class Folder(Parameters):
    """A folder of the machine."""

    path: GuestPath


@GETTERS("list_directory", Folder)
async def list_directory(context: StepContext, params: Folder) -> dict[str, Any] | None:
    """Returns a folder as a tree of {type, name, children}; None if there is none."""
    line = await context.line(["find", params.path, "-printf", "%y\\t%P\\0"])
    result = await context.environment.execute(bash(line), limit=ANSWER + 1)
    if not _check_output(result.output):
        return None
    name = params.path.rstrip("/").rpartition("/")[2]
    root: dict[str, Any] = {"type": "directory", "name": name, "children": []}
    folders = {"": root}
    for entry in sorted(part for part in result.output.split("\0") if "\t" in part):
        kind, path = entry.split("\t", 1)
        if path:
            _add_entry(folders, path, "directory" if kind == "d" else "file")
    return root


def _add_entry(folders: dict[str, dict[str, Any]], path: str, kind: str) -> None:
    above, _, name = path.rpartition("/")
    node: dict[str, Any] = {"type": kind, "name": name}
    if kind == "directory":
        node["children"] = []
        folders[path] = node
    if above in folders:
        folders[above]["children"].append(node)


_MAX_LAUNCHERS = 200  # chosen by hand
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


async def _run_own_line(context: StepContext, line: str) -> str:
    """Returns the output of one of HiSA's own command lines.

    Raises:
        EnvironmentFailed: the machine lacks the program that it calls.
    """
    result = await context.environment.execute(line)
    if result.exit_code in (126, 127):
        raise EnvironmentFailed(
            f"cannot run: {result.error[-300:]}", fix=fix_from_output(result.error)
        )
    return result.output


async def _one_file(context: StepContext, path: str, dest: str) -> Path | None:
    result = await vm_file(context, VmFile(path=(path,), dest=(dest,)))
    return result if isinstance(result, Path) else None


class GimpFile(Parameters):
    """A file of GIMP's settings folder, by its plain name."""

    file_name: str
    dest: str


@GETTERS("gimp_config_file", GimpFile)
async def gimp_config_file(context: StepContext, params: GimpFile) -> Path | None:
    """Returns a file of GIMP's settings, from the newest version that has it."""
    for version in ("3.0", "2.10"):
        path = f"~/.config/GIMP/{version}/{file_name(params.file_name)}"
        if local_path := await _one_file(context, path, params.dest):
            return local_path
    return None


class DbtProfiles(Parameters):
    """Folders to search, in order; ``$NAME`` stands for the machine's variable of that name."""

    dirs: tuple[GuestPath, ...]
    dest: str


@GETTERS("dbt_profiles", DbtProfiles)
async def dbt_profiles(context: StepContext, params: DbtProfiles) -> Path | None:
    """Returns the first profiles.yml in the folders; None if there is none."""
    for folder in params.dirs:
        if folder.startswith("$"):
            result = await context.environment.execute(["printenv", folder[1:]])
            folder = result.output.strip()
        if folder and (
            local_path := await _one_file(context, f"{folder}/profiles.yml", params.dest)
        ):
            return local_path
    return None


class Destination(Parameters):
    """The name under which a file is kept during scoring."""

    dest: str


@GETTERS("vlc_config", Destination)
async def vlc_config(context: StepContext, params: Destination) -> Path | None:
    """Returns VLC's settings file; None if there is none."""
    return await _one_file(context, "~/.config/vlc/vlcrc", params.dest)


@GETTERS("vlc_playing_info", Destination)
async def vlc_playing_info(context: StepContext, params: Destination) -> Path | None:
    """Saves VLC's playback status in a file; None if its web interface does not answer."""
    place = context.place(params.dest)
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


@GETTERS("vscode_config", VsCodeCommand)
async def vscode_config(context: StepContext, params: VsCodeCommand) -> Path | None:
    """Returns the file that a command of the palette writes; VS Code must be in front."""
    keys = (Hotkey(("ctrl", "shift", "p")), Write(params.vscode_extension_command), Press("enter"))
    for key in keys:
        await context.environment.act((key,))
        await context.pause(1.0)
    return await _one_file(context, params.path, params.dest)


@GETTERS("shortcuts_on_desktop", Parameters)
async def shortcuts(context: StepContext, params: Parameters) -> dict[str, str]:
    """Returns the launchers on the desktop: file name to content."""
    listing = await context.environment.execute(bash("ls -1 ~/Desktop"))
    names = [name for name in listing.output.splitlines() if name.endswith(".desktop")]
    launchers = {}
    for name in names[:_MAX_LAUNCHERS]:
        try:
            data = await context.environment.read_file(f"~/Desktop/{name}")
        except (FileNotFoundError, FileRefused):
            continue
        launchers[name] = data.decode("utf-8", errors="replace")
    return launchers


@GETTERS("default_video_player", Parameters)
async def default_video_player(context: StepContext, params: Parameters) -> str:
    """Returns the launcher that opens most kinds of video; "unknown" if none does."""
    players = (await _run_own_line(context, bash(_VIDEO))).split()
    return Counter(players).most_common(1)[0][0] if players else "unknown"


@GETTERS("vm_wallpaper", Destination)
async def wallpaper(context: StepContext, params: Destination) -> Path | None:
    """Returns the desktop's background picture; None if there is none."""
    answer = await _run_own_line(context, clean(_WALLPAPER.split()))
    uri_match = re.fullmatch(r"'file://(/.+)'", answer.strip())
    return await _one_file(context, unquote(uri_match[1]), params.dest) if uri_match else None


@GETTERS("vm_terminal_output", Parameters)
async def terminal_output(context: StepContext, params: Parameters) -> str | None:
    """Returns the text of the last terminal window; None if there is none."""
    observation = await context.environment.observe(elements=True)
    terminal_texts = [
        element.text for element in observation.elements or () if element.role == "terminal"
    ]
    if not terminal_texts and not observation.complete:
        raise EnvironmentFailed(
            "not all elements on the screen are known, so it is not known what the terminal shows",
            fix="hisa doctor",
        )
    return terminal_texts[-1].rstrip() if terminal_texts else None
