"""Types keys and text through XTEST, with any keyboard layout.

A character that the layout has is typed with its own keys, in any of the layout's groups. Any other
character borrows an unused keycode, of which there are some twenty; those of multimedia keys will
not do, because Chromium acts on them whatever symbol they have. Applications look up the symbol of
a borrowed key when they read the key press, not when it is sent. So a keycode is lent to another
character only after the window in front has read everything that was sent before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from Xlib import X
from Xlib.ext import xtest

from .keysyms import keysym_of_character, keysym_of_key
from .xkb_groups import KeyboardGroups

__all__ = ["Keyboard"]

_SHIFT_SYM, _LEVEL3_SYM = 0xFFE1, 0xFE03  # of <X11/keysymdef.h>, the second known as AltGr
_COLUMNS: tuple[tuple[int, tuple[int, ...]], ...] = (
    *((0, ()), (0, (_SHIFT_SYM,)), (1, ()), (1, (_SHIFT_SYM,))),
    *((0, (_LEVEL3_SYM,)), (0, (_LEVEL3_SYM, _SHIFT_SYM))),
)
"""The group, and the keys held with it, of each of a key's first symbols in the core protocol; the
order of further symbols depends on the layout."""
_MOVES = frozenset(map(keysym_of_character, "\n\t"))
"""Tab and Enter. If no cell is being edited, a spreadsheet moves its cursor some time after it has
read them, so the next key would still go to the cell before."""
_CAPS = 0x2  # X's LockMask
_LATIN_CODES = {
    ord(letter): first + index
    for first, row in ((24, "qwertyuiop"), (38, "asdfghjkl"), (52, "zxcvbnm"))
    for index, letter in enumerate(row)
}
"""Keycodes of the keys that are Latin letters on a US keyboard, as all X servers on Linux number
them. Chromium accepts Ctrl+A only from the key A, even if another key has the letter."""


class KeyPlace(NamedTuple):
    """How a symbol is typed: the keycodes to hold together, and a group that has it."""

    codes: tuple[int, ...]
    group: int


class Keyboard:
    """Types on one display.

    Args:
        display: an Xlib display that nothing else uses.
        drained: waits until the window in front has read all its events; returns whether it has.
        settled: waits until the applications have done what they were asked.
    """

    def __init__(
        self, display: Any, drained: Callable[[], bool], settled: Callable[[], None]
    ) -> None:
        self._display = display
        self._drained = drained
        self._settled = settled
        self._groups = KeyboardGroups(display)
        self._lent: dict[int, int] = {}
        self._spare: list[int] = []
        self._places: dict[tuple[int, int], KeyPlace] = {}
        self._read_layout()

    def _read_layout(self) -> None:
        """Read the present layout, in 0.1 ms: any program may have changed it."""
        info = self._display.display.info
        first, count = info.min_keycode, info.max_keycode - info.min_keycode + 1
        modifiers = {code for row in self._display.get_modifier_mapping() for code in row}
        rows = dict(enumerate(self._display.get_keyboard_mapping(first, count), first))
        self._spare = [code for code, row in rows.items() if not any(row) and code not in modifiers]
        own = {row[0]: code for code, row in reversed(rows.items()) if len(row)}
        self._places.clear()
        for column, (group, shifts) in enumerate(_COLUMNS):
            held = tuple(own[sym] for sym in shifts if sym in own)
            for code, row in rows.items() if len(held) == len(shifts) else ():
                if column < len(row) and row[column]:
                    place = KeyPlace((*held, code), group)
                    self._places.setdefault((row[column], group), place)
        self._group = self._in_force = self._groups.group()
        self._lent = {sym: code for sym, code in self._lent.items() if rows[code][0] == sym}

    def _find_place(self, sym: int) -> KeyPlace | None:
        """Returns the place of a symbol, in the group in force if that has it."""
        candidates = (self._places.get((sym, group)) for group in (self._in_force, 0, 1))
        return next((place for place in candidates if place), None)

    # ---------------------------------------------------------------- single keys

    def press(self, name: str) -> None:
        """Presses and releases a key.

        Raises:
            ValueError: unknown key.
        """
        self.chord([name])

    def down(self, name: str) -> None:
        """Presses a key and holds it.

        Raises:
            ValueError: unknown key.
        """
        self._read_layout()
        for code in self._chord_codes([name]):
            self._fake(X.KeyPress, code)
        self._restore_group()

    def up(self, name: str) -> None:
        """Releases a key.

        Raises:
            ValueError: unknown key.
        """
        self._read_layout()
        for code in reversed(self._chord_codes([name])):
            self._fake(X.KeyRelease, code)
        self._restore_group()

    def release(self) -> None:
        """Releases all keys that are down, and gives the borrowed keycodes back."""
        for code, bits in enumerate(self._display.query_keymap()):
            for bit in range(8):
                if bits >> bit & 1:
                    self._fake(X.KeyRelease, 8 * code + bit)
        self._read_layout()
        if self._lent and self._drained():
            for code in self._lent.values():
                self._display.change_keyboard_mapping(code, [(0, 0)])
        self._display.sync()

    def chord(self, names: list[str]) -> None:
        """Presses all keys in order and releases them in reverse; adds Shift where a key needs it.

        A letter that the group in force lacks, such as a Latin one in a Russian group, is pressed
        in a group that has it. If none has it, its key gets the letter for the moment.

        Raises:
            ValueError: unknown key; nothing was pressed.
        """
        syms = [keysym_of_key(name) for name in names]
        self._read_layout()
        lacking = {_LATIN_CODES[sym]: sym for sym in syms if self._is_missing(sym)}
        rows = {code: self._display.get_keyboard_mapping(code, 1)[0] for code in lacking}
        for code, sym in lacking.items():
            pair = (sym, keysym_of_character(chr(sym).upper()))
            self._display.change_keyboard_mapping(code, [pair])
        try:
            self._read_layout()
            codes = self._chord_codes(names)
            for code in codes:
                self._fake(X.KeyPress, code)
            for code in reversed(codes):
                self._fake(X.KeyRelease, code)
            self._restore_group()
        finally:
            if rows:
                self._drained()
            for code, row in rows.items():
                self._display.change_keyboard_mapping(code, [tuple(row)])
            self._display.sync()

    def _is_missing(self, sym: int) -> bool:
        return sym in _LATIN_CODES and self._find_place(sym) is None

    def _chord_codes(self, names: list[str]) -> list[int]:
        """Put a group that has the chord's symbols in force; return the chord's keycodes."""
        codes: list[int] = []
        for sym in [keysym_of_key(name) for name in names]:
            place = self._place(sym)
            self._put_in_force(place.group)
            codes += [code for code in place.codes if code not in codes]
        return codes

    def _put_in_force(self, group: int) -> None:
        if group != self._in_force:
            self._groups.lock(group)
            self._in_force = group

    def _restore_group(self) -> None:
        self._put_in_force(self._group)
        self._display.sync()

    # ---------------------------------------------------------------- text

    def write(self, text: str, interval: float = 0.0) -> None:
        """Types any Unicode text, with ``interval`` seconds after each character.

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
            if self._find_place(sym) is None:
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
        self._put_in_force(place.group)
        for code in place.codes:
            self._fake(X.KeyPress, code)
        for code in reversed(place.codes):
            self._fake(X.KeyRelease, code)

    def _place(self, sym: int) -> KeyPlace:
        """Returns how a symbol is typed; lends a keycode to one that no group has."""
        if self._find_place(sym) is None:
            self._lend_all([sym])
        place = self._find_place(sym)
        assert place is not None, "it was lent"
        return place

    def _lend_ahead(self, syms: list[int]) -> None:
        """Lend keycodes to as many of the coming characters as there are free ones, all at once.

        After every change of the layout, every application reads the whole layout again.
        """
        self._lend_all(list(dict.fromkeys(sym for sym in syms if self._find_place(sym) is None)))

    def _lend_all(self, syms: list[int]) -> None:
        if not self._spare:
            self._take_back()
        lent = dict(zip(syms, self._spare, strict=False))
        self._spare = self._spare[len(lent) :]
        self._lent.update(lent)
        for sym, code in lent.items():
            self._display.change_keyboard_mapping(code, [(sym, sym)])
            self._places |= {(sym, group): KeyPlace((code,), group) for group in range(4)}
        self._display.sync()
        # Chromium has two connections, and gets the symbol from the one that it reads later.
        self._drained()

    def _take_back(self) -> None:
        if not self._lent:
            raise ValueError("the keyboard layout leaves no key free for other characters")
        self._display.sync()
        if not self._drained():
            raise ValueError("the window in front does not read its keys; the text is cut off")
        self._places = {
            key: place for key, place in self._places.items() if key[0] not in self._lent
        }
        self._spare = list(self._lent.values())
        self._lent.clear()

    def _fake(self, kind: int, code: int) -> None:
        xtest.fake_input(self._display, kind, code)
