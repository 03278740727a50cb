"""Requests and answers as the published server has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs

__all__ = ["Reply", "Request", "Routes", "json_reply", "page", "route_request", "text_reply"]


@dataclass(frozen=True)
class Request:
    """A request."""

    method: str
    path: str
    headers: Message
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body, an object."""
        body = json.loads(self.body)
        assert isinstance(body, dict)
        return body

    def form(self) -> dict[str, bytes]:
        """The fields of a form of either kind."""
        kind = self.headers.get("Content-Type", "")
        if not kind.startswith("multipart/"):
            fields = parse_qs(self.body.decode(), keep_blank_values=True)
            return {name: values[-1].encode() for name, values in fields.items()}
        head = f"Content-Type: {kind}\r\n\r\n".encode()
        parts = BytesParser(policy=HTTP).parsebytes(head + self.body).iter_parts()
        return {
            str(part.get_param("name", header="content-disposition")): bytes(
                part.get_payload(decode=True)
            )
            for part in parts
        }


@dataclass(frozen=True)
class Reply:
    """An answer."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    more: Mapping[str, str] = field(default_factory=dict)


Routes = Mapping[tuple[str, str], Callable[[Request], Reply]]
"""By method and path."""


def route_request(routes: Routes, request: Request) -> Reply:
    """Returns the answer of the route that is asked for; a failing one is Flask's error page."""
    route = routes.get((request.method, request.path))
    if route is None:
        known = any(request.path == path for _, path in routes)
        return page(405, "Method Not Allowed") if known else page(404, "Not Found")
    try:
        return route(request)
    except (OSError, ValueError, AssertionError):
        return page(500, "Internal Server Error")


def page(status: int, title: str) -> Reply:
    """Returns an HTML page as Flask writes one for an error."""
    body = f"<!doctype html>\n<html lang=en>\n<title>{status} {title}</title>\n<h1>{title}</h1>\n"
    return Reply(body.encode(), "text/html; charset=utf-8", status)


def json_reply(value: object, status: int = 200) -> Reply:
    """Returns JSON, as Flask writes it: ASCII."""
    return Reply(json.dumps(value).encode(), status=status)


def text_reply(text: str, status: int = 200) -> Reply:
    """Returns plain words, which Flask calls HTML."""
    return Reply(text.encode(), "text/html; charset=utf-8", status)
