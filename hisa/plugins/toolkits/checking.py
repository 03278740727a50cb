"""Checks tools as whoever writes one wants to know it: the description, and the examples in it.

Examples are whole inputs; each has to fit the schema, and is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

from hisa.actions.effects import EFFECTS
from hisa.errors import InvalidReply, ModelFacingError
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.no_machine import NoMachine
from hisa.plugins.toolkits.tool_inputs import input_of_example
from hisa.protocols import Environment
from hisa.text.prompt_text import excerpt
from hisa.tools.base import BaseTool
from hisa.tools.calling import call_tool, grounded
from hisa.tools.offer import SIGNATURE_CHARACTERS, SUMMARY_CHARACTERS, offered_line

__all__ = ["ExampleRun", "ToolCheck", "check_tool", "run_examples"]

CAPABILITIES = frozenset(("elements", "execute", "person", "throw_away", "unchanged"))
"""All that a tool can need of a machine; see `hisa.protocols.Environment`."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names that every server takes as that of a function."""
_BACKWARD = re.compile(r"(A|An|The|This|What|How|Why|Where|Which|Is|Are|Was|Were|Has|Have)\b")
_WHOLE = 700
"""Tokens of a whole description, by estimate, above which `tool_help` is no help any more; chosen
by hand: twice the longest of the built-ins."""
_SAID = 300
"""Characters of a result that are shown."""

Prepare = Callable[[Environment], Awaitable[object]]


@dataclass(frozen=True)
class ExampleRun:
    """What came of an example."""

    input: str
    state: Literal["ok", "failed", "not run"]
    said: str = ""


