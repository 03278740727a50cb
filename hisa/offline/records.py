"""What an instruction may say: a closed set of records, and each in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

__all__ = [
    "Click",
    "Close",
    "Drag",
    "GoTo",
    "Instruction",
    "Open",
    "Press",
    "Reveal",
    "Run",
    "Save",
    "SaveAs",
    "Scroll",
    "Target",
    "Tick",
    "Type",
    "Wait",
    "phrase",
]


@dataclass(frozen=True, slots=True)
class Target:
    """A thing on the screen. ``kind`` is the word used for it ("button", "cell", …).

    Without a name it is the one thing of its kind: "the text area". ``near`` says where it stands
    beside another thing: ``below "Destination"``.
    """

    name: str
    kind: str = ""
    near: str = ""

    def __str__(self) -> str:
        """As in a description: ``button "Save"``, ``the text area``."""
        bare = f'{self.kind} "{self.name}"'.strip() if self.name else f"the {self.kind}"
        return f"{bare} {self.near}".strip()


@dataclass(frozen=True, slots=True)
class Open:
    """Start an application, or open ``file`` (with ``app`` where one is named)."""

    app: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Click:
    """Click ``count`` times."""

    target: Target
    button: Literal["left", "middle", "right"] = "left"
    count: int = 1


@dataclass(frozen=True, slots=True)
class Reveal:
    """Bring forward the page of a dialog on which the next things are, where it has such a page."""

    page: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Bring a check box into a state."""

    target: Target
    on: bool = True


@dataclass(frozen=True, slots=True)
class Type:
    """Type text, into ``target`` where there is one; ``replace`` what stands there."""

    text: str
    target: Target | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Press:
    """Press keys together, ``times`` times."""

    keys: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel ``clicks`` times, over ``over`` where named, at most until ``until`` shows."""

    direction: Literal["up", "down", "left", "right"]
    clicks: int = 5
    over: Target | None = None
    until: Target | None = None


@dataclass(frozen=True, slots=True)
class Drag:
    """Drag one thing onto another, with the key ``held`` down where there is one."""

    source: Target
    target: Target
    held: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait ``seconds``, or until ``until`` shows."""

    seconds: float = 2.0
    until: Target | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """Save under the name it has, which must have ``ending`` where one is asked for (".xlsx")."""

    ending: str = ""


@dataclass(frozen=True, slots=True)
class SaveAs:
    """Save under a name or path."""

    path: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Close:
    """Close the window in front (or the dialog, the tab, the application)."""

    what: Literal["window", "dialog", "tab", "application"] = "window"


@dataclass(frozen=True, slots=True)
class GoTo:
    """Go to a cell or range of a spreadsheet, or to an address in a browser."""

    place: str
    what: Literal["cell", "address"] = "cell"


Instruction = (
    Open
    | Click
    | Reveal
    | Tick
    | Type
    | Press
    | Scroll
    | Drag
    | Wait
    | Save
    | SaveAs
    | Run
    | Close
    | GoTo
)

_COUNTS = {1: "click", 2: "double-click", 3: "triple-click"}


def phrase(instruction: Instruction) -> str:
    """The instruction in a few words, for a thought; long texts are cut."""
    match instruction:
        case Open(app, file):
            return f"open {_short(file)}{f' in {app}' if app else ''}" if file else f"open {app}"
        case Click(target, button, count):
            verb = _COUNTS[count] if button == "left" else f"{button}-click"
            return f"{verb} {target}"
        case Reveal(page):
            return f"turn to “{_short(page)}”"
        case Tick(target, on):
            return f"{'tick' if on else 'untick'} {target}"
        case Type(text, target):
            return f"type “{_short(text)}”{f' into {target}' if target else ''}"
        case Press(keys, times):
            return f"press {'+'.join(keys)}{f' {times} times' if times > 1 else ''}"
        case Scroll() | Drag() | Wait():
            return _movement(instruction)
        case Save():
            return "save the file"
        case SaveAs(path):
            return f"save as “{_short(path)}”"
        case Run(command):
            return f"run the command “{_short(command)}”"
        case Close(what):
            return f"close the {what}"
        case GoTo(place, what):
            return f"go to {what} {_short(place)}"
        case _:
            assert_never(instruction)


def _movement(instruction: Scroll | Drag | Wait) -> str:
    match instruction:
        case Scroll(direction, _, _, until):
            return f"scroll {direction}{f' until {until} shows' if until else ''}"
        case Drag(source, target, held):
            return f"{f'hold {held} and ' if held else ''}drag {source} to {target}"
        case Wait(seconds, until):
            return f"wait until {until} shows" if until else f"wait {seconds:g} seconds"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"
