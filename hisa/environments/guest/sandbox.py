"""What commands on somebody's own display see: the host read-only, and nothing that is secret.

Their variables are a list of allowed ones, so that no key is among them. With bubblewrap they also
have no network, no sockets of the host (message buses, agents, container engines) wherever these
lie, no processes but their own, and what a private desktop refuses (`guest.confine`) is refused to
them; the display's socket and its cookie are laid in, so that they can open windows.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .confine import Limits, rules_text

__all__ = ["ALLOWED_VARIABLES", "SET_OF_PROC", "Wrap", "allowed_variables", "sandbox"]

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


SET_OF_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""What root could set there for the whole host: its own number is root's outside as well."""
_FRESH = ("/tmp", "/run", "/var/tmp")
_WRITTEN_MB = 512
"""Most that is written into each of these; they lie in the host's memory."""
_SEARCHED = ("~", "/var/lib", "/srv", "/opt")
"""Where sockets of other network namespaces are looked for: the kernel does not tell these."""
_MOST = 50_000
"""Entries looked at there: a quarter of a second, once."""
_STARTS = 'echo 500 >/proc/self/oom_score_adj; exec "$@" 9<"$0"'
"""Starts bubblewrap: first to go where memory runs out, the refused calls on descriptor 9."""


def sandbox(display: str, folder: str, environ: Mapping[str, str], limits: Limits) -> Wrap:
    """Returns a function that makes the command lines to run on ``display``.

    Args:
        display: ``:N`` or ``:N.S``.
        folder: the folder they may write; empty: there is no bubblewrap, only the variables are
            kept back.
        environ: the variables of this process.
        limits: of each command.
    """
    variables = {**allowed_variables(environ), "DISPLAY": display}
    cookie = environ.get("XAUTHORITY") or os.path.expanduser("~/.Xauthority")
    if os.path.exists(cookie):
        variables["XAUTHORITY"] = cookie
    # Before bubblewrap: the variables of its own first process are readable inside.
    prefix = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    if not folder:
        return lambda words: [*prefix, *words]
    prefix += ["sh", "-c", _STARTS, _refused_calls(), *_bubblewrap(display, cookie)]
    own = f"/tmp/.X11-unix/X{display.lstrip(':').partition('.')[0]}"
    searched = sorted(_searched(map(os.path.expanduser, _SEARCHED)))
    prefix += ["--bind", folder, folder, "--chdir", folder]
    limiting = ["--", *_limited(limits)]

    def wrap(words: Sequence[str]) -> Sequence[str]:
        hidden: list[str] = []
        for path in sorted({*searched, *_bound()} - {own}):
            if _is_socket(path) and not path.startswith(tuple(f"{fresh}/" for fresh in _FRESH)):
                hidden += ["--ro-bind", "/dev/null", path]
        return [*prefix, *hidden, *limiting, *words]

    return wrap


def _refused_calls() -> str:
    """The path of the filter in this process's memory, which each reader opens anew."""
    number = os.memfd_create("refused calls")
    os.write(number, rules_text())
    return f"/proc/{os.getpid()}/fd/{number}"


def _bubblewrap(display: str, cookie: str) -> list[str]:
    # Without --die-with-parent: a program left in the background outlives its command.
    line = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in ("keys", "key-users"):
        if os.path.exists(f"/proc/{name}"):
            line += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    for name in SET_OF_PROC:
        if os.path.exists(f"/proc/{name}"):
            line += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)
    size = ["--size", str(_WRITTEN_MB << 20)] if "--size" in done.stdout + done.stderr else []
    for path in _FRESH:
        line += [*size, "--tmpfs", path]
    number = display.lstrip(":").partition(".")[0]
    for path in (f"/tmp/.X11-unix/X{number}", cookie):
        if os.path.exists(path):
            line += ["--ro-bind", path, path]
    return [*line, "--seccomp", "9"] if rules_text() else line


def _limited(limits: Limits) -> list[str]:
    """What lowers the limits inside, where the kernel counts the processes of the cage alone."""
    if shutil.which("prlimit") is None:
        return []
    chosen = {
        "nproc": limits.processes,
        "data": limits.memory_mb << 20,
        "nofile": limits.open_files,
    }
    return [
        "prlimit",
        "--core=0",
        *(f"--{name}={value}" for name, value in chosen.items() if value),
    ]


def _bound() -> Iterator[str]:
    """The paths of the sockets that are open on this machine, those of relative names included."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        names = {line.split(" ", 7)[-1].strip() for line in file if "/" in line or "." in line}
    names = {line for line in names if line and not line.startswith("@")}
    relative = {name for name in names if not name.startswith("/")}
    folders: set[str] = set()
    for pid in filter(str.isdigit, os.listdir("/proc") if relative else ()):
        try:
            folders.add(os.readlink(f"/proc/{pid}/cwd"))
        except OSError:
            continue
    yield from (os.path.realpath(name) for name in names - relative)
    for folder in folders:
        yield from (os.path.realpath(f"{folder}/{name}") for name in relative)


def _searched(folders: Iterable[str]) -> Iterator[str]:
    seen = 0
    for folder in folders:
        for place, _, names in os.walk(folder):
            seen += len(names) + 1
            if seen > _MOST:
                return
            yield from (
                os.path.realpath(f"{place}/{n}") for n in names if _is_socket(f"{place}/{n}")
            )


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
