"""What commands on somebody's own display see: the host read-only, and nothing that is secret.

Their variables are a list of allowed ones, so that no key is among them. Inside bubblewrap they
have no network, no sockets of the host (message buses, agents, container engines) wherever these
lie, no processes but their own, and what a private desktop refuses (`guest.confinement`) is
refused to them; the display's socket and its cookie are laid in, so that they can open windows.
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
"""Makes the command line that is run from the one that was asked for."""

ALLOWED_VARIABLES = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|DISPLAY|XAUTHORITY"
    "|XDG_(CURRENT_DESKTOP|SESSION_TYPE|DATA_DIRS|CONFIG_DIRS)"
    "|GTK_MODULES|NO_AT_BRIDGE|GNOME_ACCESSIBILITY|QT_ACCESSIBILITY"
    "|QT_LINUX_ACCESSIBILITY_ALWAYS_ON|ACCESSIBILITY_ENABLED|SAL_USE_VCLPLUGIN|GDK_BACKEND"
    "|LIBGL_ALWAYS_SOFTWARE|GSETTINGS_BACKEND"
)
"""Names of the variables that commands get; whole names, all others are left out."""


def allowed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The allowed ones of the variables."""
    return {name: value for name, value in environ.items() if ALLOWED_VARIABLES.fullmatch(name)}


SET_OF_PROC = [f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs")]
"""What root could set there for the whole host: its own number is root's outside as well."""
_FRESH = ("/tmp", "/run", "/var/tmp", "/dev/shm")
_NO_BUS = {"DBUS_SESSION_BUS_ADDRESS": "disabled:"}
"""Else programs start one of their own by dbus-launch, in vain: its files cannot be written. A text
editor came after 10 s so, sometimes not within a minute, and comes after 2 s without."""
_WRITTEN_MB = 512
"""Most that is written into each of these; they lie in the host's memory."""
_OPENAT2, _NO_LINKS = 437, 0x04 | 0x08  # of <linux/openat2.h>: no link, and beneath
_STARTS = 'echo 500 >/proc/self/oom_score_adj; exec "$@" 9<"$0"'
"""Starts bubblewrap: first to go where memory runs out, the refused calls on descriptor 9."""


def sandbox(display: str, folder: str, environ: Mapping[str, str], limits: Limits) -> Wrap:
    """Returns a function that makes the command lines to run on ``display``.

    Args:
        display: ``:N`` or ``:N.S``.
        folder: the folder they may write.
        environ: the variables of this process.
        limits: of each command.
    """
    variables = {**allowed_variables(environ), "DISPLAY": display, **_NO_BUS}
    cookie = environ.get("XAUTHORITY") or os.path.expanduser("~/.Xauthority")
    if os.path.exists(cookie):
        variables["XAUTHORITY"] = cookie
    # Before bubblewrap: the variables of its own first process are readable inside.
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
    """The path of the filter in this process's memory, which each reader opens anew."""
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
    """Returns the words that lower the limits inside, where only the cage is counted."""
    if shutil.which("prlimit") is None:
        return []
    line = ["prlimit", "--core=0", f"--nproc={limits.processes or 'unlimited'}"]
    line.append(f"--data={limits.memory_mb << 20 or 'unlimited'}")
    return [*line, f"--nofile={limits.open_files}"] if limits.open_files else line


def _sockets() -> Iterator[str]:
    """The paths of the sockets that are open on this machine, those of relative names included."""
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
    """Make the folders of a path below another one; see `opened_beneath`.

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
    """A descriptor of what lies below a folder, whoever puts links there meanwhile.

    Raises:
        OSError: there is nothing, or a link is in the way.
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
