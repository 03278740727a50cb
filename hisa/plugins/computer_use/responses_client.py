"""One try of one call over the OpenAI Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hisa.models.client import OpenAIModel
from hisa.models.response_body import ChatResponse
from hisa.plugins.computer_use.responses_body import encode_responses, read_responses
from hisa.protocols import ModelRequest

__all__ = ["ResponsesModel"]


class ResponsesModel(OpenAIModel):
    """A model behind a server that speaks the Responses API; see `OpenAIModel`.

    The text of a reply is a JSON list of the response's items if the request has tools, else its
    words.
    """

    path: ClassVar[str] = "responses"
    api: ClassVar[str] = "responses"
    stream_fields: ClassVar[Mapping[str, Any]] = {}  # its events belong to another protocol

    def _encode_request(self, request: ModelRequest) -> dict[str, Any]:
        return encode_responses(request, self.profile, self._settings)

    def _read(self, raw: bytes, request: ModelRequest) -> ChatResponse:
        return read_responses(raw, as_items=bool(request.tools))
