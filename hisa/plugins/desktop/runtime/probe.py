"""Probes what a desktop needs: what is installed, why it does not work, and what helps."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hisa.machine.parts import as_root, install_command
from hisa.machine.probes import Probe
from hisa.plugins.desktop.runtime import namespaces

__all__ = ["Refusal", "is_snap", "missing_requirements", "probe", "why_refused"]

_FIX = install_command("system")
_SYSTEM_PYTHON = "/usr/bin/python3"
_MODULES = ("Xlib", "PIL")
_PROGRAMS = (
    ("X server", ("Xvfb",), True),
    ("window manager", ("openbox",), True),
    ("session bus", ("dbus-daemon",), True),
    ("clipboard", ("xclip",), False),
    ("text recognition", ("tesseract",), False),
    ("browser", ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser"), False),
    ("browser driver", ("chromedriver",), False),
    ("spreadsheet", ("localc", "libreoffice"), False),
    ("text editor", ("mousepad",), False),
    ("screen recording", ("ffmpeg",), False),
    ("bubblewrap", ("bwrap",), False),
)
_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
_ISOLATION = {
    "root": "namespaces as root, over a throw-away overlay",
    "user": "a user namespace, over a throw-away overlay",
    "bubblewrap": "bubblewrap: the system is read-only, home and /tmp are thrown away",
}
_SNAP_FREE_BROWSER = (
    "sudo add-apt-repository ppa:xtradeb/apps && sudo apt-get install chromium chromium-driver; "
    "or the .deb package of Google Chrome"
)
"""Ways to install a browser on Ubuntu, whose own packages are snaps."""
_STUB_BYTES = 65_536
"""A stub is a short script; the programs themselves are megabytes."""
_PROFILE = "bwrap-userns-restrict"
_EXTRA = f"/usr/share/apparmor/extra-profiles/{_PROFILE}"
_CONTAINER = (
    "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined …, "
    "podman run --security-opt unmask=ALL …"
)
"""The options with which an ordinary user of a container can make namespaces."""


def probe() -> list[Probe]:
    """Probes everything that a private desktop needs or its tasks may use. Blocks for a moment.

    Without those that are ``needed``, no private desktop starts.
    """
    return [*_programs(), _accessibility(), _modules(), _isolation(), _overlay()]


def missing_requirements(*, built: bool = False) -> list[Probe]:
    """Returns the failed probes of what every private desktop needs, except the guest's libraries.

    Args:
        built: whether the desktop shows a built system, which has its own programs.
    """
    probes = (_isolation(),) if built else (*_programs(), _accessibility(), _isolation())
    return [probe for probe in probes if probe.needed and not probe.ok]


def _programs() -> Iterator[Probe]:
    for name, commands, needed in _PROGRAMS:
        paths = [path for path in map(shutil.which, commands) if path]
        program = next((path for path in paths if not is_snap(path)), None)
        detail = program or f"no {' or '.join(commands)}"
        fix = (
            "" if program else (as_root("apt-get install ffmpeg") if "ffmpeg" in commands else _FIX)
        )
        if paths and program is None:
            detail = f"{paths[0]} is a stub for a snap, which does not run inside a desktop"
            fix = _SNAP_FREE_BROWSER if "browser" in name else _FIX
        yield Probe(name, program is not None, detail, fix, needed)


def _accessibility() -> Probe:
    launcher = next((path for path in _LAUNCHERS if Path(path).exists()), None)
    detail = launcher or "no at-spi-bus-launcher: elements cannot be read"
    return Probe("accessibility bus", launcher is not None, detail, "" if launcher else _FIX)


def _modules() -> Probe:
    name = "guest's python"
    modules = ", ".join(_MODULES)
    try:
        result = subprocess.run(
            [_SYSTEM_PYTHON, "-c", f"import {modules}"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(name, False, f"{_SYSTEM_PYTHON}: {error}", _FIX)
    if result.returncode != 0:
        last = result.stderr.strip().splitlines()[-1:]
        return Probe(name, False, f"{_SYSTEM_PYTHON}: {''.join(last)}", _FIX)
    return Probe(name, True, f"{_SYSTEM_PYTHON} with {modules}")


def _isolation() -> Probe:
    kind = namespaces.available_isolation()
    refused = "; ".join(f"{way}: {why}" for way, why in namespaces.refusals().items())
    suffix = f" ({refused})" if refused else ""
    if kind != "none":
        return Probe("isolation", True, f"{_ISOLATION[kind]}{suffix}")
    refusal = why_refused()
    return Probe("isolation", False, f"{refusal.reason}{suffix}", refusal.fix)


def _overlay() -> Probe:
    try:
        known = "overlay" in Path("/proc/filesystems").read_text(encoding="ascii")
    except OSError:
        known = False
    detail = "the kernel has overlays" if known else "no overlays: the system is read-only inside"
    return Probe(
        "overlay", known, detail, "" if known else as_root("modprobe overlay"), needed=False
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the kernel makes no namespaces for this user, and the commands that change that."""

    reason: str
    fix: str


def why_refused(proc: Path = Path("/proc")) -> Refusal:
    """Finds out why neither unshare nor bubblewrap works.

    Args:
        proc: the proc file system with the kernel's switches.
    """
    kernel, user = proc / "sys/kernel", proc / "sys/user"
    if _value(kernel / "apparmor_restrict_unprivileged_userns") == "1":
        return Refusal(
            "AppArmor refuses namespaces to ordinary users, for unshare and for bubblewrap "
            "(kernel.apparmor_restrict_unprivileged_userns=1)",
            f"{install_command('system')}, which loads the distribution's profile {_PROFILE} for "
            f"bubblewrap alone (by hand, with the package apparmor-profiles: sudo cp {_EXTRA} "
            f"/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/{_PROFILE}); or for "
            "every program: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        )
    for switch, name in (
        (kernel / "unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1"),
        (user / "max_user_namespaces", "user.max_user_namespaces=10000"),
    ):
        if _value(switch) == "0":
            return Refusal(
                f"the kernel refuses namespaces to ordinary users ({name.partition('=')[0]}=0)",
                as_root(f"sysctl -w {name}"),
            )
    return Refusal("neither namespaces nor bubblewrap work", _list_ways())


def _list_ways() -> str:
    ways = [] if shutil.which("bwrap") else [install_command("system")]
    ways += [] if os.geteuid() == 0 else ["run as root"]
    ways.append(f"in a container, allow namespaces: {_CONTAINER}")
    return f"{'; or '.join(ways)}; or use --env screen"


def _value(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def is_snap(program: str) -> bool:
    """Whether a program is a snap or a stub for one, which does not run inside a private desktop.

    Args:
        program: its path.
    """
    path = Path(program)
    try:
        real = path.resolve()
        if real == Path("/usr/bin/snap") or "snap" in (*path.parts[1:2], *real.parts[1:2]):
            return True
        with real.open("rb") as file:
            head = file.read(_STUB_BYTES)
    except OSError:
        return False
    return head.startswith(b"#!") and (b"/snap/" in head or b"snap install" in head)
