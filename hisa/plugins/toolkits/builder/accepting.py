"""Makes an installable package of what passed in a review folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.toolkits.builder.build_report import says_of_itself
from hisa.plugins.toolkits.builder.built_toolkit import DATA, FORMAT, program_name
from hisa.plugins.toolkits.builder.review_folder import (
    REPORT,
    BuildRecord,
    FunctionRecord,
    Reviewed,
    read_review,
)
from hisa.plugins.toolkits.scaffold import fill_template, new_folder

__all__ = ["Accepted", "accept"]

_SHORT = 200
"""Characters of an example in the documentation."""


@dataclass(frozen=True)
class Accepted:
    """The package that was made."""

    folder: Path
    package: str
    functions: Mapping[str, str]
    """By name, what each says that it does to the machine: nobody checked that."""
    left_out: tuple[str, ...]
    """Those that failed, or were changed after their tests ran, each with the reason."""


def accept(review: Path, to: Path | None = None) -> Accepted:
    """Write the package; the review folder stays as it is.

    Args:
        review: a folder that a build wrote.
        to: the package's folder, which must not be there; None: beside the review folder.

    Raises:
        UsageError: the folder is no review folder, nothing in it passed, or ``to`` is there.
    """
    reviewed = read_review(review)
    record = reviewed.record
    left_out = tuple(_left_out(reviewed))
    if not reviewed.programs:
        why = "; ".join(left_out) or "no function was tried"
        raise UsageError(f"{review} has nothing to accept: {why}", fix=f"read {review / REPORT}")
    package, module = f"{record.kit}-tools", f"{record.kit}_tools"
    folder = new_folder(to or review.resolve().parent / package)
    values = {"package": package, "module": module, "kit": record.kit}
    fill_template(folder / "pyproject.toml", "built_pyproject.toml", values)
    fill_template(folder / "README.md", "built_README.md", values)
    (folder / module / "programs").mkdir(parents=True)
    fill_template(folder / module / "__init__.py", "built_init.py", values)
    accepted = [each for each in record.functions if each.described.name in reviewed.programs]
    (folder / module / DATA).write_text(_data(record, accepted), "utf-8")
    for name, program in reviewed.programs.items():
        (folder / module / "programs" / program_name(name)).write_bytes(program)
    if (review / REPORT).is_file():
        shutil.copyfile(review / REPORT, folder / REPORT)
    told = {each.described.name: says_of_itself(each.described) for each in accepted}
    return Accepted(folder, package, told, left_out)


def _left_out(reviewed: Reviewed) -> list[str]:
    failed = [each.described.name for each in reviewed.record.functions if each.state != "passed"]
    return [
        *(f"{name} failed its tests" for name in failed),
        *(f"{name} was changed after its tests ran" for name in reviewed.changed),
    ]


def _data(record: BuildRecord, accepted: list[FunctionRecord]) -> str:
    data = {
        "format": FORMAT,
        "name": record.kit,
        "title": record.title,
        "apps": [record.app],
        "functions": [
            {"described": each.described.model_dump(mode="json"), "examples": _examples(each)}
            for each in accepted
        ],
    }
    return json.dumps(data, indent=1) + "\n"


def _examples(function: FunctionRecord) -> list[str]:
    """The input of the first case, where that begins with what is there and nothing is refused."""
    first = function.cases[0]
    line = json.dumps(first.arguments, ensure_ascii=True)
    return [line] if not (first.refused or first.files) and len(line) <= _SHORT else []
