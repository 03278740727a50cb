"""Writes a trained detector as ONNX in 8 bits, calibrated on sources it was not trained on."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hisa.errors import UsageError
from hisa.plugins.eyes.detector import (
    ROLES,
    STATES,
    Calibration,
    overlap_boxes,
    pad_pixels,
    read_maps,
)
from hisa.plugins.eyes.training.detector_data import CROP, Screen, open_pixels, read_screens

__all__ = ["calibrate", "export_detector"]

_LOWEST = Calibration(least=0.02)
"""Scores below are not looked at when calibrating: there are hundreds a screen."""
_RANGED = 24
"""Screens on which ranges of 8-bit values are measured."""


def export_detector(
    net: torch.nn.Module,
    folders: Sequence[Path],
    cache: Path,
    out: Path,
    facts: Mapping[str, int],
    *,
    apart: Sequence[str],
) -> None:
    """Writes a net with what it was trained on; its convolutions but the last compute in 8 bits.

    Args:
        net: the averaged weights.
        folders: the screens it was trained on.
        cache: folder of decoded pictures.
        out: the ONNX file.
        facts: steps, seconds and seed of the training.
        apart: the sources that were left out; ranges and chances are measured on them.

    Raises:
        UsageError: no source was set apart.
    """
    screens = read_screens(folders, "train")
    left_out = [screen for screen in screens if screen.source in apart]
    if not left_out:
        raise UsageError("no screens to calibrate on", fix="train_detector --apart SOURCE")
    with tempfile.TemporaryDirectory() as folder:
        model = _quantise(_export(net, Path(folder)), left_out, cache)
    trained_on = {
        "screens": len(screens) - len(left_out),
        "sources": sorted({screen.source for screen in screens} - set(apart)),
        "calibrated on": list(apart),
    }
    described = {
        "roles": ROLES,
        "states": STATES,
        "calibration": asdict(calibrate(model.SerializeToString(), left_out, cache)),
        "training": {**facts, **trained_on},
    }
    for name, value in described.items():
        model.metadata_props.add(key=name, value=json.dumps(value))
    out.write_bytes(model.SerializeToString())
    print(json.dumps({"bytes": out.stat().st_size} | described))  # noqa: T201


def _export(net: torch.nn.Module, folder: Path) -> Path:
    """Writes a net as ONNX with 32-bit floats; batch, height and width stay open."""
    axes = {0: "pictures", 1: "height", 2: "width"}
    torch.onnx.export(
        net.eval(),
        (torch.zeros(1, 64, 96, 3, dtype=torch.uint8),),
        str(folder / "plain.onnx"),
        input_names=["pixels"],
        output_names=["maps"],
        dynamic_axes={"pixels": axes, "maps": {0: "pictures", 2: "rows", 3: "columns"}},
        opset_version=17,
        dynamo=False,
    )
    return folder / "plain.onnx"


def _quantise(path: Path, screens: Sequence[Screen], cache: Path) -> Any:
    """Returns a model that convolves in 8 bits."""
    import onnx
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        """Hands out the upper left of screens, of the same size."""

        def __init__(self) -> None:
            some = screens[:: -(-len(screens) // _RANGED)]
            self.rest = iter([open_pixels(screen, cache) for screen in some])

        def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
            parts = (pixels[: CROP[1], : CROP[0]] for pixels in self.rest)
            return next(({"pixels": part[np.newaxis]} for part in parts), None)

    ready, small = path.with_name("ready.onnx"), path.with_name("small.onnx")
    quantization.quant_pre_process(path, ready, skip_symbolic_shape=True)
    convolutions = [node.name for node in onnx.load(ready).graph.node if node.op_type == "Conv"]
    quantization.quantize_static(
        ready,
        small,
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=["Conv", "Add", "Resize"],
        activation_type=quantization.QuantType.QUInt8,
        nodes_to_exclude=convolutions[-1:],
        per_channel=True,
        calibrate_method=quantization.CalibrationMethod.Percentile,
        extra_options={"CalibPercentile": 99.99},
    )
    return onnx.load(small)


def calibrate(model: bytes, screens: Sequence[Screen], cache: Path) -> Calibration:
    """Returns how the scores of a model become chances, from screens it was not trained on.

    A box is right if it overlaps a thing by half. The least chance gives the best F2 of boxes and
    things: a missed thing cannot be pointed at, a box too many can be passed over.

    Args:
        model: the ONNX file's content.
        screens: screens of sources that were set apart.
        cache: folder of decoded pictures.
    """
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    scores, truth, things = list[float](), list[bool](), 0
    for screen in screens:
        pixels = pad_pixels(open_pixels(screen, cache))
        (maps,) = session.run(None, {"pixels": pixels[np.newaxis]})
        things += len(screen.boxes)
        for control in read_maps(maps[0], _LOWEST):
            box = control.box
            edges = np.array([box.left, box.top, box.right, box.bottom])
            truth.append(bool((overlap_boxes(edges, screen.boxes) >= 0.5).any()))
            scores.append(math.log(control.chance / (1 - control.chance)))
    return _fit(np.array(scores), np.array(truth), things)


def _fit(scores: NDArray[np.float64], truth: NDArray[np.bool_], things: int) -> Calibration:
    """Returns the logistic regression of truth on scores, and the least chance."""
    from scipy.optimize import minimize

    def cost(line: NDArray[np.float64]) -> float:
        chance = line[0] * scores + line[1]
        return float(np.logaddexp(0, np.where(truth, -chance, chance)).mean())

    slope, offset = minimize(cost, np.array([1.0, 0.0]), method="Nelder-Mead").x
    order = np.argsort(-scores)
    right, boxes = np.cumsum(truth[order]), np.arange(1, len(order) + 1)
    best = scores[order[int((5 * right / (4 * things + boxes)).argmax())]]
    least = 1 / (1 + math.exp(-(slope * best + offset)))
    return Calibration(round(float(slope), 4), round(float(offset), 4), round(float(least), 4))
