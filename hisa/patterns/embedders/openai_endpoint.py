"""Embeddings from an OpenAI-compatible endpoint (``/v1/embeddings``)."""

from __future__ import annotations

import json
import logging
import os
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from hisa.errors import ConfigError, ModelUnavailable
from hisa.models.connection import connecting, http_options
from hisa.models.endpoint import PUBLIC_URL, Endpoint
from hisa.patterns.vectors import unit

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAIEndpoint"]

_BATCH = 128  # chosen by hand
_SECONDS = 60.0
"""Time-out of one request; chosen by hand."""
_PLAIN = {"Accept-Encoding": "identity"}
_MOST_BYTES = 64 << 20
"""Most bytes of a response: a batch of vectors with 4,096 components takes about 12 MB as text."""
_log = logging.getLogger(__name__)


class OpenAIEndpoint:
    """Vectors of a model at OPENAI_BASE_URL or, if that is not set, at OpenAI's public address.

    Args:
        model: the model's name at the endpoint.
        max_retries: most retries after rate limits, server errors and time-outs.
    """

    def __init__(self, model: str, *, max_retries: int = 3) -> None:
        self.model = model
        self.name = f"openai:{model}"
        self._max_retries = max_retries

    @cached_property
    def _client(self) -> OpenAI:
        from openai import DefaultHttpxClient, OpenAI, OpenAIError

        url = os.environ.get("OPENAI_BASE_URL") or PUBLIC_URL
        with connecting(endpoint := Endpoint(url)):
            # A redirect would take the key and the texts to another server.
            http = DefaultHttpxClient(follow_redirects=False, **http_options(endpoint))
        weakref.finalize(self, http.close)
        try:
            return OpenAI(
                timeout=_SECONDS,
                max_retries=self._max_retries,
                default_headers={"X-Component": "embedder", "X-Step": "0", **_PLAIN},
                http_client=http,
            )
        except OpenAIError as error:
            raise ConfigError(
                f"embedder {self.name!r}: {error}", fix="export OPENAI_API_KEY=…"
            ) from error

    @cached_property
    def dimension(self) -> int:
        """The number of components of a vector, found out once by embedding a word.

        Raises:
            ModelUnavailable: the endpoint does not return vectors.
        """
        return len(self.embed(["dimension"])[0])

    def _batch(self, texts: list[str]) -> list[list[float]]:
        client = self._client
        _log.info("embedding %d texts with %r at %s", len(texts), self.model, client.base_url)
        try:
            batch = _vectors(self._body(client, texts))
        except Exception as error:  # the HTTP library below raises its own errors too
            raise ModelUnavailable(
                f"embedder {self.name!r} at {client.base_url}: {error}",
                fix="check OPENAI_BASE_URL, or --set patterns.embedder=minilm",
            ) from error
        if sorted(batch) != list(range(len(texts))):
            raise ModelUnavailable(
                f"embedder {self.name!r}: sent {len(texts)} texts, got vectors for {sorted(batch)}"
            )
        return [unit(batch[index]) for index in range(len(texts))]

    def _body(self, client: OpenAI, texts: list[str]) -> bytes:
        """Returns the response, read piece by piece, so that it never takes more than its limit.

        Raises:
            ValueError: the response is too long, or compressed.
        """
        body = bytearray()
        # Plain numbers, since few compatible servers know the packed encoding.
        with client.embeddings.with_streaming_response.create(
            model=self.model, input=texts, encoding_format="float"
        ) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("the response is compressed, which was not requested")
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise ValueError(f"the response has more than {_MOST_BYTES} bytes")
        return bytes(body)

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Returns one unit vector for each text, in order.

        Raises:
            ConfigError: no API key is set.
            ModelUnavailable: no usable response after all retries.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            vectors += self._batch(list(texts[start : start + _BATCH]))
        return vectors


def _vectors(body: bytes) -> dict[int, list[float]]:
    """Returns the vectors of a response by the index of their text.

    Raises:
        ValueError, KeyError, TypeError: the response is not a list of vectors.
    """
    rows = json.loads(body)["data"] or ()
    return {int(row["index"]): [float(number) for number in row["embedding"]] for row in rows}
