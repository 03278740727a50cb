"""Trains the detector of controls on folders of screens, for a time, and writes it as ONNX.

    python -m hisa.plugins.eyes.training.train_detector DIR... --run RUN --hours 4 --apart SOURCE
    python -m hisa.plugins.eyes.training.train_detector DIR... --run RUN --export

A training that was cut off goes on from RUN/checkpoint.pt. The learning rate follows the time: it
is near 0 when the hours end, on any machine. RUN/curve.jsonl has the mean losses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch.utils.data import DataLoader, IterableDataset

from hisa.plugins.eyes.detector import WEIGHTS
from hisa.plugins.eyes.training.detector_data import Batch, make_batches
from hisa.plugins.eyes.training.detector_net import DetectorNet, compute_losses
from hisa.plugins.eyes.training.export_detector import export_detector
from hisa.plugins.eyes.training.timed_training import Training

__all__ = ["main"]


class _Crops(IterableDataset[Batch]):
    """The endless batches, for a process beside the training."""

    def __init__(self, folders: Sequence[Path], apart: Sequence[str]) -> None:
        self.folders, self.apart = folders, apart

    def __iter__(self) -> Iterator[Batch]:
        """Draws other examples in each process and after each resumption."""
        return make_batches(self.folders, seed=torch.initial_seed(), apart=self.apart)


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
    options.run.mkdir(parents=True, exist_ok=True)
    path, seconds = options.run / "checkpoint.pt", options.hours * 3600
    torch.manual_seed(options.seed)
    facts = {"seed": options.seed, "apart": options.apart}
    training = Training(DetectorNet(), compute_losses, path, seconds, **facts)
    if options.export:
        export_detector(training.mean.module, options.folders, options.out, training.facts)
        return
    torch.manual_seed(options.seed + 1 + training.facts["step"])
    crops = _Crops(options.folders, training.facts["apart"])
    training.run(iter(DataLoader(crops, None, num_workers=1, prefetch_factor=12)))


if __name__ == "__main__":
    main()
