"""The client and a guest that behaves as a stock OSWorld one, also where that is badly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import httpx
import pytest
import pytest_asyncio

from hisa.actions import Action, Click, Drag, Hotkey, Move, Press, Scroll, Sleep, Write
from hisa.config import RemoteSettings
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from hisa.protocols import Environment
from tests.environments.conformance import Conformance, at, find_only
from tests.environments.stock import REVERT
from tests.stock.stock_guest import GuestFault, GuestFaultKind, StockGuest

pytestmark = [pytest.mark.usefixtures("own_cache"), pytest.mark.process]

LOUD: tuple[GuestFaultKind, ...] = (
    "after",
    "cut_off",
    "cut_connection",
    "html",
    "wrong_json",
    "reset",
)


def shorten_limit(seconds: float) -> RemoteSettings:
    """So hasty that a request with this limit is given up after a second."""
    return RemoteSettings(patience=1.0 / seconds)


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", "folder")


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RemoteEnvironment]:
    """A class's guest and what its provider can do."""
    with pytest.MonkeyPatch.context() as patch, StockGuest() as guest:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        async with RemoteEnvironment(guest.url, request.cls.provider) as environment:
            yield environment


@pytest.mark.asyncio(loop_scope="class")
class TestStockGuest(Conformance):
    documented = "a stock guest"
    provider = RemoteSettings()


@pytest.mark.asyncio(loop_scope="class")
class TestReverted(Conformance):
    documented = "a stock guest that is reverted"
    provider = RemoteSettings(revert=REVERT)


async def test_every_kind_of_act_changes_the_screen() -> None:
    with StockGuest() as guest:
        async with RemoteEnvironment(guest.url) as environment:
            look = await environment.observe(elements=True)
            field = find_only(look, "text").box.centre
            for action in (
                Click(field),
                Write("a < b, Grüße"),
                Press("backspace"),
                Hotkey(("ctrl", "a")),
                Move(at(400, 500)),
                Scroll(-3, 0, at(410, 300)),
                Drag(at(500, 520)),
            ):
                await environment.act([action])
                before, look = look, await environment.observe(elements=True)
                assert look.screenshot.sha256 != before.screenshot.sha256, action


@pytest.mark.parametrize("text", ["a < b <<", "Grüße, 漢字 🙂", "tab\tand\nline"])
async def test_text_comes_as_it_was_sent(text: str) -> None:
    with StockGuest() as guest:
        async with RemoteEnvironment(guest.url) as environment:
            field = find_only(await environment.observe(elements=True), "text").box.centre
            await environment.act([Click(field), Write(text)])
        assert guest.desktop.form.text == text


def test_a_command_runs_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    line = f"touch {tmp_path}/x; id -un >&2; pwd; ls -A; echo $PPID; tail -n +3 /proc/net/dev"
    with StockGuest() as guest:
        answer = _post(guest, "/execute", json={"command": line, "shell": True}).json()
    assert not list(tmp_path.iterdir())
    assert [line.split()[0] for line in answer["output"].splitlines()] == ["/home/user", "1", "lo:"]


def _post(guest: StockGuest, path: str, **more: Any) -> httpx.Response:
    return httpx.post(f"{guest.url}{path}", trust_env=False, **more)


# ---------------------------------------------------------------- faults


async def _look(environment: Environment) -> object:
    return await environment.observe(elements=True)


async def _write(environment: Environment) -> object:
    await environment.write_file("/home/user/new/x", b"12")
    return None


async def _read(environment: Environment) -> object:
    return await environment.read_file("/home/user/x")


async def _act(environment: Environment) -> object:
    await environment.act([Click(at(300, 130)), Write("once")])
    return None


async def _command(environment: Environment) -> object:
    return await environment.execute("ls", timeout=20.0)


