"""The detector's training: it learns, it can be resumed, and its maps say what is drawn."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch
from PIL import Image, ImageDraw

from hisa.plugins.eyes.detector import ROLES, STATES, Calibration, read_maps
from hisa.plugins.eyes.training.detector_data import draw_maps, make_batches, read_screens
from hisa.plugins.eyes.training.detector_net import DetectorNet
from hisa.plugins.eyes.training.train_detector import Training

_SIZE = (128, 64)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def _draw_batch(count: int = 2) -> list[torch.Tensor]:
    """Pictures with a button each, and their maps."""
    draws, parts = random.Random(0), []
    for _ in range(count):
        left, top = draws.randrange(60), draws.randrange(30)
        picture = Image.new("RGB", _SIZE, "white")
        ImageDraw.Draw(picture).rectangle((left, top, left + 49, top + 19), fill="blue")
        boxes = np.array([[left, top, left + 50, top + 20]], np.float32)
        maps = draw_maps(boxes, np.array([0]), np.zeros((1, len(STATES)), np.float32), _SIZE)
        parts.append([np.array(picture), *maps])
    return [torch.from_numpy(np.stack(arrays)) for arrays in zip(*parts, strict=True)]


def test_a_batch_is_learned() -> None:
    training, batch = Training(1.0), _draw_batch()
    training.elapsed = 0.3
    first = sum(training.take_step(batch, short=False).values())
    for _ in range(15):
        last = sum(training.take_step(batch, short=False).values())
    assert last < first / 2


def test_a_checkpoint_continues_as_if_nothing_had_happened(tmp_path: Path) -> None:
    batch, path = _draw_batch(), tmp_path / "checkpoint.pt"
    training = Training(100.0)
    training.take_step(batch, short=False)
    training.elapsed = 40.0
    training.save(path)
    resumed = Training(100.0, seed=5)
    resumed.load(path)
    assert (resumed.step, resumed.elapsed) == (1, 40.0)
    assert resumed.rate == training.rate
    assert resumed.take_step(batch, short=False) == pytest.approx(
        training.take_step(batch, short=False), rel=1e-4
    )


def test_the_rate_rises_and_ends_near_zero_when_the_time_has_passed() -> None:
    training, rates = Training(100.0), []
    for training.elapsed in (0, 2, 4, 50, 100, 120):
        rates.append(training.rate)
    assert rates == sorted(rates[:3]) + sorted(rates[3:], reverse=True)
    assert rates[-1] == rates[-2] == pytest.approx(rates[2] / 100)


def test_the_net_takes_sizes_that_it_was_not_trained_on() -> None:
    net = DetectorNet().eval()
    assert sum(values.numel() for values in net.parameters()) <= 1_500_000
    with torch.inference_mode():
        maps = net(torch.zeros(1, 96, 160, 3, dtype=torch.uint8))
    assert maps.shape == (1, len(ROLES) + 1 + 8 + len(STATES), 24, 40)


def test_true_maps_are_read_as_the_things_that_were_drawn() -> None:
    boxes = np.array([[8, 8, 120, 24], [40, 10, 80, 22], [10, 40, 22, 52]], np.float32)
    roles = np.array([ROLES.index(name) for name in ("list item", "link", "check box")])
    states = np.zeros((3, len(STATES)), np.float32)
    states[2, STATES.index("checked")] = 1
    heat, sides, _, state_map = draw_maps(boxes, roles, states, _SIZE)
    maps = [np.where(heat == 1, 4, -8), sides.reshape(8, *heat.shape[1:]), 2 * state_map - 1]
    controls = read_maps(np.concatenate(maps).astype(np.float32), Calibration())
    drawn = {
        control.role: (control.box.left, control.box.top, control.box.right, control.box.bottom)
        for control in controls
    }
    assert drawn == {
        ROLES[role]: pytest.approx(tuple(box), abs=0.01)
        for role, box in zip(roles, boxes, strict=True)
    }
    assert {c.role for c in controls if "checked" in c.states} == {"check box"}


def test_examples_leave_out_sources_set_apart_and_lines_being_written(tmp_path: Path) -> None:
    box = {"role": "button", "box": [10, 10, 60, 30], "states": [], "name": "Save"}
    rows = [
        {"file": f"{at}.webp", "source": source, "split": split, "boxes": [box]}
        for at, (source, split) in enumerate([("a", "train"), ("b", "train"), ("c", "kept")])
    ]
    colours = ("#ff0000", "#00ff00", "#0000ff")
    for at, colour in enumerate(colours):
        Image.new("RGB", (700, 400), colour).save(tmp_path / f"{at}.webp", lossless=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows) + '{"file": "3.we'
    (tmp_path / "screens.jsonl").write_text(lines)
    assert [s.source for s in read_screens([tmp_path])] == ["a", "b", "c"]
    batches = make_batches([tmp_path], tmp_path, seed=0, apart=["b"])
    shapes = [next(batches).heat.shape for _ in range(2)]
    assert len(list(tmp_path.glob("*.npy"))) == 1
    maps = len(ROLES) + 1
    assert shapes == [(4, maps, 96, 160), (1, maps, 192, 320)]