@dataclass(frozen=True)
class ToolCheck:
    """What is to be said of one tool."""

    name: str
    kit: str
    source: str
    problems: tuple[str, ...]
    """What is wrong; empty where nothing is."""
    notes: tuple[str, ...]
    """What could be better, and is not wrong."""
    line_tokens: int
    """Its line in a prompt, by estimate."""
    whole_tokens: int
    """All of it, as `tool_help` tells it."""
    examples: tuple[ExampleRun, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and no example failed."""
        return not self.problems and all(each.state != "failed" for each in self.examples)


def check_tool(tool: BaseTool, taken: Iterable[str] = ()) -> ToolCheck:
    """Check a description, its examples included, without calling anything.

    Args:
        tool: any.
        taken: names of other packages' tools.
    """
    whole = estimate_tokens(tool.describe())
    return ToolCheck(
        tool.name,
        tool.kit,
        tool.source,
        tuple(_problems(tool, frozenset(taken))),
        tuple(_notes(tool, whole)),
        whole if tool.always else estimate_tokens(offered_line(tool)),
        whole,
        tuple(ExampleRun(line, "not run") for line in tool.examples),
    )


def _problems(tool: BaseTool, taken: frozenset[str]) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield f"name {tool.name!r}: letters, digits, _ and - alone, at most 64, a letter first"
    if tool.name in taken:
        yield f"name {tool.name!r}: another package's tool has it, and this one is never seen"
    yield from _wrong_words(tool)
    yield from _wrong_schema(tool)
    yield from _wrong_traits(tool)
    for line in tool.examples:
        try:
            tool.arguments(input_of_example(tool, line))
        except InvalidReply as error:
            yield f"example {line}: {error}"


def _wrong_words(tool: BaseTool) -> Iterator[str]:
    first = tool.summary.strip().rstrip(".")
    if not first:
        yield "no first line: it is what a model sees first"
        return
    if len(first) > SUMMARY_CHARACTERS and not tool.always:
        yield (
            f"first line has {len(first)} characters: prompts show {SUMMARY_CHARACTERS}, so say "
            "what the tool does in one clause and the rest below"
        )
    if _BACKWARD.match(first):
        yield f"first line begins with {first.split()[0]!r}: begin with a verb, as in 'Count the …'"


def _wrong_schema(tool: BaseTool) -> Iterator[str]:
    try:
        json.dumps(dict(tool.parameters))
    except (TypeError, ValueError) as error:
        yield f"schema of the input is no JSON: {error}"
        return
    for name, field in tool.parameters.get("properties", {}).items():
        if not _is_typed(field):
            yield f"argument {name!r}: any value fits; give it a type"


def _is_typed(field: Mapping[str, Any]) -> bool:
    return bool({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} & set(field))


def _wrong_traits(tool: BaseTool) -> Iterator[str]:
    needs = tool.traits.needs
    for each in sorted(needs.capabilities - CAPABILITIES):
        yield f"needs {each!r}, which no machine has: there are {', '.join(sorted(CAPABILITIES))}"
    for app in needs.apps:
        if app != app.lower() or not app.strip():
            yield f"needs the application {app!r}: classes of windows are compared in small letters"
    for effect in sorted(set(tool.traits.effects) - set(EFFECTS)):
        yield f"effect {effect!r}: there are {', '.join(EFFECTS)}"
    if tool.traits.reads and tool.traits.effects:
        yield f"it only reads, and may {', '.join(tool.traits.effects)}: one of both is wrong"
    if tool.traits.seconds <= 0:
        yield f"time limit of {tool.traits.seconds:g} s"


def _notes(tool: BaseTool, whole: int) -> Iterator[str]:
    if not tool.examples and tool.parameters.get("properties") and not tool.always:
        yield 'no example: add "Examples:" to the docstring, a whole input on each line'
    signature = tool.signature()
    if len(signature) > SIGNATURE_CHARACTERS and not tool.always:
        yield (
            f"signature has {len(signature)} characters: above {SIGNATURE_CHARACTERS} a prompt "
            "shows the name alone, and a model has to ask for the arguments"
        )
    if whole > _WHOLE:
        yield f"the whole description takes {whole} tokens: a shorter one is read more surely"


async def run_examples(
    tools: Sequence[BaseTool],
    checks: Sequence[ToolCheck],
    environment: Environment,
    *,
    prepare: Prepare,
) -> list[ToolCheck]:
    """Execute the examples of tools whose descriptions are right; returns the checks with them.

    Each toolkit, and each tool without one, begins on a fresh machine. A tool that needs no
    machine runs without one.

    Args:
        tools: to be tried.
        checks: of each of them.
        environment: one that is thrown away.
        prepare: brings a fresh machine to the state that the examples begin with.

    Raises:
        EnvironmentFailed: the machine cannot be brought up.
    """
    done = []
    pairs = list(zip(tools, checks, strict=True))
    for _, group in groupby(pairs, key=lambda pair: pair[0].kit or pair[0].name):
        members = list(group)
        if any(_is_tried(tool, check) and tool.uses_machine for tool, check in members):
            await environment.reset()
            await prepare(environment)
        for tool, check in members:
            tried = _is_tried(tool, check)
            done.append(await _with_runs(tool, check, environment) if tried else check)
    return done


def _is_tried(tool: BaseTool, check: ToolCheck) -> bool:
    return bool(check.examples) and not check.problems


async def _with_runs(tool: BaseTool, check: ToolCheck, environment: Environment) -> ToolCheck:
    machine = environment if tool.uses_machine else NoMachine()
    runs = [await _run(tool, each.input, machine) for each in check.examples]
    return replace(check, examples=tuple(runs))


async def _run(tool: BaseTool, line: str, environment: Environment) -> ExampleRun:
    if why := await _not_runnable(tool, environment):
        return ExampleRun(line, "not run", why)
    value = input_of_example(tool, line)
    if tool.always:
        try:
            grounded(tool, value)
        except InvalidReply as error:
            return ExampleRun(line, "not run", str(error))
    try:
        outcome = await call_tool(tool, value, environment)
    except ModelFacingError as error:
        return ExampleRun(line, "failed", str(error))
    said = outcome.output if outcome.ok else outcome.error or outcome.output
    return ExampleRun(line, "ok" if outcome.ok else "failed", excerpt(said, _SAID))


async def _not_runnable(tool: BaseTool, environment: Environment) -> str:
    """Returns what the machine lacks for the tool; empty where nothing is missing."""
    if lacking := tool.traits.needs.lacking(environment.capabilities):
        return lacking
    if not tool.traits.needs.apps:
        return ""
    look = await environment.observe()
    if tool.traits.needs.is_open(look):
        return ""
    return f"needs {tool.title or tool.traits.needs.apps[0]} open: give --task FILE that opens it"
