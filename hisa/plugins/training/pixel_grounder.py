"""A trained `PixelNetwork` as a model: ``--set models.grounder.model=pixels:PATH``.

A grounder of HiSA is a format and a model. The format ``unit`` fits as it is and the profile names
it, so that this enters by ``hisa.models`` and needs nothing in ``hisa.grounders``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from hisa.config import ModelSettings
from hisa.errors import ConfigError, LibraryLacking
from hisa.machine.parts import install_command, missing
from hisa.models.profile import Price, Profile
from hisa.protocols import ImagePart, ModelReply, ModelRequest, TextPart

__all__ = ["PixelModel"]


class PixelModel:
    """A model that points and does nothing else; of its settings the name alone counts.

    Raises:
        UsageError: see `PixelNetwork.load`.
        LibraryLacking: torch or safetensors is not installed.
    """

    profile = Profile(
        name="pixels", price=Price(input=0, output=0), streams=False, coordinates="unit"
    )

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model
        if lacking := missing("train"):
            raise LibraryLacking(f"{self.name}: needs {lacking[0]}", fix=install_command("train"))
        from hisa.plugins.training.grounder import PixelNetwork

        self._network = PixelNetwork.load(Path(self.name.removeprefix("pixels:")).expanduser())

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Answer where the thing is that the first question describes, as ``(x,y)`` of 0 to 1.

        Raises:
            ConfigError: anything else is asked of it.
        """
        question = next((m.parts for m in request.messages if m.role == "user"), ())
        words = [part.text for part in question if isinstance(part, TextPart)]
        if request.role != "grounder" or not words or not request.pictures:
            raise ConfigError(
                f"{self.name}: it points at things and cannot serve as {request.role}",
                fix=f"--set models.grounder.model={self.name}, and another --model",
            )
        shown = next(part.image.pixels for part in question if isinstance(part, ImagePart))
        x, y = await asyncio.to_thread(self._network.point_at, shown, words[-1])
        return ModelReply(f"({x:.4f},{y:.4f})", model=self.name)
