"""Keys and text through XTEST, whatever the layout.

A character that the layout has is typed with the keys that carry it. Any other character borrows a
keycode that the layout leaves empty. Applications look the borrowed key up when they read the key
press, not when it is sent, so a keycode is lent to another character only after the window in
front has shown, by answering a ping, that it has read everything sent before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from .keysyms import keysym_of_character, keysym_of_key

__all__ = ["Keyboard"]

_SHIFT_SYM = 0xFFE1  # of <X11/keysymdef.h>
_MOVES = frozenset(map(keysym_of_character, "\n\t"))
"""Tab and Enter. A spreadsheet that is not being typed into notes them when it reads them and moves
its cursor later, so that the next key would still meet the cell before."""
_MEDIA_FIRST, _MEDIA_LAST = 0x1008FE00, 0x1008FFFF
_CAPS = 0x2  # X's LockMask


class Keyboard:
    """Types on one display.

    Args:
        display: an Xlib display of its own.
        drained: waits until the window in front has read all its events.
        settled: waits until the applications have done what they were asked.
        own: nobody else types here, so media keys may be lent too.
    """

    def __init__(
        self,
        display: Any,
        drained: Callable[[], None],
        settled: Callable[[], None],
        *,
        own: bool = False,
    ) -> None:
        self._display = display
        self._drained = drained
        self._settled = settled
        self._own = own
        self._places: dict[int, tuple[int, bool]] = {}
        self._spare: list[int] = []
        self._lent: dict[int, int] = {}
        self._read_layout()

    def _read_layout(self) -> None:
        info = self._display.display.info
        first, count = info.min_keycode, info.max_keycode - info.min_keycode + 1
        modifiers = {code for row in self._display.get_modifier_mapping() for code in row}
        for offset, syms in enumerate(self._display.get_keyboard_mapping(first, count)):
            code = first + offset
            if code not in modifiers and all(map(self._is_free, syms)):
                self._spare.append(code)
                continue
            for column, sym in enumerate(list(syms)[:2]):
                if sym:
                    self._places.setdefault(sym, (code, column == 1))

        self._spare = _longest_runs_first(self._spare)

    def _is_free(self, sym: int) -> bool:
        return not sym or (self._own and _MEDIA_FIRST <= sym <= _MEDIA_LAST)

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
        waited = False
        for index, sym in enumerate(syms):
            if sym not in self._places and sym not in self._lent:
                self._lend_ahead(syms[index:])
            alone = sym in _MOVES and (index == 0 or syms[index - 1] in _MOVES)
            if alone and index and not waited:
                self._settle()
            self._tap(sym)
            if waited := alone and index + 1 < len(syms):
                self._settle()
            if interval:
                self._display.sync()
                time.sleep(interval)
        if caps:
            self.press("capslock")
        self._display.sync()

    def _settle(self) -> None:
        self._display.sync()
        self._settled()

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
        """A keycode that types ``sym``."""
        if sym not in self._lent:
            self._lend_all([sym])
        return self._lent[sym]

    def _lend_ahead(self, syms: list[int]) -> None:
        """Lend for as many of the coming characters as there are free keycodes, all at once.

        Every change of the layout makes every application read the whole of it again.
        """
        coming = dict.fromkeys(sym for sym in syms if sym not in self._places)
        wanted = [sym for sym in coming if sym not in self._lent]
        self._lend_all(wanted[: max(1, len(self._spare))])

    def _lend_all(self, syms: list[int]) -> None:
        if not self._spare:
            self._take_back()
        syms = syms[: len(self._spare)]
        codes, self._spare = sorted(self._spare[: len(syms)]), self._spare[len(syms) :]
        self._lent.update(zip(syms, codes, strict=True))
        carried = dict(zip(codes, syms, strict=True))
        for run in _runs(codes):
            pairs = [(carried[code], carried[code]) for code in run]
            self._display.change_keyboard_mapping(run[0], pairs)
        self._display.sync()

    def _take_back(self) -> None:
        if not self._lent:
            raise ValueError("the keyboard layout leaves no key free for other characters")
        self._display.sync()
        self._drained()
        self._spare = _longest_runs_first(list(self._lent.values()))
        self._lent.clear()

    def _fake(self, kind: int, code: int) -> None:
        xtest.fake_input(self._display, kind, code)


def _runs(codes: list[int]) -> list[list[int]]:
    """Keycodes that follow each other: one request changes them all."""
    runs: list[list[int]] = []
    for code in sorted(codes):
        if not runs or runs[-1][-1] + 1 != code:
            runs.append([])
        runs[-1].append(code)
    return runs


def _longest_runs_first(codes: list[int]) -> list[int]:
    return [code for run in sorted(_runs(codes), key=len, reverse=True) for code in run]
