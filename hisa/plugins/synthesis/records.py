"""What is written down: acts, facts, states, triples; instructions, candidates, proofs."""

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
"""How a fact is read; `hisa.plugins.synthesis.machine_facts` says what each looks like."""


class Fact(NamedTuple):
    """The address of one value that a machine keeps: ``document ~/sales.ods Sheet1.B2/value``."""

    kind: FactKind
    place: str  # a path below ``~``, or a schema
    item: str = ""  # the key, cell or row inside; empty where the place is all there is


Facts = dict[Fact, str]
"""What a machine keeps at one moment. A value is a text of at most 4,000 characters."""


class Record(BaseModel):
    """What is written down as a line of JSON; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Act(Record):
    """Something done, and to what: enough to find that again on another look.

    ``role`` and ``name`` are the element's; ``within`` the names of what holds it, outermost first
    (a menu, a dialog, a tool bar); ``nth`` its place among those alike, in reading order.
    """

    kind: Literal["click", "double_click", "right_click", "type", "press", "scroll"]
    role: str = ""
    name: str = ""
    within: tuple[str, ...] = ()
    nth: int = 0
    window: str = ""  # the title of its window, as it was
    text: str = ""
    """What is typed, in place of what a field of one line holds; of a scroll: "down" or "up"."""
    keys: tuple[str, ...] = ()
    """Pressed together, such as ``("ctrl", "s")``; after a text: ``("enter",)``."""

    @property
    def key(self) -> tuple[str, ...]:
        """The same for the same act on the same control, whatever a title or a value is by now."""
        return (self.kind, self.role, self.name, *self.within, str(self.nth), *self.keys)


class Change(Record):
    """A value that is another one now; None where there was or is none."""

    fact: Fact
    before: str | None
    after: str | None


class ElementChange(Record):
    """What changed of an element: it came, went, or has another value or other states."""

    what: Literal["came", "went", "value", "states"]
    role: str
    name: str
    window: str = ""
    before: str = ""
    after: str = ""  # a value, or states in order, joined by blanks


class Differences(Record):
    """Between two looks: facts (files and settings), and elements."""

    facts: tuple[Change, ...] = ()
    elements: tuple[ElementChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.facts or self.elements)


class State(Record):
    """A screen, and what was changed on the machine since its start.

    ``id`` is a hash of ``screen`` and of the facts changed; ``screen`` a hash of windows and named
    elements. ``image`` and ``elements`` are hashes of files that the exploration keeps.
    """

    id: str
    screen: str
    windows: tuple[str, ...]
    image: str
    elements: str
    size: tuple[int, int] = (1280, 720)
    """Width and height of the screen, in pixels: boxes are in these, pictures may be smaller."""
    changed: tuple[Change, ...] = ()  # against the fresh start, noise left out


class Triple(Record):
    """A state, an act, the state after it (OS-Genesis, 3.1)."""

    number: int
    desktop: int  # counts fresh starts: triples of one number were done one after the other
    before: str
    act: Act
    box: tuple[int, int, int, int] | None  # the element's on the look before, in screen pixels
    after: str
    differences: Differences
    saved: bool = False  # whether the document was saved between the act and the reading of files
    looks: int = 1  # 2 where nothing had changed at first
    seconds: float
    failed: str = ""
    """Why the act could not be done or the machine was lost; there is no state after it then."""


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
