"""Talks to a stock OSWorld guest, with its own routes alone."""

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
"""A stock guest ends a command after 120 s; ours ends before it does."""
_OWN_SECONDS = 30.0
"""For what actions take by themselves; chosen by hand."""

_T = TypeVar("_T")


class OSWorldTransport:
    """PyAutoGUI source through ``/execute``, pictures as PNG, the tree as XML.

    A stock guest knows no ids: an act whose answer is lost is never sent again. It cannot wait for
    its screen to settle either: that is done by looking again and again.
    """

    def __init__(self, client: GuestClient) -> None:
        self._client = client

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities that every stock guest has."""
        return frozenset({"elements", "execute"})

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        """Several requests; the picture comes last, so that it is the newest."""
        shot = await self._wait_until_still(settle * self._client.patience) if settle > 0 else None
        windows, cursor = await self._windows(), await self._cursor()
        tree = await self._elements(longer) if elements else None
        shot = shot if shot is not None and not elements else await self._screenshot()
        # A server that reached no application answers with a whole document without elements.
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
        """One program for one list of actions."""
        for action in actions:
            _check_keys(action)
        duration = osworld_programs.deliberate_seconds(actions)
        if duration > _SERVER_LIMIT_SECONDS - _OWN_SECONDS:
            raise ActionRefused(
                f"this would take {duration:.0f} s, and a stock guest ends what takes over 120 s: "
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
        """Under timeout(1), because a stock guest takes no time limit."""
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
        """The file's bytes.

        A stock guest opens whatever it is asked for, and a pipe would hold the request for ever, so
        the file is looked at first.
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
        """Concludes nothing where the guest cannot tell: it may have another idea of ``path``."""
        result = await self._run_repeatable(osworld_programs.stat(path), seconds=20.0)
        size, _, kind = result.output.strip().partition(" ")
        if result.exit_code != 0 or not size.isdecimal() or not kind:
            return
        if not kind.startswith("regular"):
            raise FileRefused(f"{path}: not a plain file but a {kind}")
        if int(size) > limit:
            raise FileRefused(f"{path}: {size} bytes; at most {limit}")

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Upload, after making the folder; both may be done again."""
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
            f"answer to the upload of {path}", ask, osworld_responses.check_upload
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
        """None where the guest cannot tell."""
        result = await self._run_repeatable(osworld_programs.windows(), seconds=20.0)
        return osworld_responses.windows(result.output) if result.exit_code == 0 else None

    async def _cursor(self) -> Point | None:
        """A look does not fail for it: the pointer merely stays unknown."""
        response = await self._client.request("GET", "/cursor_position", seconds=15.0)
        return osworld_responses.cursor(response)

    # ---------------------------------------------------------------- commands

    def _send(self, words: list[str], seconds: float, *, again: bool) -> Awaitable[HttpResponse]:
        body = {"command": words, "shell": False}
        return self._client.request("POST", "/execute", json=body, seconds=seconds, again=again)

    async def _run_once(self, words: list[str], *, seconds: float) -> CommandResult:
        """A command that is not sent again whatever is answered: it may have run."""
        response = await self._send(words, seconds, again=False)
        try:
            return osworld_responses.command_result(response)
        except ValueError as error:
            message = f"no usable answer to /execute, which may have been done: {error}"
            raise guest_failure(self._client.where, message) from error

    async def _run_repeatable(self, words: list[str], *, seconds: float) -> CommandResult:
        """A command that may be done twice."""
        ask = partial(self._send, words, seconds, again=True)
        return await self._ask_safely("answer to /execute", ask, osworld_responses.command_result)

    async def _ask_safely(
        self,
        subject: str,
        ask: Callable[[], Awaitable[HttpResponse]],
        read: Callable[[HttpResponse], _T],
    ) -> _T:
        """Asks what may be asked again until the response can be read, a few times."""
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
    """PyAutoGUI passes over a key that it does not know without a word."""
    match action:
        case Press(key=key) | KeyDown(key=key) | KeyUp(key=key):
            normalise_key(key)
        case Hotkey(keys=keys):
            for key in keys:
                normalise_key(key)


def has_changed(before: Screenshot, after: Screenshot) -> bool:
    """Whether more than a text cursor differs."""
    if before.size != after.size:
        return True
    box = ImageChops.difference(before.pixels, after.pixels).getbbox()
    if box is None:
        return False
    return box[2] - box[0] > CARET_WIDTH or box[3] - box[1] > CARET_HEIGHT[1]
