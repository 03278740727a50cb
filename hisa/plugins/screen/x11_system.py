"""The facts of an X display that PyAutoGUI does not know: layout, locks, windows, clipboard."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from Xlib import X
from Xlib.display import Display
from Xlib.protocol.event import ClientMessage

from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.screen.base import Pause, PressKeys, System
from hisa.plugins.screen.screen_findings import WAYLAND
from hisa.plugins.screen.x_clipboard import TooLarge, XClipboard

__all__ = ["X11System"]

_MODIFIERS = ("shiftleft", "shiftright", "ctrlleft", "ctrlright", "altleft", "winleft", "winright")
_LOCK = 2
"""The bit of Caps Lock in the state of the keyboard; its group lies from bit 13 on."""
_TAKEN_SECONDS = 3.0
"""A window asks for what is pasted within milliseconds; a busy one is given longer."""
_QUESTION, _ANSWER = "_NET_REQUEST_FRAME_EXTENTS", "_NET_FRAME_EXTENTS"
_ANSWER_SECONDS, _UNANSWERED_SECONDS = 1.0, 0.05
"""Longest wait for a window manager's answer, and the wait where it gives none."""
_QUIET_SECONDS = 0.1
"""Some windows ask twice, for the kinds and then for the text."""


class X11System(System):
    """An X display; see `hisa.plugins.screen.base.System`."""

    hotkey_seconds = 0.01

    def __init__(self, gui: Any) -> None:
        super().__init__(gui)
        self._codes: dict[str, int | None] = gui.platformModule.keyboardMapping
        self._display = Display(os.environ["DISPLAY"])
        if self._display.query_extension("XWAYLAND") is not None:
            raise EnvironmentFailed(WAYLAND)
        self._root = self._display.screen().root
        self._asker = self._root.create_window(-9, -9, 1, 1, 0, X.CopyFromParent)
        self._asker.change_attributes(event_mask=X.PropertyChangeMask)
        self._clipboard = XClipboard()

    def can_type(self, text: str) -> bool:
        """Whether the layout has every character where PyAutoGUI presses it, and no lock is on."""
        state = self._root.query_pointer().mask
        if state & _LOCK or state >> 13 & 3 or _composes():
            return False
        return all(map(self._has_key, set(text)))

    def _has_key(self, character: str) -> bool:
        code = self._codes.get(character)
        if not code or not character.isascii():
            return False
        keysyms = self._display.get_keyboard_mapping(code, 1)[0]  # as it is now
        keysym = keysyms[int(self._gui.isShiftCharacter(character))]
        return bool(keysym == ord(character))  # of printable ASCII, keysym and code are the same

    def held_modifiers(self) -> list[str]:
        """Returns the modifiers that are down."""
        down = self._display.query_keymap()
        codes = {name: self._codes.get(name) or 0 for name in _MODIFIERS}
        return [name for name, code in codes.items() if down[code // 8] >> code % 8 & 1]

    def scroll_sideways(self, clicks: int) -> None:
        """Turn the wheel sideways."""
        self._gui.hscroll(clicks, _pause=False)

    def paste(self, text: str, press: PressKeys, pause: Pause) -> None:
        """Offer the text, press the keys that paste, and wait until it is taken.

        A terminal takes ctrl+v as a character: it pastes what was selected last by Shift+Insert.
        """
        clipboard = self._clipboard
        names = ["CLIPBOARD"]
        keys = ("ctrl", "v")
        if self._is_terminal():
            names, keys = ["CLIPBOARD", "PRIMARY"], ("shift", "insert")
        selections = [clipboard.atom(name) for name in names]
        try:
            saved = {selection: clipboard.save(selection) for selection in selections}
        except TooLarge as error:
            raise ActionRefused(
                f"the text needs the clipboard, which holds {error} and could not be put back"
            ) from None
        try:
            for selection in selections:
                clipboard.own(selection, clipboard.text_offer(text))
            clipboard.serve(0.05)  # clipboard histories ask at once
            before = clipboard.served
            press(keys)
            self._await_taken(before, pause)
        finally:
            for selection, offer in saved.items():
                clipboard.own(selection, offer)

    def _await_taken(self, before: int, pause: Pause) -> None:
        waited = 0.0
        while self._clipboard.served == before:
            self._clipboard.serve(0.01)
            pause(0.0)
            waited += 0.01
            if waited > patience(_TAKEN_SECONDS):
                raise ActionRefused("the window in front took no text from the clipboard")
        before = -1
        while before != self._clipboard.served:
            before = self._clipboard.served
            self._clipboard.serve(_QUIET_SECONDS)

    def _is_terminal(self) -> bool:
        """Whether the process of the window in front holds the master of a pseudo terminal."""
        window = self._display.create_resource_object("window", self.front())
        pid = self._read_property(window, "_NET_WM_PID")[0] if window.id else 0
        return any("/ptmx" in link for link in _list_files(pid))

    def front(self) -> int:
        """Returns the window that the window manager calls active."""
        return int(self._read_property(self._root, "_NET_ACTIVE_WINDOW")[0])

    def _read_property(self, window: Any, name: str) -> Sequence[int]:
        had = window.get_full_property(self._atom(name), X.AnyPropertyType)
        return had.value if had is not None and len(had.value) else (0,)

    def activate(self, window: int) -> None:
        """Ask the window manager, as a task bar does."""
        target = self._display.create_resource_object("window", window)
        self._ask_manager(target, "_NET_ACTIVE_WINDOW", [2, X.CurrentTime, 0, 0, 0])

    def settle_press(self) -> None:
        """Wait until the window manager has let the press through to its window.

        It holds a press until it has raised the window. What is pressed meanwhile waits, and gets
        the place that the pointer has by then. Managers do one thing after the other, so a question
        for the frame of a window that is never shown is answered afterwards.
        """
        if self._atom(_QUESTION) not in self._read_property(self._root, "_NET_SUPPORTED"):
            time.sleep(_UNANSWERED_SECONDS)
            return
        self._ask_manager(self._asker, _QUESTION, [0] * 5)
        end = time.monotonic() + patience(_ANSWER_SECONDS)
        while (left := end - time.monotonic()) > 0:
            if not self._display.pending_events():  # it may have come with another answer
                select.select([self._display], [], [], left)
            while self._display.pending_events():
                got = self._display.next_event()
                if got.type == X.PropertyNotify and got.atom == self._atom(_ANSWER):
                    return

    def _ask_manager(self, window: Any, name: str, values: list[int]) -> None:
        message = ClientMessage(window=window, client_type=self._atom(name), data=(32, values))
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=mask)
        self._display.sync()

    def _atom(self, name: str) -> int:
        return int(self._display.intern_atom(name))

    def serve(self) -> None:
        """Answer programs that ask for what was put back."""
        self._clipboard.serve()

    def close(self) -> None:
        """Hand the clipboard over to a process of its own."""
        self._clipboard.hand_over()


def _list_files(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                yield os.readlink(f"{folder}/{name}")


def _composes() -> bool:
    """Whether an input method turns keys into other characters now."""
    for words, plain in ((("ibus", "engine"), "xkb:"), (("fcitx5-remote",), "1")):
        if words[0][:5] not in os.environ.get("XMODIFIERS", "") or not shutil.which(words[0]):
            continue
        with suppress(OSError, subprocess.SubprocessError):
            ran = subprocess.run(words, capture_output=True, text=True, timeout=2, check=False)
            return bool(ran.stdout.strip()) and not ran.stdout.startswith(plain)
    return False
