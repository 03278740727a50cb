"""HTTP to servers next door, against a real server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from hisa.machine.bounded_http import ResponseTooLong
from hisa.machine.loopback import LoopbackTransport, address_of

BIG = bytes(range(256)) * 20_000


@asynccontextmanager
async def server(
    answers: list[bytes], *, keep: bool = True
) -> AsyncIterator[tuple[str, list[int]]]:
    """Gives the answers in turn; its address, and for each request the connection it came on."""
    seen: list[int] = []
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        number = connections
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1])
                    for line in head.lower().splitlines()
                    if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                seen.append(number)
                writer.write(answers[len(seen) - 1])
                await writer.drain()
                if not keep:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", seen


def whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def test_megabytes_both_ways_on_one_connection() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    async with (
        server([whole(BIG), chunked]) as (url, seen),
        httpx.AsyncClient(transport=LoopbackTransport()) as client,
    ):
        assert (await client.post(url, content=BIG)).content == BIG
        assert (await client.post(url, content=b"x")).content == b"abc"
    assert seen == [1, 1]


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async with (
        server([whole(b"1"), whole(b"2")], keep=False) as (url, seen),
        httpx.AsyncClient(transport=LoopbackTransport()) as client,
    ):
        await client.post(url, content=b"x")
        await asyncio.sleep(0.05)
        assert (await client.post(url, content=b"x")).content == b"2"
    assert seen == [1, 2]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", httpx.RemoteProtocolError),
        (b"SSH-2.0-x\r\n\r\n", httpx.RemoteProtocolError),
        (b"\n", httpx.HTTPError),
    ],
)
async def test_half_an_answer_is_an_error(answer: bytes, error: type[Exception]) -> None:
    async with (
        server([answer], keep=False) as (url, _),
        httpx.AsyncClient(transport=LoopbackTransport()) as client,
    ):
        with pytest.raises(error):
            await client.post(url, content=b"x")


async def test_silence_and_refusal_are_told_as_httpx_tells_them() -> None:
    async with (
        server([b""]) as (url, _),
        httpx.AsyncClient(transport=LoopbackTransport()) as client,
    ):
        with pytest.raises(httpx.ReadTimeout):
            await client.post(url, content=b"x", timeout=0.05)
    async with httpx.AsyncClient(transport=LoopbackTransport()) as client:
        with pytest.raises(httpx.ConnectError):
            await client.post(url, content=b"x")
        with pytest.raises(httpx.UnsupportedProtocol):
            await client.post("https://127.0.0.1", content=b"x")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
FIRST_A_WORD = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"


async def test_an_exchange_reads_the_whole_answer_on_one_connection() -> None:
    transport = LoopbackTransport()
    async with server([whole(BIG), CHUNKED, FIRST_A_WORD]) as (url, seen):
        address = address_of(f"{url}/x")
        big = await transport.exchange("POST", address, body=BIG)
        chunked = await transport.exchange("POST", address, body=b"x")
        empty = await transport.exchange("POST", address)
    await transport.aclose()
    assert (big.status_code, big.content) == (200, BIG)
    assert chunked.content == b"abc"
    assert (empty.status_code, empty.content, empty.headers["x-a"]) == (204, b"", "b")
    assert seen == [1, 1, 1]


async def test_a_body_without_a_length_ends_where_the_server_hangs_up() -> None:
    transport = LoopbackTransport()
    answers = [b"HTTP/1.1 200 OK\r\n\r\nall of it", whole(b"2")]
    async with server(answers, keep=False) as (url, seen):
        first = await transport.exchange("POST", address_of(url), body=b"x")
        second = await transport.exchange("POST", address_of(url), body=b"x")
    await transport.aclose()
    assert (first.content, second.content, seen) == (b"all of it", b"2", [1, 2])


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"a" * 101),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 101,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n"
        + b"a" * 101
        + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nab",
    ],
)
async def test_a_body_is_no_longer_than_it_may_be(answer: bytes) -> None:
    transport = LoopbackTransport()
    async with server([answer, whole(b"a" * 100)], keep=False) as (url, _):
        with pytest.raises(ResponseTooLong):
            await transport.exchange("POST", address_of(url), body=b"x", most=100)
        assert len((await transport.exchange("POST", address_of(url), body=b"x", most=100)).content)
    await transport.aclose()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"",
    ],
)
async def test_an_exchange_says_what_is_no_whole_answer(answer: bytes) -> None:
    async with server([answer], keep=False) as (url, _):
        with pytest.raises(httpx.RemoteProtocolError):
            await LoopbackTransport().exchange("POST", address_of(url), body=b"x")


async def test_no_header_says_more_than_its_line() -> None:
    async with server([whole(b"")]) as (url, seen):
        with pytest.raises(httpx.LocalProtocolError, match="X-Step"):
            await LoopbackTransport().exchange(
                "POST", address_of(url), headers=[(b"X-Step", b"1\r\nA: b")]
            )
    assert seen == []
