"""Sandboxes commands on a user's own display: the host is read-only, and secrets are hidden.

Commands get only variables from a list, so no secret is among them. Inside bubblewrap they have no
network, none of the host's sockets (message buses, agents, container engines) wherever these are,
and no processes but their own. The system calls that a private desktop refuses
(`guest.confinement`) are refused here too. The display's socket and cookie are there, so that
commands can open windows.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from .confinement import Limits, rules_text

__all__ = [
    "ALLOWED_VARIABLES",
    "SET_OF_PROC",
    "Wrap",
    "allowed_variables",
    "knows_size",
    "make_beneath",
    "opened_beneath",
    "sandbox",
]

Wrap = Callable[[Sequence[str]], Sequence[str]]
"""Returns the command line to run for the requested one."""

ALLOWED_VARIABLES = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|DISPLAY|XAUTHORITY"
    "|XDG_(CURRENT_DESKTOP|SESSION_TYPE|DATA_DIRS|CONFIG_DIRS)"
    "|GTK_MODULES|NO_AT_BRIDGE|GNOME_ACCESSIBILITY|QT_ACCESSIBILITY"
    "|QT_LINUX_ACCESSIBILITY_ALWAYS_ON|ACCESSIBILITY_ENABLED|SAL_USE_VCLPLUGIN|GDK_BACKEND"
    "|LIBGL_ALWAYS_SOFTWARE|GSETTINGS_BACKEND"
)
"""Names of the variables that commands get, as a pattern of whole names."""


def allowed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns those of the variables that commands may get."""
    return {name: value for name, value in environ.items() if ALLOWED_VARIABLES.fullmatch(name)}


SET_OF_PROC = [f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs")]
"""Parts of /proc in which root could change the whole host: root is root outside as well."""
_FRESH = ("/tmp", "/run", "/var/tmp", "/dev/shm")
_NO_BUS = {"DBUS_SESSION_BUS_ADDRESS": "disabled:"}
"""Without this, programs try to start a bus by dbus-launch, in vain: its files cannot be written. A
text editor then opened after 10 s, sometimes not within a minute; with it, after 2 s."""
_WRITTEN_MB = 512
"""Size of each folder in ``_FRESH``; they are in the host's memory."""
_OPENAT2, _NO_LINKS = 437, 0x04 | 0x08  # of <linux/openat2.h>: no link, and beneath
_STARTS = 'echo 500 >/proc/self/oom_score_adj; exec "$@" 9<"$0"'
"""Starts bubblewrap: killed first if memory runs out, with the refused calls on descriptor 9."""


def sandbox(display: str, folder: str, environ: Mapping[str, str], limits: Limits) -> Wrap:
    """Returns a function that puts the sandbox around command lines.

    Args:
        display: the display on which they may open windows, ``:N`` or ``:N.S``.
        folder: the only folder in which they may write files that stay.
        environ: the variables of this process.
        limits: the limits of each command.
    """
    variables = {**allowed_variables(environ), "DISPLAY": display, **_NO_BUS}
    cookie = environ.get("XAUTHORITY") or os.path.expanduser("~/.Xauthority")
    if os.path.exists(cookie):
        variables["XAUTHORITY"] = cookie
    # Cleared before bubblewrap starts: the variables of its first process are readable inside.
    prefix = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    prefix += ["sh", "-c", _STARTS, _refused_calls(), *_bubblewrap(display, cookie)]
    prefix += ["--bind", folder, folder, "--chdir", folder]
    lowered, inside = _build_limit_line(limits), f"{folder}/"

    def fresh(path: str) -> bool:
        return path.startswith(tuple(f"{mount}/" for mount in _FRESH))

    def wrap(words: Sequence[str]) -> Sequence[str]:
        sockets = [path for path in {*_sockets()} if path.startswith(inside) or not fresh(path)]
        hidden = [word for path in sockets for word in ("--ro-bind", "/dev/null", path)]
        return [*prefix, *hidden, "--", *lowered, *words]

    return wrap


def _refused_calls() -> str:
    """Return the path of the filter, a memory file of this process that each reader opens anew."""
    number = os.memfd_create("refused calls")
    os.write(number, rules_text())
    return f"/proc/{os.getpid()}/fd/{number}"


def _bubblewrap(display: str, cookie: str) -> list[str]:
    # Without --die-with-parent: a program left in the background outlives its command.
    line = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in filter(os.path.exists, ("/proc/keys", "/proc/key-users")):
        line += ["--ro-bind", "/dev/null", path]
    for path in filter(os.path.exists, SET_OF_PROC):
        line += ["--ro-bind", path, path]
    size = ["--size", str(_WRITTEN_MB << 20)] if knows_size() else []
    for path in _FRESH:
        line += [*size, "--tmpfs", path]
    line += ["--remount-ro", "/dev"]
    number = display.lstrip(":").partition(".")[0]
    for path in (f"/tmp/.X11-unix/X{number}", cookie):
        if os.path.exists(path):
            line += ["--ro-bind", path, path]
    return [*line, "--seccomp", "9"] if rules_text() else line


@functools.cache
def knows_size() -> bool:
    """Whether bubblewrap limits the size of what it mounts."""
    result = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    return "--size" in result.stdout + result.stderr


def _build_limit_line(limits: Limits) -> list[str]:
    """Returns the words that lower the limits inside, where only the sandbox is counted."""
    if shutil.which("prlimit") is None:
        return []
    line = ["prlimit", "--core=0", f"--nproc={limits.processes or 'unlimited'}"]
    line.append(f"--data={limits.memory_mb << 20 or 'unlimited'}")
    return [*line, f"--nofile={limits.open_files}"] if limits.open_files else line


def _sockets() -> Iterator[str]:
    """Yield the paths of the sockets that are open on this machine, even of relative names."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.rstrip("\n").split(None, 7) for line in file]
    names = {words[7] for words in lines[1:] if len(words) > 7 and words[7][0] != "@"}
    absolute_names = {name for name in names if name[0] == "/"}
    folders = set(_present_folders()) if names != absolute_names else ()
    for name in absolute_names | {
        f"{folder}/{name}" for folder in folders for name in names - absolute_names
    }:
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.stat(name).st_mode):
                yield os.path.realpath(name)


def _present_folders() -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/cwd")


def make_beneath(folder: str, path: str) -> None:
    """Makes the folders of a path below another folder; see `opened_beneath`.

    Raises:
        OSError: one cannot be made, or a link is in the way.
    """
    below = ""
    for name in os.path.normpath(path).split("/"):
        outer = opened_beneath(folder, below or ".")
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=outer)
        finally:
            os.close(outer)
        below = os.path.join(below, name)


def opened_beneath(folder: str, path: str) -> int:
    """Opens a path below a folder, without following links, and returns the descriptor.

    Raises:
        OSError: nothing is there, or a link is in the way.
    """
    open_how = struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    libc, outer = ctypes.CDLL(None, use_errno=True), os.open(folder, os.O_PATH | os.O_CLOEXEC)
    try:
        number = libc.syscall(
            _OPENAT2, outer, os.fsencode(path), open_how, ctypes.c_size_t(len(open_how))
        )
    finally:
        os.close(outer)
    if number < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(number)
