"""The records of synthesis: acts, facts, states, triples; instructions, candidates, proofs."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Act",
    "Candidate",
    "Change",
    "Differences",
    "Effect",
    "ElementChange",
    "Fact",
    "FactKind",
]
__all__ += ["FactKind", "Facts", "Instruction", "Mutant", "OtherWay", "Proof", "Record", "Refusal"]
__all__ += ["Stage", "State", "Triple"]


FactKind = Literal["file", "text", "gsettings", "ini", "document"]
"""The kinds of facts; `hisa.plugins.synthesis.machine_facts` says what each looks like."""


class Fact(NamedTuple):
    """The address of one value on a machine: ``document ~/sales.ods Sheet1.B2/value``."""

    kind: FactKind
    place: str  # a path below ``~``, or a schema
    item: str = ""  # the key, cell or row inside; empty if the fact is the place itself


Facts = dict[Fact, str]
"""The values on a machine at one moment. A value is a text of at most 4,000 characters."""


class Record(BaseModel):
    """A record stored as one line of JSON; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Act(Record):
    """An act and its element, described so that the element is found again on another look.

    ``role`` and ``name`` are the element's. ``within`` names its containers, outermost first: a
    menu, a dialog, a tool bar. ``nth`` is its index among elements alike, in reading order.
    """

    kind: Literal["click", "double_click", "right_click", "type", "press", "scroll"]
    role: str = ""
    name: str = ""
    within: tuple[str, ...] = ()
    nth: int = 0
    window: str = ""  # the title of its window at that time
    text: str = ""
    """The text typed, which replaces the value of a one-line field; for a scroll "down" or "up"."""
    keys: tuple[str, ...] = ()
    """Pressed together, such as ``("ctrl", "s")``; after a text: ``("enter",)``."""

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the act and its control, independent of window titles and values."""
        return (self.kind, self.role, self.name, *self.within, str(self.nth), *self.keys)


class Change(Record):
    """A value that changed; ``before`` or ``after`` is None if there was or is no value."""

    fact: Fact
    before: str | None
    after: str | None


class ElementChange(Record):
    """A change of an element: it came or went, or its value or states changed."""

    what: Literal["came", "went", "value", "states"]
    role: str
    name: str
    window: str = ""
    before: str = ""
    after: str = ""  # a value, or states in order, joined by blanks


class Differences(Record):
    """The differences between two looks: of facts (files and settings), and of elements."""

    facts: tuple[Change, ...] = ()
    elements: tuple[ElementChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.facts or self.elements)


class State(Record):
    """A screen, and what changed on the machine since its start.

    ``id`` is a hash of ``screen`` and of the changed facts; ``screen`` is a hash of windows and
    named elements. ``image`` and ``elements`` are hashes that name files of the exploration.
    """

    id: str
    screen: str
    windows: tuple[str, ...]
    image: str
    elements: str
    size: tuple[int, int] = (1280, 720)
    """Width and height of the screen in pixels. Boxes are in these; pictures may be smaller."""
    changed: tuple[Change, ...] = ()  # since the fresh start, without noise


class Triple(Record):
    """A state, an act, the state after it (OS-Genesis, 3.1)."""

    number: int
    desktop: int  # counts fresh starts: triples with the same number followed one another
    before: str
    act: Act
    box: tuple[int, int, int, int] | None  # the element's on the look before, in screen pixels
    after: str
    differences: Differences
    saved: bool = False  # whether the document was saved between the act and the reading of files
    looks: int = 1  # 2 if nothing had changed at the first look
    seconds: float
    failed: str = ""
    """Why the act could not be done or the machine was lost; ``after`` is empty then."""


class Effect(Record):
    """The changes that one or several triples have in common; no two effects are the same.

    A ``lasting`` effect changes files or settings; any other shows on the screen only.
    """

    id: str
    changes: tuple[Change, ...] = ()
    elements: tuple[ElementChange, ...] = ()  # only if nothing lasting changed
    triples: tuple[int, ...]

    @property
    def lasting(self) -> bool:
        """Whether files or settings changed."""
        return bool(self.changes)


class Instruction(Record):
    """An instruction that one writer wrote from one triple (OS-Genesis, 3.2)."""

    triples: tuple[int, ...]
    writer: str = "rules"
    """"rules", or the name of the model that wrote it."""
    way: Literal["reverse", "task_driven", "self_instruct", "broad"] = "reverse"
    sub: str  # the act in words: Sub-Instruction
    analysis: str = ""
    high: str  # the task: High-Level-Instruction
    steps: tuple[int, ...] = ()
    """The triples of the way that it was written for, from a fresh start, in order."""
    turn: str = ""  # the model's turn that wrote it


class Refusal(Record):
    """The reason why some triples gave no candidate, or no goal of a model."""

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
    """A near miss, and whether the check failed on it, as it must."""

    kind: str
    """"other value", "other cell", "neighbour control" and the like."""
    acts: tuple[Act, ...]
    killed: bool
    detail: str = ""


class OtherWay(Record):
    """Another way to the same end, and whether the check passed on it."""

    kind: str
    """"keyboard", "paste", "other place", "shell"."""
    passed: bool
    detail: str = ""


class Stage(Record):
    """One part of a proof."""

    name: Literal["start", "end", "undone", "fresh"]
    held: bool  # whether the result was as it must be for a good task
    score: float | None
    detail: str = ""


class Proof(Record):
    """Everything that was tried with a candidate."""

    candidate: str
    completed: Candidate | None = None
    """The candidate as it was proved, if its end changed more than its first check covered."""
    proved: bool
    reason: str = ""  # why it is refused, from a short list; the stages have the details
    stages: tuple[Stage, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    equivalent: int = 0  # mutants that reached the right end after all, which do not count
    not_done: int = 0  # mutants whose acts could not be done
    other_ways: tuple[OtherWay, ...] = ()
    undone_by: str = ""
    """"the same act", "the former value", "shell" and the like."""
    seconds: float = 0.0
    desktops: int = 0  # number of fresh desktops used
