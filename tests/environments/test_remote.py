"""Guests at addresses: how they are named, reverted, waited for, shared and told apart."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
import sys
from pathlib import Path

import pytest
from PIL import Image

from hisa.actions import Write
from hisa.config import EnvironmentSettings, RemoteSettings
from hisa.errors import ConfigError, EnvironmentFailed, UsageError
from hisa.plugins.machines.guests.address import read_addresses
from hisa.plugins.machines.guests.command import check_command, run_provider_command
from hisa.plugins.machines.guests.lease import Lease
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from hisa.screen.observation import Screenshot
from tests.environments.stock import REVERT
from tests.stock.stock_guest import GuestFault, StockGuest
from tests.stock.stock_messages import Reply

pytestmark = [pytest.mark.usefixtures("own_cache"), pytest.mark.process]
GUEST = "http://10.0.0.2:5000"


def python(code: str) -> str:
    """A command of this Python."""
    return shlex.join([sys.executable, "-c", code])


@pytest.mark.parametrize(
    ("text", "url", "name"),
    [
        (GUEST, GUEST, "10.0.0.2"),
        (f"{GUEST}/", GUEST, "10.0.0.2"),
        ("10.0.0.2", GUEST, "10.0.0.2"),
        ("10.0.0.2:5000", GUEST, "10.0.0.2"),
        ("localhost:5001:9222:8006:8080", "http://localhost:5001", "localhost"),
        (f"osworld-1={GUEST}", GUEST, "osworld-1"),
        (f"/vms/Ubuntu 1/u.vmx={GUEST}", GUEST, "/vms/Ubuntu 1/u.vmx"),
        ("https://guest.example/vm1", "https://guest.example/vm1", "guest.example"),
    ],
)
def test_addresses_as_people_have_them(text: str, url: str, name: str) -> None:
    (address,) = read_addresses(text)
    assert (address.url, address.name) == (url, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "http://",
        "ftp://a",
        "a b",
        "a:5000:1",
        "http://u:p@a:5000",
        "a,",
        "a,b,a:5000",
        "http://a:x",
        "http://a:5000?x=1",
    ],
)
def test_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_addresses(text)
    assert caught.value.fix.startswith("--env guest=")


# ---------------------------------------------------------------- commands


async def test_a_command_gets_its_words_and_no_shell(tmp_path: Path) -> None:
    output_path = tmp_path / "told"
    code = f"import sys; open({str(output_path)!r}, 'w').write(repr(sys.argv[1:]))"
    (address,) = read_addresses(f"vm; touch x={GUEST}")
    template = python(code) + " {name} '{host} {port}' {url} $HOME '; ls'"
    await run_provider_command("revert", template, address, seconds=60.0)
    expected = ["vm; touch x", "10.0.0.2 5000", GUEST, "$HOME", "; ls"]
    assert output_path.read_text() == repr(expected)


@pytest.mark.parametrize(
    ("template", "seconds", "message"),
    [
        ("/no/such/program", 60.0, "revert failed: /no/such/program: No such file"),
        (python("import sys; print('locked'); sys.exit(255)"), 60.0, "ended with 255: locked"),
        (python("import time; print('begun', flush=True); time.sleep(600)"), 3.0, "took over 3 s"),
    ],
)
async def test_failing_command_is_a_broken_machine(
    template: str, seconds: float, message: str
) -> None:
    (address,) = read_addresses(GUEST)
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        await run_provider_command("revert", template, address, seconds=seconds)
    assert "environment.remote.revert" in caught.value.fix


async def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_TOKEN", "s3cr3t-value")
    (address,) = read_addresses(GUEST)
    code = "import sys; sys.exit('bad token ' + sys.argv[1])"
    template = f"{python(code)} {{env:CLOUD_TOKEN}} also-secret"
    with pytest.raises(EnvironmentFailed, match=r"bad token \{env:CLOUD_TOKEN\}") as caught:
        await run_provider_command("revert", template, address, seconds=60.0)
    assert "s3cr3t" not in str(caught.value)
    assert "also-secret" not in str(caught.value)


async def test_a_machine_left_in_the_background_does_not_hold_the_command() -> None:
    (address,) = read_addresses(GUEST)
    await run_provider_command("start", "sh -c 'sleep 5 & echo started'", address, seconds=3.0)


@pytest.mark.parametrize("template", ["revert 'x", "revert {nmae}", "revert {env:NOT_THERE}"])
def test_unreadable_template_is_refused_at_once(template: str) -> None:
    with pytest.raises(ConfigError, match=r"environment\.remote\.revert"):
        RemoteEnvironment(GUEST, RemoteSettings(revert=template))
    assert check_command("revert", "docker ps --format '{{.ID}}'")[-1] == "{{.ID}}"


# ---------------------------------------------------------------- life of a machine


async def test_reset_without_revert_leaves_the_machine_with_a_note() -> None:
    notes: list[str] = []
    with StockGuest() as guest:
        async with RemoteEnvironment(guest.url, note=notes.append) as environment:
            await environment.write_file("/home/user/x", b"kept")
            await environment.reset()
            assert await environment.read_file("/home/user/x") == b"kept"
            assert "throw_away" not in environment.capabilities
        assert guest.restored == 0
    assert any("left as it is" in note for note in notes)


async def test_a_revert_costs_nothing_where_nothing_was_done() -> None:
    with StockGuest() as guest:
        async with RemoteEnvironment(guest.url, RemoteSettings(revert=REVERT)) as environment:
            await environment.reset()
            await environment.observe()
            await environment.reset()
            assert guest.restored == 1
            await environment.act([Write("x")])
            await environment.reset()
            assert guest.restored == 2


async def test_a_machine_that_hangs_is_back_after_a_reset() -> None:
    provider = RemoteSettings(revert=REVERT)
    with StockGuest({"/execute": [None, GuestFault("reset", stays=True)]}) as guest:
        async with RemoteEnvironment(guest.url, provider) as environment:
            await environment.observe()
            with pytest.raises(EnvironmentFailed):
                await environment.observe()
            await environment.reset()
            assert (await environment.observe()).windows
        assert guest.restored == 2


async def test_machine_is_used_once_its_desktop_is_drawn() -> None:
    """Booting: nobody, an error page, a black screen, half of the desktop, the desktop."""
    picture = Image.new("RGB", (1280, 720))
    black = GuestFault("answer", Reply(Screenshot(picture).png, "image/png"))
    picture = Image.effect_noise((1280, 720), 50).convert("RGB")
    half = GuestFault("answer", Reply(Screenshot(picture).png, "image/png"))
    script = [GuestFault("reset"), GuestFault("html"), black, black, half]
    with StockGuest({"/screenshot": script}) as guest:
        async with RemoteEnvironment(guest.url, RemoteSettings(revert=REVERT)):
            assert guest.requests[:7] == ["/screenshot"] * 7


async def test_machine_that_never_gets_ready_is_reported_with_its_reason() -> None:
    provider = RemoteSettings(revert=REVERT, ready_seconds=1.0)
    with StockGuest({"/screenshot": [GuestFault("html", stays=True)]}) as guest:
        with pytest.raises(EnvironmentFailed, match=r"not ready after 1 s: HTTP 200, text/html"):
            await RemoteEnvironment(guest.url, provider).__aenter__()
        (await Lease.take(read_addresses(guest.url))).release()


async def test_start_and_stop_frame_its_use(tmp_path: Path) -> None:
    log_path = tmp_path / "told"
    notes: list[str] = []

    def line(word: str, code: int = 0) -> str:
        return shlex.join(["sh", "-c", f"echo {word} {{name}} >> {log_path}; exit {code}"])

    provider = RemoteSettings(revert=line("revert"), start=line("start"), stop=line("stop", 1))
    with StockGuest() as guest:
        async with RemoteEnvironment(f"vm={guest.url}", provider, note=notes.append) as environment:
            await environment.act([Write("x")])
            await environment.reset()
    assert log_path.read_text().split("\n")[:-1] == [
        "revert vm",
        "start vm",
        "revert vm",
        "start vm",
        "stop vm",
    ]
    assert notes[:2] == ["revert vm", "start vm"]
    assert "stop failed" in notes[-1], "and the run is none the worse for it"


# ---------------------------------------------------------------- several


async def test_two_runs_never_share_a_guest() -> None:
    addresses = read_addresses("a,b")
    first, second = await Lease.take(addresses), await Lease.take(addresses)
    assert {first.address, second.address} == set(addresses)
    third = asyncio.create_task(Lease.take(addresses))
    await asyncio.sleep(0)
    assert not third.done()
    second.release()
    assert (await third).address == second.address
    first.release()


async def test_longest_unused_guest_is_leased_first(own_cache: Path) -> None:
    addresses = read_addresses("a,b,c")
    order = []
    for number in range(6):
        lease = await Lease.take(addresses)
        order.append(lease.address.host)
        lease.release()
        newest = max((own_cache / "hisa" / "guests").iterdir(), key=lambda p: p.stat().st_mtime_ns)
        os.utime(newest, (1e9 + number, 1e9 + number))
    assert order == ["a", "b", "c"] * 2


# ---------------------------------------------------------------- what is there


async def test_probe_reports_the_state_of_every_address() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        web = StockGuest({"/platform": [GuestFault("html")] * 9})
        with StockGuest() as guest, web:
            addresses = ",".join([guest.url, web.url, silent])
            stock, page, unreachable = await RemoteEnvironment(addresses).probe()
    assert stock.ok
    assert "a stock OSWorld guest, screen 1280x720" in stock.detail
    assert "reset leaves it as it is" in stock.detail
    assert not page.ok
    assert "text/html" in page.detail
    assert "hisa doctor" in page.fix
    assert not unreachable.ok
    assert "Connect" in unreachable.detail
    assert "environment.remote.start" in unreachable.fix


def test_settings_decide_whether_a_person_confirms() -> None:
    def thrown_away(kind: str, revert: str = "") -> bool:
        return EnvironmentSettings(kind=kind, remote=RemoteSettings(revert=revert)).throw_away

    assert thrown_away("desktop")
    assert thrown_away("vm:minimal")
    assert not thrown_away("display=:0")
    assert not thrown_away(f"guest={GUEST}")
    assert thrown_away(f"guest={GUEST}", "x")
