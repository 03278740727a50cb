"""What the model of a build answers, parsed strictly, and what came of it."""

from __future__ import annotations

import json
import keyword
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from hisa.actions.effects import Effect
from hisa.errors import InvalidReply
from hisa.tools.offer import SUMMARY_CHARACTERS

__all__ = [
    "PROGRAM_CHARACTERS",
    "TYPES",
    "Built",
    "Cases",
    "FunctionDescription",
    "Parameter",
    "ProgramCase",
    "Requirements",
    "Try",
    "Written",
    "parsed",
    "same",
    "too_deep",
]

PROGRAM_CHARACTERS = 20_000
"""Of a program: ten times what a general function of these needs."""
_CASES = 6
_DEEPEST = 30
"""Levels of data that are taken; the deepest reply that fits has nine."""
_PARAMETERS = 8
"""Of a function: more do not fit on a tool's line in a prompt."""
TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "list of strings": list[str],
    "list of numbers": list[float],
    "table": list[list[str | float | bool | None]],
}
"""Types of arguments, by the words that a model has for them."""
_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
_Line = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Path = Annotated[
    str,
    Field(max_length=300, pattern=r"^(~/|/tmp/)[^\x00-\x1f]*[^\x00-\x1f/]$"),
]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _not_taken(name: str) -> str:
    if keyword.iskeyword(name) or name in ("context", "self"):
        raise ValueError(f"{name!r} cannot be a name")
    return name


class Parameter(_Reply):
    """An argument of a function."""

    name: _Name
    type: Literal[
        "string", "integer", "number", "boolean", "list of strings", "list of numbers", "table"
    ]
    description: _Line
    required: bool = True
    default: Any = None
    """Of one that is not required; null: none."""

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        return _not_taken(name)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.required or self.default is None:
            return self
        try:
            TypeAdapter(TYPES[self.type]).validate_python(self.default, strict=True)
        except ValidationError:
            raise ValueError(f"default {self.default!r} is no {self.type}") from None
        return self


class FunctionDescription(_Reply):
    """A function that is to be made; all that its wrapper is made of."""

    name: _Name
    summary: Annotated[str, Field(min_length=8, max_length=SUMMARY_CHARACTERS)]
    details: Annotated[str, Field(max_length=1000)] = ""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False, max_length=_PARAMETERS)] = ()
    returns: _Line
    reads: bool = False
    effects: Annotated[tuple[Effect, ...], Field(strict=False)] = ()

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        return _not_taken(name)

    @field_validator("summary")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if "\n" in text or "\r" in text:
            raise ValueError("one line")
        return text

    @model_validator(mode="after")
    def _apart(self) -> Self:
        names = [each.name for each in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError("two parameters have the same name")
        return self


class Covered(_Reply):
    """Something that the tasks need, and the tool that does it already."""

    functionality: _Line
    covered_by: Annotated[str, Field(max_length=64)] = ""
    """Name of a tool or of a function of the list; empty: nothing."""


class Requirements(_Reply):
    """The reply of the first stage."""

    needed: Annotated[tuple[Covered, ...], Field(strict=False, min_length=1, max_length=40)]
    functions: Annotated[tuple[FunctionDescription, ...], Field(strict=False, max_length=20)]


class ProgramCase(_Reply):
    """One call of a function, and what has to come of it."""

    why: _Line
    files: Annotated[dict[_Path, str], Field(max_length=5)] = Field(default_factory=dict)
    """Put on the machine before the call."""
    arguments: dict[str, Any]
    refused: bool = False
    """Whether the function has to refuse it."""
    value: Any = None
    """What it has to return; null: whatever ``check`` says."""
    check: Annotated[str, Field(max_length=4000)] = ""
    """Source of a function ``check(value)`` that runs inside the machine after the call, and
    returns an empty text, or what is wrong."""

    @field_validator("files")
    @classmethod
    def _small(cls, files: dict[str, str]) -> dict[str, str]:
        if any(".." in path.split("/") for path in files):
            raise ValueError("a path goes upwards")
        if sum(map(len, files.values())) > 100_000:
            raise ValueError("more than 100,000 characters of files")
        return files

    @model_validator(mode="after")
    def _tells(self) -> Self:
        if not self.refused and self.value is None and not self.check:
            raise ValueError("a case needs one of refused, value and check: else it shows nothing")
        return self


class Cases(_Reply):
    """The reply of the third stage."""

    cases: Annotated[tuple[ProgramCase, ...], Field(strict=False, min_length=2, max_length=_CASES)]


class Written(_Reply):
    """The reply of the second stage."""

    code: Annotated[str, Field(min_length=10, max_length=PROGRAM_CHARACTERS)]


Reply = TypeVar("Reply", Requirements, Cases, Written)


def parsed(kind: type[Reply], text: str) -> Reply:
    """Returns the reply that a text holds: one JSON object, with or without words around it.

    Raises:
        InvalidReply: there is none, or what does not fit, by name.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[start : end + 1], parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidReply(f"the reply holds no JSON object: {error}") from error
    if too_deep(value):
        raise InvalidReply(f"the reply is nested more than {_DEEPEST} deep")
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, item['loc'])) or 'the object'}: {item['msg']}"
            for item in error.errors()[:8]
        ]
        raise InvalidReply("the reply does not fit: " + "; ".join(found)) from error


def too_deep(value: Any) -> bool:
    """Whether data is nested so deep that going through it could fail."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return False
    return True


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


@dataclass(frozen=True)
class Try:
    """One program, and what its tests said."""

    code: str
    failures: tuple[str, ...]
    """Empty: all of them passed."""
    seconds: float


@dataclass
class Built:
    """A function as far as it came."""

    described: FunctionDescription
    cases: tuple[ProgramCase, ...] = ()
    tries: list[Try] = field(default_factory=list)
    given_up: str = ""
    """Why it was left before its tries were used up."""

    @property
    def passed(self) -> bool:
        """Whether its newest program passes all of its tests."""
        return bool(self.tries) and not self.tries[-1].failures

    @property
    def code(self) -> str:
        """Its newest program."""
        return self.tries[-1].code if self.tries else ""


def _close(found: float, wanted: float) -> bool:
    try:
        return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-9)
    except OverflowError:  # a whole number beyond every float
        return False


def same(found: Any, wanted: Any) -> bool:
    """Whether two JSON values are the same; numbers to a millionth, true is not 1."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int) and isinstance(wanted, int):
        return found == wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return _close(found, wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(same(a, b) for a, b in pairs)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in found)
    return type(found) is type(wanted) and bool(found == wanted)
