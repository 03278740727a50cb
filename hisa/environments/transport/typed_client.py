"""Talks to HiSA's own guest through its typed routes."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import struct
import uuid
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from hisa.actions import Action, to_json
from hisa.environments.transport.base import (
    GuestClient,
    HttpResponse,
    RawObservation,
    ResponseTooLarge,
    acting_seconds,
    guest_failure,
    reason,
)
from hisa.errors import ActionRefused, ScreenChanged
from hisa.protocols import COMMAND_LIMIT, CommandResult, FileRefused, HitTest, ScreenPrecondition
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Screenshot, UnderPointer, Window
from hisa.text.prompt_text import OBJECT_CHARACTER
from hisa.text.window_titles import plain_title

__all__ = ["HisaTransport"]

_LOOK_SECONDS = 30.0
"""Time limit for screenshot and windows, without elements and settling; chosen by hand."""
_LOOK_TRIES = 3
"""Tries of a look that arrives damaged; chosen by hand."""
_ELEMENTS_SECONDS = 24.0
"""The longest limit for reading elements that any guest is started with: an emulated one's."""
_MOST_SETTLE = 120.0
"""Seconds; a guest refuses more, and limits stretch with the load."""
_UNDRAWN_NAME = 100
"""Most characters of the name of what is not painted; a program may choose any title."""
_SELECTED_CHARS = 200
"""Most characters of a selected text that are kept."""
_OFFERED = frozenset({"elements", "execute", "hidden", "lies_at", "unchanged"})
_MOST_ELEMENTS = 20_000
"""Elements of a look that includes hidden ones: the most that a guest reports."""


