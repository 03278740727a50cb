"""Why what looks as if it were here does not work: namespaces refused, programs that are snaps."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from hisa.machine.parts import as_root, install_command

__all__ = ["SNAP_FREE_BROWSER", "Refusal", "is_snap", "why_refused"]

SNAP_FREE_BROWSER = (
    "sudo add-apt-repository ppa:xtradeb/apps && sudo apt-get install chromium chromium-driver; "
    "or the .deb package of Google Chrome"
)
"""Ways to a browser on Ubuntu, whose own packages are snaps."""
_STUB_BYTES = 65_536
"""A stub is a short script; the programs themselves are megabytes."""
_PROFILE = "bwrap-userns-restrict"
_EXTRA = f"/usr/share/apparmor/extra-profiles/{_PROFILE}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the kernel makes no namespaces for this user, and the commands that change it."""

    reason: str
    fix: str


def why_refused(proc: Path = Path("/proc")) -> Refusal:
    """What to say where neither unshare nor bubblewrap work.

    Args:
        proc: where the kernel's switches are read.
    """
    kernel, user = proc / "sys/kernel", proc / "sys/user"
    if _value(kernel / "apparmor_restrict_unprivileged_userns") == "1":
        return Refusal(
            "AppArmor refuses an ordinary user's namespaces, to unshare as to bubblewrap "
            "(kernel.apparmor_restrict_unprivileged_userns=1)",
            f"{install_command('system')}, which loads the profile {_PROFILE} of the distribution "
            f"for bubblewrap alone (by hand, with the package apparmor-profiles: sudo cp {_EXTRA} "
            f"/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/{_PROFILE}); or for "
            "every program: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        )
    for switch, name in (
        (kernel / "unprivileged_userns_clone", "kernel.unprivileged_userns_clone=1"),
        (user / "max_user_namespaces", "user.max_user_namespaces=10000"),
    ):
        if _value(switch) == "0":
            return Refusal(
                f"the kernel refuses an ordinary user's namespaces ({name.partition('=')[0]}=0)",
                as_root(f"sysctl -w {name}"),
            )
    return Refusal("neither namespaces nor bubblewrap work", _elsewise())


def _elsewise() -> str:
    ways = [] if shutil.which("bwrap") else [install_command("system")]
    ways += [] if os.geteuid() == 0 else ["run as root"]
    ways.append("in a container, allow namespaces: docker run --privileged")
    return f"{'; or '.join(ways)}; or use --env display=:N"


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
