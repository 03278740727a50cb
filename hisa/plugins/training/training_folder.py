"""The folder of a training run: settings, metrics, checkpoints, solved episodes and state.

    settings.json            of the run, as given
    metrics.jsonl            one `MetricsRow` per line, for each update
    successes.jsonl          the solved episodes of all versions, one per line
    checkpoints/NAME.safetensors   00040 (after 40 updates), last, best, one-epoch
    state.pt                 weights, reference, optimiser and counts after the last whole update

The state is written last and holds the lengths of the other files: on resuming, what a killed
process wrote after it is cut off, and that update is done again.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch.optim import Optimizer

from hisa.errors import UsageError
from hisa.machine.storage import AppendOnlyFile, Lock, replace_file
from hisa.plugins.training.base import Episode, Weights
from hisa.plugins.training.curves import MetricsRow

__all__ = ["HelperFolder", "TrainingFolder", "read_settings"]

_FILES = ("metrics.jsonl", "successes.jsonl")
_LINE = 1_000_000
"""Most bytes of a line of successes; an episode of 8 looks with 30 elements has 50,000."""

_EPISODE: TypeAdapter[Episode] = TypeAdapter(Episode)


class TrainingFolder:
    """Files of one run, written by one process.

    Raises:
        UsageError: another process writes there; the folder holds a run although ``resume`` is
            false, or no run although it is true; or its state is damaged.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = path
        if resume:
            read_settings(path)
        elif (path / "settings.json").exists():
            raise UsageError(
                f"{path} holds a training run already", fix="--resume, or another -o DIR"
            )
        (path / "checkpoints").mkdir(parents=True, exist_ok=True)
        lock = Lock.take(path / ".lock")
        if lock is None:
            raise UsageError(f"{path}: process {Lock.holder(path / '.lock')} is training there")
        self._lock = lock
        try:
            self.state = _read_state(path / "state.pt") if resume else None
        except UsageError:
            lock.release()
            raise
        for name in _FILES:
            length = self.state["lengths"][name] if self.state else 0
            if (path / name).exists() and (path / name).stat().st_size > length:
                os.truncate(path / name, length)
        self._metrics, self._successes = (AppendOnlyFile(path / name) for name in _FILES)
        replace_file(path / "settings.json", json.dumps(dict(settings), indent=2).encode())

    def restore(
        self, policy: Weights, optimizer: Optimizer, reference: Weights | None = None
    ) -> int:
        """Restores the last state; returns the number of updates done, 0 without a state.

        Args:
            policy: gets its weights and version.
            optimizer: gets its moments.
            reference: gets the weights of the KL's reference, if the run has one.
        """
        if self.state is None:
            return 0
        policy.network.load_state_dict(self.state["network"])
        policy.version = self.state["version"]
        optimizer.load_state_dict(self.state["optimizer"])
        if reference is not None:
            reference.network.load_state_dict(self.state["reference"])
        return int(self.state["done"])

    def write(
        self,
        step: int,
        policy: Weights,
        optimizer: Optimizer,
        *,
        rows: Iterable[MetricsRow] = (),
        episodes: Iterable[Episode] = (),
        checkpoints: Iterable[str] = (),
        reference: Weights | None = None,
        **extra: float | str | None,
    ) -> None:
        """Stores an update: rows, solved episodes, checkpoints, and last the state.

        Args:
            step: number of updates so far.
            policy: its weights go into the checkpoints and the state.
            optimizer: its moments go into the state.
            rows: of the metrics.
            episodes: of the update; the solved ones are stored.
            checkpoints: names besides "last".
            reference: of the KL; its weights go into the state.
            extra: further values of the state.

        Raises:
            OSError: a file cannot be written; the state is the one before.
        """
        for row in rows:
            self._metrics.append(row.model_dump_json().encode() + b"\n")
        for episode in episodes:
            if episode.solved and episode.is_sample:
                self._successes.append(_EPISODE.dump_json(episode) + b"\n")
        for name in ("last", *checkpoints):
            policy.save(self.checkpoint(name))
        state = {
            "done": step,
            "version": policy.version,
            "network": policy.network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "reference": reference.network.state_dict() if reference is not None else {},
            "lengths": {name: (self.path / name).stat().st_size for name in _FILES},
        }
        content = io.BytesIO()
        torch.save(state | extra, content)
        replace_file(self.path / "state.pt", content.getvalue())

    def checkpoint(self, name: str) -> Path:
        """Returns the path of the checkpoint of this name."""
        return self.path / "checkpoints" / f"{name}.safetensors"

    def successes(self) -> Iterator[Episode]:
        """Yields the solved episodes of all versions, in the order of the file.

        Raises:
            UsageError: a line is not an episode, or is too long; the message names the line.
        """
        path = self.path / "successes.jsonl"
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LINE), b""), 1):
                try:
                    yield _EPISODE.validate_json(line)
                except ValueError as error:
                    reason = f"not an episode of at most {_LINE} bytes"
                    raise UsageError(f"{path}: line {number}: {reason}") from error

    def close(self) -> None:
        """Closes the files and releases the folder's lock; may be called twice."""
        self._metrics.close()
        self._successes.close()
        self._lock.release()


class HelperFolder(TrainingFolder):
    """The folder of a run in processes that help the one that writes it; nothing is written."""

    def __init__(self, path: Path, _settings: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path, self.state = path, _read_state(path / "state.pt") if resume else None

    def write(self, *_state: object, **_more: object) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


def read_settings(path: Path) -> dict[str, Any]:
    """Returns the settings of the run in a folder.

    Raises:
        UsageError: the folder holds no run, or its settings cannot be read.
    """
    try:
        return dict(json.loads((path / "settings.json").read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        fix = "omit --resume"
        raise UsageError(f"{path} holds no training run: {error}", fix=fix) from error


def _read_state(path: Path) -> dict[str, Any] | None:
    """Returns the state of a run, tensors and plain values only; None before the first update."""
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        state["lengths"]["metrics.jsonl"] + state["lengths"]["successes.jsonl"] + state["done"]
    except Exception as error:
        last = path.parent / "checkpoints" / "last.safetensors"
        fix = f"--from {last} and another -o DIR"
        raise UsageError(f"{path} cannot be read: {error}", fix=fix) from error
    return state
