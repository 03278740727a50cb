"""What exploration writes down and synthesis reads: acts, facts, states, triples."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

__all__ = ["Act", "Change", "Differences", "ElementChange", "Fact", "FactKind", "Facts"]
__all__ += ["Record", "State", "Triple"]

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
