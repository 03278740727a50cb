"""The private desktop through HiSA's own routes, and what makes it private."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import httpx
import pytest
import pytest_asyncio

from hisa.actions import Move
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import DesktopRuntime, Handle, list_desktops, reap
from hisa.plugins.desktop.runtime.state import write_owner
from hisa.screen.geometry import Size
from tests.environments.conformance import (
    CommandConformance,
    Conformance,
    EditorConformance,
    at,
)

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as desktop:
        yield desktop


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestDesktop(Conformance, CommandConformance, EditorConformance):
    documented = "the private desktop"

    async def test_larger_screen_is_scaled_for_models(
        self, environment: DesktopEnvironment
    ) -> None:
        async with DesktopEnvironment(Size(1600, 1200)) as large:
            look = await large.observe()
            assert look.screen == Size(1600, 1200)
            assert look.image == Size(960, 720)
            await large.act([Move(at(1599, 1199))])
            assert (await large.observe()).cursor == at(1599, 1199)


class TestPrivacy:
    async def test_host_files_do_not_exist_inside(
        self, environment: DesktopEnvironment, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("x")
        assert (tmp_path / "secret").exists()
        for path in (tmp_path / "secret", Path(__file__), Path(sys.prefix, "pyvenv.cfg")):
            with pytest.raises(FileNotFoundError):
                await environment.read_file(str(path))

    async def test_writing_to_the_system_does_not_reach_the_host(
        self, environment: DesktopEnvironment
    ) -> None:
        name = f"hisa-{uuid.uuid4().hex}"
        await environment.execute(f"touch /tmp/{name} /var/tmp/{name} /home/user/{name}")
        result = await environment.execute(f"ls /tmp/{name} /var/tmp/{name} /home/user/{name}")
        assert result.exit_code == 0
        for folder in ("/tmp", "/var/tmp", "/home/user"):
            assert not exists(f"{folder}/{name}")

    async def test_no_network_and_no_host_ports(self, environment: DesktopEnvironment) -> None:
        devices = await environment.execute("tail -n +3 /proc/net/dev | cut -d: -f1")
        assert devices.output.split() == ["lo"]
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            result = await environment.execute(f"exec 3<>/dev/tcp/127.0.0.1/{port}")
        assert result.exit_code != 0
        assert "refused" in result.error

    async def test_ordinary_user_without_a_way_up(self, environment: DesktopEnvironment) -> None:
        result = await environment.execute("id -un; grep NoNewPrivs /proc/self/status; cd; pwd")
        assert result.output.split() == ["user", "NoNewPrivs:", "1", "/home/user"]

    async def test_host_processes_are_not_seen(self, environment: DesktopEnvironment) -> None:
        result = await environment.execute("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert "pytest" not in result.output
        assert "Xvfb" in result.output

    async def test_no_keyring_of_the_system_asks_for_a_password(
        self, environment: DesktopEnvironment
    ) -> None:
        bus = "org.freedesktop.DBus"
        line = f"dbus-send --session --print-reply --dest={bus} /org/freedesktop/DBus"
        result = await environment.execute(
            f"{line} {bus}.StartServiceByName string:org.freedesktop.secrets uint32:0"
        )
        assert "Spawn.ChildExited" in result.error  # without the override it starts or is unknown

    async def test_two_side_by_side_do_not_meet(self, environment: DesktopEnvironment) -> None:
        async with DesktopEnvironment() as other:
            await environment.write_file("/home/user/mine", b"1")
            with pytest.raises(FileNotFoundError):
                await other.read_file("/home/user/mine")
            await other.act([Move(at(7, 9))])
            await environment.act([Move(at(70, 90))])
            assert (await other.observe()).cursor == at(7, 9)


class TestAtMostOnce:
    async def client(self, environment: DesktopEnvironment) -> httpx.AsyncClient:
        handle = Handle.from_json(environment.handle)
        return httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=handle.socket),
            base_url="http://guest",
            headers={"Authorization": f"Bearer {handle.token}"},
            timeout=30.0,
        )

    async def test_act_sent_again_is_not_done_again(self, environment: DesktopEnvironment) -> None:
        first = {"id": "a-1", "actions": [{"kind": "move", "to": {"x": 10, "y": 10}}]}
        second = {"id": "a-2", "actions": [{"kind": "move", "to": {"x": 50, "y": 50}}]}
        async with await self.client(environment) as client:
            for body in (first, second, first):
                assert (await client.post("/hisa/act", json=body)).json() == {"done": 1}
        assert (await environment.observe()).cursor == at(50, 50)

    async def test_refusal_is_remembered(self, environment: DesktopEnvironment) -> None:
        body = {"id": "r-1", "actions": [{"kind": "press", "key": "nosuchkey"}]}
        async with await self.client(environment) as client:
            answers = [await client.post("/hisa/act", json=body) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [422, 422]
        assert answers[0].json() == answers[1].json()

    async def test_command_still_running_is_waited_for(
        self, environment: DesktopEnvironment
    ) -> None:
        body = {"id": "c-1", "command": "echo x >> ~/once; sleep 0.5; wc -l < ~/once"}
        async with await self.client(environment) as client:
            posts = [client.post("/hisa/execute", json=body) for _ in range(3)]
            answers = [answer.json() for answer in await asyncio.gather(*posts)]
        assert [answer["output"] for answer in answers] == ["1\n"] * 3

    @pytest.mark.parametrize(
        ("path", "body", "status"),
        [
            ("/hisa/act", b"{bad", 400),
            ("/hisa/act", b"[]", 400),
            ("/hisa/act", b'{"id": "", "actions": []}', 400),
            ("/hisa/act", b'{"id": 7, "actions": []}', 400),
            ("/hisa/act", b'{"id": "x1", "actions": [1]}', 422),
            ("/hisa/act", b'{"id": "x2", "actions": [{"kind": "format_disk"}]}', 422),
            ("/hisa/act", b'{"id": "x3", "actions": [{"kind": "move", "to": {"x": NaN}}]}', 422),
            ("/hisa/act", b'{"id": "x4", "actions": [{"kind": "sleep", "seconds": 1e9}]}', 422),
            ("/hisa/act", b'{"id": "x5", "actions": [{"kind": "click", "at": [1, 2]}]}', 422),
            ("/hisa/act", b'{"id": "x6", "actions": [{"kind": "write", "text": "\\u0001"}]}', 422),
            ("/hisa/execute", b'{"id": "x7", "command": []}', 400),
            ("/hisa/execute", b'{"id": "x8", "command": "true", "timeout": -1}', 400),
            ("/hisa/observe", b'{"format": "gif"}', 400),
            ("/hisa/observe", b"[" * 100_000, 400),
            ("/hisa/nothing", b"{}", 404),
            ("/hisa/capabilities", b"{}", 405),
        ],
    )
    async def test_bad_request_is_refused_with_a_reason(
        self, environment: DesktopEnvironment, path: str, body: bytes, status: int
    ) -> None:
        async with await self.client(environment) as client:
            answer = await client.post(path, content=body)
            assert answer.status_code == status
            assert answer.json()["error"]
            assert (await client.get("/hisa/capabilities")).status_code == 200

    async def test_another_client_opens_finds_and_closes_a_window(
        self, environment: DesktopEnvironment
    ) -> None:
        async with await self.client(environment) as client:
            command = ["xterm", "-T", "Opened by a client"]
            launched = await client.post("/setup/launch", json={"command": command})
            assert launched.status_code == 200

            async def size() -> int:
                form = {"app_class_name": "xterm"}
                return (await client.post("/window_size", data=form)).status_code

            async def becomes(status: int) -> bool:
                for _ in range(100):
                    if await size() == status:
                        return True
                    await asyncio.sleep(0.1)
                return False

            assert await becomes(200)
            body = {"window_name": "Opened by a client", "strict": True}
            assert (await client.post("/setup/close_window", json=body)).status_code == 200
            assert await becomes(404)

    async def test_token_is_required(self, environment: DesktopEnvironment) -> None:
        handle = Handle.from_json(environment.handle)
        transport = httpx.AsyncHTTPTransport(uds=handle.socket)
        async with httpx.AsyncClient(transport=transport, base_url="http://guest") as client:
            for path in ("/hisa/capabilities", "/screenshot", "/platform"):
                assert (await client.get(path)).status_code == 401


class TestLife:
    async def test_closed_desktop_leaves_nothing_behind(self) -> None:
        async with DesktopEnvironment() as desktop:
            handle = Handle.from_json(desktop.handle)
            inside = _list_descendants(handle.pid)
            assert len(inside) >= 4
            assert handle.id in [known.id for known in list_desktops()]
        assert not exists(handle.folder)
        assert handle.id not in mounts()
        assert not [pid for pid in inside if exists(f"/proc/{pid}")]

    async def test_killed_desktop_is_a_broken_machine(self) -> None:
        async with DesktopEnvironment() as desktop:
            handle = Handle.from_json(desktop.handle)
            inside = _list_descendants(handle.pid)
            os.kill(handle.pid, signal.SIGKILL)
            for attempt in (desktop.observe(), desktop.act([Move(at(1, 1))])):
                with pytest.raises(EnvironmentFailed):
                    await attempt
            with pytest.raises(EnvironmentFailed):
                await desktop.execute("true")
        assert not handle.folder.exists()
        for _ in range(600):
            if not any(exists(f"/proc/{pid}") for pid in inside):
                break
            await asyncio.sleep(0.05)
        assert not [pid for pid in inside if exists(f"/proc/{pid}")]

    async def test_outlives_a_killed_hisa_and_is_found_again(self) -> None:
        program = (
            "import json, sys\n"
            "from hisa.plugins.desktop.runtime import DesktopRuntime\n"
            "from hisa.screen.geometry import Size\n"
            "runtime = DesktopRuntime(Size(640, 480))\n"
            "runtime.start()\n"
            "print(json.dumps(runtime.handle.to_json()), flush=True)\n"
            "sys.stdin.read()\n"
        )
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None
        handle = json.loads(await child.stdout.readline())
        child.kill()
        await child.wait()
        async with DesktopEnvironment.attach(handle) as desktop:
            look = await desktop.observe()
            assert look.screen == Size(640, 480)
            assert (await desktop.execute("echo here")).output == "here\n"
        with pytest.raises(EnvironmentFailed, match="gone"):
            DesktopEnvironment.attach(handle)

    async def test_ends_itself_when_nobody_asks(self) -> None:
        runtime = DesktopRuntime(Size(640, 480), idle=patience(1.0))
        await asyncio.to_thread(runtime.start)
        try:
            gone = os.pidfd_open(runtime.handle.pid)
            readable, _, _ = await asyncio.to_thread(select.select, [gone], [], [], patience(30.0))
            os.close(gone)
            assert readable
            assert not runtime.alive
            assert runtime.handle.id not in [known.id for known in list_desktops()]
            write_owner(runtime.handle)
            reap()
            assert runtime.handle.folder.exists(), "who uses it may still ask why it ended"
            (runtime.handle.folder / "owner.json").unlink()
            reap()
            assert not runtime.handle.folder.exists()
        finally:
            await asyncio.to_thread(runtime.stop)

    async def test_failed_start_shows_the_log_and_a_fix(self) -> None:
        runtime = DesktopRuntime(Size(0, 480))
        with pytest.raises(EnvironmentFailed, match="Xvfb") as caught:
            await asyncio.to_thread(runtime.start)
        assert "hisa install system" in caught.value.fix
        assert not runtime.alive

    async def test_bubblewrap_keeps_the_system_read_only(self) -> None:
        if shutil.which("bwrap") is None:
            pytest.skip("no bubblewrap on this machine")
        runtime = DesktopRuntime(Size(640, 480), isolation="bubblewrap")
        await asyncio.to_thread(runtime.start)
        async with DesktopEnvironment.attach(runtime.handle.to_json()) as desktop:
            project = Path(__file__).parents[3]
            result = await desktop.execute("touch ~/mine && touch /usr/local/theirs; ls -A /root")
            assert "Read-only" in result.error
            assert result.output == ""
            assert (await desktop.execute(f"ls {shlex.quote(str(project))}/hisa")).exit_code != 0
            assert (await desktop.observe()).screen == Size(640, 480)
        runtime.stop()


def exists(path: str | Path) -> bool:
    return os.path.exists(path)


def mounts() -> str:
    return Path("/proc/mounts").read_text()


def _list_descendants(pid: int) -> list[int]:
    """Host numbers of everything below a process."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parents = [tuple(map(int, line.split())) for line in listed.splitlines()]
    pids, new = [pid], [pid]
    while new:
        new = [child for child, parent in parents if parent in new]
        pids += new
    return pids
