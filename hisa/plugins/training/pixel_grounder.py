"""A trained `PixelNetwork` as a model: ``--set models.grounder.model=pixels:PATH``.

A grounder of HiSA is a format and a model. The format ``unit`` fits as it is and the profile names
it, so that this enters by ``hisa.models`` and needs nothing in ``hisa.grounders``.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.config import ModelSettings
from hisa.errors import ConfigError, LibraryLacking
from hisa.machine.parts import install_command
from hisa.models.profile import Price, Profile
from hisa.plugins.training import checkpoints
from hisa.protocols import ImagePart, ModelReply, ModelRequest, TextPart

if TYPE_CHECKING:
    from PIL import Image

    from hisa.plugins.training.pixel_network import PixelNetwork

__all__ = ["PREFIX", "PixelModel", "load_network", "point_at", "save_network"]

PREFIX = "pixels:"


def save_network(network: PixelNetwork, path: Path, version: int) -> None:
    """Write a checkpoint.

    Raises:
        UsageError: it cannot be written.
    """
    sizes = {"channels": network.channels}
    header = checkpoints.Header(kind="pixels", name="pixels", version=version, sizes=sizes)
    checkpoints.write(path, checkpoints.pack(header, network.state_dict()))


def load_network(path: Path) -> PixelNetwork:
    """Returns the network of a checkpoint.

    Raises:
        UsageError: it is missing, damaged, foreign, or its weights are of another shape.
    """
    from hisa.plugins.training.pixel_network import PixelNetwork

    header, weights = checkpoints.unpack(checkpoints.read(path), str(path), kind="pixels")
    network = PixelNetwork(header.size("channels", 1, 256))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise header.refused(f"other weights than the network's: {error!s:.200}") from error
    return network.train(False)


def point_at(network: PixelNetwork, picture: Image.Image, description: str) -> tuple[float, float]:
    """Returns x and y of the likeliest cell's centre, as shares of the picture's sides."""
    import torch

    from hisa.plugins.training.pixel_network import encode, points
    from hisa.plugins.training.widget_pages import HEIGHT, WIDTH

    with torch.no_grad():
        reply = network(*encode([picture], [description]), frozenset()).likeliest()
    x, y = points(reply[0, 0, 0])
    return float(x) / WIDTH, float(y) / HEIGHT


class PixelModel:
    """A model that points and does nothing else; of its settings the name alone counts.

    Raises:
        UsageError: see `load_network`.
        LibraryLacking: torch is not installed.
    """

    profile = Profile(
        name="pixels", price=Price(input=0, output=0), streams=False, coordinates="unit"
    )

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model
        if find_spec("torch") is None:
            reason = f"{self.name}: needs torch, which is not installed"
            raise LibraryLacking(reason, fix=install_command("train"))
        self._network = load_network(Path(self.name.removeprefix(PREFIX)).expanduser())

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
        x, y = await asyncio.to_thread(point_at, self._network, shown, words[-1])
        return ModelReply(f"({x:.4f},{y:.4f})", model=self.name)
