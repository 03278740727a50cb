"""Trains the detector of controls on folders of screens, for a time; can be resumed.

    python -m hisa.plugins.eyes.training.train_detector DIR... --out RUN --hours 1.2
    python -m hisa.plugins.eyes.training.train_detector DIR... --out RUN --hours 1.2 --resume

The learning rate follows the time: it is near 0 when the hours end, on any machine. RUN has
``checkpoint.pt`` and ``curve.jsonl``; its lines have the mean losses since the last line, and every
few minutes the recall on some screens of the split "kept", which decides nothing.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

from hisa.machine.storage import replace_file
from hisa.plugins.eyes.detector import Calibration, pad_pixels, read_maps
from hisa.plugins.eyes.training.detector_data import (
    Batch,
    Screen,
    find_hits,
    make_batches,
    open_pixels,
    read_screens,
)
from hisa.plugins.eyes.training.detector_net import DetectorNet, compute_losses

__all__ = ["Training", "main", "measure_recall", "run_net"]

_RATE, _DECAY = 2e-3, 1e-2
_WARMUP = 0.04
"""Share of the time in which the rate rises."""
_MEMORY = 0.999
"""Share of the averaged weights that a step leaves as they were, after some hundred steps."""
_SAVE_EVERY, _MEASURE_EVERY, _LINE_EVERY = 180.0, 900.0, 50
"""Seconds, seconds and steps."""
_MEASURED = 24
"""Screens of the split "kept" in a measure: about ten seconds."""


class Training:
    """A net with its optimizer, averaged weights, and the steps and seconds it was trained.

    Args:
        seconds: how long the training takes in all.
        seed: of the first weights.
        apart: sources of screens that are left out, for the calibration.
    """

    def __init__(self, seconds: float, *, seed: int = 0, apart: Sequence[str] = ()) -> None:
        torch.manual_seed(seed)
        self.seed, self.apart = seed, list(apart)
        self.net = DetectorNet().to(memory_format=torch.channels_last)
        self.averaged = deepcopy(self.net).eval().requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), _RATE, weight_decay=_DECAY, foreach=True
        )
        self.seconds, self.elapsed, self.step = seconds, 0.0, 0

    @property
    def rate(self) -> float:
        """The learning rate of the next step: it rises, then falls as a cosine."""
        progress = min(1.0, self.elapsed / self.seconds)
        if progress < _WARMUP:
            return _RATE * max(0.02, progress / _WARMUP)
        fall = (progress - _WARMUP) / (1 - _WARMUP)
        return _RATE * (0.01 + 0.99 * (1 + math.cos(math.pi * fall)) / 2)

    def take_step(self, batch: Sequence[torch.Tensor], *, short: bool = True) -> dict[str, float]:
        """Takes a step on a batch and returns its losses.

        Args:
            batch: a `Batch` as tensors.
            short: whether to compute in bfloat16, which takes half the time.
        """
        self.net.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        with torch.autocast("cpu", torch.bfloat16) if short else nullcontext():
            maps = self.net(batch[0])
        losses = compute_losses(maps, *batch[1:])
        self.optimizer.zero_grad(set_to_none=True)
        sum(losses.values(), torch.zeros(())).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.optimizer.step()
        self.step += 1
        self._average()
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def _average(self) -> None:
        share = 1 - min(_MEMORY, (1 + self.step) / (10 + self.step))
        mean, now = self.averaged.state_dict(), self.net.state_dict()
        names = [name for name, values in now.items() if values.is_floating_point()]
        torch._foreach_lerp_([mean[n] for n in names], [now[n] for n in names], share)

    def save(self, path: Path) -> None:
        """Writes a checkpoint whole or not at all."""
        state = {
            "net": self.net.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "facts": {
                "step": self.step,
                "elapsed": self.elapsed,
                "seed": self.seed,
                "apart": self.apart,
            },
        }
        file = io.BytesIO()
        torch.save(state, file)
        replace_file(path, file.getvalue())

    def load(self, path: Path) -> None:
        """Continues from a checkpoint; ``seconds`` stay as they were set for this training."""
        state = torch.load(path, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.averaged.load_state_dict(state["averaged"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name, value in state["facts"].items():
            setattr(self, name, value)


class _Crops(IterableDataset[Batch]):
    """The endless batches, for a process beside the training."""

    def __init__(self, folders: Sequence[Path], cache: Path, apart: Sequence[str]) -> None:
        self.folders, self.cache, self.apart = folders, cache, apart

    def __iter__(self) -> Iterator[Batch]:
        """Draws other examples in each process and after each resumption."""
        return make_batches(self.folders, self.cache, seed=torch.initial_seed(), apart=self.apart)


def run_net(net: torch.nn.Module, pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the raw maps of a picture [height, width, 3]."""
    with torch.inference_mode():
        return np.asarray(net(torch.from_numpy(pad_pixels(pixels)[np.newaxis]))[0].numpy())


