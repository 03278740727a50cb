"""Writes a trained detector as ONNX in 8 bits, calibrated on sources it was not trained on."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnxruntime import InferenceSession, quantization

from hisa.errors import UsageError
from hisa.plugins.eyes.detector import (
    ROLES,
    STATES,
    Calibration,
    overlap_boxes,
    pad_pixels,
    read_maps,
)
from hisa.plugins.eyes.training.detector_data import CROP, Screen, read_screens
from hisa.plugins.eyes.training.onnx_files import describe_net, write_net

__all__ = ["calibrate", "export_detector"]

_LOWEST = Calibration(least=0.02)
"""Scores below are not looked at when calibrating: there are hundreds a screen."""
_RANGED = 24
"""Screens on which ranges of 8-bit values are measured."""


def export_detector(
    net: torch.nn.Module, folders: Sequence[Path], out: Path, facts: Mapping[str, Any]
) -> None:
    """Writes a net with what it was trained on; its convolutions but the last compute in 8 bits.

    Args:
        net: the averaged weights.
        folders: the screens it was trained on.
        out: the ONNX file.
        facts: of the training; "apart" names the sources that were left out, on which ranges and
            chances are measured.

    Raises:
        UsageError: no source was set apart.
    """
    screens = read_screens(folders, "train")
    left_out = [screen for screen in screens if screen.source in facts["apart"]]
    if not left_out:
        raise UsageError("no screens to calibrate on", fix="train_detector --apart SOURCE")
    with tempfile.TemporaryDirectory() as folder:
        plain, axes = Path(folder) / "plain.onnx", {0: "pictures", 1: "height", 2: "width"}
        cells = {0: "pictures", 2: "rows", 3: "columns"}
        example = torch.zeros(1, 64, 96, 3, dtype=torch.uint8)
        write_net(net, example, plain, {"pixels": axes, "maps": cells})
        _quantise(plain, out, left_out[:: -(-len(left_out) // _RANGED)])
    sources = sorted({screen.source for screen in screens} - set(facts["apart"]))
    trained_on = {"screens": len(screens) - len(left_out), "sources": sources}
    calibration = asdict(calibrate(out, left_out))
    described = {"roles": ROLES, "states": STATES, "calibration": calibration}
    describe_net(out, {**described, "training": {**facts, **trained_on}})
    print(f"{out}: {out.stat().st_size} bytes, {calibration}")  # noqa: T201


class _Corners(quantization.CalibrationDataReader):  # type: ignore[misc]
    """Hands out the upper left of screens, of the same size."""

    def __init__(self, screens: Sequence[Screen]) -> None:
        self.pictures = (screen.open_picture().crop((0, 0, *CROP)) for screen in screens)

    def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
        """Returns what the net takes; None: no more."""
        return next(({"pixels": np.asarray(part)[np.newaxis]} for part in self.pictures), None)


def _quantise(plain: Path, small: Path, screens: Sequence[Screen]) -> None:
    """Writes a model that convolves in 8 bits, with ranges measured on screens."""
    quantization.quant_pre_process(plain, plain, skip_symbolic_shape=True)
    nodes = onnx.load(plain).graph.node
    quantization.quantize_static(
        plain,
        small,
        _Corners(screens),
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=["Conv", "Add", "Resize"],
        activation_type=quantization.QuantType.QUInt8,
        nodes_to_exclude=[node.name for node in nodes if node.op_type == "Conv"][-1:],
        per_channel=True,
        calibrate_method=quantization.CalibrationMethod.Percentile,
        extra_options={"CalibPercentile": 99.99},
    )


def calibrate(model: Path, screens: Sequence[Screen]) -> Calibration:
    """Returns how the scores of a model become chances, from screens it was not trained on.

    A box is right if it overlaps a thing by half. The least chance gives the best F2 of boxes and
    things: a missed thing cannot be pointed at, a box too many can be passed over.
    """
    from scipy.optimize import minimize

    session = InferenceSession(model, providers=["CPUExecutionProvider"])
    rows = [row for screen in screens for row in _judge_boxes(session, screen)]
    scores, truth = np.array(sorted(rows, reverse=True)).T

    def cost(line: NDArray[np.float64]) -> float:
        chance = line[0] * scores + line[1]
        return float(np.logaddexp(0, np.where(truth > 0, -chance, chance)).mean())

    slope, offset = minimize(cost, np.array([1.0, 0.0]), method="Nelder-Mead").x
    right, boxes = np.cumsum(truth), np.arange(1, len(truth) + 1)
    things = sum(len(screen.boxes) for screen in screens)
    best = scores[(5 * right / (4 * things + boxes)).argmax()]
    least = 1 / (1 + math.exp(-(slope * best + offset)))
    return Calibration(round(float(slope), 4), round(float(offset), 4), round(float(least), 4))


def _judge_boxes(session: Any, screen: Screen) -> Iterator[tuple[float, bool]]:
    """Yields the score of each box on a screen, and whether it overlaps a thing by half."""
    pixels = pad_pixels(np.asarray(screen.open_picture()))
    (maps,) = session.run(None, {"pixels": pixels[np.newaxis]})
    for control in read_maps(maps[0], _LOWEST):
        box = control.box
        edges = np.array([box.left, box.top, box.right, box.bottom])
        is_right = bool((overlap_boxes(edges, screen.boxes) >= 0.5).any())
        yield math.log(control.chance / (1 - control.chance)), is_right
