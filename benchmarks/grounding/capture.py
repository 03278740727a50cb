"""Takes a whole, settled look at a desktop and keeps it as a screen of the grounding bench.

A screen is two files: NAME.png, the picture at the desktop's full size, and NAME.json, what the
same look says of the windows and elements, in screen space.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from hisa.protocols import Environment
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Screenshot, Window

__all__ = ["SCREENS", "Split", "capture", "look", "small_png"]

SCREENS = Path(__file__).parent / "screens"
Split = Literal["train", "held"]

_LOOKS = 12
_SETTLE = 5.0
_COLOURS = 256
_BYTES = 150_000


async def look(environment: Environment) -> Observation:
    """A look whose elements are complete and the same as in the look before it.

    Raises:
        RuntimeError: no two looks running were complete and alike.
    """
    before: tuple[Element, ...] | None = None
    for _ in range(_LOOKS):
        observation = await environment.observe(elements=True, settle=_SETTLE)
        if observation.complete and observation.elements and observation.elements == before:
            return observation
        before = observation.elements if observation.complete else None
    raise RuntimeError(f"the elements did not come to rest in {_LOOKS} looks")


async def capture(
    environment: Environment,
    name: str,
    *,
    split: Split,
    app: str,
    about: str,
    folder: Path = SCREENS,
) -> Observation:
    """Write NAME.png and NAME.json of a settled look with complete elements.

    The environment's ``image_limit`` must be at least its screen, so that the picture is not
    scaled down.

    Args:
        environment: the desktop, as it is to be shown.
        name: the screen's name, as its targets give it.
        split: "train" or "held"; one application is in one of them alone.
        app: the application, as "mousepad".
        about: what is shown and how it came to be.
        folder: where the two files go.

    Raises:
        RuntimeError: the elements did not come to rest.
        ValueError: the picture is smaller than the screen.
    """
    observation = await look(environment)
    if observation.image != observation.screen:
        raise ValueError(
            f"{name}: picture {observation.image}, screen {observation.screen}: raise image_limit"
        )
    head = {
        "screen": [observation.screen.width, observation.screen.height],
        "complete": observation.complete,
        "split": split,
        "app": app,
        "about": about,
        "cursor": None,
    }
    _keep(folder / name, small_png(observation.screenshot), _pretty(head, observation))
    return observation


def _keep(place: Path, png: bytes, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.with_suffix(".png").write_bytes(png)
    place.with_suffix(".json").write_text(text, encoding="utf-8")


def small_png(screenshot: Screenshot) -> bytes:
    """The picture as a small PNG, lossless unless that takes more than 150 kB.

    A larger one is brought to 256 colours.
    """
    pixels = screenshot.pixels
    if pixels.getcolors(_COLOURS) is not None:
        pixels = pixels.convert("P", palette=Image.Palette.ADAPTIVE, colors=_COLOURS)
    if len(data := _png(pixels)) <= _BYTES:
        return data
    return _png(pixels.quantize(_COLOURS, dither=Image.Dither.NONE))


def _png(pixels: Image.Image) -> bytes:
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _pretty(head: dict[str, Any], observation: Observation) -> str:
    """JSON with a line for each window and each element, so that a change shows in a diff."""
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts.append(_rows("windows", [_window(window) for window in observation.windows]))
    parts.append(_rows("elements", [_element(element) for element in observation.elements or ()]))
    return "{" + ",\n ".join(parts) + "}\n"


def _rows(key: str, rows: list[dict[str, Any]]) -> str:
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'"{key}": [\n  {lines}]'


def _box(box: BoundingBox) -> list[int]:
    left, top, right, bottom = (round(v) for v in (box.left, box.top, box.right, box.bottom))
    return [left, top, right - left, bottom - top]


def _window(window: Window) -> dict[str, Any]:
    box = None if window.box is None else _box(window.box)
    known = {"id": window.id, "title": window.title, "app": window.app}
    return {**known, "box": box, "active": window.active}


def _element(element: Element) -> dict[str, Any]:
    known: dict[str, Any] = {"role": element.role, "name": element.name, "box": _box(element.box)}
    known["states"] = sorted(element.states)
    known |= {"app": element.app, "window": element.window}
    more = {"text": element.text, "label": element.label, "description": element.description}
    return known | {key: value for key, value in more.items() if value}
