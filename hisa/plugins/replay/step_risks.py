"""Steps that harm where they are done to something else, and targets that little tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hisa.actions import Action
from hisa.plugins.guard.policy.command_facts import parts_of_line
from hisa.plugins.guard.policy.screen_part import apps_of, screen_parts
from hisa.plugins.replay.program_records import ProgramStep
from hisa.protocols import GroundedCall, ToolCall
from hisa.screen.observation import Observation

__all__ = ["act_risk", "remarks", "tool_risk"]


def act_risk(actions: Sequence[Action], look: Observation) -> str:
    """The effects that the policy tells of an act on a look: "delete", "pay, send"; empty: none."""
    call = GroundedCall(ToolCall("", "gui_action", ""), "", tuple(actions))
    parts = screen_parts(call, look, apps_of(call, look), home="")
    return ", ".join(sorted({effect for part in parts for effect in part.effects}))


def tool_risk(tool: str, input_: object) -> str:
    """The same of a tool's call, whose reach nobody sees."""
    if tool != "bash_execution":
        return f"calls {tool}"
    line = str(input_.get("command", "") if isinstance(input_, dict) else input_)
    effects = sorted({effect for part in parts_of_line(line) for effect in part.effects})
    return ", ".join(["runs a command", *effects])


def remarks(steps: Sequence[ProgramStep]) -> Iterator[str]:
    """A line for each risk, and each place of which no element or little is known."""
    for number, step in enumerate(steps, 1):
        if step.risk:
            yield f"step {number} has a risk: {step.risk}"
        if step.tool == "gui_action" and not step.targets and step.focus is None:
            yield f"step {number}: nothing tells where its keys go"
        for target in step.targets:
            if not (target.name or target.label or target.beside):
                yield f"step {number}: nothing but its order tells its target, {target.role}"
