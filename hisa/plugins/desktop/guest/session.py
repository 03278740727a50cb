"""Starts the processes of a desktop: X server, session bus, window manager, accessibility."""

from __future__ import annotations

import os
import secrets
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from . import skeleton
from .spawning import protect, restrain, spawn

__all__ = ["APPLICATION_ENVIRONMENT", "Session"]

APPLICATION_ENVIRONMENT = {
    "GTK_MODULES": "gail:atk-bridge",
    "NO_AT_BRIDGE": "0",
    "GNOME_ACCESSIBILITY": "1",
    "QT_ACCESSIBILITY": "1",
    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
    "ACCESSIBILITY_ENABLED": "1",
    "SAL_USE_VCLPLUGIN": "gtk3",
    "GDK_BACKEND": "x11",
    "LIBGL_ALWAYS_SOFTWARE": "1",
    "GSETTINGS_BACKEND": "keyfile",
}
"""The variables that applications need to report their elements."""

_BUS_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
_OWN_SESSION = "/usr/lib/hisa/session.sh"
"""Script of a built system that starts more than the window manager, such as a panel."""
_COOKIE_NAME = b"MIT-MAGIC-COOKIE-1"
_NO_KEYRING = "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/false\n"
"""Takes precedence over the system's: a keyring asks for a password in front of everything."""


def _prefix_length(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def _write_cookie(path: Path) -> None:
    """Write an Xauthority file for this host's display 0; without one, clients print a warning."""
    entry = (
        struct.pack(">H", 256) + _prefix_length(os.uname().nodename.encode()) + _prefix_length(b"0")
    )
    path.write_bytes(entry + _prefix_length(_COOKIE_NAME) + _prefix_length(secrets.token_bytes(16)))
    path.chmod(0o600)


class Session:
    """The processes of one desktop, in a PID namespace that ends them all together."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height

    def begin(self) -> None:
        """Starts X and the bus side by side, and sets this process's environment for them."""
        home, runtime = Path(os.environ["HOME"]), os.environ["XDG_RUNTIME_DIR"]
        os.environ.update(APPLICATION_ENVIRONMENT)
        os.environ["XAUTHORITY"] = str(home / ".Xauthority")
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={runtime}/bus"
        os.environ["DISPLAY"] = ":0"
        os.environ["XDG_SESSION_TYPE"] = "x11"
        _write_cookie(home / ".Xauthority")
        services = Path(runtime, "dbus-1", "services")
        services.mkdir(parents=True, exist_ok=True)
        (services / "org.freedesktop.secrets.service").write_text(_NO_KEYRING, "utf-8")
        server, self._display = _start(self._server_line())
        restrain()
        daemon, self._bus = _start(self._bus_line(runtime), glue="=", start=spawn)
        self._processes = [server, daemon]
        skeleton.create_home(home)

    def complete(self) -> None:
        """Starts the processes that need X and the bus.

        Raises:
            RuntimeError: one of the two ended before it was up.
        """
        _await(self._bus, "dbus-daemon")
        launchers = [path for path in _BUS_LAUNCHERS if os.path.exists(path)][:1]
        self._processes += [_quiet([path, "--launch-immediately"]) for path in launchers]
        _await(self._display, "Xvfb")
        self._processes.append(_quiet(["openbox", "--sm-disable"]))
        if os.path.exists(_OWN_SESSION):
            _quiet(["sh", _OWN_SESSION])
        protect([1, os.getpid(), *(process.pid for process in self._processes)])

    def _server_line(self) -> list[str]:
        screen = f"{self.width}x{self.height}x24"
        line = ["Xvfb", ":0", "-screen", "0", screen, "-nolisten", "tcp", "-noreset"]
        return [*line, "-dpi", "96", "-auth", os.environ["XAUTHORITY"], "-displayfd"]

    @staticmethod
    def _bus_line(runtime: str) -> list[str]:
        line = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog"]
        return [*line, f"--address=unix:path={runtime}/bus", "--print-address"]


_Started = Callable[..., "subprocess.Popen[bytes]"]


def _quiet(line: list[str]) -> subprocess.Popen[bytes]:
    return spawn(line, stdin=subprocess.DEVNULL)


def _start(
    line: list[str], glue: str = " ", start: _Started = subprocess.Popen
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a server whose last option takes the descriptor on which it reports that it is up."""
    up, up_in = os.pipe()
    full = [*line[:-1], f"{line[-1]}={up_in}"] if glue == "=" else [*line, str(up_in)]
    process = start(full, stdin=subprocess.DEVNULL, pass_fds=(up_in,))
    os.close(up_in)
    return process, up


def _await(up: int, name: str) -> None:
    with os.fdopen(up, "rb") as stream:
        if not stream.readline():
            raise RuntimeError(f"{name} ended before it was up")
