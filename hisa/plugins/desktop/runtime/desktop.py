"""Starts, finds and ends private desktops."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.config import LimitSettings
from hisa.environments.share import Share
from hisa.errors import EnvironmentFailed
from hisa.machine.parts import install_command
from hisa.machine.patience import patience
from hisa.machine.storage import replace_file
from hisa.plugins.desktop.guest.confinement import Limits
from hisa.plugins.desktop.guest.sandbox import knows_size
from hisa.plugins.desktop.runtime import bubblewrap, namespaces, owned_files, state
from hisa.plugins.desktop.runtime.boot import GUEST_FOLDER, SYSTEM_FOLDERS, identity
from hisa.plugins.desktop.runtime.probe import missing_requirements
from hisa.plugins.desktop.runtime.state import Handle
from hisa.screen.geometry import Size

__all__ = ["DesktopRuntime", "end_process", "guest_code", "start_guest"]

_PACKAGES = (
    "pyautogui",
    "pyscreeze",
    "pytweening",
    "pymsgbox",
    "mouseinfo",
    "pygetwindow",
    "pyrect",
)
"""Pure Python packages to copy into the desktop, so that clients may send PyAutoGUI source."""
_GUEST_SOURCE = Path(__file__).resolve().parent.parent / "guest"
_PYTHON = "/usr/bin/python3"
_START_SECONDS = 60.0  # chosen by hand
_FIX = f"{install_command('system')}, then `hisa doctor`"
_END_SECONDS = 5.0
"""A killed namespace is gone in milliseconds; after this time its watchdog is stuck."""
_UIDS = range(1_900_000_000, 2_100_000_000)
"""User numbers that no distribution assigns: above those of containers (systemd)."""
_FEW_UIDS = range(58_000, 60_000)
"""The same if only 65,536 numbers are mapped, as in a container."""


def _user_id(isolation: namespaces.Isolation, ident: str) -> int:
    """Returns the number of a desktop's user: as root, one that owns nothing on the host.

    Each desktop has its own, because the kernel counts processes by user. A user namespace has its
    own count, so any number will do there.
    """
    if isolation != "root":
        return 1000
    first, _, count = Path("/proc/self/uid_map").read_text(encoding="ascii").split()[:3]
    numbers = _UIDS if int(first) + int(count) > _UIDS.stop else _FEW_UIDS
    return numbers[int(ident, 16) % len(numbers)]


def _list_private_folders(isolation: namespaces.Isolation) -> list[str]:
    """Returns host folders inside system folders that hold the user's work."""
    project = Path(__file__).resolve().parents[4]
    hidden = []
    for folder in {Path.cwd(), project, Path.home()}:
        parts = folder.parts[1:]
        if len(parts) >= 2 and parts[0] in SYSTEM_FOLDERS:
            hidden.append("/".join(parts))
    if isolation != "root":
        hidden += owned_files.find_owned(SYSTEM_FOLDERS, os.getuid())
    return sorted(set(hidden))


def _identity_files(folder: Path, uid: int, system: str) -> dict[str, str]:
    """Writes the files for the desktop's /etc; returns their paths by name."""
    files = {}
    for name, text in identity(uid, system).items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
        files[name] = str(place)
    return files


def guest_code() -> dict[str, str]:
    """Returns the host's paths of the guest's packages, by path below the guest's folder."""
    copies = {"guest": str(_GUEST_SOURCE)}
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        source = Path(spec.origin)
        package = source.name == "__init__.py"
        copies[f"site/{source.parent.name if package else source.name}"] = str(
            source.parent if package else source
        )
    return copies


