"""The three requests of a build (ComputerRL, appendix A), and the correction of bad replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hisa.actions.effects import EFFECTS
from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.plugins.toolkits.builder.build_records import (
    PROGRAM_CHARACTERS,
    TYPES,
    Cases,
    FunctionDescription,
    Requirements,
    Try,
    Written,
    parsed,
)
from hisa.protocols import Message, Model, ModelRequest, TextPart
from hisa.text.prompt_text import ends, guard_tags, sections, untrusted
from hisa.text.prompts import render
from hisa.tools.base import BaseTool
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line

__all__ = ["BuildRequest", "StageRequests"]

CORRECTIONS = 2
"""Times that a reply which cannot be read is asked for again; as of the planner."""
_EXAMPLES = 12_000
"""Characters of example tasks that are shown."""
_TOOLS = 60
"""Existing tools that are shown, a line each."""
_RESULTS = 6_000
"""Characters of the failures that are shown."""
_MOST_CASES, _LEAST_CASES = 6, 2
T = TypeVar("T")


@dataclass(frozen=True)
class BuildRequest:
    """What a toolkit is asked for."""

    app: str
    """Class of the application's windows, in small letters."""
    kit: str
    title: str
    about: str
    """How programs inside the machine reach the application, in the user's words."""
    examples: tuple[Mapping[str, Any], ...]
    existing: tuple[BaseTool, ...] = ()
    functions: int = 6
    """Most functions that are made."""
    tries: int = 3
    """Most programs for one of them."""


class StageRequests:
    """Asks a model for each stage.

    Args:
        model: any.
        request: what is built.
    """

    def __init__(self, model: Model, request: BuildRequest) -> None:
        self._model = model
        self._request = request

    async def requirements(self) -> Requirements:
        """Stage 1: what the tasks need, and which functions are to be made.

        Raises:
            InvalidReply: no usable reply.
            BudgetExceeded, ModelUnavailable: from the model.
        """
        request = self._request
        told = render(
            "tool_requirements",
            most=request.functions,
            summary=SUMMARY_CHARACTERS,
            types=", ".join(f'"{name}"' for name in TYPES),
            effects=", ".join(f'"{name}"' for name in EFFECTS),
        )
        lines = [json.dumps(dict(each), ensure_ascii=False) for each in request.examples]
        tools = [offered_line(tool) for tool in request.existing[:_TOOLS]]
        given = {
            "requirements": ends("\n".join(lines), _EXAMPLES),
            "tools": "\n".join(tools) or "(none)",
        }
        return await self._ask(told, given, _REQUIREMENTS, self._read_requirements)

    def _read_requirements(self, text: str) -> Requirements:
        found = parsed(Requirements, text)
        names = [each.name for each in found.functions]
        taken = {tool.name.removeprefix(f"{self._request.kit}_") for tool in self._request.existing}
        taken |= {tool.name for tool in self._request.existing}
        if len(names) > self._request.functions:
            raise InvalidReply(f"{len(names)} functions; at most {self._request.functions}")
        if len(set(names)) < len(names):
            raise InvalidReply("two functions have the same name")
        if again := sorted(set(names) & taken):
            raise InvalidReply(f"there are tools of that name already: {', '.join(again)}")
        known = {"", *names, *(tool.name for tool in self._request.existing)}
        if unknown := sorted({each.covered_by for each in found.needed} - known):
            raise InvalidReply(f"covered_by names what is not there: {', '.join(unknown)}")
        return found

    async def cases(
        self, described: FunctionDescription, *, fits: Callable[[Cases], None], why: str = ""
    ) -> Cases:
        """Stage 3: tests of a function, from its description.

        Args:
            described: the function.
            fits: raises InvalidReply where a case's arguments do not fit the description.
            why: what was wrong with the tests before.
        """
        told = render("tool_tests", shown=bool(why), least=_LEAST_CASES, most=_MOST_CASES)

        def read(text: str) -> Cases:
            found = parsed(Cases, text)
            fits(found)
            return found

        given = {"requirements": _described(described)}
        if why:
            given[untrusted("results")] = ends(why, _RESULTS)
        return await self._ask(told, given, _CASES, read)

    async def program(self, described: FunctionDescription, last: Try | None) -> str:
        """Stage 2: a program for a function; with what the tests said of the one before."""
        told = render(
            "tool_program", tried=last is not None, seconds=30, characters=PROGRAM_CHARACTERS
        )
        given = {"requirements": _described(described)}
        if last is not None:
            given["last_output"] = last.code
            given[untrusted("results")] = ends("\n\n".join(last.failures), _RESULTS)
        written = await self._ask(told, given, _PROGRAM, lambda text: parsed(Written, text))
        return written.code

    async def _ask(
        self,
        told: str,
        given: Mapping[str, str],
        schema: Mapping[str, Any],
        read: Callable[[str], T],
    ) -> T:
        texts = {"task": self._task(), **given}
        user = sections({tag: guard_tags(text) for tag, text in texts.items()})
        messages = (Message("system", (TextPart(told),)), Message("user", (TextPart(user),)))
        first = request = ModelRequest("planner", messages, schema=schema, max_tokens=8192)
        for left in range(CORRECTIONS, -1, -1):
            reply = await self._model.complete(request)
            try:
                return read(reply.text)
            except InvalidReply as error:
                if not left:
                    raise
                correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
                request = with_correction(first, reply, correction)
        raise AssertionError("the last try returns or raises")

    def _task(self) -> str:
        request = self._request
        about = request.about.strip() or "Nothing is said about how programs reach it."
        return (
            f"Application: {request.title}, whose windows are of the class {request.app}.\n{about}"
        )


def _described(described: FunctionDescription) -> str:
    return json.dumps(described.model_dump(mode="json"), ensure_ascii=False, indent=1)


def _object(required: Sequence[str], /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


_TEXT = {"type": "string"}
_YES = {"type": "boolean"}
_PARAMETER = _object(
    ("name", "type", "description"),
    name=_TEXT,
    type={"type": "string", "enum": list(TYPES)},
    description=_TEXT,
    required=_YES,
    default={},
)
_FUNCTION = _object(
    ("name", "summary", "parameters", "returns"),
    name=_TEXT,
    summary=_TEXT,
    details=_TEXT,
    parameters=_list(_PARAMETER),
    returns=_TEXT,
    reads=_YES,
    effects=_list({"type": "string", "enum": list(EFFECTS)}),
)
_REQUIREMENTS = _object(
    ("needed", "functions"),
    needed=_list(_object(("functionality", "covered_by"), functionality=_TEXT, covered_by=_TEXT)),
    functions=_list(_FUNCTION),
)
_CASE = _object(
    ("why", "arguments"),
    why=_TEXT,
    files={"type": "object"},
    arguments={"type": "object"},
    refused=_YES,
    value={},
    check=_TEXT,
)
_CASES = _object(("cases",), cases=_list(_CASE))
_PROGRAM = _object(("code",), code=_TEXT)
