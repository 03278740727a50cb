"""Failures in a row, in the logs of runs: how often the same call failed on the same screen.

    python -m benchmarks.failure_rows FOLDER…

A folder is a run's, or holds runs at any depth. For each run it prints the most steps in a row
that failed alike, the steps that were held back and, of a run without any, those that would be by
today's rules: in a run that passed its check there should be none.
"""

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

__all__ = ["failure_row", "held_back", "would_be_held_back"]


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


def would_be_held_back(events: Iterable[Event]) -> list[int]:
    """The steps whose call would not be made by today's rules, were the run made again.

    Logs from before the rules do not tell what changed between two steps, so that these are too
    many rather than too few.
    """
    known = [*events]
    held = []
    for record in _complete(known):
        state = build_state(ScriptedModel([]), StateSettings(), emit=lambda _: None)
        state.restore(known[: known.index(record.events[0])])
        first, *rest = _grounded(record)
        try:
            state.require_new(replace(first, following=tuple(rest)))
        except ModelFacingError:
            held.append(record.number)
    return held


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


_NONE = ToolCall("", "none", "")


def _runs(folder: Path) -> Iterator[Run]:
    for path in sorted(folder.rglob("run.json")):
        try:
            yield load_run(path.parent)
        except HisaError as error:
            print(f"{path.parent}: {error}", file=sys.stderr)


def main() -> None:
    worst, runs, steps, wrongly = 0, 0, 0, 0
    for run in (run for name in sys.argv[1:] for run in _runs(Path(name))):
        row, held, would = failure_row(run.events), held_back(run.events), []
        if not held:
            would = would_be_held_back(run.events)
        runs, steps, worst = runs + 1, steps + len(run.steps), max(worst, row)
        wrongly += len(would) if run.success else 0
        if row > 1 or held or would:
            passed = "passed" if run.success else run.status
            print(f"{run.id}  {passed:12} row {row}  held back {held}  would be {would}")
    print(
        f"{runs} runs, {steps} steps: longest row {worst}; steps of passed runs that would be "
        f"held back: {wrongly}"
    )


if __name__ == "__main__":
    main()