Call = Callable[[Environment], Awaitable[object]]
SAFE: list[tuple[str, Call]] = [
    ("/screenshot", _look),
    ("/accessibility", _look),
    ("/execute", _look),
    ("/execute", _write),
    ("/setup/upload", _write),
    ("/file", _read),
]


def _is_harmless(path: str, kind: GuestFaultKind) -> bool:
    """An upload is answered in words, and half of a file that came whole is a file."""
    return (path, kind) in {
        ("/setup/upload", "cut_off"),
        ("/setup/upload", "wrong_json"),
        ("/file", "cut_off"),
        ("/file", "wrong_json"),
    }


async def _check_recovery(
    path: str, call: Call, kind: GuestFaultKind, provider: RemoteSettings
) -> None:
    with StockGuest({path: [GuestFault(kind)]}) as guest:
        async with RemoteEnvironment(guest.url, provider) as environment:
            await guest.desktop.form.write_file("/home/user/x", b"whole")
            answer = await call(environment)
            if call is _read and not _is_harmless(path, kind):
                assert answer == b"whole"
            if call is _write:
                assert await guest.desktop.form.read_file("/home/user/new/x") == b"12"
        times = guest.requests.count(path)
    assert times == 1 if _is_harmless(path, kind) else times >= 2


@pytest.mark.parametrize(
    ("path", "call", "kind"),
    [
        (path, call, kind)
        for path, call in SAFE
        for kind in (LOUD if path == "/screenshot" else LOUD[:3:2])
    ],
)
async def test_safe_requests_are_repeated(path: str, call: Call, kind: GuestFaultKind) -> None:
    await _check_recovery(path, call, kind, RemoteSettings())


@pytest.mark.parametrize(
    ("path", "call", "kind", "seconds"),
    [
        ("/screenshot", _look, "hang", 15.0),
        ("/screenshot", _look, "drip", 15.0),
        ("/setup/upload", _write, "hang", 120.0),
        ("/file", _read, "hang", 120.0),
    ],
)
async def test_safe_requests_without_answer_in_time_are_repeated(
    path: str, call: Call, kind: GuestFaultKind, seconds: float
) -> None:
    await _check_recovery(path, call, kind, shorten_limit(seconds))


@pytest.mark.parametrize(
    ("call", "kind"),
    [*((_act, kind) for kind in (*LOUD, "hang")), (_command, "after"), (_command, "hang")],
)
async def test_uncertain_action_is_never_repeated(call: Call, kind: GuestFaultKind) -> None:
    ran: list[Sequence[str]] = []

    def run(words: Sequence[str]) -> None:
        ran.append(words)

    provider = shorten_limit(90.0 if call is _act else 50.0) if kind == "hang" else RemoteSettings()
    with StockGuest({"/execute": [GuestFault(kind)]}, run=run) as guest:
        async with RemoteEnvironment(guest.url, provider) as environment:
            with pytest.raises(EnvironmentFailed, match="/execute"):
                await call(environment)
        assert guest.requests.count("/execute") == 1
        if call is _act:
            acted: list[Action] = guest.desktop.form.acted
            assert [action.kind for action in acted] == ["click", "write"]
        assert len(ran) == 1


@pytest.mark.parametrize("kind", ["after", "cut_connection"])
async def test_machine_that_stays_broken_is_reported_with_its_reason(kind: GuestFaultKind) -> None:
    with StockGuest({"/screenshot": [GuestFault(kind, stays=True)]}) as guest:
        async with RemoteEnvironment(guest.url) as environment:
            with pytest.raises(EnvironmentFailed, match=guest.url) as caught:
                await environment.observe()
    assert caught.value.fix


async def test_action_beyond_the_server_limit_is_refused_at_once() -> None:
    with StockGuest() as guest:
        async with RemoteEnvironment(guest.url) as environment:
            with pytest.raises(ActionRefused, match="do it in parts"):
                await environment.act([Click(at(300, 130)), Sleep(50.0), Sleep(50.0)])
    assert not guest.desktop.form.acted
