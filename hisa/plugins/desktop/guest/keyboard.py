"""Keys and text through XTEST, whatever the layout.

A character that the layout has is typed with the keys that carry it, in whichever of its groups.
Any other character borrows a keycode without a meaning: Chromium acts on the keycodes of multimedia
keys whatever symbol they carry. There are some twenty. Applications look the borrowed key up when
they read the key press, not when it is sent, so a keycode is lent to another character only after
the window in front has shown that it has read everything sent before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from .keysyms import keysym_of_character, keysym_of_key
from .xkb_layout import KeyPlace, Layout, XkbKeyboard

__all__ = ["Keyboard"]

_LEVEL_SYMS = (0xFFE1, 0xFE03, 0xFE11)
"""Shift_L, ISO_Level3_Shift and ISO_Level5_Shift of <X11/keysymdef.h>: they bring a level out."""
_MOVES = frozenset(map(keysym_of_character, "\n\t"))
"""Tab and Enter. A spreadsheet that is not being typed into notes them when it reads them and moves
its cursor later, so that the next key would still meet the cell before."""
_CAPS = 0x2  # X's LockMask
_LATIN_CODES = {
    ord(letter): first + index
    for first, row in ((24, "qwertyuiop"), (38, "asdfghjkl"), (52, "zxcvbnm"))
    for index, letter in enumerate(row)
}
"""Keycodes of the keys that are Latin letters on a US keyboard, as all X servers on Linux number
them. Chromium takes Ctrl+A from the key A alone, whatever else carries the letter."""


class Keyboard:
    """Types on one display.

    Args:
        display: an Xlib display of its own.
        drained: waits until the window in front has read all its events; False: it has not yet.
        settled: waits until the applications have done what they were asked.
    """

    def __init__(
        self, display: Any, drained: Callable[[], bool], settled: Callable[[], None]
    ) -> None:
        self._display = display
        self._drained = drained
        self._settled = settled
        self._xkb = XkbKeyboard(display)
        self._lent: dict[int, int] = {}
        self._spare: list[int] = []
        self._shifts: dict[int, int] = {}
        self._read_layout()

    def _read_layout(self) -> None:
        """Read which key carries what now: anybody may change it at any time."""
        rows = self._display.get_modifier_mapping()
        modifiers = {code: 1 << bit for bit, row in enumerate(rows) for code in row if code}
        bare = self._xkb.layout(0).groups[0]
        shifts = [bare[sym].code for sym in _LEVEL_SYMS if sym in bare]
        self._shifts = {modifiers[code]: code for code in reversed(shifts) if code in modifiers}
        self._layout: Layout = self._xkb.layout(sum(self._shifts))
        self._group = self._in_force = self._xkb.group()
        lent = ((sym, code, self._layout.place(sym, 0)) for sym, code in self._lent.items())
        self._lent = {sym: code for sym, code, place in lent if place and place.code == code}
        self._spare = [code for code in self._layout.empty if code not in modifiers]

    # ---------------------------------------------------------------- single keys

    def press(self, name: str) -> None:
        """Press and release.

        Raises:
            ValueError: unknown key.
        """
        self.chord([name])

    def down(self, name: str) -> None:
        """Hold a key.

        Raises:
            ValueError: unknown key.
        """
        for place in self._chord_places([name]):
            self._press(place)
        self._restore_group()

    def up(self, name: str) -> None:
        """Release a key.

        Raises:
            ValueError: unknown key.
        """
        for place in reversed(self._chord_places([name])):
            self._fake(X.KeyRelease, place.code)
        self._display.sync()

    def chord(self, names: list[str]) -> None:
        """Hold all in order, release in reverse; a character of an upper level brings its shift.

        A letter that the group in force lacks, such as a Latin one in a Russian group, is pressed
        in a group that has it; if none has, its key carries it for the moment.

        Raises:
            ValueError: unknown key; nothing was pressed.
        """
        syms = [keysym_of_key(name) for name in names]
        self._read_layout()
        lacking = {_LATIN_CODES[sym]: sym for sym in syms if self._lacks(sym)}
        rows = {code: self._display.get_keyboard_mapping(code, 1)[0] for code in lacking}
        for code, sym in lacking.items():
            pair = (sym, keysym_of_character(chr(sym).upper()))
            self._display.change_keyboard_mapping(code, [pair])
        try:
            places = self._chord_places(names)
            for place in places:
                self._press(place)
            for place in reversed(places):
                self._fake(X.KeyRelease, place.code)
            self._restore_group()
        finally:
            if rows:
                self._drained()
            for code, row in rows.items():
                self._display.change_keyboard_mapping(code, [tuple(row)])
            self._display.sync()

    def _lacks(self, sym: int) -> bool:
        return sym in _LATIN_CODES and self._layout.place(sym, 0) is None

    def _chord_places(self, names: list[str]) -> list[KeyPlace]:
        syms = [keysym_of_key(name) for name in names]
        self._read_layout()
        places: list[KeyPlace] = []
        for sym in syms:
            place = self._place(sym)
            pressed = [other.code for other in places]
            shifts = [code for code in self._shift_codes(place) if code not in pressed]
            places += [KeyPlace(code, 0, place.group) for code in shifts]
            places.append(place)
        return places

    def _shift_codes(self, place: KeyPlace) -> list[int]:
        return [code for modifier, code in self._shifts.items() if modifier & place.modifiers]

    def _press(self, place: KeyPlace) -> None:
        if place.group != self._in_force:
            self._xkb.lock_group(place.group)
            self._in_force = place.group
        self._fake(X.KeyPress, place.code)

    def _restore_group(self) -> None:
        if self._in_force != self._group:
            self._xkb.lock_group(self._group)
            self._in_force = self._group
        self._display.sync()

    # ---------------------------------------------------------------- text

    def write(self, text: str, interval: float = 0.0) -> None:
        """Type text, any Unicode.

        Raises:
            ValueError: a control character; nothing was typed.
        """
        syms = [keysym_of_character(character) for character in text.replace("\r\n", "\n")]
        self._read_layout()
        caps = bool(self._display.screen().root.query_pointer().mask & _CAPS)
        if caps:
            self.press("capslock")
        try:
            self._write(syms, interval)
        finally:
            self._restore_group()
            if caps:
                self.press("capslock")

    def _write(self, syms: list[int], interval: float) -> None:
        waited = False
        for index, sym in enumerate(syms):
            if self._layout.place(sym, self._in_force) is None:
                self._lend_ahead(syms[index:])
            alone = sym in _MOVES and (index == 0 or syms[index - 1] in _MOVES)
            if alone and index and not waited:
                self._settle()
            self._tap(self._place(sym))
            if waited := alone and index + 1 < len(syms):
                self._settle()
            if interval:
                self._display.sync()
                time.sleep(interval)

    def _settle(self) -> None:
        self._display.sync()
        self._settled()

    def _tap(self, place: KeyPlace) -> None:
        codes = [*self._shift_codes(place), place.code]
        for code in codes:
            self._press(KeyPlace(code, 0, place.group))
        for code in reversed(codes):
            self._fake(X.KeyRelease, code)

    def _place(self, sym: int) -> KeyPlace:
        """Where a symbol is, in the group in force if that has it; lent to where nothing has."""
        place = self._layout.place(sym, self._in_force)
        if place is None:
            self._lend_all([sym])
            place = self._layout.place(sym, self._in_force)
        assert place is not None, "it was lent"
        return place

    def _lend_ahead(self, syms: list[int]) -> None:
        """Lend for as many of the coming characters as there are free keycodes, all at once.

        Every change of the layout makes every application read the whole of it again.
        """
        coming = dict.fromkeys(sym for sym in syms if self._layout.place(sym, 0) is None)
        self._lend_all(list(coming))

    def _lend_all(self, syms: list[int]) -> None:
        if not self._spare:
            self._take_back()
        lent = dict(zip(syms, self._spare, strict=False))
        self._spare = self._spare[len(lent) :]
        self._lent.update(lent)
        for group, places in enumerate(self._layout.groups):
            places.update({sym: KeyPlace(code, 0, group) for sym, code in lent.items()})
        for sym, code in lent.items():
            self._display.change_keyboard_mapping(code, [(sym, sym)])
        self._display.sync()
        # Chromium has two connections, and asks the one that it reads later for the symbol.
        self._drained()

    def _take_back(self) -> None:
        if not self._lent:
            raise ValueError("the keyboard layout leaves no key free for other characters")
        self._display.sync()
        if not self._drained():
            raise ValueError("the window in front does not read its keys; the text is cut off")
        for places in self._layout.groups:
            for sym in self._lent:
                places.pop(sym, None)
        self._spare = list(self._lent.values())
        self._lent.clear()

    def give_back(self) -> None:
        """Leave the keycodes that were borrowed without a meaning, as they were."""
        self._read_layout()
        if self._lent and self._drained():
            for code in self._lent.values():
                self._display.change_keyboard_mapping(code, [(0, 0)])
            self._display.sync()

    def _fake(self, kind: int, code: int) -> None:
        xtest.fake_input(self._display, kind, code)
