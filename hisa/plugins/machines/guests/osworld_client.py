"""Talks to a stock OSWorld guest through its own routes alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from PIL import ImageChops

from hisa.actions import Action, Hotkey, KeyDown, KeyUp, Press
from hisa.actions.keys import normalise_key
from hisa.environments.transport.base import (
    GuestClient,
    HttpResponse,
    RawObservation,
    ResponseTooLarge,
    acting_seconds,
    guest_failure,
)
from hisa.errors import ActionRefused
from hisa.plugins.machines.guests import osworld_programs, osworld_responses
from hisa.plugins.machines.guests.osworld_xml import Tree
from hisa.protocols import CommandResult, FileRefused, ScreenPrecondition
from hisa.screen.caret import CARET_HEIGHT, CARET_WIDTH
from hisa.screen.geometry import Point
from hisa.screen.observation import Screenshot, Window

__all__ = ["OSWorldTransport", "has_changed"]

_SAFE_TRIES, _PAUSE_SECONDS, _FILE_SECONDS = 3, 0.1, 900.0
_POLL_SECONDS, _QUIET_LOOKS = 0.2, 2
_SERVER_LIMIT_SECONDS = 110.0
"""A stock guest kills a command after 120 s; HiSA's own limit is shorter."""
_OWN_SECONDS = 30.0
"""Time that the actions themselves may take, without requested waits; chosen by hand."""

_T = TypeVar("_T")


