"""The five built-in tools (HiSA, section 3.1), found the same way as plug-ins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from hisa.actions import Action, points, to_space
from hisa.actions.unchanged_look import require_unchanged
from hisa.actions.values import MAX_SECONDS
from hisa.protocols import ActsWhereUnchanged, Environment, Outcome, ScreenPrecondition
from hisa.text.prompt_text import ends
from hisa.tools.base import ToolContext
from hisa.tools.traits import Needs, tool

__all__ = ["bash_execution", "gui_action", "infeasible", "termination", "wait"]

COMMAND_SECONDS = 120.0
"""Time limit of one command."""
COMMAND_READ = 1_000_000
"""Most bytes of output to read; large, because errors come last."""
COMMAND_OUTPUT = 8_000
"""Most characters of output to keep, from its beginning and its end."""


async def gui_action(code: str, context: ToolContext) -> Outcome:
    """Act on the screen with PyAutoGUI source.

    Calls with literals, semicolons between: click, doubleClick, tripleClick, rightClick,
    middleClick, moveTo, dragTo, scroll (wheel clicks), hscroll, write, press, hotkey, keyDown,
    keyUp, mouseDown, mouseUp, sleep. X_COORD, Y_COORD: a place to find (with _2:
    a drag's end).

    Examples:
        pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')
    """
    call, observation = context.call, context.observation
    actions = (*call.actions, *call.next_moves)
    screen_actions = to_space(actions, "screen", screen=observation.screen, image=observation.image)
    await _act(screen_actions, call.precondition, context.environment)
    return Outcome(ok=True, points=tuple(points(call.actions)))


async def _act(
    actions: Sequence[Action], held: ScreenPrecondition | None, environment: Environment
) -> None:
    if held is None:
        await environment.act(actions)
    elif isinstance(environment, ActsWhereUnchanged):
        await environment.act_where_unchanged(actions, held)
    else:
        require_unchanged(held, await environment.observe())
        await environment.act(actions)


@tool(needs=Needs(frozenset({"execute"})))
async def bash_execution(command: str, context: ToolContext) -> Outcome:
    """Run a bash command in the home folder, 120 seconds at most.

    Start windows in the background: setsid -f mousepad
    """
    result = await context.environment.execute(command, timeout=COMMAND_SECONDS, limit=COMMAND_READ)
    error = (
        f"timed out after {COMMAND_SECONDS:g} s"
        if result.timed_out
        else _shorten_output(result.error)
    )
    return Outcome(
        ok=result.exit_code == 0 and not result.timed_out,
        output=_shorten_output(result.output),
        error=error,
        exit_code=result.exit_code,
    )


def _shorten_output(output: str) -> str:
    """Returns both ends of a command's output, with a note if not all of it was read."""
    more = len(output.encode("utf-8", "replace")) >= COMMAND_READ
    unread = f"\n… only the first {COMMAND_READ:,} bytes were read; there may be more …\n"
    return ends(output, COMMAND_OUTPUT) + unread * more


async def wait(
    seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)],
) -> Outcome:
    """Wait, 60 seconds at most."""
    await asyncio.sleep(seconds)
    return Outcome(ok=True)


async def termination(summary: str) -> Outcome:
    """End the run as done; say what was done."""
    return Outcome(ok=True, output=summary, ends="succeeded")


async def infeasible(reason: Annotated[str, Field(min_length=3)]) -> Outcome:
    """End the run as impossible; say why, and what was tried."""
    return Outcome(ok=True, output=reason, ends="infeasible")
