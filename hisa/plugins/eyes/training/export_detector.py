"""Writes a trained detector as ONNX, calibrated on sources that it was not trained on.

    python -m hisa.plugins.eyes.training.export_detector RUN DIR... [--int8]

Without ``--int8`` the weights are stored as 16-bit floats and computed as 32-bit ones; with it the
convolutions but the last are computed in 8 bits, with ranges measured on the sources set apart.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterator, Sequence
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
    WEIGHTS,
    Calibration,
    overlap_boxes,
    pad_pixels,
    read_maps,
)
from hisa.plugins.eyes.training.detector_data import CROP, Screen, open_pixels, read_screens
from hisa.plugins.eyes.training.train_detector import Training

__all__ = ["calibrate", "main"]

_LOWEST = Calibration(least=0.02)
"""Scores below are not looked at when calibrating: there are hundreds a screen."""
_RANGED = 24
"""Screens on which ranges of 8-bit values are measured."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Exports, calibrates and describes a detector."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, help="folder of decoded pictures")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--int8", action="store_true")
    options = parser.parse_args(arguments)
    cache = options.cache or options.run / "cache"
    training = Training(1.0)
    training.load(options.run / "checkpoint.pt")
    screens = read_screens(options.folders, "train")
    apart = [screen for screen in screens if screen.source in training.apart]
    if not apart:
        raise UsageError("no screens to calibrate on", fix="train_detector --apart SOURCE")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        _export(training.averaged, plain)
        model = _quantise(plain, apart, cache) if options.int8 else _shorten(plain)
    facts = {
        "roles": ROLES,
        "states": STATES,
        "calibration": asdict(calibrate(model.SerializeToString(), apart, cache)),
        "training": {
            "steps": training.step,
            "seconds": round(training.elapsed),
            "seed": training.seed,
            "screens": len(screens) - len(apart),
            "sources": sorted({screen.source for screen in screens} - set(training.apart)),
            "calibrated on": training.apart,
        },
    }
    for name, value in facts.items():
        model.metadata_props.add(key=name, value=json.dumps(value))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(model.SerializeToString())
    print(json.dumps({"bytes": options.out.stat().st_size} | facts))  # noqa: T201


def _export(net: torch.nn.Module, path: Path) -> None:
    """Writes a net as ONNX with 32-bit floats; batch, height and width stay open."""
    axes = {0: "pictures", 1: "height", 2: "width"}
    torch.onnx.export(
        net.eval(),
        (torch.zeros(1, 64, 96, 3, dtype=torch.uint8),),
        str(path),
        input_names=["pixels"],
        output_names=["maps"],
        dynamic_axes={"pixels": axes, "maps": {0: "pictures", 2: "rows", 3: "columns"}},
        opset_version=17,
        dynamo=False,
    )


def _shorten(path: Path) -> Any:
    """Returns a model whose weights are 16-bit floats, each followed by a cast to 32 bits."""
    import onnx

    model = onnx.load(path)
    casts = []
    for tensor in model.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and values.size > 1:
            name = tensor.name
            short = onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.short")
            tensor.CopyFrom(short)
            casts.append(onnx.helper.make_node("Cast", [short.name], [name], to=1))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _quantise(path: Path, screens: Sequence[Screen], cache: Path) -> Any:
    """Returns a model that convolves in 8 bits."""
    import onnx
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        """Hands out the middle of screens, of the same size."""

        def __init__(self) -> None:
            some = screens[:: -(-len(screens) // _RANGED)]
            self.rest = iter([_cut_middle(open_pixels(screen, cache)) for screen in some])

        def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
            return next(({"pixels": pixels[np.newaxis]} for pixels in self.rest), None)

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


def _cut_middle(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns the middle of a picture, as large as the crops of the training."""
    top, left = (
        max(0, (side - part) // 2) for side, part in zip(pixels.shape, CROP[::-1], strict=False)
    )
    crop = np.zeros((CROP[1], CROP[0], 3), np.uint8)
    part = pixels[top : top + CROP[1], left : left + CROP[0]]
    crop[: part.shape[0], : part.shape[1]] = part
    return crop


def _read_pixels(screens: Sequence[Screen], cache: Path) -> Iterator[NDArray[np.uint8]]:
    return (pad_pixels(open_pixels(screen, cache)) for screen in screens)


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
    for screen, pixels in zip(screens, _read_pixels(screens, cache), strict=True):
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


if __name__ == "__main__":
    main()