class HisaTransport:
    """The typed routes: one look in one response, acts and commands at most once."""

    def __init__(self, client: GuestClient, announced: Sequence[str] = tuple(_OFFERED)) -> None:
        self._client = client
        self._announced = _OFFERED & frozenset(announced)

    @property
    def capabilities(self) -> frozenset[str]:
        """The abilities that the guest announced and this client knows."""
        return self._announced

    async def look(
        self, *, elements: bool, settle: float, longer: float = 1.0, hidden: bool = False
    ) -> RawObservation:
        """Takes a look with one request; asks again if the response is damaged.

        Args:
            elements: whether to read the element tree too.
            settle: longest wait for the screen to stop changing, in seconds on an idle machine.
            longer: factor on the usual time limit for reading elements.
            hidden: whether to read elements that are not showing too.
        """
        encoding = "raw" if self._client.near else "png"
        # A screen that never stands still does not do so on a busy machine either: its limit stays.
        body: dict[str, Any] = {"elements": elements, "format": encoding}
        body["restless"] = min(settle, _MOST_SETTLE)
        settle = body["settle"] = min(settle * self._client.patience, _MOST_SETTLE)
        within = 0.0
        if elements:
            body["patience"] = self._client.patience * longer
            within = _ELEMENTS_SECONDS * longer
        if hidden:
            body |= {"hidden": True, "max_elements": _MOST_ELEMENTS}
        for left in reversed(range(_LOOK_TRIES)):
            response = await self._client.request(
                "POST", "/hisa/observe", json=body, seconds=_LOOK_SECONDS + settle + within
            )
            self._expect(response)
            try:
                if encoding == "raw" and not elements:  # nothing is copied
                    return _decode(response.content)
                return await asyncio.to_thread(_decode, response.content)
            except (ValueError, KeyError, TypeError, struct.error) as error:
                if not left:
                    raise guest_failure(self._client.where, f"unreadable look: {error}") from error
        raise AssertionError("unreachable: the last try returns or raises")

    async def hit_test(self, points: Sequence[Point], /) -> HitTest:
        """See `hisa.protocols.HitTester`."""
        places = [[point.x, point.y] for point in points]
        body = {"points": places, "patience": self._client.patience}
        response = await self._client.request(
            "POST", "/hisa/lies_at", json=body, seconds=_LOOK_SECONDS + _ELEMENTS_SECONDS
        )
        self._expect(response)
        try:
            answer = response.json()
            return HitTest(
                elements=tuple(map(_element, answer["elements"], count())),
                windows=tuple(map(_window, answer["windows"])),
                complete=answer["complete"] is True,
                name=str(answer["look"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise guest_failure(self._client.where, f"unreadable answer: {error}") from error

    async def act(
        self, actions: Sequence[Action], /, *, held: ScreenPrecondition | None = None
    ) -> None:
        """Sends the actions under one id, which stays the same if the request is sent again."""
        body: dict[str, Any] = {"id": uuid.uuid4().hex, "actions": to_json(actions)}
        if held is not None and "unchanged" in self._announced:
            boxes = list(map(_round_outwards, held.boxes))
            body["unchanged"] = {"look": held.look.name, "boxes": boxes, "follows": held.follows}
        seconds = 60.0 + acting_seconds(actions)
        response = await self._client.request("POST", "/hisa/act", json=body, seconds=seconds)
        if response.status_code == 422:
            raise ActionRefused(reason(response))
        if response.status_code == 409 and held is not None:
            raise ScreenChanged(reason(response))
        self._expect(response)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float, limit: int
    ) -> CommandResult:
        """Runs a command under one id; the guest enforces both limits.

        Args:
            command: a bash line, or a program and its arguments.
            timeout: most seconds that it may run; `COMMAND_LIMIT` caps it.
            limit: most characters of each of its outputs that are kept.
        """
        timeout = min(timeout, COMMAND_LIMIT)
        words = command if isinstance(command, str) else list(command)
        body = {"id": uuid.uuid4().hex, "command": words, "timeout": timeout, "limit": limit}
        response = await self._client.request(
            "POST", "/hisa/execute", json=body, seconds=timeout + 30.0
        )
        self._expect(response)
        try:
            answer = response.json()
            return CommandResult(
                answer["exit_code"], answer["output"], answer["error"], answer["timed_out"]
            )
        except (ValueError, KeyError, TypeError) as error:
            message = f"unreadable answer to a command: {error!r}"
            raise guest_failure(self._client.where, message) from error

    async def read_file(self, path: str, /, *, limit: int) -> bytes:
        """Returns the file's bytes; the guest itself refuses a file above the limit."""
        parameters = {"path": path, "limit": str(limit)}
        try:
            response = await self._client.request(
                "GET", "/hisa/file", params=parameters, seconds=120.0, most=limit
            )
        except ResponseTooLarge as error:  # the file grew, or the guest is an older one
            raise FileRefused(f"{path}: {error}") from error
        if response.status_code == 404:
            raise FileNotFoundError(path)
        if response.status_code in (403, 413):
            raise FileRefused(reason(response))
        self._expect(response)
        return response.content

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Writes a file, which appears whole or not at all."""
        response = await self._client.request(
            "PUT", "/hisa/file", params={"path": path}, content=data, seconds=120.0
        )
        self._expect(response)

    def _expect(self, response: HttpResponse) -> None:
        if response.status_code != 200:
            raise guest_failure(self._client.where, reason(response))


def _decode(data: bytes) -> RawObservation:
    (length,) = struct.unpack(">I", data[:4])
    header = json.loads(data[4 : 4 + length])
    width, height = header["screen"]
    pixels = memoryview(data)[4 + length :]
    if header["format"] == "raw":
        picture = Screenshot.from_rgb(Size(width, height), pixels)
    else:
        picture = Screenshot.from_png(bytes(pixels))
    elements = header["elements"]
    # An older guest does not report whether a reading is complete.
    complete = elements is None or header.get("complete") is True
    return RawObservation(
        picture=picture,
        screen=Size(width, height),
        windows=tuple(_window(window) for window in header["windows"]),
        elements=None if elements is None else tuple(map(_element, elements, count())),
        cursor=Point(header["cursor"][0], header["cursor"][1], "screen"),
        under_pointer=_under(header.get("under_pointer")),
        complete=complete,
        selection=str(header.get("selection", ""))[:_SELECTED_CHARS],
        undrawn=tuple(str(name)[:_UNDRAWN_NAME] for name in header.get("undrawn", ())),
        name=str(header.get("look", "")),
    )


def _under(fields: Mapping[str, Any] | None) -> UnderPointer | None:
    """Reads what the pointer covers; None if there is nothing, or from an older guest."""
    if fields is None:
        return None
    (left, top), (width, height) = (map(int, fields[name]) for name in ("place", "size"))
    picture = Screenshot.from_rgb(Size(width, height), base64.b64decode(fields["rgb"]))
    return UnderPointer(BoundingBox(left, top, left + width, top + height), picture)


def _box(corners: Sequence[float]) -> BoundingBox:
    left, top, right, bottom = corners
    return BoundingBox(left, top, right, bottom, "screen")


def _round_outwards(box: BoundingBox) -> list[int]:
    """Returns the smallest box of whole screen pixels around a box."""
    return [
        max(0, math.floor(box.left)),
        max(0, math.floor(box.top)),
        math.ceil(box.right),
        math.ceil(box.bottom),
    ]


def _window(item: Mapping[str, Any]) -> Window:
    box = _box(item["box"]) if item["box"] else None
    title, dialog = plain_title(item["title"]), bool(item.get("dialog"))
    return Window(item["id"], title, item["app"], box, item["active"], dialog=dialog)


def _element(item: Mapping[str, Any], number: int) -> Element:
    parent = item.get("parent")  # an older guest sends none
    return Element(
        role=item["role"],
        name=item["name"],
        box=_box(item["box"]),
        text=item.get("text", "").replace(OBJECT_CHARACTER, ""),
        label=item.get("label", ""),
        states=frozenset(item["states"]),
        app=item["app"],
        window=plain_title(item["window"]),
        description=item.get("description", ""),
        parent=parent if isinstance(parent, int) and -1 <= parent < number else None,
    )
