"""``hisa tools check``: descriptions validated, examples executed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import click

from hisa.actions.effects import EFFECTS
from hisa.cli.out import json_option, print_json, say, say_error
from hisa.environments.open_environment import open_environment
from hisa.errors import InvalidReply, ModelFacingError, UsageError
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.no_machine import NoMachine
from hisa.plugins.toolkits.tools_chosen import as_object, chosen_tools, initial_task, with_kind
from hisa.protocols import Environment
from hisa.tasks.scorer import TaskScorer
from hisa.text.prompt_text import excerpt
from hisa.tools.base import BaseTool
from hisa.tools.calling import Input, call_tool, grounded
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.protocols import Task

__all__ = ["ExampleRun", "ToolCheck", "check_tool", "check_tools", "run_examples"]

_TASK = "Bring each fresh desktop to the initial state of this task file."


@click.command("check")
@click.argument("which", metavar="[NAME]", default="")
@click.option("--task", "task_file", metavar="FILE", help=_TASK)
@click.option("--env", metavar="KIND", help="Where to run examples; it has to be thrown away.")
@click.option("--run/--no-run", "execute", default=True, help="Execute the examples, or not.")
@json_option
@click.pass_context
def check_tools(
    ctx: click.Context, /, which: str, task_file: str | None, env: str | None, **how: bool
) -> None:
    """Check tools: what models read of them, and the examples in it, by executing those.

    NAME is an installed tool, a toolkit or a pattern; without one, every tool that no part of HiSA
    itself brings is checked. Examples run on a fresh private desktop. Exit status 1: something is
    wrong.

    \b
    hisa tools check word_count --no-run
    hisa tools check "calc_*" --task sheet.yaml
    """
    tools, broken = chosen_tools(which)
    settings = with_kind(ctx.obj, env)
    task = initial_task(task_file) if task_file else None
    checks = asyncio.run(_checked(tools, settings, task, execute=how["execute"]))
    if how["as_json"]:
        print_json(
            {
                "tools": [{**asdict(check), "ok": check.ok} for check in checks],
                "broken": [asdict(each) for each in broken],
            }
        )
    else:
        for line in _lines(checks):
            say(line)
        for plugin in broken:
            say_error(f"{plugin.name} ({plugin.source}) failed to load:\n{plugin.traceback}")
    ctx.exit(1 if broken or not all(check.ok for check in checks) else 0)


async def _checked(
    tools: Sequence[BaseTool],
    settings: Settings,
    task: Task | None,
    *,
    execute: bool,
) -> list[ToolCheck]:
    checks = list(map(check_tool, tools))
    tried = [t for t, c in zip(tools, checks, strict=True) if _is_tried(t, c)]
    if not execute or not tried:
        return checks
    if not any(tool.uses_machine for tool in tried):
        return await run_examples(tools, checks, NoMachine())
    async with open_environment(settings.environment) as environment:
        if "throw_away" not in environment.capabilities:
            raise UsageError(
                f"environment {environment.name!r} keeps what an example does to it",
                fix="leave --env out, or give --no-run",
            )
        scorer = TaskScorer(settings=settings.tasks)
        prepare = partial(scorer.prepare, task, environment) if task else None
        return await run_examples(tools, checks, environment, prepare=prepare)


def _lines(checks: Sequence[ToolCheck]) -> Iterator[str]:
    if not checks:
        yield "no tool of another package is installed; name a tool or a toolkit"
        return
    for check in checks:
        cost = f"{check.tokens} tokens in a prompt, by estimate"
        yield f"{'ok' if check.ok else 'FAILED':<8}{check.name}  ({cost})"
        yield from (f"        wrong: {problem}" for problem in check.problems)
        for each in check.examples:
            yield f"        example {each.input}: {each.state}{f': {each.said}' * bool(each.said)}"
    failed = sum(not check.ok for check in checks)
    runs = [each.state for check in checks for each in check.examples]
    counted = ", ".join(f"{runs.count(s)} {s}" for s in ("ok", "failed", "not run") if s in runs)
    yield f"{len(checks)} tools, {failed} failed; examples: {counted or 'none'}"


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names that every server takes as that of a function."""
_SAID = 300
"""Characters of a result that are shown."""


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
    tokens: int
    """What it takes in a prompt, by estimate."""
    examples: tuple[ExampleRun, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and no example failed."""
        return not self.problems and all(each.state != "failed" for each in self.examples)


def check_tool(tool: BaseTool) -> ToolCheck:
    """Check a description, its examples included, without calling anything."""
    shown = tool.describe() if tool.always else offered_line(tool)
    return ToolCheck(
        tool.name,
        tool.kit,
        tool.source,
        tuple(_problems(tool)),
        estimate_tokens(shown),
        tuple(ExampleRun(line, "not run") for line in tool.examples),
    )


def _problems(tool: BaseTool) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield f"name {tool.name!r}: letters, digits, _ and - alone, at most 64, a letter first"
    yield from _wrong_words(tool)
    yield from _wrong_schema(tool)
    yield from _wrong_traits(tool)
    for line in tool.examples:
        try:
            tool.arguments(_input(tool, line))
        except InvalidReply as error:
            yield f"example {line}: {error}"


def _input(tool: BaseTool, line: str) -> Input:
    """Returns the input of an example: an object, or the line itself where one text is taken.

    Raises:
        InvalidReply: it is neither.
    """
    found = as_object(line)
    if found is not None:
        return found
    if tool.takes_text:
        return line
    raise InvalidReply(f"{line[:200]!r} is not a JSON object, and {tool.name} takes several values")


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


def _wrong_schema(tool: BaseTool) -> Iterator[str]:
    typed = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}
    for name, field in tool.parameters.get("properties", {}).items():
        if not typed & set(field):
            yield f"argument {name!r}: any value fits; give it a type"


def _wrong_traits(tool: BaseTool) -> Iterator[str]:
    for app in tool.traits.needs.apps:
        if app != app.lower() or not app.strip():
            yield f"needs the application {app!r}: classes of windows are compared in small letters"
    for effect in sorted(set(tool.traits.effects) - set(EFFECTS)):
        yield f"effect {effect!r}: there are {', '.join(EFFECTS)}"
    if tool.traits.reads and tool.traits.effects:
        yield f"it only reads, and may {', '.join(tool.traits.effects)}: one of both is wrong"


async def run_examples(
    tools: Sequence[BaseTool],
    checks: Sequence[ToolCheck],
    environment: Environment,
    *,
    prepare: Callable[[], Awaitable[object]] | None = None,
) -> list[ToolCheck]:
    """Execute the examples of tools whose descriptions are right; returns the checks with them.

    Each toolkit, and each tool without one, begins on a fresh machine. A tool that needs no
    machine runs without one.

    Args:
        tools: to be tried.
        checks: of each of them.
        environment: one that is thrown away.
        prepare: brings a fresh machine to the state that the examples begin with; None: as it is.

    Raises:
        EnvironmentFailed: the machine cannot be brought up.
    """
    done = []
    pairs = list(zip(tools, checks, strict=True))
    for _, group in groupby(pairs, key=lambda pair: pair[0].kit or pair[0].name):
        members = list(group)
        if any(_is_tried(tool, check) and tool.uses_machine for tool, check in members):
            await environment.reset()
            if prepare is not None:
                await prepare()
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
    value = _input(tool, line)
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
