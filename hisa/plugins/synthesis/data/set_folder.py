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
from hisa.plugins.synthesis.data.splits import Policy, refuse_leaks
from hisa.plugins.synthesis.exploration import read_records

__all__ = ["DataSet", "SetRecord", "read_set", "write_set"]

_LARGEST = 4 << 30
"""Bytes of the largest ``samples.jsonl`` that is read; more than a million steps."""


class SetRecord(BaseModel):
    """``set.json``: how a set was made. ``left_out`` counts steps and runs by the reason."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: int = 1
    hisa: str
    policy: Policy
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
        """A picture as PNG.

        Raises:
            UsageError: it is gone, or not the picture that its name says.
        """
        try:
            content = self.image(name).read_bytes()
        except OSError as error:
            raise UsageError(f"{self.image(name)}: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != name:
            raise UsageError(f"{self.image(name)}: another picture than its name says")
        return content


def write_set(
    folder: Path, record: SetRecord, samples: Sequence[Sample], images: Mapping[str, Path]
) -> DataSet:
    """Write a set, ``set.json`` last: a folder without one is unfinished.

    Raises:
        UsageError: splits leak, or the folder cannot be written.
    """
    refuse_leaks(samples, record.policy, fix="another --by, or another --seed")
    used = {name for sample in samples for name in (sample.image, sample.after) if name}
    try:
        (folder / "images").mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        (folder / "set.json").unlink(missing_ok=True)
        for name in sorted(used):
            if not (target := folder / "images" / f"{name}.png").exists():
                replace_file(target, images[name].read_bytes())
        lines = (sample.model_dump_json().encode() + b"\n" for sample in samples)
        replace_file(folder / "samples.jsonl", lines)
        replace_file(folder / "set.json", record.model_dump_json(indent=1).encode())
    except OSError as error:
        raise UsageError(
            f"cannot write {str(folder)!r}: {error.strerror}", fix="-o another folder"
        ) from error
    return DataSet(folder, record, tuple(samples))


def read_set(folder: Path) -> DataSet:
    """Read a set.

    Raises:
        UsageError: there is none, it is damaged, or its splits leak.
    """
    path, lines = folder / "set.json", folder / "samples.jsonl"
    if not path.is_file() or not lines.is_file():
        raise UsageError(f"{folder}: no data set", fix=f"hisa data build DIR -o {folder}")
    if lines.stat().st_size > _LARGEST:
        raise UsageError(f"{lines}: more than {_LARGEST} bytes")
    try:
        record = SetRecord.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {str(error)[:500]}") from error
    samples = tuple(read_records(lines, Sample))
    refuse_leaks(samples, record.policy, fix=f"hisa data build DIR -o {folder}")
    return DataSet(folder, record, samples)
