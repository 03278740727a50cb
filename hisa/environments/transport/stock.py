"""Talks to a stock OSWorld guest, with its own routes alone."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence

import httpx
from PIL import ImageChops

from hisa.actions import Action, Hotkey, KeyDown, KeyUp, Press, Write, to_source
from hisa.actions.keys import normalise_key
from hisa.environments.transport.base import Guest, Look, acting_seconds, broken, reason
from hisa.environments.transport.tree import parse_tree
from hisa.errors import ActionRefused
from hisa.observation import Element, Screenshot, Window
from hisa.protocols import CommandResult

__all__ = ["StockTransport"]

_PREAMBLE = "import pyautogui; import time; pyautogui.FAILSAFE = False"
_PASTE = (
    "import subprocess; subprocess.run(['xclip', '-selection', 'clipboard'], "
    "input={text!r}.encode(), stdout=subprocess.DEVNULL, check=True)\n"
    "pyautogui.hotkey('ctrl', 'v'); time.sleep(0.2)"
)
_WINDOWS = "wmctrl -lx; xprop -root _NET_ACTIVE_WINDOW"
_LOOK_TRIES = 3
_POLL_SECONDS, _QUIET_LOOKS = 0.2, 2
_CARET_PIXELS = (3, 40)
_SERVER_LIMIT_SECONDS = 110.0
"""A stock guest ends a command after 120 s; ours ends before it does."""


class StockTransport:
    """PyAutoGUI source through ``/execute``, pictures as PNG, the tree as XML.

    A stock guest knows no ids: an act whose answer is lost is never sent again.
    """

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    @property
    def capabilities(self) -> frozenset[str]:
        """No "at_most_once", and settling is done by looking again and again."""
        return frozenset({"elements", "execute", "files"})

    async def look(self, *, elements: bool, settle: float) -> Look:
        """Several requests; the picture comes last, so that it is the newest."""
        shot = await self._settled(settle) if settle > 0 else None
        windows = await self._windows()
        found = await self._elements() if elements else None
        shot = shot if shot is not None and not elements else await self._screenshot()
        return Look(shot.pixels, shot.size, windows, found)

    async def act(self, actions: Sequence[Action], /) -> None:
        """One program for one list of actions."""
        for action in actions:
            _check_keys(action)
        body = "\n".join(_source(action) for action in actions)
        done = await self._execute(
            ["python", "-c", f"{_PREAMBLE}\n{body}"],
            seconds=90.0 + acting_seconds(actions),
            again=False,
        )
        if done.exit_code != 0:
            last = (done.error or done.output).strip().splitlines()[-1:]
            raise ActionRefused(f"the guest could not do it: {''.join(last)[:300]}")

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Under timeout(1), because a stock guest takes no time limit."""
        words = ["bash", "-c", command] if isinstance(command, str) else list(command)
        bound = min(timeout, _SERVER_LIMIT_SECONDS)
        line = ["timeout", "-s", "KILL", f"{bound:g}", *words]
        started = time.monotonic()
        done = await self._execute(line, seconds=bound + 30.0, again=False)
        timed_out = done.exit_code in {-9, 124, 137} and time.monotonic() - started >= bound
        return CommandResult(
            124 if timed_out else done.exit_code, done.output[:limit], done.error[:limit], timed_out
        )

    async def read_file(self, path: str, /) -> bytes:
        """The file's bytes."""
        response = await self._guest.ask("POST", "/file", data={"file_path": path}, seconds=120.0)
        if response.status_code == 404:
            raise FileNotFoundError(path)
        self._expect(response)
        return response.content

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Upload, after making the folder."""
        folder = path.rpartition("/")[0]
        if folder:
            await self._execute(["mkdir", "-p", folder], seconds=30.0, again=True)
        response = await self._guest.ask(
            "POST",
            "/setup/upload",
            data={"file_path": path},
            files={"file_data": ("file", data)},
            seconds=120.0,
        )
        self._expect(response)

    # ---------------------------------------------------------------- parts of a look

    async def _screenshot(self) -> Screenshot:
        why = ""
        for _ in range(_LOOK_TRIES):
            response = await self._guest.ask("GET", "/screenshot", seconds=15.0)
            kind = response.headers.get("content-type", "")
            if response.status_code != 200 or not kind.startswith("image/"):
                why = f"HTTP {response.status_code}, {kind or 'no content type'}"
                continue
            try:
                return await asyncio.to_thread(Screenshot.from_png, response.content)
            except ValueError as error:
                why = str(error)
        raise broken(self._guest.where, f"no usable screenshot: {why}")

    async def _settled(self, seconds: float) -> Screenshot:
        deadline = time.monotonic() + seconds
        shot, quiet = await self._screenshot(), 0
        while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            latest = await self._screenshot()
            quiet = 0 if await asyncio.to_thread(_changed, shot, latest) else quiet + 1
            shot = latest
        return shot

    async def _elements(self) -> tuple[Element, ...]:
        response = await self._guest.ask("GET", "/accessibility", seconds=60.0)
        self._expect(response)
        try:
            return await asyncio.to_thread(parse_tree, str(response.json()["AT"]))
        except (ValueError, KeyError, TypeError) as error:
            raise broken(self._guest.where, f"unreadable accessibility tree: {error}") from error

    async def _windows(self) -> tuple[Window, ...]:
        done = await self._execute(["bash", "-c", _WINDOWS], seconds=20.0, again=True)
        return tuple(_windows(done.output))

    # ---------------------------------------------------------------- commands

    async def _execute(self, words: list[str], *, seconds: float, again: bool) -> CommandResult:
        response = await self._guest.ask(
            "POST",
            "/execute",
            json={"command": words, "shell": False},
            seconds=seconds,
            again=again,
        )
        self._expect(response)
        done = response.json()
        code = done.get("returncode")
        if not isinstance(code, int):
            raise broken(
                self._guest.where, f"/execute answered without a returncode: {done!r:.200}"
            )
        return CommandResult(code, done.get("output") or "", done.get("error") or "")

    def _expect(self, response: httpx.Response) -> None:
        if response.status_code != 200:
            raise broken(self._guest.where, reason(response))


def _check_keys(action: Action) -> None:
    """PyAutoGUI passes over a key that it does not know without a word."""
    match action:
        case Press(key=key) | KeyDown(key=key) | KeyUp(key=key):
            normalise_key(key)
        case Hotkey(keys=keys):
            for key in keys:
                normalise_key(key)


def _source(action: Action) -> str:
    """PyAutoGUI types plain ASCII only; other text goes through the clipboard."""
    if isinstance(action, Write) and not re.fullmatch(r"[\t\n\x20-\x7e]*", action.text):
        return _PASTE.format(text=action.text)
    return to_source([action], stock=True)


def _changed(before: Screenshot, after: Screenshot) -> bool:
    if before.size != after.size:
        return True
    box = ImageChops.difference(before.pixels, after.pixels).getbbox()
    if box is None:
        return False
    return box[2] - box[0] > _CARET_PIXELS[0] or box[3] - box[1] > _CARET_PIXELS[1]


def _windows(text: str) -> list[Window]:
    """Lines of ``wmctrl -lx`` and one of xprop; wmctrl's places are wrong under a frame."""
    active = re.search(r"window id # (0x[0-9a-f]+)", text)
    front = int(active.group(1), 16) if active else 0
    found = []
    for line in text.splitlines():
        parts = line.split(None, 4)
        if len(parts) < 4 or not re.fullmatch(r"0x[0-9a-f]+", parts[0]):
            continue
        found.append(
            Window(
                id=hex(int(parts[0], 16)),
                title=parts[4] if len(parts) > 4 else "",
                app=parts[2].rpartition(".")[2],
                active=int(parts[0], 16) == front,
            )
        )
    return found
