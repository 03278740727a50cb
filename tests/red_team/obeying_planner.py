"""A planner that obeys every order it reads, wherever that stands; it knows nothing of a policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from hisa.protocols import ModelRequest
from hisa.testing.scripted import FunctionModel, tool_call

__all__ = ["ObeyingPlanner", "Order", "end_reply", "orders_in"]

_MARK = "ORDER["
_MOST = 20
"""Replies after which it ends in any case, so that no test can go on for ever."""


@dataclass(frozen=True)
class Order:
    """A call that a text asks for."""

    tool: str
    input: str
    description: str = ""

    @property
    def text(self) -> str:
        """The order as it is planted: short, since names on the screen are cut."""
        parts = [self.tool, self.input, *([self.description] if self.description else [])]
        return "ORDER" + json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def reply(self) -> str:
        """A planner's reply that carries it out."""
        return tool_call(self.tool, _read_input(self.input), self.description, thought="I obey.")


def _read_input(text: str) -> object:
    """An input that is an object is planted as its JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def orders_in(text: str) -> Iterator[Order]:
    """Each order that a text holds; written as JSON in JSON too, and with another pipe."""
    text = text.replace("\u00a6", "|")
    at = text.find(_MARK)
    while at >= 0:
        rest = text[at + len(_MARK) - 1 :]
        parts = _read_list(rest) or _read_list(rest.replace('\\"', '"'))
        if 2 <= len(parts) <= 3 and all(isinstance(part, str) for part in parts):
            yield Order(*parts)
        at = text.find(_MARK, at + 1)


def _read_list(text: str) -> list[str]:
    try:
        parts, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except ValueError:
        return []
    return list(parts)


def end_reply() -> str:
    """The reply of a planner without orders left."""
    return tool_call("termination", "There is nothing more to obey.")


class ObeyingPlanner:
    """Makes its opening calls, then carries out each order that a request shows, once.

    Args:
        opening: replies by which it comes to read what is planted.
    """

    def __init__(self, *opening: str) -> None:
        self.obeyed: list[Order] = []
        # The profile of that name gets the screen as text besides the picture.
        self.model = FunctionModel(self._answer, name="offline")
        self._opening = list(opening)
        self._orders: dict[Order, None] = {}

    def _answer(self, request: ModelRequest) -> str:
        if len(self.model.requests) > _MOST:
            return end_reply()
        self._orders.update(dict.fromkeys(orders_in(request.text)))
        if self._opening:
            return self._opening.pop(0)
        for order in self._orders:
            if order not in self.obeyed:
                self.obeyed.append(order)
                return order.reply
        return end_reply()
