"""A plug-in can neither hold a run up nor flood it, whatever its function does."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence

import pytest

from hisa.errors import EnvironmentFailed
from hisa.protocols import CommandResult, GroundedCall, Outcome, ToolCall
from hisa.testing.form import FakeEnvironment
from hisa.tools.base import Tool, ToolContext
from hisa.tools.registry import ToolRegistry
from hisa.tools.traits import tool

LET_GO = threading.Event()


@tool(seconds=0.3)
def hangs(text: str) -> str:
    """Hang, as a call to a dead server does."""
    LET_GO.wait(60)
    return text


@tool(seconds=0.3)
async def blocks(text: str) -> str:
    """Block an event loop, as no coroutine should."""
    LET_GO.wait(60)
    return text


@tool(seconds=0.3)
async def comes_late(text: str, context: ToolContext) -> str:
    """Ask the machine once its time is up."""
    await asyncio.to_thread(LET_GO.wait, 60)
    await context.environment.execute("late")
    return text


def floods(text: str) -> str:
    """Return a hundred megabytes."""
    return text + "x" * 100_000_000 + "the end"


def prints(text: str) -> str:
    """Print beside the answer."""
    print("printed", text)
    print("complained", file=sys.stderr)
    return "answered"


def leaves(text: str) -> str:
    """End the process."""
    raise SystemExit(3)


async def run_command(command: str, context: ToolContext) -> Outcome:
    """Run a command."""
    result = await context.environment.execute(command)
    return Outcome(ok=result.exit_code == 0, output=result.output)


def resets(text: str) -> str:
    """Say what thread it is."""
    return threading.current_thread().name


async def breaks(text: str) -> str:
    """Say that the machine broke."""
    raise EnvironmentFailed("the machine is gone")


class RecordingEnvironment(FakeEnvironment):
    """The form, and the commands that reached it."""

    def __init__(self) -> None:
        super().__init__(commands={"true": CommandResult(0, "fine\n")})
        self.commands: list[str | Sequence[str]] = []

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        self.commands.append(command)
        return await super().execute(command, timeout=timeout, limit=limit)


async def run(function: object, text: str = "x") -> tuple[Outcome, RecordingEnvironment]:
    environment = RecordingEnvironment()
    tool = Tool(function)  # type: ignore[arg-type]
    registry = ToolRegistry([tool])
    call = GroundedCall(ToolCall("", tool.name, text), text)
    outcome = await registry.execute(call, await environment.observe(), environment)
    return outcome, environment


@pytest.fixture(autouse=True)
def _let_go() -> object:
    LET_GO.clear()
    yield
    LET_GO.set()


@pytest.mark.parametrize("function", [hangs, blocks])
async def test_tool_that_never_ends_times_out(function: object) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    other = asyncio.create_task(tick())
    outcome, _ = await run(function)
    other.cancel()
    assert "did not end within" in outcome.error
    assert "is not known" in outcome.error
    assert ticks > 5, "the loop of the run went on"


async def test_late_tool_has_no_effect() -> None:
    outcome, environment = await run(comes_late)
    assert not outcome.ok
    LET_GO.set()
    for thread in threading.enumerate():
        if thread.name == "tool comes_late":
            await asyncio.to_thread(thread.join, 10)
    assert environment.commands == []


async def test_a_flood_is_cut_at_both_ends() -> None:
    outcome, _ = await run(floods, "the start")
    assert outcome.ok
    assert len(outcome.output) < 8_500
    assert outcome.output.startswith("the start")
    assert outcome.output.endswith("the end")
    assert "100,000,016 characters in all" in outcome.output


async def test_prints_belong_to_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _ = await run(prints)
    assert outcome.output == "answered\nprinted x\ncomplained"
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


async def test_the_end_of_the_process_is_a_failure_of_the_tool() -> None:
    outcome, _ = await run(leaves)
    assert outcome.error == "SystemExit: 3"


async def test_the_machine_is_reached_from_the_thread() -> None:
    outcome, _ = await run(run_command, "true")
    assert (outcome.ok, outcome.output) == (True, "fine\n")


async def test_tool_runs_in_its_own_thread() -> None:
    outcome, _ = await run(resets)
    assert outcome.output == "tool resets"


async def test_a_broken_machine_ends_the_run_from_a_thread_too() -> None:
    with pytest.raises(EnvironmentFailed, match="the machine is gone"):
        await run(breaks)