class OSWorldTransport:
    """Sends PyAutoGUI source to ``/execute``; gets pictures as PNG and the tree as XML.

    A stock guest knows no request ids, so an act whose response is lost is never sent again. It
    cannot wait for its screen to settle either, so this side takes screenshots until they agree.
    """

    def __init__(self, client: GuestClient) -> None:
        self._client = client

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities that every stock guest has."""
        return frozenset({"elements", "execute"})

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        """Takes a look with several requests; the picture comes last, so it is the newest part.

        Args:
            elements: whether to read the element tree too.
            settle: longest wait for the screen to stop changing, in seconds on an idle machine.
            longer: factor on the time limit for reading elements.
        """
        shot = await self._wait_until_still(settle * self._client.patience) if settle > 0 else None
        windows, cursor = await self._windows(), await self._cursor()
        tree = await self._elements(longer) if elements else None
        shot = shot if shot is not None and not elements else await self._screenshot()
        # A server that reached no application sends a complete document without elements.
        complete = tree is None or (tree.complete and bool(tree.elements or windows == ()))
        return RawObservation(
            shot,
            shot.size,
            windows or (),
            None if tree is None else tree.elements,
            complete=complete,
            cursor=cursor,
            windows_known=windows is not None,
        )

    async def act(
        self, actions: Sequence[Action], /, *, held: ScreenPrecondition | None = None
    ) -> None:
        """Does the actions, in order, by one program that is sent at most once."""
        for action in actions:
            _check_keys(action)
        duration = osworld_programs.deliberate_seconds(actions)
        if duration > _SERVER_LIMIT_SECONDS - _OWN_SECONDS:
            raise ActionRefused(
                f"this would take {duration:.0f} s, and a stock guest stops what takes over 120 s: "
                "do it in parts"
            )
        program = osworld_programs.acting_program(actions)
        result = await self._run_once(program, seconds=90.0 + acting_seconds(actions))
        if result.exit_code != 0:
            last = (result.error or result.output).strip().splitlines()[-1:]
            raise ActionRefused(f"the guest could not do it: {''.join(last)[:300]}")

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command under timeout(1), because a stock guest has no time limit parameter.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run; 110 at most.
            limit: most characters of each of its outputs that are kept.
        """
        bound = min(timeout, _SERVER_LIMIT_SECONDS)
        line = osworld_programs.bound_command(command, bound, 4 * limit)
        started = time.monotonic()
        result = await self._run_once(line, seconds=bound + 30.0)
        if result.exit_code == 125 and "hisa: the guest lacks" in result.error:
            raise guest_failure(self._client.where, result.error.strip())
        timed_out = result.exit_code in {-9, 124, 137} and time.monotonic() - started >= bound
        return CommandResult(
            124 if timed_out else result.exit_code,
            result.output[:limit],
            result.error[:limit],
            timed_out,
        )

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """Returns the file's bytes.

        A stock guest opens any path, and a pipe would block the request for ever, so the file's
        kind and size are checked first.
        """
        await self._must_be_plain(path, limit)

        def ask() -> Awaitable[HttpResponse]:
            form = {"file_path": path}
            return self._client.request(
                "POST", "/file", data=form, seconds=120.0, total_seconds=_FILE_SECONDS, most=limit
            )

        try:
            data = await self._ask_safely(f"file {path}", ask, osworld_responses.file_bytes)
        except ResponseTooLarge as error:
            raise FileRefused(f"{path}: {error}") from error
        if data is None:
            raise FileNotFoundError(path)
        return data

    async def _must_be_plain(self, path: str, limit: int) -> None:
        """Refuse a file by its kind or size; pass if stat fails: it may read ``path`` otherwise."""
        result = await self._run_repeatable(osworld_programs.stat(path), seconds=20.0)
        size, _, kind = result.output.strip().partition(" ")
        if result.exit_code != 0 or not size.isdecimal() or not kind:
            return
        if not kind.startswith("regular"):
            raise FileRefused(f"{path}: is a {kind}, not a regular file")
        if int(size) > limit:
            raise FileRefused(f"{path}: {size} bytes; at most {limit}")

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Uploads a file after making its folder; both requests may be sent again."""
        folder = path.rpartition("/")[0]
        if folder:
            await self._run_repeatable(["mkdir", "-p", folder], seconds=30.0)

        def ask() -> Awaitable[HttpResponse]:
            return self._client.request(
                "POST",
                "/setup/upload",
                data={"file_path": path},
                files={"file_data": ("file", data)},
                seconds=120.0,
                total_seconds=_FILE_SECONDS,
            )

        await self._ask_safely(
            f"response to the upload of {path}", ask, osworld_responses.check_upload
        )

    # ---------------------------------------------------------------- parts of a look

    async def _screenshot(self) -> Screenshot:
        ask = partial(self._client.request, "GET", "/screenshot", seconds=15.0)
        return await self._ask_safely("screenshot", ask, osworld_responses.picture)

    async def _wait_until_still(self, seconds: float) -> Screenshot:
        deadline = time.monotonic() + seconds
        shot, quiet = await self._screenshot(), 0
        while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            latest = await self._screenshot()
            quiet = 0 if await asyncio.to_thread(has_changed, shot, latest) else quiet + 1
            shot = latest
        return shot

    async def _elements(self, longer: float) -> Tree:
        ask = partial(self._client.request, "GET", "/accessibility", seconds=60.0 * longer)
        return await self._ask_safely("accessibility tree", ask, osworld_responses.elements)

    async def _windows(self) -> tuple[Window, ...] | None:
        """Returns the windows; None if the guest cannot list them."""
        result = await self._run_repeatable(osworld_programs.windows(), seconds=20.0)
        return osworld_responses.windows(result.output) if result.exit_code == 0 else None

    async def _cursor(self) -> Point | None:
        """Returns the pointer's position; None if unknown: a look does not fail for it."""
        response = await self._client.request("GET", "/cursor_position", seconds=15.0)
        return osworld_responses.cursor(response)

    # ---------------------------------------------------------------- commands

    def _send(self, words: list[str], seconds: float, *, again: bool) -> Awaitable[HttpResponse]:
        body = {"command": words, "shell": False}
        return self._client.request("POST", "/execute", json=body, seconds=seconds, again=again)

    async def _run_once(self, words: list[str], *, seconds: float) -> CommandResult:
        """Run a command; never send it again, whatever the response: it may have run."""
        response = await self._send(words, seconds, again=False)
        try:
            return osworld_responses.command_result(response)
        except ValueError as error:
            message = f"no usable response to /execute; the command may have run: {error}"
            raise guest_failure(self._client.where, message) from error

    async def _run_repeatable(self, words: list[str], *, seconds: float) -> CommandResult:
        """Run a command that may run twice."""
        ask = partial(self._send, words, seconds, again=True)
        return await self._ask_safely("response to /execute", ask, osworld_responses.command_result)

    async def _ask_safely(
        self,
        subject: str,
        ask: Callable[[], Awaitable[HttpResponse]],
        read: Callable[[HttpResponse], _T],
    ) -> _T:
        """Send a repeatable request until its response can be read, a few times at most."""
        why = ""
        for _ in range(_SAFE_TRIES):
            if why:
                await asyncio.sleep(_PAUSE_SECONDS)
            response = await ask()
            try:
                return await asyncio.to_thread(read, response)
            except ValueError as error:
                why = str(error)
        raise guest_failure(self._client.where, f"no usable {subject}: {why}")


def _check_keys(action: Action) -> None:
    """Refuse an unknown key, which PyAutoGUI would ignore silently."""
    match action:
        case Press(key=key) | KeyDown(key=key) | KeyUp(key=key):
            normalise_key(key)
        case Hotkey(keys=keys):
            for key in keys:
                normalise_key(key)


def has_changed(before: Screenshot, after: Screenshot) -> bool:
    """Whether two screenshots differ by more than a text cursor."""
    if before.size != after.size:
        return True
    box = ImageChops.difference(before.pixels, after.pixels).getbbox()
    if box is None:
        return False
    return box[2] - box[0] > CARET_WIDTH or box[3] - box[1] > CARET_HEIGHT[1]
