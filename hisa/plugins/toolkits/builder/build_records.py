"""The replies of a build's model, parsed strictly, and the results of the build."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from hisa.actions.effects import Effect
from hisa.errors import InvalidReply
from hisa.planner.reply import find_object
from hisa.text.prompt_text import excerpt
from hisa.tools.offer import SUMMARY_CHARACTERS

__all__ = [
    "TYPES",
    "Build",
    "BuiltFunction",
    "Cases",
    "FunctionDescription",
    "Parameter",
    "ProgramCase",
]
__all__ += ["ProgramReply", "Requirements", "parse_reply"]

TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "list of strings": list[str],
    "list of numbers": list[float],
    "table": list[list[str | float | bool | None]],
}
"""Types of arguments, by the words that a model uses for them."""
Kind = Literal[
    "string", "integer", "number", "boolean", "list of strings", "list of numbers", "table"
]


def _require_free(name: str) -> str:
    if keyword.iskeyword(name) or name in ("context", "self"):
        raise ValueError(f"{name!r} cannot be a name")
    return name


_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$"), AfterValidator(_require_free)]
_Line = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Parameter(_Reply):
    """An argument of a function; an optional one that is not given is null."""

    name: _Name
    type: Kind
    description: _Line
    required: bool = True


class FunctionDescription(_Reply):
    """A function to be made; its wrapper is made from this alone."""

    name: _Name
    summary: Annotated[
        str, Field(min_length=8, max_length=SUMMARY_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]*$")
    ]
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False, max_length=8)] = ()
    returns: _Line
    effects: Annotated[tuple[Effect, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _require_distinct_names(self) -> Self:
        if len({parameter.name for parameter in self.parameters}) < len(self.parameters):
            raise ValueError("two parameters have the same name")
        return self


class Functionality(_Reply):
    """Something that the tasks need, and the tool or function that does it; empty: nothing."""

    functionality: _Line
    covered_by: Annotated[str, Field(max_length=64)] = ""


class Requirements(_Reply):
    """The reply of the first stage."""

    needed: Annotated[tuple[Functionality, ...], Field(strict=False, min_length=1, max_length=40)]
    functions: Annotated[tuple[FunctionDescription, ...], Field(strict=False, max_length=6)]


class ProgramCase(_Reply):
    """One call of a function, and its expected result: a refusal, a value, or a passed check.

    ``check`` is the source of a function ``check(value)`` that runs inside the machine after the
    call, and returns an empty text, or what is wrong.
    """

    why: _Line
    arguments: dict[str, Any]
    refused: bool = False
    value: Any = None
    check: Annotated[str, Field(max_length=4000)] = ""

    @model_validator(mode="after")
    def _require_expectation(self) -> Self:
        if not self.refused and self.value is None and not self.check:
            raise ValueError("a case needs one of refused, value and check, or it tests nothing")
        return self


class Cases(_Reply):
    """The reply of the second stage."""

    cases: Annotated[tuple[ProgramCase, ...], Field(strict=False, min_length=2, max_length=6)]


class ProgramReply(_Reply):
    """The reply of the third stage."""

    code: Annotated[str, Field(min_length=10, max_length=20_000)]


Reply = TypeVar("Reply", Requirements, Cases, ProgramReply)


def parse_reply(kind: type[Reply], text: str) -> Reply:
    """Returns the reply that a text holds: one JSON object, with or without words around it.

    Raises:
        InvalidReply: there is no object, or some of its fields do not fit; they are named.
    """
    try:
        value = find_object(text, *kind.model_fields)
        json.dumps(value)
        return kind.model_validate(value)
    except RecursionError as error:
        raise InvalidReply("the reply is nested too deep") from error
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, item['loc'])) or 'the object'}: {item['msg']}"
            for item in error.errors()[:8]
        )
        reason = excerpt("; ".join(problems), 800)
        raise InvalidReply(f"the reply does not fit: {reason}") from error


class BuiltFunction(BaseModel):
    """A function at its present stage; ``code`` is the newest program."""

    described: FunctionDescription
    cases: tuple[ProgramCase, ...] = ()
    code: str = ""
    failures: list[tuple[str, ...]] = Field(default_factory=list)
    """The failures of each program's tests; an empty entry: all tests passed."""
    given_up: str = ""

    @property
    def passed(self) -> bool:
        """Whether its newest program passes all of its tests."""
        return bool(self.failures) and not self.failures[-1]


class Build(BaseModel):
    """The whole result of a build, in order: the data of a review folder and of a package."""

    format: Literal[1] = 1
    app: Annotated[str, Field(pattern=r"^[a-z][a-z0-9._-]{0,59}$")]
    model: str
    needed: tuple[Functionality, ...] = ()
    functions: list[BuiltFunction] = Field(default_factory=list)
    stopped: str = ""

    @property
    def kit(self) -> str:
        """Returns what the names of its tools begin with."""
        return re.sub(r"[^a-z0-9]", "", self.app)[:20]

    @property
    def passed(self) -> list[BuiltFunction]:
        """The functions whose tests pass."""
        return [built for built in self.functions if built.passed]
