"""The folder in which a person reviews what a build made: descriptions, programs, tests, a report.

Nothing in it is a package: it can be neither installed nor imported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hisa.errors import UsageError
from hisa.plugins.toolkits.builder.build_records import Built, FunctionDescription, ProgramCase
from hisa.plugins.toolkits.builder.build_report import build_report
from hisa.plugins.toolkits.builder.built_toolkit import program_name
from hisa.plugins.toolkits.builder.tool_builder import Build

__all__ = ["RECORD", "BuildRecord", "FunctionRecord", "Reviewed", "read_review", "write_review"]

RECORD = "build.json"
REPORT = "report.md"
_LARGEST = 4 << 20
"""Bytes of a record that is read: twenty functions with the longest tests have less."""


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FunctionRecord(_Stored):
    """One function of a build."""

    described: FunctionDescription
    state: Literal["passed", "failed"]
    programs: int
    """Number of programs that were tried."""
    sha256: str
    """Of the newest program, as its tests ran with it."""
    cases: tuple[ProgramCase, ...]


class BuildRecord(_Stored):
    """What ``build.json`` holds."""

    format: Literal[1] = 1
    app: str
    kit: str
    title: str
    model: str
    stopped: str
    spent: dict[str, int | float]
    functions: tuple[FunctionRecord, ...]


def write_review(folder: Path, build: Build, spent: Mapping[str, int | float]) -> None:
    """Write a build into a folder that is there and empty.

    Args:
        folder: where.
        build: what was made.
        spent: tokens, calls and money, as `hisa.models.spending.Totals.as_dict`.
    """
    request = build.request
    record = BuildRecord(
        app=request.app,
        kit=request.kit,
        title=request.title,
        model=build.model,
        stopped=build.stopped,
        spent=dict(spent),
        functions=tuple(_function(each) for each in build.functions),
    )
    _write(folder / RECORD, json.dumps(record.model_dump(mode="json"), indent=1))
    for built in build.functions:
        name = built.described.name
        tests = [case.model_dump(mode="json") for case in built.cases]
        _write(folder / "tests" / f"{name}.json", json.dumps(tests, indent=1))
        for number, each in enumerate(built.tries, 1):
            _write(folder / "tried" / f"{name}.{number}.guest.py", each.code)
        if built.tries:
            _write(folder / "programs" / program_name(name), built.code)
    _write(folder / REPORT, build_report(build, spent))


def _function(built: Built) -> FunctionRecord:
    return FunctionRecord(
        described=built.described,
        state="passed" if built.passed else "failed",
        programs=len(built.tries),
        sha256=_digest(_bytes(built.code)),
        cases=built.cases,
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bytes(text))


def _bytes(text: str) -> bytes:
    """The text in UTF-8; half characters, which JSON can hold, become question marks."""
    return text.encode("utf-8", "replace")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Reviewed:
    """A folder as it is now."""

    record: BuildRecord
    programs: Mapping[str, bytes]
    """Of the functions that passed, by name, as they were when their tests ran."""
    changed: tuple[str, ...]
    """Functions whose program is gone or is no longer the one that was tested."""


def read_review(folder: Path) -> Reviewed:
    """Read a folder back.

    Raises:
        UsageError: it is none.
    """
    path = folder / RECORD
    try:
        with path.open("rb") as file:
            data: Any = json.loads(file.read(_LARGEST))
        record = BuildRecord.model_validate(data)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", fix="name a folder that `hisa tools build` wrote"
        ) from error
    except (ValueError, ValidationError) as error:
        raise UsageError(f"{path} is no record of a build: {str(error)[:300]}") from error
    programs: dict[str, bytes] = {}
    changed = []
    for each in record.functions:
        if each.state != "passed":
            continue
        name = each.described.name
        found = _program(folder / "programs" / program_name(name))
        if _digest(found) == each.sha256:
            programs[name] = found
        else:
            changed.append(name)
    return Reviewed(record, programs, tuple(changed))


def _program(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
