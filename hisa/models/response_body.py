"""The body of a server's response, read strictly: whatever comes is either a reply or an error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hisa.models.turn_tokens import TokenReader
from hisa.protocols import TurnTokens, Usage
from hisa.text.safe_text import encodable

__all__ = [
    "MOST_BYTES",
    "ChatResponse",
    "ChatStream",
    "MalformedResponse",
    "count",
    "parse_body",
    "part_of",
    "read_response",
    "server_error",
]


MOST_BYTES = 8 << 20
"""Of a response, once unpacked: a hundred times the longest answer that models give."""


class MalformedResponse(ValueError):
    """Not a chat completion. ``status`` is the HTTP status that the body itself names, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """What a server said; ``text`` is empty where it said nothing, ``usage`` None where unsaid."""

    text: str
    finish: str
    model: str
    usage: Usage | None
    policy: str = ""
    tokens: TurnTokens | None = None


def _start(body: bytes) -> str:
    return repr(body[:80].decode("utf-8", "replace"))


def parse_body(body: bytes) -> dict[str, Any]:
    """A response's JSON object.

    Raises:
        MalformedResponse: it is none.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedResponse(f"not JSON ({len(body)} bytes, {_start(body)}): {error}") from None
    if not isinstance(data, dict):
        raise MalformedResponse(
            f"a JSON {type(data).__name__} where an object is due: {_start(body)}"
        )
    return data


def _text(value: object) -> str:
    """A string that can be written as UTF-8."""
    return encodable(value) if isinstance(value, str) else ""


def _content(message: dict[str, Any]) -> str:
    """Plain text, a list of text parts, or the model's refusal."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    return _text(content) or _text(message.get("refusal"))


def count(value: object) -> int | None:
    """A number of tokens; None where it is none."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if good and isinstance(value, int) else None


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    tokens_in, tokens_out = (
        count(value.get("prompt_tokens")),
        count(value.get("completion_tokens")),
    )
    if tokens_in is None or tokens_out is None:
        return None
    details, of_answer = value.get("prompt_tokens_details"), value.get("completion_tokens_details")
    return Usage(
        tokens_in,
        tokens_out,
        part_of(tokens_in, details, "cached_tokens")  # OpenAI, and most others
        or part_of(tokens_in, value, "prompt_cache_hit_tokens")  # DeepSeek
        or part_of(tokens_in, value, "cached_tokens"),  # Moonshot
        part_of(tokens_out, of_answer, "reasoning_tokens"),
    )


def part_of(whole: int, details: object, name: str) -> int:
    """Tokens that details name as a part of the whole.

    0 where they name none, or more than there are: then nobody knows how many, and those that are
    not known to be cached are counted at the full price.
    """
    part = count(details.get(name)) if isinstance(details, dict) else None
    return part if part is not None and part <= whole else 0


def server_error(value: object) -> MalformedResponse:
    """The error that a body holds in place of an answer."""
    detail = value if isinstance(value, dict) else {"message": value}
    status = count(detail.get("code"))
    return MalformedResponse(
        f"an error in place of an answer: {detail.get('message')!s:.300}", status
    )


class ChatStream:
    """A chat completion that comes in chunks.

    ``began`` is set by whoever hears of it; ``ended`` once the model's end of it was told, ``done``
    once the server's. As text: how far it is.
    """

    def __init__(self) -> None:
        self.began = self.ended = self.done = False
        self._texts: list[str] = []
        self._size = self._tokens = 0
        self._reading = ""
        self._finish = self._model = ""
        self._usage: Usage | None = None
        self._policy, self._given = "", TokenReader()

    def __str__(self) -> str:
        """A piece counts as a token, since servers send each by itself."""
        return f"{self._tokens:,} tokens" if self._tokens else self._reading

    def add(self, data: bytes) -> None:
        """Take the data of the next event; empty for none.

        Raises:
            MalformedResponse: not a chunk, or an error object.
            ResponseTooLong: the text is longer than an answer may be.
        """
        if not data or data.strip() == b"[DONE]":
            self.done = self.ended = self.done or bool(data)
            return
        chunk = parse_body(data)
        choices = chunk.get("choices")
        if not choices and chunk.get("error"):
            raise server_error(chunk["error"])
        first = choices[0] if isinstance(choices, list) and choices else {}
        delta = first.get("delta") if isinstance(first, dict) else None
        if first and not isinstance(delta, dict):
            raise MalformedResponse(f"a choice without a delta in {_start(data)}")
        self._gather(delta or {})
        self._finish = _text(first.get("finish_reason")) or self._finish
        self.ended = self.ended or bool(self._finish)
        self._model = _text(chunk.get("model")) or self._model
        self._usage = _usage(chunk.get("usage")) or self._usage
        self._policy = _text(chunk.get("system_fingerprint")) or self._policy
        self._given.add(chunk, first)
        self._reading = _reading(chunk.get("prompt_progress")) or self._reading

    def _gather(self, delta: dict[str, Any]) -> None:
        text = _content(delta)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        self._tokens += bool(text or thought)
        self._texts.append(text)
        self._size += len(text.encode())
        if self._size > MOST_BYTES:
            from hisa.machine.bounded_http import ResponseTooLong  # its library is heavy

            raise ResponseTooLong(f"an answer of more than {MOST_BYTES} bytes")

    def answer(self) -> ChatResponse:
        """All of it so far."""
        return ChatResponse(
            "".join(self._texts), self._finish, self._model, self._usage, self._policy,
            self._given.read(),
        )  # fmt: skip


def _reading(progress: object) -> str:
    """Returns how much of the prompt llama.cpp's server has read."""
    if not isinstance(progress, dict):
        return ""
    done, of = count(progress.get("processed")), count(progress.get("total"))
    return "" if done is None or of is None else f"reads {done:,} of {of:,} tokens"


def read_response(body: bytes, /) -> ChatResponse:
    """The first choice of a chat completion.

    No choices, or a choice with nothing in it, is a response with empty text.

    Raises:
        MalformedResponse: not JSON, cut off, another shape, or an error object.
    """
    data = parse_body(body)
    choices = data.get("choices")
    if choices is None and data.get("error"):
        raise server_error(data["error"])
    if not isinstance(choices, list):
        raise MalformedResponse(f"no list of choices in {_start(body)}")
    first = choices[0] if choices else {}
    message = first.get("message") if isinstance(first, dict) else None
    if choices and not isinstance(message, dict):
        raise MalformedResponse(f"a choice without a message in {_start(body)}")
    return ChatResponse(
        text=_content(message) if isinstance(message, dict) else "",
        finish=_text(first.get("finish_reason")),
        model=_text(data.get("model")),
        usage=_usage(data.get("usage")),
        policy=_text(data.get("system_fingerprint")),
        tokens=TokenReader().add(data, first).read(),
    )