def measure_recall(
    net: torch.nn.Module, screens: Sequence[Screen], cache: Path
) -> dict[str, float]:
    """Returns shares of things whose centre a box holds and that a box fits; boxes a screen.

    Args:
        net: the net.
        screens: the screens to measure it on.
        cache: folder of decoded pictures.
    """
    sums, things, boxes = np.zeros(3), 0, 0
    for screen in screens:
        controls = read_maps(run_net(net, open_pixels(screen, cache)), Calibration())
        sums += find_hits(screen, controls).sum(0)
        things, boxes = things + len(screen.boxes), boxes + len(controls)
    shares = (sums / max(1, things)).round(4).tolist()
    names = ("centre_of_role", "centre", "fits")
    return dict(zip(names, shares, strict=True)) | {"boxes": boxes / max(1, len(screens))}


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains until the hours have passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--hours", type=float, default=1.2, help="in all, with what was before")
    parser.add_argument("--cache", type=Path, help="folder of decoded pictures, 3 MB each")
    parser.add_argument("--apart", action="append", default=[], metavar="SOURCE", help="left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    cache = options.cache or options.out / "cache"
    for folder in (options.out, cache):
        folder.mkdir(parents=True, exist_ok=True)
    training = Training(options.hours * 3600, seed=options.seed, apart=options.apart)
    if options.resume:
        training.load(options.out / "checkpoint.pt")
    torch.manual_seed(options.seed + 1 + training.step)
    crops = _Crops(options.folders, cache, training.apart)
    loader = DataLoader(crops, None, num_workers=1, prefetch_factor=12)
    _train(training, loader, options.out, lambda: _measure(training, options.folders, cache))


def _train(
    training: Training,
    batches: Iterable[Sequence[torch.Tensor]],
    out: Path,
    measure: Callable[[], dict[str, float]],
) -> None:
    """Takes steps until the time has passed; writes the curve and checkpoints."""
    checkpoint, losses = out / "checkpoint.pt", list[dict[str, float]]()
    saved = measured = training.elapsed
    started = time.monotonic() - training.elapsed
    for batch in batches:
        losses.append(training.take_step(batch))
        training.elapsed = time.monotonic() - started
        is_over = training.elapsed >= training.seconds
        if is_over or len(losses) == _LINE_EVERY:
            means = {name: round(fmean(row[name] for row in losses), 4) for name in losses[0]}
            _write_line(training, out, means | {"rate": round(training.rate, 6)})
            losses.clear()
        if is_over or training.elapsed - saved > _SAVE_EVERY:
            training.save(checkpoint)
            saved = training.elapsed
        if is_over or training.elapsed - measured > _MEASURE_EVERY:
            _write_line(training, out, measure())
            measured = training.elapsed
        if is_over:
            return


def _write_line(training: Training, out: Path, values: dict[str, float]) -> None:
    row = {"step": training.step, "seconds": round(training.elapsed), **values}
    with (out / "curve.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _measure(training: Training, folders: Sequence[Path], cache: Path) -> dict[str, float]:
    screens = read_screens(folders, "kept")
    some = random.Random(0).sample(screens, min(_MEASURED, len(screens)))
    return measure_recall(training.averaged, some, cache)


if __name__ == "__main__":
    main()
