"""The folder of a data set: ``set.json``, ``samples.jsonl`` and ``images/``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FOLDER, replace_file
from hisa.plugins.synthesis.data.samples import Sample
from hisa.plugins.synthesis.data.splits import refuse_leaks
from hisa.plugins.synthesis.exploration import read_records

__all__ = ["DataSet", "SetRecord", "read_set", "write_set"]

_LARGEST = 4 << 30  # bytes of samples.jsonl: more than a million steps


class SetRecord(BaseModel):
    """``set.json``: how a set was made. ``left_out`` counts steps and runs by the reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: int = 1
    hisa: str
    test: float
    seed: int
    sampling: str = ""
    left_out: dict[str, int] = {}


@dataclass(frozen=True)
class DataSet:
    """A set as it is on disk."""

    folder: Path
    record: SetRecord
    samples: tuple[Sample, ...]

    def image(self, name: str) -> Path:
        """The file of a picture, a PNG; whether it exists is the caller's to ask."""
        return self.folder / "images" / f"{name}.png"

    def image_bytes(self, name: str) -> bytes:
        """A picture as PNG. Raises: UsageError where it is gone, or not what its name says."""
        path = self.image(name)
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != name:
            raise UsageError(f"{path}: gone, or another picture than its name says")
        return content


def write_set(
    folder: Path, record: SetRecord, samples: Sequence[Sample], images: Mapping[str, Path]
) -> DataSet:
    """Write a set in place of the one there, ``set.json`` last: without one it is unfinished.

    Raises: UsageError where splits leak, or the folder cannot be written, or holds what is no set.
    """
    refuse_leaks(samples, fix="another --seed")
    data = DataSet(folder, record, tuple(samples))
    used = {data.image(name) for sample in samples for name in (sample.image, sample.after) if name}
    lines = folder / "samples.jsonl"
    try:
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        if not lines.exists() and any(folder.iterdir()):  # pictures there are not ours to delete
            raise UsageError(f"{folder}: not empty, and no data set", fix="-o another folder")
        (folder / "set.json").unlink(missing_ok=True)
        replace_file(lines, (sample.model_dump_json().encode() + b"\n" for sample in samples))
        (folder / "images").mkdir(PRIVATE_FOLDER, exist_ok=True)
        kept = set((folder / "images").glob("*.png"))
        for path in used - kept:
            replace_file(path, images[path.stem].read_bytes())
        for path in kept - used:
            path.unlink()
        replace_file(folder / "set.json", record.model_dump_json(indent=1).encode())
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", fix="-o another folder") from error
    return data


def read_set(folder: Path) -> DataSet:
    """Read a set. Raises: UsageError where there is none, it is damaged, or its splits leak."""
    path, lines = folder / "set.json", folder / "samples.jsonl"
    fix = f"hisa data build DIR -o {folder}"
    try:
        record = SetRecord.model_validate_json(path.read_bytes())
        large = lines.stat().st_size > _LARGEST
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder}: no data set: {str(error)[:500]}", fix=fix) from error
    if large:
        raise UsageError(f"{lines}: more than {_LARGEST} bytes")
    data = DataSet(folder, record, tuple(read_records(lines, Sample)))
    refuse_leaks(data.samples, fix=fix)
    return data
