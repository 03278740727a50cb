"""The newest look at the machine, and pictures of it for people who watch."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable

from PIL import Image

from hisa.plugins.live.watched.gate import Refused
from hisa.screen.observation import Observation, Screenshot

__all__ = ["Frame", "NewestLook"]

_APART = 0.2
"""Seconds between two fresh looks that watchers cause, at least."""
_QUALITY = 70

Frame = tuple[str, Observation, str, bytes]
"""The picture's hash, the look, a media type, and the encoded picture; empty where it is known."""


class NewestLook:
    """Keeps the newest look that passed by; takes one of its own only where it is asked to.

    Args:
        observe: looks at the machine.
    """

    def __init__(self, observe: Callable[[], Awaitable[Observation]]) -> None:
        self._observe = observe
        self._look: Observation | None = None
        self._taken = 0.0
        self._encoded: dict[tuple[str, int], bytes] = {}
        self.machine = asyncio.Lock()
        """Held by whoever uses the machine while the agent is parked."""

    def take(self, look: Observation) -> None:
        """Take note of a look."""
        self._look, self._taken = look, time.monotonic()

    async def still_shows(self) -> bool:
        """Whether a look of now is as the newest one; costs a look."""
        before, now = self._look, await self._observe()
        self.take(now)
        return before is None or before.shows(now)

    async def frame(self, width: int, known: str, *, fresh: bool) -> Frame:
        """A picture of the newest look.

        Args:
            width: pixels of a WebP's width; 0: the whole picture as PNG.
            known: hash of a picture that need not be encoded.
            fresh: look again, unless the newest look is a moment old.

        Raises:
            Refused: there has been no look yet.
        """
        if fresh:
            async with self.machine:
                if time.monotonic() - self._taken >= _APART:
                    self.take(await self._observe())
        look = self._look
        if look is None:
            raise Refused("the run has not looked at its machine yet")
        digest = await asyncio.to_thread(lambda: look.screenshot.sha256)
        kind = "image/webp" if width else "image/png"
        if digest == known:
            return digest, look, kind, b""
        if (digest, width) not in self._encoded:
            data = await asyncio.to_thread(_encoded, look.screenshot, width)
            self._encoded = {k: v for k, v in self._encoded.items() if k[1] != width}
            self._encoded[digest, width] = data
        return digest, look, kind, self._encoded[digest, width]


def _encoded(picture: Screenshot, width: int) -> bytes:
    if not width:
        return picture.png
    height = max(1, round(picture.size.height * width / picture.size.width))
    small = picture.pixels.resize((width, height), Image.Resampling.BILINEAR)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=_QUALITY, method=2)
    return out.getvalue()