class DesktopRuntime:
    """A private X desktop in namespaces of its own, over a file system that is thrown away.

    Args:
        size: the screen, in pixels.
        idle: seconds without a request after which the desktop ends itself.
        isolation: how it is isolated; None: the strongest way that works here.
        limits: how much memory, disk and processes it may take; None: the defaults.
        shares: folders of this machine that are shared with it.
        system: folder of a built system that it shows in place of this machine's own.
    """

    def __init__(
        self,
        size: Size,
        *,
        idle: float = 900.0,
        isolation: namespaces.Isolation | None = None,
        limits: LimitSettings | None = None,
        shares: Sequence[Share] = (),
        system: Path | None = None,
    ) -> None:
        self.system = "" if system is None else str(system)
        self.size = size
        self.shares = tuple(shares)
        self.limits = limits or LimitSettings()
        self.isolation = isolation
        self.idle = idle
        self._handle: Handle | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def attach(cls, handle: Mapping[str, Any]) -> DesktopRuntime:
        """Returns a desktop that another process started.

        Raises:
            EnvironmentFailed: the desktop is gone.
        """
        known = Handle.from_json(handle)
        if not state.is_alive(known):
            raise EnvironmentFailed(
                f"desktop {known.id} is gone (process {known.pid})", fix="start a new desktop"
            )
        runtime = cls(Size(known.width, known.height))
        runtime._handle = known
        return runtime

    @property
    def handle(self) -> Handle:
        """The handle with which the desktop is reached.

        Raises:
            EnvironmentFailed: it was not started, or was stopped.
        """
        if self._handle is None:
            raise EnvironmentFailed("the desktop is not running", fix="start it first")
        return self._handle

    @property
    def alive(self) -> bool:
        """Whether the desktop runs."""
        return self._handle is not None and state.is_alive(self._handle)

    def start(self) -> None:
        """Starts the desktop and waits until its guest is ready. Blocks for about a second.

        Raises:
            EnvironmentFailed: a requirement is missing; or it cannot be started, and the message
                ends with the log's last lines.
        """
        if missing := missing_requirements(built=bool(self.system)):
            raise EnvironmentFailed(
                f"no private desktop can start: {'; '.join(probe.detail for probe in missing)}",
                fix="; and ".join(dict.fromkeys(probe.fix for probe in missing)),
            )
        isolation = self.isolation or namespaces.available_isolation()
        state.reap()
        folder = state.new_folder()
        try:
            self._start_in(folder, isolation)
        except BaseException:
            self._kill_process()
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        """Ends the desktop and everything in it, and removes its files, if it is running."""
        if self._handle is not None:
            state.end(self._handle)
            self._handle = None
        self._kill_process()

    @property
    def ended(self) -> tuple[str, float | None]:
        """The watchdog's reason for ending it, as "it held 4300 MB of memory; …"; otherwise empty.

        See `state.why_ended` for the second value.
        """
        return ("", None) if self._handle is None else state.why_ended(self._handle)

    def _kill_process(self) -> None:
        if self._process is not None:
            end_process(self._process)
            self._process = None

    def _start_in(self, folder: Path, isolation: namespaces.Isolation) -> None:
        token = secrets.token_urlsafe(24)
        token_file = folder / "token"
        token_file.touch(mode=0o600)
        token_file.write_text(token, encoding="ascii")
        (folder / "base").mkdir()

        def start(fds: tuple[int, int]) -> tuple[subprocess.Popen[bytes], str]:
            line, environment, text = self._launch(folder, isolation, fds)
            self._process = subprocess.Popen(
                [*self._watchdog(folder, isolation, fds), *line],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd="/",
                pass_fds=fds,
                start_new_session=True,
            )
            return self._process, f"{text}{token}\n"

        start_guest(folder, "the desktop", start)
        self._write_down(folder)

    def _watchdog(
        self, folder: Path, isolation: namespaces.Isolation, fds: tuple[int, int]
    ) -> list[str]:
        """Return the command line of the watchdog, without the command that it starts."""
        # Full file systems with sizes of their own, and /run besides, hold more than the limit.
        sized = isolation == "bubblewrap" and knows_size()
        options = {
            "folder": str(folder),
            "fds": fds,
            "idle": self.idle,
            "processes": self.limits.processes,
            "memory_mb": self.limits.memory_mb,
            "disk_mb": 0 if sized else self.limits.disk_mb,
        }
        program = str(Path(__file__).with_name("watchdog.py"))
        return [_PYTHON, "-I", "-S", program, json.dumps(options)]

    def _launch(
        self, folder: Path, isolation: namespaces.Isolation, fds: tuple[int, int]
    ) -> tuple[list[str], dict[str, str], str]:
        """Returns a command line, its variables, and what it reads before the guest's token."""
        uid = _user_id(isolation, folder.name)
        guest = [_PYTHON, "-m", "guest", "--session", f"{self.size.width}x{self.size.height}"]
        guest += ["--fd", str(fds[0]), "--ready", str(fds[1]), "--idle", str(self.idle)]
        limits = self.limits
        guest += ["--limits", str(Limits(limits.processes, limits.memory_mb, limits.open_files))]
        environment = _environment(uid, self.system)
        covered = [] if self.system else _list_private_folders(isolation)
        if isolation == "bubblewrap":
            line = bubblewrap.command(
                guest,
                environment,
                copies=guest_code(),
                covered=covered,
                identity=_identity_files(folder, uid, self.system),
                disk_mb=limits.disk_mb,
                shares=self.shares,
                system=self.system,
            )
            return line, {"PATH": environment["PATH"]}, ""
        spec = {
            "base": str(folder / "base"),
            "uid": uid,
            "disk_mb": limits.disk_mb,
            "covered": covered,
            "system": self.system,
            "copies": guest_code(),
            "shares": [[share.source, share.place, share.writable] for share in self.shares],
            "command": guest,
            "environment": environment,
            "fds": fds,
        }
        boot = str(Path(__file__).with_name("boot.py"))
        prefix = namespaces.command(isolation)
        line = [*prefix, _PYTHON, "-I", "-S", boot]
        return line, environment, json.dumps(spec) + "\n"

    def _write_down(self, folder: Path) -> None:
        pid = self._process.pid if self._process else 0
        handle = Handle(
            id=folder.name,
            pid=pid,
            started=state.process_start(pid) or 0,
            socket=str(folder / "socket"),
            token_file=str(folder / "token"),
            created=time.time(),
            width=self.size.width,
            height=self.size.height,
            idle=self.idle,
        )
        replace_file(folder / "handle.json", json.dumps(handle.to_json()).encode())
        self._handle = handle


