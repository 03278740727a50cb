"""``hisa tools check``: validates what models read about tools, and runs their examples."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import click

from hisa.actions.effects import EFFECTS
from hisa.cli.out import json_option, print_json, say, say_error
from hisa.environments.open_environment import open_environment
from hisa.errors import InvalidReply, ModelFacingError
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.no_machine import NoMachine
from hisa.plugins.toolkits.tool_selection import parse_object, select_tools
from hisa.protocols import Environment
from hisa.text.prompt_text import excerpt
from hisa.tools.base import BaseTool
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line
from hisa.tools.tool_call import Input, build_grounded_call, call_tool

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["ToolCheck", "check_tool", "check_tools", "run_examples"]

_RESULT = 300
"""Most characters of a result that are shown."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Names that every server accepts for a function."""


@dataclass(frozen=True)
class ToolCheck:
    """The result of checking one tool."""

    name: str
    source: str
    problems: tuple[str, ...]
    """What is wrong; empty if nothing is."""
    tokens: int
    """Its estimated length in a prompt."""
    results: tuple[str, ...] = ()
    """The result of each example; empty if none was run."""
    failed: bool = False
    """Whether an example failed."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and no example failed."""
        return not (self.problems or self.failed)


@click.command("check")
@click.argument("which", metavar="[NAME]", default="")
@click.option("--no-run", is_flag=True, help="Check the examples, but do not run them.")
@json_option
@click.pass_context
def check_tools(ctx: click.Context, /, which: str, no_run: bool, as_json: bool) -> None:
    """Check what models read about tools, and run their examples.

    NAME is an installed tool, a toolkit or a pattern; without it, every tool that is not HiSA's
    own is checked. Examples that need a machine run on one private desktop. Exit status 1:
    something is wrong.

    \b
    hisa tools check word_count
    hisa tools check "calc_*" --no-run
    """
    tools, broken = select_tools(which)
    checks = list(map(check_tool, tools))
    if not no_run:
        checks = asyncio.run(_run_all(tools, checks, ctx.obj))
    if as_json:
        print_json({"tools": list(map(asdict, checks)), "broken": list(map(asdict, broken))})
    else:
        for check in checks:
            state = "ok" if check.ok else "FAILED"
            say(f"{state:<8}{check.name}  ({check.tokens} tokens in a prompt, by estimate)")
            for problem in check.problems:
                say(f"        wrong: {problem}")
            for result in check.results:
                say(f"        example {result}")
        if not checks:
            say("no tool of another package is installed; name a tool or a toolkit")
        for plugin in broken:
            say_error(f"{plugin.name} ({plugin.source}) failed to load:\n{plugin.traceback}")
    ctx.exit(1 if broken or not all(check.ok for check in checks) else 0)


async def _run_all(
    tools: Sequence[BaseTool], checks: Sequence[ToolCheck], settings: Settings
) -> list[ToolCheck]:
    pairs = list(zip(tools, checks, strict=True))
    runnable = [tool for tool, check in pairs if tool.examples and not check.problems]
    if not any(tool.uses_machine or tool.traits.needs.apps for tool in runnable):
        return [await run_examples(tool, check, NoMachine()) for tool, check in pairs]
    environment = settings.environment.model_copy(update={"kind": "desktop"})
    async with open_environment(environment, settings.run.image_limit) as machine:
        return [await run_examples(tool, check, machine) for tool, check in pairs]


async def run_examples(tool: BaseTool, check: ToolCheck, machine: Environment) -> ToolCheck:
    """Run the examples of a tool whose description is right; return the check with the results.

    Args:
        tool: the tool to try.
        check: the check of its description; returned as it is if it has problems.
        machine: a machine that is thrown away; a tool that needs none runs without it.

    Raises:
        EnvironmentFailed: the machine cannot be observed.
    """
    if check.problems:
        return check
    results, failed = [], False
    for line in tool.examples:
        missing = await _find_missing_need(tool, line, machine)
        state, output = "not run", missing
        if not missing:
            try:
                place = machine if tool.uses_machine else NoMachine()
                outcome = await call_tool(tool, _input_of(line), place)
                state = "ok" if outcome.ok else "failed"
                output = outcome.output if outcome.ok else outcome.error or outcome.output
            except ModelFacingError as error:
                state, output = "failed", str(error)
        failed = failed or state == "failed"
        results.append(f"{line}: {state}: {excerpt(output, _RESULT)}")
    return replace(check, results=tuple(results), failed=failed)


async def _find_missing_need(tool: BaseTool, line: str, machine: Environment) -> str:
    """Return what an example needs and lacks; empty if nothing is missing."""
    needs = tool.traits.needs
    if tool.always:
        try:
            build_grounded_call(tool, _input_of(line))
        except InvalidReply as error:
            return str(error)
    if lacking := needs.describe_missing(machine.capabilities):
        return lacking
    if needs.apps and not needs.is_open(await machine.observe()):
        return f"needs {tool.title or needs.apps[0]} open; hisa tools run takes --task FILE"
    return ""


def _input_of(line: str) -> Input:
    fields = parse_object(line)
    return line if fields is None else fields


def check_tool(tool: BaseTool) -> ToolCheck:
    """Check a description, its examples included, without calling anything."""
    shown = tool.describe() if tool.always else offered_line(tool)
    return ToolCheck(tool.name, tool.source, tuple(_list_problems(tool)), estimate_tokens(shown))


def _list_problems(tool: BaseTool) -> Iterator[str]:
    if not _NAME.fullmatch(tool.name):
        yield f"name {tool.name!r}: expected letters, digits, _ and -, at most 64, a letter first"
    first = tool.summary.strip().rstrip(".")
    if not first:
        yield "no first line: it is what a model sees first"
    elif len(first) > SUMMARY_CHARACTERS and not tool.always:
        yield (
            f"first line has {len(first)} characters: prompts show {SUMMARY_CHARACTERS}, so say "
            "what the tool does in one clause and the rest below"
        )
    typed = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}
    for name, field in tool.parameters.get("properties", {}).items():
        if not typed & set(field):
            yield f"argument {name!r}: any value fits; give it a type"
    yield from _check_traits(tool)
    yield from _check_examples(tool)


def _check_traits(tool: BaseTool) -> Iterator[str]:
    for app in tool.traits.needs.apps:
        if app != app.lower() or not app.strip():
            yield f"needs the application {app!r}: window classes are compared in lower case"
    for effect in sorted(set(tool.traits.effects) - set(EFFECTS)):
        yield f"effect {effect!r}: expected one of {', '.join(EFFECTS)}"
    if tool.traits.reads and tool.traits.effects:
        yield f"it only reads, but may {', '.join(tool.traits.effects)}: one of the two is wrong"


def _check_examples(tool: BaseTool) -> Iterator[str]:
    for line in tool.examples:
        if parse_object(line) is None and not tool.takes_text:
            yield f"example {line[:200]}: not a JSON object, and {tool.name} takes several values"
            continue
        try:
            tool.arguments(_input_of(line))
        except InvalidReply as error:
            yield f"example {line}: {error}"
