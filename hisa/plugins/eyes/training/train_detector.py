"""Trains the detector of controls on folders of screens, for a time, and writes it as ONNX.

    python -m hisa.plugins.eyes.training.train_detector DIR... --run RUN --hours 4 --apart SOURCE
    python -m hisa.plugins.eyes.training.train_detector DIR... --run RUN --export

A training that was cut off goes on from RUN/checkpoint.pt. The learning rate follows the time: it
is near 0 when the hours end, on any machine. RUN/curve.jsonl has the mean losses.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from statistics import fmean

import torch
from torch.optim.swa_utils import get_ema_multi_avg_fn
from torch.utils.data import DataLoader, IterableDataset

from hisa.machine.storage import replace_file
from hisa.plugins.eyes.detector import WEIGHTS
from hisa.plugins.eyes.training.detector_data import Batch, make_batches
from hisa.plugins.eyes.training.detector_net import DetectorNet, compute_losses
from hisa.plugins.eyes.training.export_detector import export_detector

__all__ = ["Training", "main"]

_RATE, _DECAY = 2e-3, 1e-2
_WARMUP = 0.04
"""Share of the time in which the rate rises."""
_AVERAGE = get_ema_multi_avg_fn(0.999)
_SAVE_EVERY, _LINE_EVERY = 180.0, 50
"""Seconds and steps."""


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
        mean, now = self.averaged.state_dict(), self.net.state_dict()
        names = [name for name, values in now.items() if values.is_floating_point()]
        _AVERAGE([mean[n] for n in names], [now[n] for n in names], self.step)
        return {name: float(loss.detach()) for name, loss in losses.items()}

    def save(self, path: Path) -> None:
        """Writes a checkpoint whole or not at all."""
        facts = {name: getattr(self, name) for name in ("step", "elapsed", "seed", "apart")}
        parts = {name: getattr(self, name).state_dict() for name in _PARTS}
        file = io.BytesIO()
        torch.save({**parts, "facts": facts}, file)
        replace_file(path, file.getvalue())

    def load(self, path: Path) -> None:
        """Continues from a checkpoint; ``seconds`` stay as they were set for this training."""
        state = torch.load(path, weights_only=True)
        for name in _PARTS:
            getattr(self, name).load_state_dict(state[name])
        for name, value in state["facts"].items():
            setattr(self, name, value)


_PARTS = ("net", "averaged", "optimizer")
"""Parts of a training with weights or moments."""


class _Crops(IterableDataset[Batch]):
    """The endless batches, for a process beside the training."""

    def __init__(self, folders: Sequence[Path], cache: Path, apart: Sequence[str]) -> None:
        self.folders, self.cache, self.apart = folders, cache, apart

    def __iter__(self) -> Iterator[Batch]:
        """Draws other examples in each process and after each resumption."""
        return make_batches(self.folders, self.cache, seed=torch.initial_seed(), apart=self.apart)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains until the hours have passed, or exports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--run", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--hours", type=float, default=4, help="in all, with what was before")
    parser.add_argument("--apart", action="append", default=[], metavar="SOURCE", help="left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--export", action="store_true", help="write ONNX, calibrated on APART")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="the ONNX file")
    options = parser.parse_args(arguments)
    cache, checkpoint = options.run / "cache", options.run / "checkpoint.pt"
    cache.mkdir(parents=True, exist_ok=True)
    training = Training(options.hours * 3600, seed=options.seed, apart=options.apart)
    if checkpoint.exists():
        training.load(checkpoint)
    if options.export:
        facts = {"steps": training.step, "seconds": round(training.elapsed), "seed": training.seed}
        export_detector(
            training.averaged, options.folders, cache, options.out, facts, apart=training.apart
        )
        return
    torch.manual_seed(options.seed + 1 + training.step)
    crops = _Crops(options.folders, cache, training.apart)
    _train(training, DataLoader(crops, None, num_workers=1, prefetch_factor=12), options.run)


def _train(training: Training, batches: Iterable[Sequence[torch.Tensor]], run: Path) -> None:
    """Takes steps until the time has passed; writes the curve and checkpoints."""
    losses = list[dict[str, float]]()
    saved = training.elapsed
    started = time.monotonic() - training.elapsed
    for batch in batches:
        losses.append(training.take_step(batch))
        training.elapsed = time.monotonic() - started
        is_over = training.elapsed >= training.seconds
        if is_over or len(losses) == _LINE_EVERY:
            means = {name: round(fmean(row[name] for row in losses), 4) for name in losses[0]}
            row = {"step": training.step, "seconds": round(training.elapsed), **means}
            print(json.dumps(row), flush=True)  # noqa: T201
            with (run / "curve.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            losses.clear()
        if is_over or training.elapsed - saved > _SAVE_EVERY:
            training.save(run / "checkpoint.pt")
            saved = training.elapsed
        if is_over:
            return


if __name__ == "__main__":
    main()
