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
from hisa.plugins.eyes.training.detector_net import DetectorNet, compute_losses
from hisa.plugins.eyes.training.timed_training import Training

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


def _begin_training(path: Path, seed: int = 0) -> Training:
    torch.manual_seed(seed)
    return Training(DetectorNet(), compute_losses, path, 100.0, apart=["a"])


def test_a_batch_is_learned(tmp_path: Path) -> None:
    training, batch = _begin_training(tmp_path / "checkpoint.pt"), _draw_batch()
    training.facts["elapsed"] = 30.0
    first = sum(training.take_step(batch).values())
    for _ in range(15):
        last = sum(training.take_step(batch).values())
    assert last < first / 2


def test_a_checkpoint_continues_as_if_nothing_had_happened(tmp_path: Path) -> None:
    batch, path = _draw_batch(), tmp_path / "checkpoint.pt"
    training = _begin_training(path)
    training.take_step(batch)
    training.facts["elapsed"] = 40.0
    training.save()
    resumed = _begin_training(path, seed=5)
    assert resumed.facts == {"step": 1, "elapsed": 40.0, "apart": ["a"]}
    assert resumed.rate == training.rate
    assert resumed.take_step(batch) == pytest.approx(training.take_step(batch), rel=1e-4)
    for one, other in zip(resumed.mean.parameters(), training.mean.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_training_ends_with_its_time_and_leaves_its_curve(tmp_path: Path) -> None:
    training, batch = _begin_training(tmp_path / "checkpoint.pt"), _draw_batch()
    training.facts["elapsed"], training.seconds = 50.0, 50.001
    training.run(iter([batch]))
    training.run(iter([]))
    line = json.loads((tmp_path / "curve.jsonl").read_text())
    assert line.keys() == {"step", "seconds", "heat", "role", "box", "state"}
    assert _begin_training(tmp_path / "checkpoint.pt").facts["elapsed"] > 50


def test_the_rate_rises_and_ends_near_zero_when_the_time_has_passed(tmp_path: Path) -> None:
    training, rates = _begin_training(tmp_path / "checkpoint.pt"), []
    for training.facts["elapsed"] in (0, 2, 4, 50, 100, 120):
        rates.append(training.rate)
    assert rates == sorted(rates[:3]) + sorted(rates[3:], reverse=True)
    assert rates[-1] == rates[-2] == pytest.approx(rates[2] / 100, rel=0.01)


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
    maps = [np.where(heat == 1, 4, -8), sides.reshape(*heat.shape[:2], 8), 2 * state_map - 1]
    channels = np.moveaxis(np.concatenate(maps, axis=2), 2, 0)
    controls = read_maps(channels.astype(np.float32), Calibration())
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
    Image.new("RGB", (700, 400)).save(tmp_path / "0.webp")  # the others cannot be opened
    lines = "".join(json.dumps(row) + "\n" for row in rows) + '{"file": "3.we'
    (tmp_path / "screens.jsonl").write_text(lines)
    assert [s.source for s in read_screens([tmp_path])] == ["a", "b", "c"]
    batches = make_batches([tmp_path], seed=0, apart=["b"])
    shapes = [next(batches)[1].shape for _ in range(2)]
    maps = len(ROLES) + 1
    assert shapes == [(4, 96, 160, maps), (1, 192, 320, maps)]
