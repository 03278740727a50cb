"""The folder of compressed runs: what is done, what is left, and what is written of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from hisa.errors import UsageError
from hisa.machine.storage import AppendOnlyFile, Lock, replace_file
from hisa.plugins.synthesis.data.compression import CompressedRun, SequenceRecord
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.plugins.synthesis.exploration import append_record, read_records

__all__ = ["CompressedFolder"]


class CompressedFolder:
    """``sequences.jsonl`` and ``compressed.jsonl`` of a folder, held by one process.

    Args:
        source: a bench or a folder of runs.
        folder: where the two files are.

    Raises:
        UsageError: there are no finished runs, somebody is at work there, or a file is damaged.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        trajectories, left_out = read_trajectories([source])
        if not trajectories:
            reasons = "; ".join(left_out) or "there are none"
            raise UsageError(f"{source}: no finished runs ({reasons})", fix="hisa bench run …")
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / ".compress.lock"
        self._lock = Lock.take(lock)
        if self._lock is None:
            raise UsageError(f"{folder}: process {Lock.holder(lock)} compresses into it")
        self.folder = folder
        self.runs = read_records(folder / "compressed.jsonl", CompressedRun)
        done = {run.run for run in self.runs}
        path = folder / "sequences.jsonl"
        written = read_records(path, SequenceRecord)
        self.sequences = [one for one in written if one.run in done]
        if len(self.sequences) < len(written):  # a stop came between the two files
            lines = [one.model_dump_json(exclude_defaults=True) for one in self.sequences]
            replace_file(path, "".join(f"{line}\n" for line in lines).encode())
        self.left = [one for one in trajectories if one.id not in done]

    def __enter__(self) -> Self:
        self._files = [AppendOnlyFile(self.folder / "sequences.jsonl")]
        self._files.append(AppendOnlyFile(self.folder / "compressed.jsonl"))
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._files:
            file.close()
        if self._lock:
            self._lock.release()

    def add(self, run: CompressedRun, sequences: Sequence[SequenceRecord]) -> None:
        """Write a run down; it is done with once its own line is there."""
        for sequence in sequences:
            append_record(self._files[0], sequence)
        append_record(self._files[1], run)
        self.runs.append(run)
        self.sequences += sequences
        self.left = [one for one in self.left if one.id != run.run]
