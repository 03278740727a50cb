"""Steps that harm where they are done to something else, and targets that little tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hisa.actions import Action, to_source
from hisa.plugins.replay.program_records import ProgramStep
from hisa.protocols import GroundedCall, ToolCall
from hisa.screen.observation import Observation
from hisa.tools.policy.command_parts import parts_of_line
from hisa.tools.policy.screen_part import apps_of, screen_parts

__all__ = ["act_risk", "ill_told", "tool_risk"]


def act_risk(actions: Sequence[Action], look: Observation) -> str:
    """The effects that the policy tells of an act on a look: "delete", "pay, send"; empty: none."""
    source = to_source(actions)
    call = GroundedCall(ToolCall("", "gui_action", source), source, tuple(actions))
    parts = screen_parts(call, look, apps_of(call, look), home="")
    return ", ".join(sorted({effect for part in parts for effect in part.effects}))


def tool_risk(tool: str, given: object) -> str:
    """The same of a tool's call, whose reach nobody sees."""
    if tool != "bash_execution":
        return f"calls {tool}"
    line = str(given.get("command", "") if isinstance(given, dict) else given)
    effects = sorted({effect for part in parts_of_line(line) for effect in part.effects})
    return ", ".join(["runs a command", *effects])


def ill_told(steps: Sequence[ProgramStep]) -> Iterator[str]:
    """A line for each target of which no element was known, or nothing but its role and order."""
    for number, step in enumerate(steps, 1):
        for target in step.targets:
            if target.role == "picture":
                by = "a picture alone" if target.picture else "nothing"
                yield f"step {number}: no element lay where it acts: its target is known by {by}"
            elif not (target.name or target.label or target.beside or target.picture):
                yield f"step {number}: nothing but its order tells its target, {target.role}"
