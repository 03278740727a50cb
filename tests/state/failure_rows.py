"""Failures in a row in the log of a run: how often the same call failed on the same screen."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hisa.config import StateSettings
from hisa.errors import HisaError, ModelFacingError
from hisa.events import Acted, Event, HeldBack, PlannedCall
from hisa.protocols import GroundedCall, ToolCall
from hisa.runs.read import Run, load_run
from hisa.runs.step_records import StepRecord, group
from hisa.state.loops import action_key
from hisa.state.manager import build_state
from hisa.testing.scripted import ScriptedModel

__all__ = ["failure_row", "held_back"]


@dataclass(frozen=True)
class _Failure:
    keys: tuple[str, ...]
    reason: str
    held: bool


def failure_row(events: Iterable[Event]) -> int:
    """The most steps in a row that failed alike.

    They are alike if the same ran, or was held back, for the same reason on a screen that nothing
    changed meanwhile; a step that was held back has the reason of the step before.
    """
    longest = count = 0
    before: _Failure | None = None
    for record in _complete(events):
        failure = _failure(record)
        alike = before is not None and failure is not None and _alike(before, failure)
        alike = alike and not (record.abstracted and record.abstracted.moved)
        count = count + 1 if alike else int(failure is not None)
        longest = max(longest, count)
        changed = record.abstracted and (record.abstracted.roi or record.abstracted.refocused)
        before = None if changed else failure
    return longest


def held_back(events: Iterable[Event]) -> list[int]:
    """The steps whose call was not made again."""
    return [event.step for event in events if isinstance(event, HeldBack)]


def _complete(events: Iterable[Event]) -> Iterator[StepRecord]:
    return (each for each in group(events) if each.acts and not each.interrupted)


def _grounded(record: StepRecord) -> list[GroundedCall]:
    calls = [_call(each) for each in record.planned.sequence] if record.planned else [_NONE]
    calls[0] = replace(calls[0], following=tuple(calls[1:]))
    ran = [each.input for each in record.acts]
    return [GroundedCall(call, text) for call, text in zip(calls, ran, strict=False)]


def _failure(record: StepRecord) -> _Failure | None:
    last: Acted = record.acts[-1]
    if last.ok:
        return None
    held = next((each for each in record.events if isinstance(each, HeldBack)), None)
    calls = (
        [each.call for each in _grounded(record)]
        if record.planned is None
        else [_call(each) for each in record.planned.sequence]
    )
    ran = held.inputs if held else [each.input for each in record.acts]
    reason = " ".join(f"{last.error} {last.output}".split())
    return _Failure(tuple(map(action_key, calls, ran)), reason, held is not None)


def _alike(one: _Failure, other: _Failure) -> bool:
    return one.keys == other.keys and (one.reason == other.reason or one.held or other.held)


def _call(planned: PlannedCall) -> ToolCall:
    return ToolCall("", planned.tool, planned.input, planned.description, planned.description_2)
