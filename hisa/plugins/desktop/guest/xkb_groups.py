"""Reads and sets the group of a keyboard layout, such as Latin or Russian, by X's extension."""

from __future__ import annotations

from typing import Any

from Xlib.protocol import rq

__all__ = ["KeyboardGroups"]

_CORE_KEYBOARD = 0x100  # XkbUseCoreKbd of <X11/extensions/XKB.h>
_GROUP_SHIFT = 13  # of the group in the state that core requests tell, as in XKBproto.h


class _UseExtension(rq.ReplyRequest):  # type: ignore[misc]
    _request = rq.Struct(
        *(rq.Card8("opcode"), rq.Opcode(0), rq.RequestLength()),
        *(rq.Card16("major"), rq.Card16("minor")),
    )
    _reply = rq.Struct(
        *(rq.ReplyCode(), rq.Card8("supported"), rq.Card16("sequence_number")),
        *(rq.ReplyLength(), rq.Pad(24)),
    )


class _LockGroup(rq.Request):  # type: ignore[misc]
    _request = rq.Struct(
        *(rq.Card8("opcode"), rq.Opcode(5), rq.RequestLength(), rq.Card16("device"), rq.Pad(2)),
        *(rq.Card8("lock"), rq.Card8("group"), rq.Pad(6)),
    )


class KeyboardGroups:
    """Reads and sets the group in force of a display; without the extension there is only one."""

    def __init__(self, display: Any) -> None:
        self._display = display
        extension = display.query_extension("XKEYBOARD")
        self._about = {"display": display.display, "opcode": extension and extension.major_opcode}
        if extension:
            _UseExtension(**self._about, major=1, minor=0)

    def group(self) -> int:
        """Returns the group in force."""
        return int(self._display.screen().root.query_pointer().mask >> _GROUP_SHIFT & 0x3)

    def lock(self, group: int) -> None:
        """Puts a group in force for the keys that are pressed afterwards."""
        if self._about["opcode"]:
            _LockGroup(**self._about, device=_CORE_KEYBOARD, lock=1, group=group)
