"""Waits for a machine that was just reverted or started; refuses one that does not respond."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from PIL import Image

from hisa.environments.transport import GuestClient, NoResponse
from hisa.errors import EnvironmentFailed
from hisa.plugins.machines.guests import osworld_responses
from hisa.plugins.machines.guests.address import Address
from hisa.plugins.machines.guests.osworld_client import has_changed
from hisa.screen.observation import Screenshot

__all__ = ["require_listening", "wait_until_drawn"]

_LISTEN_SECONDS, _LOOK_SECONDS = 5.0, 10.0
_POLL_SECONDS, _TELL_SECONDS = 0.5, 15.0
_BLANK, _BLANK_SECONDS = 0.995, 15.0
"""A picture with at least this share of one colour is blank; a desktop that stays blank for this
many seconds is ready: it has nothing on it."""


async def require_listening(address: Address) -> None:
    """Refuses an address at which nothing listens.

    Raises:
        EnvironmentFailed: nothing accepts a connection there.
    """
    try:
        async with asyncio.timeout(_LISTEN_SECONDS):
            _, writer = await asyncio.open_connection(address.host, address.port)
    except (OSError, TimeoutError) as error:
        why = getattr(error, "strerror", None) or str(error) or f"none in {_LISTEN_SECONDS:g} s"
        raise EnvironmentFailed(
            f"{address.url}: no answer: {why}",
            fix="start the machine, or set environment.remote.start to the command that starts it",
        ) from error
    writer.close()


async def wait_until_drawn(
    guest: GuestClient, *, seconds: float, note: Callable[[str], None]
) -> None:
    """Waits until the guest shows a desktop that does not change between two screenshots.

    The first screenshot may be of a screen on which nothing is drawn yet.

    Args:
        guest: the client of the machine that is coming up.
        seconds: longest wait.
        note: called with a line of progress every 15 seconds.

    Raises:
        EnvironmentFailed: the desktop is not ready in time; the message has the last reason.
    """
    started = reported_at = blank_since = time.monotonic()
    before, why = None, "no answer"
    while (now := time.monotonic()) - started < seconds:
        if now - reported_at > _TELL_SECONDS:
            note(f"waiting for {guest.where}, {now - started:.0f} s of {seconds:g} s: {why}")
            reported_at = now
        try:
            shot = await _shot(guest)
        except (NoResponse, ValueError) as error:
            before, why, blank_since = None, str(error), time.monotonic()
        else:
            if before is not None and not await asyncio.to_thread(has_changed, before, shot):
                if not _blank(shot.pixels) or time.monotonic() - blank_since > _BLANK_SECONDS:
                    return
                why = "the screen is blank"
            else:
                why = "the screen still changes"
            before = shot
        await asyncio.sleep(_POLL_SECONDS)
    raise EnvironmentFailed(
        f"{guest.where}: not ready after {seconds:g} s: {why}",
        fix="look at the machine, or give it longer: --set environment.remote.ready_seconds=900",
    )


async def _shot(guest: GuestClient) -> Screenshot:
    response = await guest.request("GET", "/screenshot", seconds=_LOOK_SECONDS, again=False)
    return await asyncio.to_thread(osworld_responses.picture, response)


def _blank(picture: Image.Image) -> bool:
    small = picture.convert("L")
    return max(small.histogram()) >= _BLANK * small.width * small.height
