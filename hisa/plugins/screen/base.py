"""What differs between the operating systems, and what the driver and its user send."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from hisa.plugins.screen.capture import Shot
from hisa.screen.observation import Element, Window

__all__ = ["Look", "Pause", "PressKeys", "Reading", "Reply", "Request", "System"]

PressKeys = Callable[[Sequence[str]], None]
"""Presses keys together, named as PyAutoGUI names them."""
Pause = Callable[[float], None]
"""Waits some seconds, and raises if the person stops the run meanwhile."""


class Request(NamedTuple):
    """A request; "halt" ends the one of its number and those before it."""

    number: int
    kind: str
    values: tuple[Any, ...] = ()


class Reply(NamedTuple):
    """``kind`` is "ok", "stopped", or the name of an error's class.

    Without a number it answers nothing: the process could not start, or a person stopped the run.
    """

    number: int
    kind: str
    value: Any = None


class Look(NamedTuple):
    """A picture, the pointer's place on it, and the name by which the driver keeps it a while."""

    shot: Shot
    pointer: tuple[float, float]
    name: str
    is_same: bool
    """Whether it shows the same as the look before."""


@dataclass(frozen=True)
class Reading:
    """What was read of trees; ``elements`` is None if none was read."""

    windows: tuple[Window, ...] = ()
    elements: tuple[Element, ...] | None = None
    complete: bool = True
    windows_known: bool = True


class System(ABC):
    """Keyboard, clipboard, pointer and tree of a system, as far as PyAutoGUI lacks them.

    Args:
        gui: the module ``pyautogui``.
    """

    key_names: ClassVar[Mapping[str, str]] = {}
    """Names of keys that PyAutoGUI spells otherwise here."""
    wheel = 1
    """PyAutoGUI's units in one click of the wheel."""
    hotkey_seconds = 0.02
    """Pause between the keys of a shortcut."""

    def __init__(self, gui: Any) -> None:
        self._gui = gui

    @abstractmethod
    def can_type(self, text: str) -> bool:
        """Whether PyAutoGUI's key presses produce exactly this text at this moment."""

    @abstractmethod
    def held_modifiers(self) -> list[str]:
        """Returns the modifiers that are down now, by whoever."""

    def stop_keys_down(self) -> bool:
        """Whether both Shift keys are down."""
        return {"shiftleft", "shiftright"} <= {*self.held_modifiers()}

    @abstractmethod
    def scroll_sideways(self, clicks: int) -> None:
        """Turn the wheel sideways where the pointer is; positive is right."""

    @abstractmethod
    def paste(self, text: str, press: PressKeys, pause: Pause) -> None:
        """Put text into the focused control by the clipboard, and put the clipboard back.

        Raises:
            ActionRefused: it cannot be put back, or the window in front did not take the text.
        """

    def click(self, button: str, count: int, at: tuple[int, int]) -> None:
        """Press and release a button ``count`` times as one gesture, where the pointer is."""
        for _ in range(count):
            self._gui.mouseDown(*at, button=button, _pause=False)
            self._gui.mouseUp(*at, button=button, _pause=False)
            self.settle_press()

    def settle_press(self) -> None:  # noqa: B027 - only X holds presses
        """Wait until a press that was just sent has its place: nothing moves the pointer before."""

    @abstractmethod
    def front(self) -> int:
        """Returns the number of the window that takes keys; 0 if it is not known."""

    @abstractmethod
    def activate(self, window: int) -> None:
        """Bring a window to the front, if it is still there and the system lets it."""

    def read(self, *, elements: bool) -> Reading:
        """Returns the windows, and the elements on request."""
        return Reading(windows_known=False)

    def serve(self) -> None:  # noqa: B027 - most systems keep the clipboard themselves
        """Do what is due between two requests; returns at once."""

    def close(self) -> None:  # noqa: B027 - as above
        """Leave the clipboard to what outlives this process."""
