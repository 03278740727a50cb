"""A grounding suite of three drawn screens, and published ones of a row or two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

__all__ = ["HOSTILE", "TARGETS", "draw", "write_published", "write_suite"]

HOSTILE = '<img src=x onerror="alert(1)"> {{ 7*7 }} the thing on the shelf'
Box = tuple[int, int, int, int]

_BUTTONS: dict[str, Box] = {
    "Save": (40, 40, 90, 30), "Open": (160, 40, 90, 30), "Cancel": (280, 40, 90, 30),
}  # fmt: skip

TARGETS: tuple[dict[str, Any], ...] = (
    {"screen": "form", "kind": "name", "description": "the Save button", "box": [40, 40, 90, 30]},
    {
        "screen": "form", "kind": "role", "description": "push button 'Open'",
        "box": [160, 40, 90, 30], "point": [240, 40, 10, 30],
    },
    {"screen": "form", "kind": "icon", "description": HOSTILE, "box": [10, 300, 20, 20]},
    {"screen": "form", "kind": "absent", "description": "the Zebra menu", "box": None},
    {"screen": "form", "kind": "absent", "description": "the Cancel button", "box": None},
    {"screen": "plain", "kind": "name", "description": "Archive", "box": [280, 190, 110, 40]},
    {
        "screen": "large", "kind": "name", "description": "the Save button",
        "box": [120, 120, 270, 90],
    },
)  # fmt: skip
"""Right; right box, wrong part of it; not found; rightly refused; pointed at; read; enlarged."""


def draw(path: Path, texts: dict[str, Box], size: tuple[int, int], letters: int = 16) -> None:
    """A white picture with framed words on it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for text, (left, top, width, height) in texts.items():
        pen.rectangle((left, top, left + width, top + height), outline="gray")
        pen.text((left + 8, top + 6), text, fill="black", font=ImageFont.load_default(letters))
    picture.save(path)


def write_suite(folder: Path) -> Path:
    """The suite: a form, a picture without elements, and the form three times as large."""
    large = {name: (3 * x, 3 * y, 3 * w, 3 * h) for name, (x, y, w, h) in _BUTTONS.items()}
    _screen(folder, "form", _BUTTONS, _BUTTONS, size=(640, 360), split="train", app="forms")
    words: dict[str, Box] = {"Archive": (280, 190, 110, 40)}
    _screen(folder, "plain", words, {}, size=(640, 360), split="held", app="pictures")
    _screen(folder, "large", large, large, size=(1920, 1080), split="held", app="forms")
    lines = [json.dumps(target) for target in TARGETS]
    (folder / "targets.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def _screen(
    folder: Path,
    name: str,
    drawn: dict[str, Box],
    known: dict[str, Box],
    *,
    size: tuple[int, int],
    split: str,
    app: str,
) -> None:
    draw(folder / "screens" / f"{name}.png", drawn, size, letters=size[0] // 40)
    states = ["enabled", "sensitive", "showing", "visible"]
    window = {"id": "1", "title": "Window", "app": app, "box": [0, 0, *size], "active": True}
    tree = {
        "screen": size,
        "split": split,
        "app": app,
        "about": "drawn",
        "complete": True,
        "cursor": None,
        "windows": [window],
        "elements": [
            {
                "role": "push button",
                "name": text,
                "box": box,
                "states": states,
                "app": app,
                "window": "Window",
            }
            for text, box in known.items()
        ],
    }
    (folder / "screens" / f"{name}.json").write_text(json.dumps(tree))


def write_published(folder: Path, name: str) -> Path:
    """One of the published suites, with a screen that says Archive at (280, 190, 110, 40)."""
    rows, lists, pictures = _PUBLISHED[name]
    draw(folder / pictures, {"Archive": (280, 190, 110, 40)}, (640, 360))
    path = folder / lists
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return folder


_PUBLISHED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "screenspot-v2": (
        [
            {
                "img_filename": "pc_1.png", "bbox": [280, 190, 110, 40],
                "instruction": "Archive", "data_type": "text", "data_source": "windows",
            }
        ],
        "screenspot_desktop_v2.json",
        "screenspotv2_image/pc_1.png",
    ),
    "screenspot-pro": (
        [
            {
                "img_filename": "vscode_mac/1.png", "bbox": [280, 190, 390, 230],
                "instruction": "Archive", "instruction_cn": "存档", "id": "vscode_mac_0",
                "application": "vscode", "platform": "macos", "img_size": [640, 360],
                "ui_type": "text", "group": "Dev",
            }
        ],
        "annotations/vscode_mac.json",
        "images/vscode_mac/1.png",
    ),
    "osworld-g": (
        [
            {
                "id": "a-0", "image_path": "1.png", "image_size": [640, 360],
                "instruction": "Archive", "box_type": "bbox",
                "box_coordinates": [280, 190, 110, 40], "GUI_types": ["Button", "Label"],
            },
            {
                "id": "a-1", "image_path": "1.png", "image_size": [640, 360],
                "instruction": "Archive it", "box_type": "polygon",
                "box_coordinates": [280, 190, 390, 190, 280, 195], "GUI_types": [],
            },
            {
                "id": "a-2", "image_path": "1.png", "image_size": [640, 360],
                "instruction": "Open the zebra", "box_type": "refusal",
                "box_coordinates": [-1, -1, -1, -1], "GUI_types": [],
            },
        ],
        "benchmark/OSWorld-G.json",
        "benchmark/images/1.png",
    ),
}  # fmt: skip
