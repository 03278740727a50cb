"""Reads task files of OSWorld and Spider2-V as they are published.

Both are JSON with ``id``, ``instruction``, ``config`` (setup steps) and ``evaluator``. Keys that a
benchmark adds are let through; a value of the wrong kind is refused, and its place named. Of the
keys that OSWorld-Verified adds, only ``proxy`` is used: it becomes a step before all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.tasks.domains import guess_domain
from hisa.text.validation import explain

__all__ = [
    "OSWORLD",
    "PROXY",
    "SPIDER2V",
    "Evaluator",
    "Part",
    "RawStep",
    "evaluator_of",
    "from_json",
    "looks_like",
]

OSWORLD, SPIDER2V = "osworld", "spider2v"
"""The benchmarks whose task files are read, as the group ``hisa.tasks`` names their formats."""
PROXY = "proxy"
"""First step of a task whose pages refuse the addresses of data centres."""
MAX_STEPS = 200
"""Most setup steps of a task."""
_DOMAINS: Mapping[str, str] = {
    "excel": "calc", "libreoffice_calc": "calc", "libreoffice_writer": "writer",
    "chrome": "browser", "jupyterlab": "jupyter", "os": "general", "multi_apps": "general",
}  # fmt: skip
"""A benchmark's domain to the one whose patterns and SOPs are used; others keep their name."""


class _Open(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


def _empty_is_none(value: object) -> object:
    return None if value in ({}, [], "") else value


class RawStep(_Open):
    """A setup step before its parameters are read."""

    type: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,80}$")]
    parameters: dict[str, Any] = Field(default_factory=dict)


_Config = Annotated[dict[str, Any] | None, BeforeValidator(_empty_is_none)]
_Configs = Annotated[
    dict[str, Any] | Annotated[list[_Config], Field(max_length=100)] | None,
    BeforeValidator(_empty_is_none),
]
_Name = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True)
class Part:
    """One metric of an evaluator with its two getters and its options."""

    func: str
    result: Mapping[str, Any] | None
    expected: Mapping[str, Any] | None
    options: Mapping[str, Any]


class Evaluator(_Open):
    """How a task is scored."""

    func: _Name | Annotated[list[_Name], Field(min_length=1, max_length=100)]
    result: _Configs = None
    expected: _Configs = None
    options: _Configs = None
    conj: Literal["and", "or"] = "and"
    postconfig: Annotated[tuple[RawStep, ...], Field(max_length=MAX_STEPS)] = ()

    @property
    def infeasible(self) -> bool:
        """Whether the right answer is that the task cannot be done."""
        return self.func == "infeasible" or self.func == ["infeasible"]

    @model_validator(mode="after")
    def _as_many(self) -> Evaluator:
        count = len(self.func) if isinstance(self.func, list) else 0
        for name in ("result", "expected", "options"):
            value = getattr(self, name)
            if isinstance(value, list) and not isinstance(self.func, list):
                raise ValueError(f"'{name}' is a list and 'func' is not")
            if isinstance(value, list) and len(value) != count:
                raise ValueError(f"'{name}' has {len(value)} entries, 'func' has {count}")
            if isinstance(value, dict) and count > 1 and name != "options":
                raise ValueError(f"'{name}' must be a list as long as 'func'")
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """The metrics, in order."""
        names = self.func if isinstance(self.func, list) else [self.func]

        def at(value: Any, index: int) -> Any:
            return value[index] if isinstance(value, list) else value

        return tuple(
            Part(name, at(self.result, i), at(self.expected, i), at(self.options, i) or {})
            for i, name in enumerate(names)
        )


class _File(_Open):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    instruction: Annotated[str, Field(min_length=1, max_length=50_000)]
    config: Annotated[
        tuple[RawStep, ...], BeforeValidator(lambda value: value or ()), Field(max_length=MAX_STEPS)
    ] = ()
    evaluator: Evaluator
    snapshot: str = ""
    proxy: Annotated[bool, BeforeValidator(lambda value: value or False)] = False
    related_apps: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda v: [t for t in v if isinstance(t, str)] if _is_list(v) else ()),
        Field(max_length=100),
    ] = ()


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def looks_like(tree: Mapping[str, Any]) -> bool:
    """Whether a mapping is a task file of a benchmark, not one of HiSA."""
    return "evaluator" in tree or "config" in tree


def from_json(path: Path, tree: Mapping[str, Any]) -> Task:
    """Returns the task of a benchmark's file.

    Raises:
        UsageError: the file is malformed; the message names the key.
    """
    try:
        file = _File.model_validate(tree)
    except ValidationError as error:
        raise UsageError(
            f"{path}: {explain(error, _File)}",
            fix="a benchmark's file has at least id, instruction and evaluator",
        ) from error
    instruction = file.instruction.strip()
    return Task(
        id=file.id,
        instruction=instruction,
        domain=_domain(path, file) or guess_domain(instruction),
        setup=(*_before(file), *(tree.get("config") or ())),
        check=dict(tree["evaluator"]),
        folder=str(_root(path.resolve())),
        apps=file.related_apps,
        format=_benchmark(path.resolve(), tree),
    )


def _before(file: _File) -> tuple[dict[str, Any], ...]:
    return ({"type": PROXY, "parameters": {}},) if file.proxy else ()


def evaluator_of(task: Task) -> Evaluator:
    """Returns the evaluator of a benchmark's task.

    Raises:
        UsageError: the task has no evaluator that can be read.
    """
    try:
        return Evaluator.model_validate(task.check)
    except ValidationError as error:
        raise UsageError(f"task {task.id!r}: evaluator: {explain(error, Evaluator)}") from error


def _benchmark(path: Path, tree: Mapping[str, Any]) -> str:
    """Spider2-V's files give a number of actions, or lie in a folder of the same name."""
    return SPIDER2V if "action_number" in tree or path.stem == path.parent.name else OSWORLD


def _domain(path: Path, file: _File) -> str:
    """Returns the domain by the folder ``examples/DOMAIN/``, else by the snapshot's name."""
    parts = path.resolve().parts
    name = file.snapshot
    if "examples" in parts:
        below = parts[len(parts) - 1 - parts[::-1].index("examples") + 1 : -1]
        name = below[0] if below else name
    if not re.fullmatch(r"[a-z0-9_]{1,50}", name):
        return ""
    return _DOMAINS.get(name, name)


def _root(path: Path) -> Path:
    """Returns the folder that file names such as ``evaluation_examples/…`` are relative to."""
    for folder in path.parents:
        if folder.name == "evaluation_examples":
            return folder.parent
    return path.parent
