"""What synthesis writes down: instructions, candidates of tasks, and what was proved of them."""

from __future__ import annotations

from typing import Any, Literal

from hisa.plugins.synthesis.records import Act, Change, ElementChange, Record

__all__ = ["Candidate", "Effect", "Instruction", "Mutant", "OtherWay", "Proof", "Refusal", "Stage"]


class Effect(Record):
    """What some triples changed that is the same: no two effects hold the same changes.

    ``lasting`` tells changes of files and settings from those that only the screen shows.
    """

    id: str
    changes: tuple[Change, ...] = ()
    elements: tuple[ElementChange, ...] = ()  # only where nothing lasting changed
    triples: tuple[int, ...]

    @property
    def lasting(self) -> bool:
        """Whether files or settings changed."""
        return bool(self.changes)


class Instruction(Record):
    """What one writer made of one triple (OS-Genesis, 3.2)."""

    triples: tuple[int, ...]
    writer: str = "rules"
    """Or the name of a model, of the ways that one writes."""
    way: Literal["reverse", "task_driven", "self_instruct", "broad"] = "reverse"
    sub: str  # the act in words: Sub-Instruction
    analysis: str = ""
    high: str  # the task: High-Level-Instruction
    steps: tuple[int, ...] = ()
    """The triples of the way that it was written for, from a fresh start, in order."""
    turn: str = ""  # of the model that wrote it


class Refusal(Record):
    """Why some triples became no candidate, or no goal of a model."""

    triples: tuple[int, ...]
    reason: str
    writer: str = "rules"


class Candidate(Record):
    """A task that is not proved yet."""

    id: str
    subject: str
    effects: tuple[str, ...]
    triples: tuple[int, ...]
    instruction: str
    writer: str = "rules"
    acts: tuple[Act, ...]  # the reference: from the fresh start to the end, saves included
    check: tuple[dict[str, Any], ...]  # checks of HiSA's task files, all of which must hold
    changes: tuple[Change, ...] = ()
    elements: tuple[ElementChange, ...] = ()


class Mutant(Record):
    """A near miss, and whether the check told it from the right end."""

    kind: str
    """"other value", "other cell", "neighbour control" and the like."""
    acts: tuple[Act, ...]
    killed: bool
    detail: str = ""


class OtherWay(Record):
    """The same end reached otherwise, and whether the check took it."""

    kind: str
    """"keyboard", "paste", "other place", "shell"."""
    passed: bool
    detail: str = ""


class Stage(Record):
    """One part of a proof."""

    name: Literal["start", "end", "undone", "fresh"]
    held: bool  # whether it came out as a good task's must
    score: float | None
    detail: str = ""


class Proof(Record):
    """Everything that was tried with a candidate."""

    candidate: str
    completed: Candidate | None = None
    """The candidate as it was proved, where its end changed more than its check asked for."""
    proved: bool
    reason: str = ""  # why it is refused, from a short list; details are with the stages
    stages: tuple[Stage, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    equivalent: int = 0  # mutants whose end was the right one: they are none
    not_done: int = 0  # mutants whose acts could not be done
    other_ways: tuple[OtherWay, ...] = ()
    undone_by: str = ""
    """"the same act", "the former value", "shell" and the like."""
    seconds: float = 0.0
    desktops: int = 0  # fresh ones that it took
