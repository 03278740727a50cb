"""The body of a server's response, read strictly: whatever comes is either a reply or an error."""

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
"""Of a prompt or a reply; whoever sends more is not believed."""


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


def part_of(total: int, details: object, name: str) -> int:
    """Tokens that details name as a part of the whole.

    0 where they name none, or more than there are: then nobody knows how many, and those that are
    not known to be cached are counted at the full price.
    """
    part = count(details.get(name)) if isinstance(details, dict) else None
    return part if part is not None and part <= total else 0


def error_words(body: object) -> str:
    """A server's own words for an error, on one line of at most 500 characters; empty for none.

    A provider's words stand in OpenRouter's ``metadata``.
    """
    words = body
    if isinstance(body, dict):
        words = body.get("message") or body.get("detail") or body.get("error") or body
        details = body.get("metadata")
        if isinstance(details, dict) and details.get("raw"):
            words = f"{words}: {details['raw']}"
    return encodable(" ".join(str(words or "").split())[:500])


def server_error(value: object) -> MalformedResponse:
    """The error that a body holds in place of an answer."""
    status = count(value.get("code")) if isinstance(value, dict) else None
    return MalformedResponse(f"an error in place of an answer: {error_words(value)}", status)


def _refuse_error(body: dict[str, Any], choice: object) -> None:
    """Refuse a body or a chunk that tells of an error, whatever else it holds.

    Raises:
        MalformedResponse: the server's words. What came before them is no answer.
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
    entry of ``logprobs.content``. They are the engine's own: nothing is tokenised here, for another
    tokeniser's ids are another prompt.
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
        """Returns all of it so far; None where there is nothing, or something else than numbers."""
        entries = [entry if isinstance(entry, dict) else {} for entry in self._entries]
        ids = _ids(self._ids) or _ids([entry.get("id") for entry in entries])
        chances = [entry.get("logprob") for entry in entries]
        good = all(isinstance(c, int | float) and math.isfinite(c) and c <= 0 for c in chances)
        logprobs = tuple(map(float, chances)) if good and chances else None  # type: ignore[arg-type]
        if ids and logprobs and len(ids) != len(logprobs):
            logprobs = None  # nobody knows which belongs to which
        tokens = TurnTokens(_ids(self._prompt or []), ids, logprobs)
        return None if tokens == TurnTokens() else tokens


def _read_list(value: object) -> list[Any]:
    return value if isinstance(value, list) and len(value) <= _MOST_TOKENS else []


def _ids(values: list[Any]) -> tuple[int, ...] | None:
    good = all(type(value) is int and 0 <= value < 2**31 for value in values)
    return tuple(values) if values and good else None


class ChatStream:
    """A chat completion that comes in chunks.

    ``began`` is set by whoever reads it; ``ended`` once the model's end of it came. As text: how
    far it is.
    """

    def __init__(self) -> None:
        self.began = self.ended = False
        self._texts: list[str] = []
        self._size = self._tokens = 0
        self._finish = self._model = ""
        self._usage: Usage | None = None
        self._policy, self._token_reader = "", _TokenReader()

    def __str__(self) -> str:
        """A piece counts as a token, since servers send each by itself."""
        return f"{self._tokens:,} tokens" if self._tokens else ""

    def add(self, chunk: object) -> None:
        """Take the next chunk.

        Raises:
            MalformedResponse: not a chunk, or an error object.
            ResponseTooLong: the text is longer than an answer may be.
        """
        if not isinstance(chunk, dict):
            raise MalformedResponse(f"a JSON {type(chunk).__name__} where a chunk is due")
        first = _first_choice(chunk, "delta")
        self.take(chunk, first, first.get("delta") or {})

    def take(self, chunk: dict[str, Any], first: dict[str, Any], delta: dict[str, Any]) -> None:
        """Take a chunk, or a whole completion, by its first choice and what that says."""
        self._gather(delta)
        self._finish = _text(first.get("finish_reason")) or self._finish
        # Where asked for, a chunk of the usage alone is a stream's last.
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
        """All of it so far."""
        return ChatResponse(
            "".join(self._texts),
            self._finish,
            self._model,
            self._usage,
            self._policy,
            self._token_reader.read(),
        )


def _first_choice(body: dict[str, Any], part: str) -> dict[str, Any]:
    """The first choice of a completion or a chunk; empty where there is none.

    Raises:
        MalformedResponse: an error in place of an answer, or a choice without its part.
    """
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    _refuse_error(body, first)
    if first and not (isinstance(first, dict) and isinstance(first.get(part), dict)):
        raise MalformedResponse(f"a choice without a {part}: {str(first)[:80]!r}")
    return first if isinstance(first, dict) else {}


def read_response(body: bytes, /) -> ChatResponse:
    """The first choice of a chat completion.

    No choices is a response with empty text.

    Raises:
        MalformedResponse: not JSON, cut off, another shape, or an error object.
    """
    data = parse_body(body)
    first = _first_choice(data, "message")
    if not isinstance(data.get("choices"), list):
        raise MalformedResponse(f"no list of choices in {_start(body)}")
    stream = ChatStream()
    stream.take(data, first, first.get("message") or {})
    return stream.answer()
