"""What a script of a page is made of: calls with the words that a model would use, and readings.

A script is a generator: it looks at what the page shows, yields one call after another, and finds
the screen changed after each. What it reads comes from the page and its instruction alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hisa.screen.geometry import Point
from hisa.screen.observation import Element

__all__ = [
    "BUTTON",
    "FIELD",
    "NUMBER",
    "ORDER",
    "ORDINAL",
    "PAGES",
    "TOP",
    "Call",
    "Calls",
    "Script",
    "Seen",
    "Truth",
    "click",
    "drag",
    "field",
    "hover",
    "inside",
    "named",
    "nth",
    "page",
    "scroll",
    "submit",
    "typed",
]

TOP = 100
"""Pixels of the yellow bar with the instruction, at the stage's scale; the page is below it."""
_BOTTOM = 420
"""Pixels of the page's frame: what lies below is scrolled out of view, or beyond the page."""
BUTTON = "push button"
FIELD = ("entry", "text", "password text", "spin button")
"""Roles of what is typed into."""
_WHOLE = ("document web", "frame")
"""Roles of what is as large as the window."""
NUMBER = re.compile(r"-?\d+")
ORDER = {"1st": 0, "2nd": 1, "3rd": 2}
ORDINAL = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_QUOTED = re.compile(r'"([^"]*)"')


@dataclass
class Seen:
    """The page as it is now, read from accessibility; the runner renews it before each call."""

    task: str
    elements: Sequence[Element] = ()

    @property
    def quoted(self) -> list[str]:
        """What stands in double quotes in the instruction."""
        return _QUOTED.findall(self.task)

    def word(self, pattern: str) -> str:
        """The first group of a pattern in the instruction.

        Raises:
            LookupError: the instruction does not say it.
        """
        found = re.search(pattern, self.task)
        if found is None:
            raise LookupError(f"{pattern!r} is not in the instruction {self.task!r}")
        return found[1]

    def on_page(self, *roles: str) -> list[Element]:
        """The elements of the page below its instruction, in reading order; of these roles."""
        inside = [
            e
            for e in self.elements
            if e.box.centre.y >= TOP and e.role not in ("document web", "frame")
        ]
        kept = [e for e in inside if not roles or e.role in roles]
        return sorted(kept, key=lambda e: (round(e.box.top / 8), e.box.left))

    def texts(self, *roles: str) -> list[str]:
        """Each name or text on the page once, in reading order."""
        said = [e.name or e.text for e in self.on_page(*roles)]
        return list(dict.fromkeys(text.strip() for text in said if text.strip()))

    def find(self, pattern: str, *roles: str) -> str:
        """The first text on the page that holds a pattern: its first group.

        Raises:
            LookupError: there is none.
        """
        for text in self.texts(*roles):
            if found := re.search(pattern, text):
                return found[1]
        raise LookupError(f"{pattern!r} is not on the page: {self.texts()[:20]}")

    def shows(self, name: str) -> bool:
        """Whether something of that very name is on the page, inside its frame."""
        return any(e.box.centre.y <= _BOTTOM for e in named(name)(self.on_page()))


Truth = Callable[[Sequence[Element]], list[Element]]
"""Given what is on the page, the things that are meant; a place inside one of them is right."""


@dataclass(frozen=True)
class Call:
    """A tool call of the planner.

    Attributes:
        tool: its name.
        source: its input.
        words: descriptions of the place, the second one for when the first is not found.
        to: the same for where a drag ends.
        truth: what is meant; None: not judged.
        truth_to: what is meant by ``to``.
    """

    tool: str
    source: str
    words: tuple[str, ...] = ()
    to: str = ""
    truth: Truth | None = None
    truth_to: Truth | None = None


Calls = Iterator[Call]
Script = Callable[[Seen], Calls]
PAGES: dict[str, Script] = {}
"""A script by the name of its page."""


def page(name: str) -> Callable[[Script], Script]:
    """Registers a script."""

    def keep(script: Script) -> Script:
        PAGES[name] = script
        return script

    return keep


@dataclass(frozen=True)
class _Named:
    """Things of that name, label or text; of one kind, where that matters."""

    name: str
    roles: tuple[str, ...] = ()

    def __call__(self, elements: Sequence[Element]) -> list[Element]:
        return [
            e
            for e in elements
            if self.name in (e.name.strip(), e.text.strip(), e.label.strip())
            and (not self.roles or e.role in self.roles)
        ]


def named(name: str, *roles: str) -> Truth:
    """Things of that very name."""
    return _Named(name, roles)


def nth(index: int, *roles: str) -> Truth:
    """The thing at that index among those of these roles, in reading order."""

    def find(elements: Sequence[Element]) -> list[Element]:
        some = [e for e in elements if e.role in roles]
        return some[index : index + 1]

    return find


def field(index: int = 0) -> Truth:
    """The text field at that index."""
    return nth(index, *FIELD)


def inside(point: Point, things: Sequence[Element]) -> bool:
    """Whether a point of the screen lies in one of them."""
    return any(
        e.box.left <= point.x <= e.box.right and e.box.top <= point.y <= e.box.bottom
        for e in things
    )


_PLACE = "X_COORD, Y_COORD"


def click(*words: str, at: Truth | None = None, then: str = "", how: str = "click") -> Call:
    """A click on what is described, and further source in the same call."""
    source = f"pyautogui.{how}({_PLACE})" + (f"\n{then}" if then else "")
    return Call("gui_action", source, words, truth=at)


def hover(*words: str, at: Truth | None = None) -> Call:
    """The pointer, moved there."""
    return Call("gui_action", f"pyautogui.moveTo({_PLACE})", words, truth=at)


def scroll(clicks: int, *words: str, at: Truth | None = None) -> Call:
    """The wheel, turned there; negative is down."""
    return Call("gui_action", f"pyautogui.scroll({clicks}, {_PLACE})", words, truth=at)


def drag(what: str, to: str, *, at: Truth | None = None, end: Truth | None = None) -> Call:
    """From one thing to another."""
    source = f"pyautogui.moveTo({_PLACE})\npyautogui.dragTo(X_COORD_2, Y_COORD_2, duration=0.5)"
    return Call("gui_action", source, (what,), to, at, end)


def typed(*words: str, text: str, at: Truth | None = None, clear: bool = False) -> Call:
    """A click into a field, and text."""
    keys = "pyautogui.hotkey('ctrl', 'a')\n" if clear else ""
    return click(*words, at=at, then=f"{keys}pyautogui.write({text!r})")


def submit(*words: str) -> Call:
    """A click on the button "Submit"."""
    return click(*(words or ("'Submit' button",)), at=named("Submit", BUTTON))
