"""The clipboard of an X display: lends it to a text, sees that the text is taken, puts it back.

A selection of X belongs to a window, and goes with the process that has it. So what was put back is
served from here during a run, and afterwards by a copy of the process, as xclip does it, until
something else is copied.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

from Xlib import X, Xatom, display
from Xlib.protocol import event, request

__all__ = ["Offer", "TooLarge", "XClipboard"]

Offer = dict[int, tuple[int, int, Any]]
"""What a selection can be had as: target atom to type, format and data of the property."""

_MOST_BYTES = 32 << 20
"""Most bytes that are kept of a clipboard: several screenshots of a large screen."""
_CHUNK_BYTES = 200_000
"""More goes in parts: a request of X has 262,140 bytes at most."""
_ANSWER_SECONDS = 1.0
"""A program that owns a selection answers in milliseconds; one that hangs is not waited for."""
_UNSERVED = ("TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE", "INSERT_SELECTION")


class TooLarge(Exception):
    """The clipboard holds more than is kept; names the bytes."""


class XClipboard:
    """Selections of a display, owned or read through one invisible window."""

    def __init__(self, name: str | None = None) -> None:
        self._display = display.Display(name)
        self._display.set_error_handler(lambda *_: None)  # a requestor may be gone
        self._window = self._display.screen().root.create_window(-9, -9, 1, 1, 0, X.CopyFromParent)
        self._window.change_attributes(event_mask=X.PropertyChangeMask)
        self._offers: dict[int, Offer] = {}
        self._parts: dict[tuple[int, int], list[tuple[int, int, Any]]] = {}
        self._notified: Any = None
        self._place = self.atom("HISA_CLIPBOARD")
        self.served = 0
        """How often a text was taken."""

    def atom(self, name: str) -> int:
        """Returns the number of a name on this display."""
        return int(self._display.intern_atom(name))

    def text_offer(self, text: str) -> Offer:
        """Returns the offer of a text, which clipboard histories are asked not to keep."""
        utf8, data = self.atom("UTF8_STRING"), text.encode()
        names = ("text/plain;charset=utf-8", "text/plain")
        offer: Offer = {utf8: (utf8, 8, data)}
        offer |= {self.atom(name): (self.atom(name), 8, data) for name in names}
        secret = self.atom("x-kde-passwordManagerHint")
        return offer | {secret: (secret, 8, b"secret")}

    def own(self, selection: int, offer: Offer) -> None:
        """Offer something; an empty offer leaves the selection without an owner."""
        self._offers.pop(selection, None)
        if offer:
            self._offers[selection] = offer
            self._window.set_selection_owner(selection, X.CurrentTime)
        else:
            request.SetSelectionOwner(
                display=self._display.display,
                window=X.NONE,
                selection=selection,
                time=X.CurrentTime,
            )
        self._display.sync()

    def save(self, selection: int) -> Offer:
        """Returns all that a selection can be had as; empty if nobody owns it.

        Raises:
            TooLarge: it is more than is kept.
        """
        owner = self._display.get_selection_owner(selection)
        if owner == X.NONE or owner.id == self._window.id:
            return self._offers.get(selection, {})
        unserved = {self.atom(name) for name in _UNSERVED}
        offer: Offer = {}
        size, deadline = 0, time.monotonic() + 3 * _ANSWER_SECONDS
        targets = self._read(selection, self.atom("TARGETS"))
        for target in targets[2] if targets and targets[1] == 32 else [self.atom("UTF8_STRING")]:
            if target in unserved or time.monotonic() > deadline:
                continue
            if (had := self._read(selection, target)) is not None:
                offer[target] = had
                size += len(had[2]) * had[1] // 8
            if size > _MOST_BYTES:
                raise TooLarge(f"{size} bytes")
        return offer

    def _read(self, selection: int, target: int) -> tuple[int, int, Any] | None:
        self._notified = None
        self._window.convert_selection(selection, target, self._place, X.CurrentTime)
        self._display.flush()
        deadline = time.monotonic() + _ANSWER_SECONDS
        while self._notified is None and time.monotonic() < deadline:
            self.serve(0.01)
        if self._notified is None or self._notified.property == X.NONE:
            return None
        had = self._take_property()
        if had is None or had[0] != self.atom("INCR"):
            return had
        return self._read_parts()

    def _take_property(self) -> tuple[int, int, Any] | None:
        had = self._window.get_full_property(self._place, X.AnyPropertyType)
        self._window.delete_property(self._place)
        self._display.flush()
        return None if had is None else (had.property_type, had.format, had.value)

    def _read_parts(self) -> tuple[int, int, Any] | None:
        """Read what comes in parts; deleting the property asks for the next."""
        content: tuple[int, int, Any] | None = None
        deadline = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < deadline:
            self.serve(0.005)
            part = self._take_property()
            if part is None:
                continue
            if not len(part[2]):
                return content
            content = part if content is None else (part[0], part[1], content[2] + part[2])
            if len(content[2]) * content[1] // 8 > _MOST_BYTES:
                raise TooLarge(f"more than {_MOST_BYTES} bytes")
            deadline = time.monotonic() + _ANSWER_SECONDS
        return None

    def serve(self, seconds: float = 0.0) -> None:
        """Answer requests for what is offered, for some seconds."""
        deadline = time.monotonic() + seconds
        while True:
            while self._display.pending_events():
                self._handle(self._display.next_event())
            self._display.flush()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            select.select([self._display], [], [], left)

    def _handle(self, got: Any) -> None:
        if got.type == X.SelectionRequest:
            self._answer(got)
        elif got.type == X.SelectionNotify:
            self._notified = got
        elif got.type == X.SelectionClear:
            self._offers.pop(got.atom, None)
        elif got.type == X.PropertyNotify and got.state == X.PropertyDelete:
            self._send_part(got.window, got.atom)

    def _answer(self, got: Any) -> None:
        offer = self._offers.get(got.selection, {})
        place = got.property or got.target
        if got.target == self.atom("TARGETS") and offer:
            targets = [self.atom("TARGETS"), *offer]
            got.requestor.change_property(place, Xatom.ATOM, 32, targets)
        elif got.target in offer:
            self._send(got.requestor, place, offer[got.target])
            self.served += 1
        else:
            place = X.NONE
        notify = event.SelectionNotify(
            time=got.time,
            requestor=got.requestor,
            selection=got.selection,
            target=got.target,
            property=place,
        )
        got.requestor.send_event(notify)
        self._display.flush()

    def _send(self, window: Any, place: int, had: tuple[int, int, Any]) -> None:
        kind, form, data = had
        step = _CHUNK_BYTES * 8 // form
        if len(data) <= step:
            window.change_property(place, kind, form, data)
            return
        parts = [(kind, form, data[at : at + step]) for at in range(0, len(data), step)]
        self._parts[window.id, place] = [*parts, (kind, form, data[:0])]
        window.change_attributes(event_mask=X.PropertyChangeMask)
        window.change_property(place, self.atom("INCR"), 32, [len(data)])

    def _send_part(self, window: Any, place: int) -> None:
        parts = self._parts.get((window.id, place))
        if not parts:
            return
        window.change_property(place, *parts.pop(0))
        if not parts:
            del self._parts[window.id, place]

    def hand_over(self) -> None:
        """Let a copy of this process serve what is offered until something else is copied."""
        if sys.platform != "win32" and self._offers and not os.fork():
            try:
                os.setsid()
                number = self._display.fileno()
                os.closerange(0, number)  # nobody waits for the end of a pipe that this one holds
                os.closerange(number + 1, os.sysconf("SC_OPEN_MAX"))
                while self._offers:
                    self.serve(60.0)
            finally:  # the display ended, or something else was copied
                os._exit(0)
