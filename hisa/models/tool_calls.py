"""Calls that a server tells apart from the text: ``tool_calls``, as replies in HiSA's own form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hisa.text.safe_text import encodable

__all__ = ["CallReader", "ServerCall"]

_FIELDS = frozenset({"thought", "input", "description", "description_2", "note"})
"""Keys of a reply beside the tool's name."""


@dataclass(slots=True)
class ServerCall:
    """One entry of ``tool_calls``; ``arguments`` is JSON as the model wrote it."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def as_reply(self) -> str:
        """The call as a reply of the planner; broken arguments make a broken one.

        Models fill the arguments with the tool's own, with the keys of a reply, or with all of it.
        """
        try:
            arguments = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return f'{{"thought": "", "tool": {json.dumps(self.name)}, "input": {self.arguments}}}'
        if isinstance(arguments, dict) and not {"tool", "actions"}.isdisjoint(arguments):
            return json.dumps({"thought": "", **arguments})
        if not isinstance(arguments, dict) or not {"input"} <= arguments.keys() <= _FIELDS:
            arguments = {"input": arguments}
        return json.dumps({"thought": "", "tool": self.name, **arguments})


class CallReader:
    """Gathers calls from a message, or from the deltas of one."""

    def __init__(self) -> None:
        self.calls: list[ServerCall] = []
        self._open: dict[int, ServerCall] = {}

    def add(self, message: dict[str, Any]) -> int:
        """Take a message or a delta; returns how many characters of arguments it held."""
        entries, older = message.get("tool_calls"), message.get("function_call")
        if not isinstance(entries, list):
            entries = [{"function": older}]
        return sum(self._take(place, entry) for place, entry in enumerate(entries))

    def _take(self, place: int, entry: object) -> int:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(function, dict):
            return 0
        index = entry.get("index")
        index = index if isinstance(index, int) else place
        id_, name = (
            encodable(str(value or "")) for value in (entry.get("id"), function.get("name"))
        )
        call = self._open.get(index)
        # Some servers number all calls 0, and tell them apart by id or by name alone.
        if (
            call is None
            or (id_ and call.id not in ("", id_))
            or (name and call.name not in ("", name))
        ):
            call = self._open[index] = ServerCall()
            self.calls.append(call)
        call.id, call.name = call.id or id_, call.name or name
        piece = function.get("arguments") or ""
        piece = encodable(piece if isinstance(piece, str) else json.dumps(piece))
        call.arguments += piece
        return len(piece)
