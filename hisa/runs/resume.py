"""Finds the point from which an interrupted run is resumed, and replays a run up to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hisa.actions import parse, to_space
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.events import (
    Acted,
    Confirmed,
    Decided,
    Event,
    HeldBack,
    ModelCalled,
    RunFinished,
    RunResumed,
    StepFinished,
)
from hisa.protocols import Environment, GroundedCall, Outcome, Task, ToolCall
from hisa.runs.event_line import is_cut
from hisa.runs.run_reader import Run
from hisa.runs.step_records import StepRecord
from hisa.screen.geometry import Size
from hisa.text.redact import REDACTED, holds_redacted
from hisa.tools.registry import ToolRegistry

__all__ = ["ReplayAct", "ResumePoint", "replay", "require_no_secrets", "resume_point"]

_COMMAND_SECONDS = 120.0  # chosen by hand


@dataclass(frozen=True)
class ReplayAct:
    """Something that was done, to be repeated on a fresh desktop.

    ``input`` is a command, or source with coordinates in image pixels. ``image`` is the size of
    that image and ``screen`` that of the desktop, both in pixels. ``is_complete`` is False if the
    log cut the input, and ``redacted`` is True if the log removed a secret from it.
    """

    step: int
    tool: str
    input: Any
    ok: bool
    image: tuple[int, int] | None = None
    screen: tuple[int, int] | None = None
    is_complete: bool = True
    redacted: bool = False


@dataclass(frozen=True)
class ResumePoint:
    """All that is needed to resume a run.

    ``events`` are those of the run's start and of complete steps, in order: enough to rebuild the
    state. ``acts`` are all that were done on the run's present desktop. ``calls`` are all answered
    model calls, including those of interrupted steps, because they cost money too.
    """

    task: Task
    settings: Mapping[str, Any]
    step: int
    events: tuple[Event, ...]
    acts: tuple[ReplayAct, ...]
    calls: tuple[ModelCalled, ...]
    desktop: Mapping[str, Any]
    decisions: tuple[Decided, ...] = ()
    """All decisions of the policy, including those of interrupted steps."""
    end_outcome: Outcome | None = None
    """The outcome of the last complete step if it ended the run, which is then only scored."""


def resume_point(run: Run) -> ResumePoint:
    """Returns the point from which a run is resumed; writes nothing."""
    records = run.steps
    dropped = {id(e) for record in records if record.finished is None for e in record.events}
    return ResumePoint(
        task=run.manifest.task.task(),
        settings=run.manifest.settings,
        step=run.last_step,
        events=_drop_unfinished(run.events, dropped),
        acts=_acts(run.events, records),
        calls=tuple(e for e in run.events if isinstance(e, ModelCalled)),
        desktop=run.manifest.desktop,
        decisions=tuple(e for e in run.events if isinstance(e, Decided)),
        end_outcome=_find_end_outcome(records),
    )


def require_no_secrets(point: ResumePoint) -> None:
    """Check that the log has the task and the settings of a run without gaps.

    Raises:
        UsageError: a secret was removed from one of them; the agent would use the mark in its
            place.
    """
    task = point.task
    parts = {
        "instruction": task.instruction,
        "set-up": task.setup,
        "check": task.check,
        "settings": point.settings,
    }
    lacking = [name for name, value in parts.items() if holds_redacted(value)]
    if lacking:
        raise UsageError(
            f"the run cannot be resumed: its {' and its '.join(lacking)} held a secret, and the "
            f"log has {REDACTED} in its place",
            fix="start the task again with hisa run",
        )


def _in_flight(records: tuple[StepRecord, ...]) -> StepRecord | None:
    last = records[-1] if records else None
    return None if last is None or last.finished or last.interrupted else last


def _find_end_outcome(records: tuple[StepRecord, ...]) -> Outcome | None:
    last = next((record for record in reversed(records) if record.finished is not None), None)
    acted = None if last is None else last.acted
    if acted is None or acted.ends is None:
        return None
    return Outcome(ok=acted.ok, output=acted.output, ends=acted.ends)


def _drop_unfinished(events: tuple[Event, ...], dropped: set[int]) -> tuple[Event, ...]:
    """Returns the events up to the last complete step, without those of interrupted steps."""
    last = max((i for i, e in enumerate(events) if isinstance(e, StepFinished)), default=-1)
    return tuple(
        e
        for i, e in enumerate(events)
        if id(e) not in dropped and (i <= last or e.step == 0) and not isinstance(e, RunFinished)
    )


def _acts(events: tuple[Event, ...], records: tuple[StepRecord, ...]) -> tuple[ReplayAct, ...]:
    """Returns the acts done on the present desktop; those before a fresh desktop do not count."""
    by_event = {id(event): record for record in records for event in record.events}
    acts: list[tuple[Acted, StepRecord]] = []
    refused = False
    for event in events:
        if isinstance(event, Decided | Confirmed | HeldBack):
            refused = isinstance(event, HeldBack) or not event.allowed
        elif isinstance(event, Acted) and id(event) in by_event:
            acts += [] if refused else [(event, by_event[id(event)])]
            refused = False
        elif isinstance(event, RunResumed) and event.desktop == "fresh":
            acts = []
        elif isinstance(event, RunResumed) and event.desktop == "replayed":
            acts = [(act, record) for act, record in acts if record.finished is not None]
    in_flight = _in_flight(records)
    return tuple(_replay(act, record) for act, record in acts if record is not in_flight)


def _replay(act: Acted, record: StepRecord) -> ReplayAct:
    look = record.before
    return ReplayAct(
        step=act.step,
        tool=act.tool,
        input=act.input,
        ok=act.ok,
        image=None if look is None else (look.width, look.height),
        screen=None if look is None else (look.screen_width, look.screen_height),
        is_complete=_is_uncut(act.input),
        redacted=holds_redacted(act.input),
    )


def _is_uncut(value: Any) -> bool:
    if isinstance(value, str):
        return not is_cut(value)
    if isinstance(value, Mapping):
        return all(_is_uncut(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_uncut(item) for item in value)
    return True


async def replay(acts: Sequence[ReplayAct], environment: Environment, *, settle: float) -> int:
    """Repeat the acts in order, and let the screen settle after each; no model is asked.

    Tools that only look, and tools of servers, which do not act on the desktop, are left out.

    Args:
        acts: the acts, from `resume_point`.
        environment: a fresh machine, at the task's initial state.
        settle: longest wait after each act, in seconds.

    Returns:
        The number of acts that were done.

    Raises:
        EnvironmentFailed: an act cannot be repeated, or the machine does not answer.
    """
    count = 0
    for act in acts:
        try:
            count += await _repeat_act(act, environment)
        except ActionRefused as error:
            raise EnvironmentFailed(f"step {act.step} cannot be replayed: {error}") from error
        await environment.observe(settle=settle)
    return count


async def _repeat_act(act: ReplayAct, environment: Environment) -> bool:
    if not act.is_complete:
        raise EnvironmentFailed(f"step {act.step} cannot be replayed: its input was cut in the log")
    if act.redacted:
        raise EnvironmentFailed(
            f"step {act.step} cannot be replayed: its input held a secret, which the log does not "
            "have",
            fix="start the task again with hisa run",
        )
    match act.tool, act.input:
        case "gui_action", str(source) if act.ok and act.image and act.screen:
            actions = parse(source)
            await environment.act(
                to_space(actions, "screen", screen=Size(*act.screen), image=Size(*act.image))
            )
        case "bash_execution", str(command):
            await environment.execute(command, timeout=_COMMAND_SECONDS)
        case "wait", seconds if act.ok:
            await asyncio.sleep(min(60.0, float(seconds)))
        case name, arguments:
            return await _call_again(name, arguments, act.step, environment)
    return True


async def _call_again(name: str, arguments: Any, step: int, environment: Environment) -> bool:
    """Call the tool of a toolkit or plug-in again; returns whether it was called."""
    able = {*environment.capabilities, "person"}
    registry = ToolRegistry(capabilities=able)
    tool = registry.find(name)
    if tool is None or tool.always or tool.traits.reads:
        return False
    if tool.traits.once:
        raise EnvironmentFailed(
            f"step {step} cannot be replayed: {name} cannot be done again",
            fix="start the task again with hisa run",
        )
    call = GroundedCall(ToolCall("", name, arguments), arguments)
    await registry.execute(call, await environment.observe(), environment)
    return True
