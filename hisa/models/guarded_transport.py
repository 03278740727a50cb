"""The way to a model's server: what is sent, where to, and how much of an answer is read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx

from hisa.machine.bounded_http import bounded_pieces
from hisa.models.response_body import MOST_BYTES

__all__ = ["REDIRECTS", "GuardedTransport"]

REDIRECTS = (301, 302, 307, 308)
_MOST_REDIRECTS = 5  # chosen by hand
_PER_TOKEN = 8
"""A stream takes some 300 bytes for a token, so it may be so many times longer than a body."""


class GuardedTransport(httpx.AsyncBaseTransport):
    """Passes requests on to a client of ours with our headers alone.

    A redirect is followed where it stays with the server, and else is the response: another server
    would get the key and what is on the screen. A body is unpacked and counted as it comes.

    Args:
        client: sends; closed with this.
        headers: all that go to the server, besides those of the component and the step.
    """

    def __init__(self, client: httpx.AsyncClient, headers: Mapping[str, str]) -> None:
        self._client = client
        self._headers = headers

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response, whose body is read from its stream; errors are those of the client."""
        headers = {name: request.headers[name] for name in ("X-Component", "X-Step")}
        headers |= self._headers
        body, url = await request.aread(), request.url
        for followed in range(_MOST_REDIRECTS + 1):
            onwards = self._client.build_request(
                "POST", url, headers=headers, content=body, extensions=request.extensions
            )
            try:
                answer = await self._client.send(onwards, stream=True, follow_redirects=False)
            except ValueError as error:  # of a redirect's host, which the client looks at too
                raise httpx.RemoteProtocolError(f"a redirect to no address: {error}") from error
            if answer.status_code not in REDIRECTS or followed == _MOST_REDIRECTS:
                break
            there = url.join(answer.headers.get("location", ""))
            if (url.scheme, url.host, url.port) != (there.scheme, there.host, there.port):
                break
            await answer.aclose()
            url = there
        return _guarded(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _guarded(answer: httpx.Response) -> httpx.Response:
    headers = [(n, v) for n, v in answer.headers.multi_items() if n != "content-encoding"]
    streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
    most = MOST_BYTES * (_PER_TOKEN if streamed else 1)
    return httpx.Response(answer.status_code, headers=headers, stream=_Body(answer, most))


class _Body(httpx.AsyncByteStream):
    """An answer's body, closed once it is too long: who reads it may not close it then."""

    def __init__(self, answer: httpx.Response, most: int) -> None:
        self._answer, self._most = answer, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in bounded_pieces(self._answer, self._most):
                yield piece
        except BaseException:
            await self._answer.aclose()
            raise

    async def aclose(self) -> None:
        await self._answer.aclose()
