"""What the client makes of guests that are old, broken or hostile."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hisa.actions import Move, Press, Write
from hisa.environments.transport import GuestClient, HisaTransport
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.plugins.machines.guests.any_guest import connect_any as connect
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport
from hisa.plugins.machines.guests.osworld_xml import parse_tree
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Screenshot
from tests.stock.stock_guest import GuestFault, StockGuest
from tests.stock.stock_messages import Reply

JSON, PNG = "application/json", "image/png"
OSWORLD = "https://accessibility.ubuntu.example.org/ns"


Answer = tuple[int, str, bytes]


def serve_answers(answers: Mapping[str, Sequence[Answer]]) -> StockGuest:
    """A guest with these answers by path; the last one is given again and again."""
    return StockGuest(
        {path: [_fault(row) for row in [*rows, *[rows[-1]] * 20]] for path, rows in answers.items()}
    )


def _fault(answer: Answer) -> GuestFault:
    """Status 0: no answer."""
    status, kind, body = answer
    return GuestFault("answer", Reply(body, kind, status)) if status else GuestFault("reset")


def _png() -> bytes:
    from PIL import Image

    return Screenshot(Image.effect_noise((64, 48), 50).convert("RGB")).png


def _build_result(code: int = 0, output: str = "", error: str = "") -> tuple[int, str, bytes]:
    answer = {"status": "success", "output": output, "error": error, "returncode": code}
    return (200, JSON, json.dumps(answer).encode())


async def test_typed_routes_are_chosen_where_they_are_announced() -> None:
    capabilities = json.dumps({"protocol": 1, "capabilities": ["execute", "teleport"]}).encode()
    with serve_answers({"/hisa/capabilities": [(200, JSON, capabilities)]}) as server:
        guest = GuestClient("guest", url=server.url)
        transport = await connect(guest)
        await guest.close()
    assert isinstance(transport, HisaTransport)
    assert transport.capabilities == {"execute"}


async def test_stock_routes_are_chosen_for_a_guest_that_knows_no_others() -> None:
    with serve_answers({"/platform": [(200, "text/plain", b"Linux")]}) as server:
        guest = GuestClient("guest", url=server.url)
        assert isinstance(await connect(guest), OSWorldTransport)
        await guest.close()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"/platform": [(404, JSON, b"{}")]}, "no guest there"),
        ({"/platform": [(200, "text/html", b"<html>")]}, "no guest there"),
        ({"/platform": [(200, "text/html", b"Windows")]}, "on Windows"),
        ({"/hisa/capabilities": [(401, JSON, b"{}")]}, "token"),
        ({"/hisa/capabilities": [(200, JSON, b"<html>")]}, "unreadable"),
        (
            {"/hisa/capabilities": [(200, JSON, b'{"protocol": 9, "capabilities": []}')]},
            "protocol 9",
        ),
    ],
)
async def test_wrong_server_is_identified(
    answers: dict[str, list[tuple[int, str, bytes]]], message: str
) -> None:
    with serve_answers(answers) as server:
        guest = GuestClient("guest", url=server.url)
        with pytest.raises(EnvironmentFailed, match=message) as caught:
            await connect(guest)
        await guest.close()
    assert caught.value.fix


async def test_guest_without_a_listener_fails_to_connect(tmp_path: Path) -> None:
    guest = GuestClient("guest", socket=str(tmp_path / "none"))
    with pytest.raises(EnvironmentFailed, match="no answer"):
        await connect(guest)
    await guest.close()


def _build_look(**more: object) -> Answer:
    """What a guest answers to a look; one black pixel."""
    header = {"screen": [1, 1], "format": "raw", "cursor": [0, 0], "windows": [], **more}
    text = json.dumps(header).encode()
    return (200, "application/octet-stream", struct.pack(">I", len(text)) + text + bytes(3))


@pytest.mark.parametrize(
    ("fields", "complete"),
    [
        ({"elements": None}, True),
        ({"elements": [], "complete": True}, True),
        ({"elements": [], "complete": False}, False),
        ({"elements": []}, False),
        ({"elements": [], "complete": "yes"}, False),
    ],
)
async def test_elements_are_complete_only_where_the_guest_says_so(
    fields: dict[str, object], complete: bool
) -> None:
    with serve_answers({"/hisa/observe": [_build_look(**fields)]}) as server:
        guest = GuestClient("guest", url=server.url)
        look = await HisaTransport(guest).look(elements=True, settle=0)
        await guest.close()
    assert look.complete == complete


@pytest.mark.parametrize(
    ("tree", "windows", "complete"),
    [
        ('<desktop-frame name="main"/>', "", True),
        ('<desktop-frame name="main"/>', "0x1 0 app.App host Title", False),
        ('<desktop-frame name="main" partial="true"/>', "", False),
    ],
)
async def test_full_stock_tree_is_complete(tree: str, windows: str, complete: bool) -> None:
    answers = {
        "/accessibility": [(200, JSON, json.dumps({"AT": tree}).encode())],
        "/execute": [_build_result(output=windows)],
        "/screenshot": [(200, PNG, _png())],
    }
    with serve_answers(answers) as server:
        guest = GuestClient("guest", url=server.url)
        look = await OSWorldTransport(guest).look(elements=True, settle=0)
        await guest.close()
    assert (look.elements, look.complete) == ((), complete)


async def test_partial_elements_are_requested_again_with_more_patience() -> None:
    answers = [_build_look(elements=[], complete=False), _build_look(elements=[], complete=True)]
    capabilities = json.dumps({"protocol": 1, "capabilities": ["elements"]}).encode()
    routes = {
        "/hisa/capabilities": [(200, JSON, capabilities)],
        "/hisa/observe": [answers[1], *answers],
    }
    with serve_answers(routes) as server:
        async with RemoteEnvironment(server.url, token="") as environment:
            server.requests.clear()
            assert (await environment.observe(elements=True)).complete
            assert (await environment.observe(elements=True)).complete
            assert server.requests.count("/hisa/observe") == 3


async def test_lost_answer_to_typed_act_is_requested_again() -> None:
    with serve_answers({"/hisa/act": [(0, "", b""), (200, JSON, b'{"done": 1}')]}) as server:
        guest = GuestClient("guest", url=server.url)
        await HisaTransport(guest).act([Move(Point(1, 2, "screen"))])
        await guest.close()
    assert server.requests == ["/hisa/act"] * 2


async def test_failing_program_is_a_refused_action() -> None:
    with serve_answers(
        {"/execute": [_build_result(1, error="Traceback\nKeyError: 'x'\n")]}
    ) as server:
        guest = GuestClient("guest", url=server.url)
        transport = OSWorldTransport(guest)
        with pytest.raises(ActionRefused, match="KeyError"):
            await transport.act([Write("x")])
        with pytest.raises(ActionRefused, match="unknown key"):
            await transport.act([Press("nosuchkey")])
        await guest.close()
    assert server.requests == ["/execute"]


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\xff\xff\xff\xff{}", b"\0\0\0\2{}"])
async def test_unreadable_look_is_a_broken_machine(data: bytes) -> None:
    with serve_answers({"/hisa/observe": [(200, "application/octet-stream", data)]}) as server:
        guest = GuestClient("guest", url=server.url)
        with pytest.raises(EnvironmentFailed, match="unreadable"):
            await HisaTransport(guest).look(elements=False, settle=0)
        await guest.close()


@pytest.mark.parametrize(
    ("state", "component"),
    [
        (f"{OSWORLD}/state", f"{OSWORLD}/component"),
        ("uri:deskat:state.at-spi.gnome.org", "uri:deskat:component.at-spi.gnome.org"),
    ],
)
def test_tree_of_both_families(state: str, component: str) -> None:
    xml = (
        f'<desktop-frame xmlns:st="{state}" xmlns:cp="{component}"><application name="app">'
        '<frame name="Window" st:showing="true" cp:screencoord="(0, 0)" cp:size="(300, 200)">'
        '<push-button name="OK" st:showing="true" st:enabled="true" cp:screencoord="(10, 20)" '
        'cp:size="(30, 40)">te\ufffcxt</push-button>'
        '<label name="hidden" cp:screencoord="(1, 1)" cp:size="(5, 5)"/>'
        '<label name="no place" st:showing="true"/>'
        "</frame></application></desktop-frame>"
    )
    (window, button), complete = parse_tree(xml)
    assert complete
    assert (window.role, window.name) == ("frame", "Window")
    assert button.role == "push button"
    assert button.box == BoundingBox(10, 20, 40, 60, "screen")
    assert button.states == {"showing", "enabled"}
    assert (button.text, button.app, button.window) == ("text", "app", "Window")


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<a>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        "<a>\0</a>",
    ],
)
def test_hostile_tree_is_refused(xml: str) -> None:
    with pytest.raises(ValueError):
        parse_tree(xml)


@pytest.mark.parametrize(("shown", "complete"), [(40, True), (1024, False), (0, False)])
def test_a_tree_that_ends_at_1024_children_may_lack_those_that_show(
    shown: int, complete: bool
) -> None:
    """OSWorld's guest leaves out the others without a word."""
    place = 'cp:screencoord="(10, 20)" cp:size="(30, 40)"'
    rows = [f'<list-item st:showing="{str(n < shown).lower()}" {place}/>' for n in range(1024)]
    head = f'<list xmlns:st="{OSWORLD}/state" xmlns:cp="{OSWORLD}/component"'
    tree = parse_tree(f'{head} st:showing="true" {place}>{"".join(rows)}</list>')
    assert tree.complete == complete
    assert "cut" in tree.elements[0].states


def test_deep_tree_is_walked() -> None:
    assert parse_tree("<a>" * 5000 + "</a>" * 5000).elements == ()


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b'{"done": 1}'])
async def test_unreadable_answer_to_a_command_is_a_broken_machine(data: bytes) -> None:
    with serve_answers({"/hisa/execute": [(200, JSON, data)]}) as server:
        guest = GuestClient("guest", url=server.url)
        with pytest.raises(EnvironmentFailed, match="unreadable answer to a command"):
            await HisaTransport(guest).execute("true", timeout=5.0, limit=100)
        await guest.close()
