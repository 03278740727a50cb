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
"""For one try; chosen by hand."""
_PLAIN = {"Accept-Encoding": "identity"}
_MOST_BYTES = 64 << 20
"""Of a response: vectors of 4,096 dimensions for a batch take about 12 MB as text."""
_log = logging.getLogger(__name__)


class OpenAIEndpoint:
    """Vectors of ``model`` at OPENAI_BASE_URL, else the public OpenAI address.

    Args:
        model: the endpoint's name for it.
        max_retries: further tries after rate limits, server errors and time-outs.
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
        """Length of a vector, asked for once, by a probe.

        Raises:
            ModelUnavailable: the endpoint does not answer with vectors.
        """
        return len(self.embed(["dimension"])[0])

    def _batch(self, texts: list[str]) -> list[list[float]]:
        client = self._client
        _log.info("embedding %d texts with %r at %s", len(texts), self.model, client.base_url)
        try:
            batch = _vectors(self._body(client, texts))
        except Exception as error:  # also of the HTTP library that the package stands on
            raise ModelUnavailable(
                f"embedder {self.name!r} at {client.base_url}: {error}",
                fix="check OPENAI_BASE_URL, or --set patterns.embedder=minilm",
            ) from error
        if sorted(batch) != list(range(len(texts))):
            raise ModelUnavailable(
                f"embedder {self.name!r}: {len(texts)} texts sent, vectors for {sorted(batch)} came"
            )
        return [unit(batch[index]) for index in range(len(texts))]

    def _body(self, client: OpenAI, texts: list[str]) -> bytes:
        """The response, read piece by piece, so that no more than its limit is ever held.

        Raises:
            ValueError: it is longer, or packed.
        """
        body = bytearray()
        # Plain numbers, since few compatible servers know the packed encoding.
        with client.embeddings.with_streaming_response.create(
            model=self.model, input=texts, encoding_format="float"
        ) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("its answer is packed, which was not asked for")
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise ValueError(f"an answer of more than {_MOST_BYTES} bytes")
        return bytes(body)

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """One unit vector a text, in order.

        Raises:
            ConfigError: no API key is set.
            ModelUnavailable: no usable answer after all retries.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            vectors += self._batch(list(texts[start : start + _BATCH]))
        return vectors


def _vectors(body: bytes) -> dict[int, list[float]]:
    """The vectors of a response by the place of their text.

    Raises:
        ValueError, KeyError, TypeError: it is no list of vectors.
    """
    rows = json.loads(body)["data"] or ()
    return {int(row["index"]): [float(number) for number in row["embedding"]] for row in rows}
