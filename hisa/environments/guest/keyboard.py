"""Keys and text through XTEST, whatever the layout.

A character that the layout has is typed with the keys that carry it. Any other character borrows a
keycode that the layout leaves empty. Applications look the borrowed key up when they read the key
press, not when it is sent, so a keycode is lent to another character only after the window in
front has shown, by answering a ping, that it has read everything sent before.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from .keys import keysym_of_character, keysym_of_key

__all__ = ["Keyboard"]

_SHIFT_SYM = 0xFFE1
_CAPS = 0x2


class Keyboard:
    """Types on one display.

    Args:
        display: an Xlib display of its own.
        drained: waits until the window in front has read all its events.
    """

    def __init__(self, display: Any, drained: Callable[[], None]) -> None:
        self._display = display
        self._drained = drained
        self._places: dict[int, tuple[int, bool]] = {}
        self._spare: list[int] = []
        self._lent: OrderedDict[int, int] = OrderedDict()
        self._read_layout()

    def _read_layout(self) -> None:
        info = self._display.display.info
        first, count = info.min_keycode, info.max_keycode - info.min_keycode + 1
        modifiers = {code for row in self._display.get_modifier_mapping() for code in row}
        for offset, syms in enumerate(self._display.get_keyboard_mapping(first, count)):
            code = first + offset
            if not any(syms) and code not in modifiers:
                self._spare.append(code)
            for column, sym in enumerate(list(syms)[:2]):
                if sym:
                    self._places.setdefault(sym, (code, column == 1))

    # ---------------------------------------------------------------- single keys

    def press(self, name: str) -> None:
        """Press and release.

        Raises:
            ValueError: unknown key.
        """
        self._tap(keysym_of_key(name))
        self._display.sync()

    def down(self, name: str) -> None:
        """Hold a key.

        Raises:
            ValueError: unknown key.
        """
        for code in self._chord_codes([name]):
            self._fake(X.KeyPress, code)
        self._display.sync()

    def up(self, name: str) -> None:
        """Release a key.

        Raises:
            ValueError: unknown key.
        """
        for code in reversed(self._chord_codes([name])):
            self._fake(X.KeyRelease, code)
        self._display.sync()

    def chord(self, names: list[str]) -> None:
        """Hold all in order, release in reverse; a character of the upper level brings Shift.

        Raises:
            ValueError: unknown key; nothing was pressed.
        """
        codes = self._chord_codes(names)
        for code in codes:
            self._fake(X.KeyPress, code)
        for code in reversed(codes):
            self._fake(X.KeyRelease, code)
        self._display.sync()

    def _chord_codes(self, names: list[str]) -> list[int]:
        codes: list[int] = []
        for sym in [keysym_of_key(name) for name in names]:
            code, shifted = self._places.get(sym) or (self._lend(sym), False)
            shift = self._places[_SHIFT_SYM][0]
            if shifted and shift not in codes:
                codes.append(shift)
            codes.append(code)
        return codes

    # ---------------------------------------------------------------- text

    def write(self, text: str, interval: float = 0.0) -> None:
        """Type text, any Unicode.

        Raises:
            ValueError: a control character; nothing was typed.
        """
        syms = [keysym_of_character(character) for character in text.replace("\r\n", "\n")]
        caps = bool(self._display.screen().root.query_pointer().mask & _CAPS)
        if caps:
            self.press("capslock")
        for sym in syms:
            self._tap(sym)
            if interval:
                self._display.sync()
                time.sleep(interval)
        if caps:
            self.press("capslock")
        self._display.sync()

    def _tap(self, sym: int) -> None:
        code, shifted = self._places.get(sym) or (self._lend(sym), False)
        shift = self._places[_SHIFT_SYM][0] if shifted else 0
        if shift:
            self._fake(X.KeyPress, shift)
        self._fake(X.KeyPress, code)
        self._fake(X.KeyRelease, code)
        if shift:
            self._fake(X.KeyRelease, shift)

    def _lend(self, sym: int) -> int:
        """A keycode that types ``sym``, the longest unused one taken back if none is free."""
        if sym in self._lent:
            self._lent.move_to_end(sym)
            return self._lent[sym]
        if self._spare:
            code = self._spare.pop()
        elif self._lent:
            self._display.sync()
            self._drained()
            while self._lent:
                _, freed = self._lent.popitem(last=False)
                self._spare.append(freed)
            code = self._spare.pop()
        else:
            raise ValueError("the keyboard layout leaves no key free for other characters")
        self._lent[sym] = code
        self._display.change_keyboard_mapping(code, [(sym, sym)])
        self._display.sync()
        return code

    def _fake(self, kind: int, code: int) -> None:
        xtest.fake_input(self._display, kind, code)
