"""The three requests of a build (ComputerRL, appendix A), and the correction of bad replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from hisa.actions.effects import EFFECTS
from hisa.errors import InvalidReply
from hisa.models.correction import with_correction
from hisa.plugins.toolkits.builder.build_records import (
    TYPES,
    Cases,
    FunctionDescription,
    Requirements,
    Written,
    parsed,
)
from hisa.protocols import Message, Model, ModelRequest, TextPart
from hisa.text.prompt_text import ends, guard_tags, sections, untrusted
from hisa.text.prompts import render
from hisa.tools.base import BaseTool
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line

__all__ = ["BuildRequest", "StageRequests"]

_CORRECTIONS = 2
"""Times that a reply which cannot be read is asked for again; as of the planner."""
_EXAMPLES = 12_000
"""Characters of example tasks that are shown."""
_TOOLS = 60
"""Existing tools that are shown, a line each."""
_RESULTS = 6_000
"""Characters of the failures that are shown."""
Reply = TypeVar("Reply", Requirements, Cases, Written)


@dataclass(frozen=True)
class BuildRequest:
    """What a toolkit is asked for."""

    app: str
    """Class of the application's windows, in small letters."""
    about: str
    """How programs inside the machine reach the application, in the user's words."""
    examples: tuple[str, ...]
    """Instructions of tasks."""
    existing: tuple[BaseTool, ...] = ()


class StageRequests:
    """Asks a model for each stage.

    Each method raises InvalidReply where no reply is usable, and what the model raises.
    """

    def __init__(self, model: Model, request: BuildRequest) -> None:
        self._model = model
        self._request = request

    async def requirements(self) -> Requirements:
        """Returns what the tasks need, and which functions are to be made."""
        system = render(
            "tool_requirements",
            most=6,
            summary=SUMMARY_CHARACTERS,
            types=", ".join(f'"{name}"' for name in TYPES),
            effects=", ".join(f'"{name}"' for name in EFFECTS),
        )
        request = self._request
        lines = [
            json.dumps({"instruction": example}, ensure_ascii=False) for example in request.examples
        ]
        tools = [offered_line(tool) for tool in request.existing[:_TOOLS]]
        given = {
            "requirements": ends("\n".join(lines), _EXAMPLES),
            "tools": "\n".join(tools) or "(none)",
        }
        return await self._ask(system, given, Requirements, self._require_new)

    def _require_new(self, plan: Requirements) -> None:
        names = [function.name for function in plan.functions]
        tools = {tool.name for tool in self._request.existing}
        taken = tools | {name.partition("_")[2] for name in tools}
        if len(set(names)) < len(names):
            raise InvalidReply("two functions have the same name")
        if again := sorted(set(names) & taken):
            raise InvalidReply(f"there are tools of that name already: {', '.join(again)}")
        if unknown := sorted({need.covered_by for need in plan.needed} - {"", *names, *tools}):
            raise InvalidReply(f"covered_by names what is not there: {', '.join(unknown)}")

    async def cases(
        self, described: FunctionDescription, *, check: Callable[[Cases], None], problem: str = ""
    ) -> Cases:
        """Returns tests of a function, from its description alone.

        Args:
            described: the function.
            check: raises InvalidReply where a case's arguments do not fit the description.
            problem: what was wrong with the tests before.
        """
        system = render("tool_tests", shown=bool(problem), least=2, most=6)
        given = {"requirements": _json(described)}
        if problem:
            given[untrusted("results")] = ends(problem, _RESULTS)
        return await self._ask(system, given, Cases, check)

    async def program(
        self, described: FunctionDescription, code: str, failures: tuple[str, ...]
    ) -> str:
        """Returns a program for a function; of a program before, its tests' failures are shown."""
        system = render("tool_program", tried=bool(failures), seconds=30, characters=20_000)
        given = {"requirements": _json(described)}
        if failures:
            given["last_output"] = code
            given[untrusted("results")] = ends("\n\n".join(failures), _RESULTS)
        return (await self._ask(system, given, Written, lambda _: None)).code

    async def _ask(
        self,
        system: str,
        given: Mapping[str, str],
        kind: type[Reply],
        check: Callable[[Reply], None],
    ) -> Reply:
        about = self._request.about.strip() or "Nothing is said about how programs reach it."
        task = f"An application whose windows are of the class {self._request.app}.\n{about}"
        texts = {"task": task, **given}
        user = sections({tag: guard_tags(text) for tag, text in texts.items()})
        messages = (Message("system", (TextPart(system),)), Message("user", (TextPart(user),)))
        schema = kind.model_json_schema()
        first = request = ModelRequest("planner", messages, schema=schema, max_tokens=8192)
        for left in range(_CORRECTIONS, -1, -1):
            reply = await self._model.complete(request)
            try:
                value = parsed(kind, reply.text)
                check(value)
                return value
            except InvalidReply as error:
                if not left:
                    raise
                correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
                request = with_correction(first, reply, correction)
        raise AssertionError("the last try returns or raises")


def _json(described: FunctionDescription) -> str:
    return json.dumps(described.model_dump(mode="json"), ensure_ascii=False, indent=1)
