"""The progress of a script, read from the planner's history and context alone.

Each thought begins with a marker, ``Instruction 3 of 7, part 2 of 3, try 2, look 1``, and a refined
context with ``Progress: instruction 6 of 7 done``. Markers are absolute, so that a history that was
trimmed, or emptied by a refinement, still gives the position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from hisa.outcomes.verdicts import DIALOG_APPEARED, StepVerdict, split_verdict
from hisa.plugins.offline.instruction_records import Instruction, Open, Save, Type

__all__ = [
    "HistoryStep",
    "ScriptPosition",
    "chunks",
    "mark",
    "parts_of",
    "progress_line",
    "read_history",
    "read_position",
]

_CHUNK = 1500
"""Most characters typed in one action, so that its source is not too long to be accepted."""
_MARK = re.compile(
    r"Instruction (?P<number>\d{1,4}) of (?P<of>\d{1,4})(?!\d)"
    r"(?:, part (?P<part>\d{1,4}) of \d{1,4})?(?:, try (?P<tries>\d{1,3}))?"
    r"(?:, look (?P<looks>\d{1,3}))?"
)
_PROGRESS = re.compile(
    r"Progress: instruction (?P<done>\d{1,4}) of \d{1,4} done"
    r"(?:, part (?P<parts>\d{1,4}) of the next)?(?:, failed tries (?P<failures>\d{1,3}))?"
    r"(?:, looks (?P<looks>\d{1,3}))?(?:, last act (?P<wrong>failed|unexpected))?\."
)
_STEP = re.compile(r"Step (?P<step>\d{1,9}): (?P<tool>\w+)(?: of [\w, ]+)?(?P<fields> \| .*)?")
_Wrong = Literal["", "failed", "unexpected"]
_COVERED = re.compile(r"Steps \d+~(?P<last>\d{1,9}): ")


@dataclass(frozen=True, slots=True)
class ScriptPosition:
    """``completed`` instructions are complete; of the next one, ``parts`` parts are.

    ``failures`` counts failed tries of the current part, ``looks`` its preparations (waiting,
    opening a menu, answering a question); ``reason`` says why the last try failed. ``wrong`` is the
    verdict of the newest act if it failed or had an unexpected result.
    """

    completed: int = 0
    parts: int = 0
    failures: int = 0
    looks: int = 0
    reason: str = ""
    wrong: _Wrong = ""


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """A line of the history: its fields, its verdict, and the result with the verdict."""

    number: int
    tool: str
    thought: str
    description: str
    source: str
    verdict: StepVerdict
    result: str

    @property
    def ok(self) -> bool:
        """Whether to go on to the next instruction.

        The rules cannot distinguish a step without effect from one whose effect is not visible. An
        unexpected dialog is answered by the next steps.
        """
        return self.verdict != "failed" and (
            self.verdict != "unexpected" or DIALOG_APPEARED in self.result
        )


def chunks(text: str) -> Sequence[str]:
    """Splits a text into the pieces typed by one action each; at least one."""
    return [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)] or [""]


def parts_of(instruction: Instruction) -> int:
    """Returns the number of parts of an instruction."""
    match instruction:
        case Save(path):
            return 5 if path else 2
        case Open():
            return 2
        case Type(text):
            return len(chunks(text))
        case _:
            return 1


def mark(position: ScriptPosition, of: int, parts: int, *, look: bool) -> str:
    """Returns the marker of the current part.

    Args:
        position: the progress so far.
        of: number of instructions.
        parts: number of parts of the current instruction.
        look: whether the move is a preparation.
    """
    text = f"Instruction {position.completed + 1} of {of}"
    if parts > 1:
        text += f", part {min(position.parts + 1, parts)} of {parts}"
    if position.failures:
        text += f", try {position.failures + 1}"
    return text + (f", look {position.looks + 1}" if look else "")


def progress_line(position: ScriptPosition, of: int) -> str:
    """Returns the line for the position in a refined context; ``of`` instructions in all."""
    text = f"Progress: instruction {position.completed} of {of} done"
    if position.parts:
        text += f", part {position.parts} of the next"
    if position.failures:
        text += f", failed tries {position.failures}"
    if position.looks:
        text += f", looks {position.looks}"
    return f"{text}, last act {position.wrong}." if position.wrong else f"{text}."


def read_position(refined: str, history: str, script: Sequence[Instruction]) -> ScriptPosition:
    """Returns the position after all remembered steps.

    Args:
        refined: the refined context; empty if there is none.
        history: the execution history, one line per step.
        script: the instructions of the task.
    """
    # The first progress line counts: later ones may be text from a screen.
    match = _PROGRESS.search(refined)
    numbers = [int(number or 0) for number in match.groups()[:4]] if match else [0, 0, 0, 0]
    position = ScriptPosition(numbers[0], numbers[1], numbers[2], numbers[3])
    wrong = cast(_Wrong, (match["wrong"] if match else "") or "")
    refined_steps = _COVERED.match(refined)
    last = int(refined_steps["last"]) if refined_steps else 0
    for step in read_history(history):
        if step.number > last:  # the newest step stays in the history when it was refined
            position = _advance(position, step, script)
            if step.tool != "wait":
                wrong = step.verdict if step.verdict in ("failed", "unexpected") else ""
    return replace(position, completed=min(position.completed, len(script)), wrong=wrong)


def _advance(
    position: ScriptPosition, step: HistoryStep, script: Sequence[Instruction]
) -> ScriptPosition:
    match = _MARK.match(step.thought)
    if not match or int(match["of"]) != len(script) or not 1 <= int(match["number"]) <= len(script):
        if step.tool == "wait" or position.completed >= len(script):
            return position
        if step.verdict == "unexpected" and position.parts:
            return replace(position, looks=position.looks + 1)  # the next move handles the surprise
        # A long input leaves no room for the thought in its line; the step was the current part.
        return _count_try(position, step, script)
    completed = int(match["number"]) - 1
    before = position if position.completed == completed else ScriptPosition(completed)
    parts = int(match["part"]) - 1 if match["part"] else before.parts
    failures = int(match["tries"]) - 1 if match["tries"] else 0
    due = ScriptPosition(completed, parts, failures, before.looks if before.parts == parts else 0)
    if match["looks"]:
        return replace(due, looks=int(match["looks"]), reason="" if step.ok else step.result)
    return _count_try(due, step, script)


def _count_try(
    due: ScriptPosition, step: HistoryStep, script: Sequence[Instruction]
) -> ScriptPosition:
    if not step.ok:
        return replace(due, failures=due.failures + 1, reason=step.result)
    complete = due.parts + 1 >= parts_of(script[due.completed])
    return (
        ScriptPosition(due.completed + 1)
        if complete
        else ScriptPosition(due.completed, due.parts + 1)
    )


def read_history(history: str) -> Iterator[HistoryStep]:
    """Yields the steps of a history; a line without a verdict counts as succeeded."""
    for line in history.split("\n"):
        if (match := _STEP.fullmatch(line)) is None:
            continue
        line_fields = match["fields"] or ""
        head, separator, result = line_fields.rpartition(" | Result: ")
        fields: dict[str, str] = {}
        for part in (head if separator else line_fields).split(" | "):
            label, _, value = part.partition(": ")
            fields.setdefault(label, value)
        yield HistoryStep(
            int(match["step"]),
            match["tool"],
            fields.get("Thought", ""),
            fields.get("Description", ""),
            fields.get("Input", ""),
            split_verdict(result if separator else "")[0] or "succeeded",
            result.strip() if separator else "",
        )
