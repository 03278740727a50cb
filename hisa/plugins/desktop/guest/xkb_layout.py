"""The keyboard's layout as the X server has it now, by X's keyboard extension.

The core protocol tells the keys of two groups only, and does not tell which modifiers bring a level
out. Reading all of it takes 0.4 ms, so it is read for each call and no event is followed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from Xlib.protocol import rq

__all__ = ["KeyPlace", "Layout", "XkbKeyboard"]

_CORE_KEYBOARD = 0x100  # XkbUseCoreKbd of <X11/extensions/XKB.h>, as are the numbers below
_TYPES_AND_SYMBOLS = 0x3
_CLAMPED, _REDIRECTED = 0x40, 0x80
_GROUP_SHIFT = 13  # of the group in the state that core requests tell, as in XKBproto.h


class KeyPlace(NamedTuple):
    """Where a symbol is: a keycode, the modifiers that bring it out, and a group that has it."""

    code: int
    modifiers: int
    group: int


@dataclass
class Layout:
    """For each group, the places of its symbols; and the keycodes without any meaning."""

    groups: list[dict[int, KeyPlace]]
    empty: list[int]

    def place(self, sym: int, group: int) -> KeyPlace | None:
        """The place of a symbol in a group, else in the first group that has it."""
        candidates = [self.groups[group % len(self.groups)], *self.groups]
        return next((places[sym] for places in candidates if sym in places), None)


def _asking(minor: int, *fields: Any) -> Any:
    return rq.Struct(rq.Card8("opcode"), rq.Opcode(minor), rq.RequestLength(), *fields)


def _answering(*fields: Any) -> Any:
    head = (rq.ReplyCode(), rq.Card8("first"), rq.Card16("sequence_number"), rq.ReplyLength())
    return rq.Struct(*head, *fields)


class _UseExtension(rq.ReplyRequest):  # type: ignore[misc]
    _request = _asking(0, rq.Card16("major"), rq.Card16("minor"))
    _reply = _answering(rq.Pad(24))


class _LockGroup(rq.Request):  # type: ignore[misc]
    _request = _asking(
        5, rq.Card16("device"), rq.Pad(2), rq.Card8("lock"), rq.Card8("group"), rq.Pad(6)
    )


class _GetMap(rq.ReplyRequest):  # type: ignore[misc]
    _request = _asking(8, rq.Card16("device"), rq.Card16("full"), rq.Pad(20))
    _reply = _answering(
        *(rq.Pad(7), rq.Card8("types"), rq.Pad(1), rq.Card8("first_key")),
        *(rq.Pad(2), rq.Card8("keys"), rq.Pad(19), rq.Binary("data")),
    )


class XkbKeyboard:
    """Reads one display's layout, and moves between its groups.

    Args:
        display: an Xlib display.

    Raises:
        RuntimeError: its server lacks the extension.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        extension = display.query_extension("XKEYBOARD")
        if extension is None or not extension.present:
            raise RuntimeError("the X server lacks the XKEYBOARD extension")
        self._about = {"display": display.display, "opcode": extension.major_opcode}
        _UseExtension(**self._about, major=1, minor=0)

    def group(self) -> int:
        """The group in force."""
        return int(self._display.screen().root.query_pointer().mask >> _GROUP_SHIFT & 0x3)

    def lock_group(self, group: int) -> None:
        """Put a group in force for the keys that are pressed after it."""
        _LockGroup(**self._about, device=_CORE_KEYBOARD, lock=1, group=group)

    def layout(self, usable: int) -> Layout:
        """The layout now.

        Args:
            usable: the modifiers that can be pressed; what needs another one has no place.
        """
        reply = _GetMap(**self._about, device=_CORE_KEYBOARD, full=_TYPES_AND_SYMBOLS)
        types, at = [], 0
        for _ in range(reply.types):
            entries, preserved = struct.unpack_from("5xBBx", reply.data, at)
            types.append(_modifiers_by_level(reply.data[at + 8 : at + 8 + 8 * entries], usable))
            at += 8 + 8 * entries + 4 * entries * preserved
        layout = Layout([{} for _ in range(4)], [])
        plain, further = [], []
        for code in range(reply.first_key, reply.first_key + reply.keys):
            *kinds, info, width, count = struct.unpack_from("4BBBH", reply.data, at)
            syms = struct.unpack_from(f"{count}I", reply.data, at + 8)
            at += 8 + 4 * count
            if not any(syms):
                layout.empty.append(code)
                continue
            for group, places in enumerate(layout.groups):
                own = _effective_group(group, info)
                for level, sym in enumerate(syms[own * width : own * width + width]):
                    modifiers = types[kinds[own]].get(level)
                    if sym and modifiers is not None:
                        rows = plain if level < 2 else further
                        rows.append((places, sym, KeyPlace(code, modifiers, group)))
        for places, sym, place in (*plain, *further):
            places.setdefault(sym, place)
        return layout


def _modifiers_by_level(entries: bytes, usable: int) -> dict[int, int]:
    """The modifiers, of those that can be pressed, that bring out each level of a key type."""
    modifiers = {0: 0}
    for active, mask, level in struct.iter_unpack("BBB5x", entries):
        if active and not mask & ~usable:
            modifiers.setdefault(level, mask)
    return modifiers


def _effective_group(group: int, info: int) -> int:
    """The group of a key that counts where ``group`` is in force: a key may have fewer."""
    count = info & 0xF
    if group < count:
        return group
    if info & _REDIRECTED:
        return (info >> 4 & 0x3) if (info >> 4 & 0x3) < count else 0
    return count - 1 if info & _CLAMPED else group % count
