"""GTA1's cleaning on real screens: each detector drops misplaced boxes and leaves right ones."""

from __future__ import annotations

import base64
import io
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("scipy")

from hisa.plugins.training.box_cleaning import (
    Cleaned,
    Detector,
    OtherLooks,
    clean,
    drawn,
    omniparser,
)
from hisa.plugins.training.click_rewards import iou
from hisa.plugins.training.drawn_boxes import drawn_boxes
from hisa.plugins.training.recorded_targets import recorded_targets
from hisa.plugins.training.widget_pages import Box, Target

RUNS = Path(__file__).parents[2] / "data" / "looks_of_examples"
"""Two runs of the example shopping_list.yaml by the offline model."""
GROUNDING = Path(__file__).parents[3] / "benchmarks" / "grounding"
RIGHT, WRONG = 200, 50
"""At least; the misplaced ones are drawn by a fixed seed."""
WIDEST = 2000
"""Pixels; larger screens take seconds each."""


def held_out_targets() -> list[Target]:
    """Targets whose boxes people checked, on screens by which no detector was tuned."""
    rows = [
        json.loads(line)
        for file in sorted((GROUNDING / "targets").glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    targets = []
    for path in sorted((GROUNDING / "screens").glob("*.json")):
        screen = json.loads(path.read_text("utf-8"))
        picture = Image.open(path.with_suffix(".png")).convert("RGB")
        if screen["split"] != "held" or picture.width > WIDEST:
            continue
        scale = picture.width / screen["screen"][0]
        own = {tuple(r["box"]): r for r in rows if r["screen"] == path.stem and r.get("box")}
        known = [scaled(e["box"], scale) for e in screen["elements"]]
        known += [scaled(box, scale) for box in own]
        targets += [
            Target(picture, row["description"], scaled(box, scale), path.stem, tuple(known))
            for box, row in own.items()
        ]
    return targets


def scaled(box: Any, scale: float) -> Box:
    left, top, width, height = box
    return Box(left * scale, top * scale, (left + width) * scale, (top + height) * scale)


def misplaced(target: Target, draw: random.Random) -> Iterator[Target]:
    """The target with its box moved aside or put anywhere, where nothing known resembles it.

    There is none of one that is too large for that.
    """
    left, top, right, bottom = target.box
    width, height = right - left, bottom - top
    for _ in range(200):
        if draw.random() < 0.5:
            x = left + draw.choice((-1, 1)) * draw.uniform(0.6, 1.5) * width
            y = top + draw.choice((-1, 1)) * draw.uniform(0.6, 1.5) * height
        else:
            x = draw.uniform(0, target.picture.width - width)
            y = draw.uniform(0, target.picture.height - height)
        box = Box(x, y, x + width, y + height)
        inside = 0 <= x <= target.picture.width - width
        inside = inside and 0 <= y <= target.picture.height - height
        if inside and all(iou(box, other) < 0.3 for other in target.elements):
            yield replace(target, box=box)
            return


def judge(detect: Detector, right: list[Target]) -> Cleaned:
    draw = random.Random(46)
    wrong = [target for own in right for target in misplaced(own, draw)]
    kept, gone = clean(right, detect), clean(wrong, detect)
    print(f"right: {kept}; misplaced: {gone}")
    assert len(right) >= RIGHT
    assert len(wrong) >= WRONG
    assert len(gone.dropped) >= 0.9 * len(wrong)
    assert len(kept.dropped) <= 0.1 * len(right)
    return kept


def test_what_is_drawn_drops_misplaced_boxes_and_leaves_right_ones() -> None:
    judge(drawn(), held_out_targets())


class _Reader(BaseHTTPRequestHandler):
    """Answers as OmniParser's server does, by what is drawn on the picture that it is sent."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        picture = Image.open(io.BytesIO(base64.b64decode(request["base64_image"])))
        width, height = picture.size
        boxes = [
            [left / width, top / height, right / width, bottom / height]
            for left, top, right, bottom in drawn_boxes(picture)
        ]
        icons = [{"type": "icon", "bbox": b, "interactivity": True} for b in boxes]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"parsed_content_list": icons, "latency": 0.1}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def reader() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Reader) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_omniparser_endpoint_drops_misplaced_boxes_and_leaves_right_ones(reader: str) -> None:
    judge(omniparser(reader), held_out_targets())


def test_other_looks_drop_misplaced_boxes_and_leave_right_ones() -> None:
    targets = list(recorded_targets(RUNS))
    assert judge(OtherLooks(targets), targets).not_judged < 0.2 * len(targets)


def test_a_tree_does_not_confirm_its_own_annotation() -> None:
    picture, box = Image.new("RGB", (200, 100)), Box(10, 10, 60, 30)
    own = Target(picture, "save", box, "", (box,), "run 1")
    other = Target(
        picture.copy(), "save", Box(100, 50, 150, 70), "", (Box(100, 50, 150, 70),), "run 2"
    )
    assert clean([own], OtherLooks([own])).not_judged == 1
    result = clean([own], OtherLooks([own, other]))
    assert [drop.target for drop in result.dropped] == [own]


def test_a_place_that_no_other_look_shows_is_not_judged() -> None:
    plain, changed = Image.new("RGB", (200, 100)), Image.new("RGB", (200, 100))
    changed.paste((200, 0, 0), (20, 15, 40, 25))
    box, elsewhere = Box(10, 10, 60, 30), Box(100, 50, 150, 70)
    own = Target(plain, "save", box, "", (box,), "run 1")
    other = Target(changed, "open", elsewhere, "", (elsewhere,), "run 2")
    result = clean([own], OtherLooks([own, other]))
    assert (result.kept, result.not_judged) == ([own], 1)
