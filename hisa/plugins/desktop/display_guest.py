"""HiSA's guest on an existing X display: it cages commands, and reads windows and elements."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hisa.config import LimitSettings
from hisa.environments.transport import GuestClient, Transport, connect
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.agent_folders import fresh_folder
from hisa.machine.parts import install_command
from hisa.plugins.desktop.guest.confinement import Limits
from hisa.plugins.desktop.guest.sandbox import allowed_variables
from hisa.plugins.desktop.runtime import watchdog
from hisa.plugins.desktop.runtime.desktop import end_process, start_guest

__all__ = ["DisplayGuest"]

_FIX = "ls /tmp/.X11-unix, which lists the displays, or --env desktop"
_FOR_ELEMENTS = ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


class DisplayGuest:
    """HiSA's guest as a child process on an existing X display: no namespaces, nothing thrown away.

    Commands get only a few harmless ones of HiSA's variables, and run inside bubblewrap
    (`guest.sandbox`): a file system that is read-only but for one folder, no network, the limits of
    a private desktop, and the display's own socket, so that they can open windows.

    Args:
        display: ``:N`` or ``:N.S``.
        limits: limits for all that commands start, together.
        note: called with the path of the writable folder, at the start and at the end.

    Raises:
        UsageError: not the name of a local display.
    """

    def __init__(
        self,
        display: str,
        *,
        limits: LimitSettings | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        if not re.fullmatch(r":\d{1,5}(\.\d{1,2})?", display):
            raise UsageError(f"display={display!r}: not a local display", fix="--env screen")
        self._display = display
        self._name = f"display {display}"
        self._limits = limits or LimitSettings()
        self._note = note
        self._process: subprocess.Popen[bytes] | None = None
        self._client: GuestClient | None = None
        self._files: Path | None = None
        self.folder: Path | None = None
        """The new folder in which commands may write; None if the guest does not run."""

    @property
    def pid(self) -> int | None:
        """The id of the guest's process; None if it does not run."""
        return None if self._process is None else self._process.pid

    async def start(self) -> Transport:
        """Start the guest, and return what talks to it.

        Raises:
            EnvironmentFailed: there is no bubblewrap, or the guest does not start.
        """
        if shutil.which("bwrap") is None:
            raise EnvironmentFailed(
                f"{self._name}: bubblewrap, which its commands need, is not installed",
                fix=install_command("system"),
            )
        self.folder = fresh_folder()
        self._note(f"commands on {self._name} can write files only in {self.folder}")
        token = secrets.token_urlsafe(24)
        address = await asyncio.to_thread(self._run_guest, token)
        self._client = GuestClient(self._name, socket=address, token=token)
        return await connect(self._client)

    async def stop(self) -> None:
        """End the guest; programs that commands left open stay. May be called twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        await asyncio.to_thread(self._stop_guest)
        self._close_folder()

    def _close_folder(self) -> None:
        folder, self.folder = self.folder, None
        if folder is None:
            return
        with suppress(OSError):
            folder.rmdir()
        count = len(list(folder.iterdir())) if folder.exists() else 0
        self._note(f"commands wrote {f'to {folder}: {count} entries' if count else 'no files'}")

    def _run_guest(self, token: str) -> str:
        self._files = Path(tempfile.mkdtemp(prefix="hisa-display-"))
        log = self._files / "log"

        def start(fds: tuple[int, int]) -> tuple[subprocess.Popen[bytes], str]:
            with log.open("wb") as stream:
                self._process = subprocess.Popen(
                    self._command(fds),
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=stream,
                    env=self._environment(),
                    pass_fds=fds,
                )
            return self._process, f"{token}\n"

        start_guest(self._files, f"the guest on {self._name}", start, fix=_FIX)
        return str(self._files / "socket")

    @staticmethod
    def _environment() -> dict[str, str]:
        """Returns the guest's variables: no secrets, but the session's bus, for the elements."""
        variables = {name: os.environ[name] for name in _FOR_ELEMENTS if name in os.environ}
        return {
            **allowed_variables(os.environ),
            **variables,
            "PYTHONPATH": str(Path(__file__).parent),
        }

    def _command(self, fds: tuple[int, int]) -> list[str]:
        python, limits = "/usr/bin/python3", self._limits
        line = [python, "-m", "guest", "--display", self._display]
        line += ["--fd", str(fds[0]), "--ready", str(fds[1]), "--parent"]
        guest_limits = Limits(limits.processes, limits.memory_mb, limits.open_files)
        watch = [python, "-I", "-S", watchdog.__file__, "--cages"]
        watch += [f"{limits.processes},{limits.memory_mb}"]
        return [*watch, *line, "--cage", str(self.folder), "--limits", str(guest_limits)]

    def _stop_guest(self) -> None:
        if self._process is not None:
            end_process(self._process)
            self._process = None
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)
            self._files = None
