"""Reads the body of a server's response strictly: it is either a reply or an error."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from hisa.models.connection import MOST_BYTES
from hisa.protocols import TurnTokens, Usage
from hisa.text.safe_text import encodable

__all__ = [
    "ChatResponse",
    "ChatStream",
    "MalformedResponse",
    "count",
    "error_words",
    "parse_body",
    "part_of",
    "read_response",
    "server_error",
]

_MOST_TOKENS = 1_000_000
"""Most token ids of a prompt or a reply; longer lists are ignored."""


class MalformedResponse(ValueError):
    """Not a chat completion. ``status`` is the HTTP status that the body itself names, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """A server's response; ``text`` may be empty, and ``usage`` is None if it was not reported."""

    text: str
    finish: str
    model: str
    usage: Usage | None
    policy: str = ""
    tokens: TurnTokens | None = None


def _start(body: bytes) -> str:
    return repr(body[:80].decode("utf-8", "replace"))


def parse_body(body: bytes) -> dict[str, Any]:
    """Parse a response as a JSON object.

    Raises:
        MalformedResponse: it is not one.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedResponse(f"not JSON ({len(body)} bytes, {_start(body)}): {error}") from None
    if not isinstance(data, dict):
        raise MalformedResponse(
            f"a JSON {type(data).__name__} instead of an object: {_start(body)}"
        )
    return data


def _text(value: object) -> str:
    """Returns a string that can be written as UTF-8; empty for other values."""
    return encodable(value) if isinstance(value, str) else ""


def _content(message: dict[str, Any]) -> str:
    """Returns a message's text: plain, a list of text parts, or the model's refusal."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    return _text(content) or _text(message.get("refusal"))


def count(value: object) -> int | None:
    """Returns a number of tokens; None if the value is not a count."""
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


def part_of(total: int, details: object, name: str) -> int:
    """Returns how many tokens of a total the server's details assign to a part.

    Args:
        total: tokens of the whole.
        details: the server's details, such as ``prompt_tokens_details``.
        name: key of the part, such as "cached_tokens".

    Returns:
        0 if the details do not name the part, or name more tokens than the total: tokens that are
        not known to be cached are then counted at the full price.
    """
    part = count(details.get(name)) if isinstance(details, dict) else None
    return part if part is not None and part <= total else 0


def error_words(body: object) -> str:
    """Returns the server's error message, on one line of at most 500 characters.

    OpenRouter puts the provider's message into ``metadata``.
    """
    words = body
    if isinstance(body, dict):
        words = body.get("message") or body.get("detail") or body.get("error") or body
        details = body.get("metadata")
        if isinstance(details, dict) and details.get("raw"):
            words = f"{words}: {details['raw']}"
    return encodable(" ".join(str(words or "").split())[:500])


def server_error(value: object) -> MalformedResponse:
    """Returns the exception for an error that a body holds instead of a reply."""
    status = count(value.get("code")) if isinstance(value, dict) else None
    return MalformedResponse(f"an error instead of a reply: {error_words(value)}", status)


def _refuse_error(body: dict[str, Any], choice: object) -> None:
    """Refuse a body or a chunk that reports an error, whatever else it holds.

    Raises:
        MalformedResponse: the server's error. Text that came before it is not a reply.
    """
    inner = choice if isinstance(choice, dict) else {}
    bare = isinstance(body.get("message"), str) or body.get("detail")  # vLLM, FastAPI
    failed = inner.get("finish_reason") == "error" and "the provider says no more"
    if (
        error := body.get("error")
        or inner.get("error")
        or (body if bare and "choices" not in body else failed)
    ):
        raise server_error(error)


class _TokenReader:
    """Gathers token ids and log-probs from a response, or from the chunks of one.

    vLLM gives ``prompt_token_ids`` and a choice's ``token_ids``; llama.cpp has an ``id`` in each
    entry of ``logprobs.content``. Nothing is tokenised here: ids of another tokeniser would be
    another prompt.
    """

    def __init__(self) -> None:
        self._prompt: list[Any] | None = None
        self._ids: list[Any] = []
        self._entries: list[Any] = []

    def add(self, body: dict[str, Any], choice: Any) -> None:
        """Take a response or a chunk, and its first choice."""
        choice = choice if isinstance(choice, dict) else {}
        logprobs = choice.get("logprobs")
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        self._prompt = self._prompt or _read_list(body.get("prompt_token_ids")) or None
        self._ids += _read_list(choice.get("token_ids"))
        self._entries += _read_list(entries)

    def read(self) -> TurnTokens | None:
        """Returns the tokens so far; None if there are none, or if they are not valid numbers."""
        entries = [entry if isinstance(entry, dict) else {} for entry in self._entries]
        ids = _ids(self._ids) or _ids([entry.get("id") for entry in entries])
        chances = [entry.get("logprob") for entry in entries]
        good = all(isinstance(c, int | float) and math.isfinite(c) and c <= 0 for c in chances)
        logprobs = tuple(map(float, chances)) if good and chances else None  # type: ignore[arg-type]
        if ids and logprobs and len(ids) != len(logprobs):
            logprobs = None  # they cannot be matched
        tokens = TurnTokens(_ids(self._prompt or []), ids, logprobs)
        return None if tokens == TurnTokens() else tokens