def _environment(uid: int, system: str) -> dict[str, str]:
    language = _language(system) if system else "C.UTF-8"
    return {
        "HOME": "/home/user",
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "LANG": language,
        "LC_ALL": language,
        "PATH": f"{GUEST_FOLDER}/bin:/usr/local/bin:/usr/bin:/bin:/usr/games:/usr/sbin:/sbin",
        "PYTHONPATH": f"{GUEST_FOLDER}:{GUEST_FOLDER}/site",
        "XDG_RUNTIME_DIR": f"/run/user/{uid}",
    }


def _language(system: str) -> str:
    """Returns the language of a built system."""
    text = Path(f"{system}/etc/default/locale").read_text(encoding="ascii")
    return text.strip().removeprefix("LANG=")


_Start = Callable[[tuple[int, int]], tuple["subprocess.Popen[bytes]", str]]
"""Starts a guest with a listening socket and a descriptor on which it reports that it is ready.

Returns its process, and the text for its standard input, which no process list shows."""


def start_guest(folder: Path, label: str, start: _Start, *, fix: str = _FIX) -> None:
    """Starts a guest that listens on ``folder/socket``, and waits until it is ready.

    Args:
        folder: the folder of its socket, and of its output in ``log``.
        label: the guest's name in errors.
        start: starts its process.
        fix: the command that helps if it does not become ready.

    Raises:
        EnvironmentFailed: it ended or took too long; the message ends with the log's last lines.
    """
    address = folder / "socket"
    ready, ready_in = os.pipe()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(address))
        address.chmod(0o600)
        listening.listen(128)
        process, text = start((listening.fileno(), ready_in))
    os.close(ready_in)
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError), process.stdin as stream:
            stream.write(text.encode())
    _await_ready(ready, folder / "log", label, process, fix)


def _await_ready(
    ready: int, log: Path, label: str, process: subprocess.Popen[bytes], fix: str
) -> None:
    limit = patience(_START_SECONDS)
    try:
        readable, _, _ = select.select([ready], [], [], limit)
        answer = os.read(ready, 16) if readable else b""
    finally:
        os.close(ready)
    if answer == b"ready\n":
        return
    if readable:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
    reason = "ended while starting" if readable else f"is not ready after {limit:.0f} s"
    raise EnvironmentFailed(f"{label} {reason}; its log ends:\n{_tail(log, 15)}", fix=fix)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Terminates a process, and kills it if it does not end."""
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(path: Path, lines: int) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:]) or "(empty)"