def _read_list(value: object) -> list[Any]:
    return value if isinstance(value, list) and len(value) <= _MOST_TOKENS else []


def _ids(values: list[Any]) -> tuple[int, ...] | None:
    good = all(type(value) is int and 0 <= value < 2**31 for value in values)
    return tuple(values) if values and good else None


class ChatStream:
    """A chat completion that arrives in chunks.

    ``began`` is set by the reader; ``ended`` once the model's end arrived. As text: its progress.
    """

    def __init__(self) -> None:
        self.began = self.ended = False
        self._texts: list[str] = []
        self._size = self._tokens = 0
        self._finish = self._model = ""
        self._usage: Usage | None = None
        self._policy, self._token_reader = "", _TokenReader()

    def __str__(self) -> str:
        """Returns the tokens so far; a chunk counts as one, since servers send each separately."""
        return f"{self._tokens:,} tokens" if self._tokens else ""

    def add(self, chunk: object) -> None:
        """Take the next chunk.

        Raises:
            MalformedResponse: not a chunk, or an error object.
            ResponseTooLong: the text is longer than a reply may be.
        """
        if not isinstance(chunk, dict):
            raise MalformedResponse(f"a JSON {type(chunk).__name__} instead of a chunk")
        first = _first_choice(chunk, "delta")
        self.take(chunk, first, first.get("delta") or {})

    def take(self, chunk: dict[str, Any], first: dict[str, Any], delta: dict[str, Any]) -> None:
        """Take a chunk, or a whole completion.

        Args:
            chunk: the JSON object.
            first: its first choice; empty if there is none.
            delta: the choice's ``delta`` or ``message``.
        """
        self._gather(delta)
        self._finish = _text(first.get("finish_reason")) or self._finish
        # If usage was requested, the last chunk has the usage and no choice.
        self.ended = self.ended or bool(self._finish) or (not first and "usage" in chunk)
        self._model = _text(chunk.get("model")) or self._model
        self._usage = _usage(chunk.get("usage")) or self._usage
        self._policy = _text(chunk.get("system_fingerprint")) or self._policy
        self._token_reader.add(chunk, first)

    def _gather(self, delta: dict[str, Any]) -> None:
        text = _content(delta)
        self._tokens += bool(text)
        self._texts.append(text)
        self._size += len(text.encode())
        if self._size > MOST_BYTES:
            from hisa.machine.bounded_http import ResponseTooLong  # its library is heavy

            raise ResponseTooLong(f"an answer of more than {MOST_BYTES} bytes")

    def answer(self) -> ChatResponse:
        """Returns the response so far."""
        return ChatResponse(
            "".join(self._texts),
            self._finish,
            self._model,
            self._usage,
            self._policy,
            self._token_reader.read(),
        )


def _first_choice(body: dict[str, Any], part: str) -> dict[str, Any]:
    """Returns the first choice of a completion or a chunk; empty if there is none.

    Raises:
        MalformedResponse: an error instead of a reply, or a choice without its part.
    """
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    _refuse_error(body, first)
    if first and not (isinstance(first, dict) and isinstance(first.get(part), dict)):
        raise MalformedResponse(f"a choice without a {part}: {str(first)[:80]!r}")
    return first if isinstance(first, dict) else {}


def read_response(body: bytes, /) -> ChatResponse:
    """Read the first choice of a chat completion.

    An empty list of choices gives a response with empty text.

    Raises:
        MalformedResponse: the body is not JSON, is cut off, has another shape, or is an error.
    """
    data = parse_body(body)
    first = _first_choice(data, "message")
    if not isinstance(data.get("choices"), list):
        raise MalformedResponse(f"no list of choices in {_start(body)}")
    stream = ChatStream()
    stream.take(data, first, first.get("message") or {})
    return stream.answer()
