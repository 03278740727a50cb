"""What a private desktop cannot do to the host, tried in a real one, small and bounded."""

from __future__ import annotations

import asyncio
import ctypes
import os
import select
import signal
import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from hisa.agent import Agent
from hisa.config import LimitSettings, load
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import DesktopRuntime, list_desktops, namespaces
from hisa.plugins.desktop.runtime.owned_files import find_owned
from hisa.plugins.desktop.runtime.state import Handle, is_alive, read_owner, write_owner
from hisa.plugins.desktop.runtime.watchdog import children, first_inside
from hisa.protocols import CommandResult, Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import load_run
from hisa.screen.geometry import Size

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]

LIMITS = LimitSettings(processes=200, memory_mb=512, disk_mb=64, open_files=256)
_KEYCTL = {"x86_64": 250, "aarch64": 219}


def _ways() -> Iterator[namespaces.Isolation]:
    """Every way that works here, so that none is claimed by the tests of another."""
    best = namespaces.available_isolation()
    if best != "none":
        yield best
    if best != "bubblewrap" and "bubblewrap" not in namespaces.refusals():
        yield "bubblewrap"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(_ways()))
async def desktop(request: pytest.FixtureRequest) -> AsyncIterator[DesktopEnvironment]:
    async with RunningDesktop(request.param) as environment:
        yield environment


class RunningDesktop:
    """A desktop made in one way, ended at the end."""

    def __init__(
        self, way: namespaces.Isolation | None = None, *, idle: float = 900.0, **more: int
    ) -> None:
        limits = LIMITS.model_copy(update=more)
        self.runtime = DesktopRuntime(Size(640, 480), isolation=way, limits=limits, idle=idle)

    async def __aenter__(self) -> DesktopEnvironment:
        await asyncio.to_thread(self.runtime.start)
        write_owner(
            self.runtime.handle
        )  # else a desktop that starts beside it removes what it left
        self.environment = DesktopEnvironment.attach(self.runtime.handle.to_json())
        return await self.environment.__aenter__()

    async def __aexit__(self, *exc: object) -> None:
        await self.environment.__aexit__(*exc)
        await asyncio.to_thread(self.runtime.stop)


async def python(desktop: DesktopEnvironment, program: str) -> CommandResult:
    return await desktop.execute(["/usr/bin/python3", "-c", textwrap.dedent(program)])


def find_first_inside(handle: Handle) -> int:
    """The host's number of the first process inside."""
    launcher = children(handle.pid)[0]
    first = first_inside(launcher)
    assert first is not None
    return first


class TestRefused:
    async def test_session_keyring_of_the_host_is_not_readable(
        self, desktop: DesktopEnvironment
    ) -> None:
        number = _KEYCTL[os.uname().machine]
        libc = ctypes.CDLL(None)
        read_keyring = """
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            print(libc.syscall(NUMBER, 0, -3, 0), ctypes.get_errno())
        """.replace("NUMBER", str(number))
        assert libc.syscall(number, 0, -3, 0) != -1, "the host has a session keyring"
        assert (await python(desktop, read_keyring)).output == "-1 1\n"
        keys = (await desktop.execute("cat /proc/keys")).output
        assert keys == ""

    async def test_calls_and_sockets_that_no_desktop_needs(
        self, desktop: DesktopEnvironment
    ) -> None:
        result = await python(
            desktop,
            """
            import ctypes, os, socket, sys
            sys.path.insert(0, "/run/hisa")
            from guest.confinement import refused_calls
            libc = ctypes.CDLL(None, use_errno=True)
            for name, number in refused_calls(os.uname().machine).items():
                ctypes.set_errno(0)
                done = libc.syscall(number, 0, 0, 0, 0, 0, 0)
                print(name, "done" if done >= 0 else ctypes.get_errno())
            for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):
                try:
                    socket.socket(family, socket.SOCK_STREAM).close()
                    print(family, "open")
                except OSError as error:
                    print("socket", error.errno)
            """,
        )
        assert result.exit_code == 0, result.error
        codes = dict(line.split() for line in result.output.splitlines())
        assert {"ptrace", "keyctl", "pidfd_getfd", "mount", "bpf"} <= set(codes)
        assert set(codes.values()) == {"1", "38", "97"}
        assert {name for name, code in codes.items() if code == "97"} == {"socket"}

    async def test_guests_token_is_not_in_reach_of_its_programs(
        self, desktop: DesktopEnvironment
    ) -> None:
        result = await desktop.execute(
            "cd /proc/$(pgrep -fo '^/usr/bin/python3 -m guest') && cat environ; head -c1 mem"
        )
        assert result.output == ""
        assert "denied" in result.error

    async def test_private_files_of_the_host_outside_home(
        self, desktop: DesktopEnvironment
    ) -> None:
        result = await desktop.execute("cat /etc/shadow /etc/gshadow")
        assert result.output == ""


class TestLimits:
    async def test_processes_stop_at_the_limit(
        self, desktop: DesktopEnvironment, request: pytest.FixtureRequest
    ) -> None:
        if "bubblewrap" in request.node.name and os.geteuid() == 0:
            pytest.skip("the kernel does not limit root; the watchdog does, see TestWatchdog")
        result = await python(
            desktop,
            """
            import os, signal, time
            pids = []
            try:
                for _ in range(400):
                    pid = os.fork()
                    if not pid:
                        time.sleep(60)
                        os._exit(0)
                    pids.append(pid)
            except BlockingIOError:
                pass
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            print(len(pids))
            """,
        )
        assert 50 < int(result.output) < LIMITS.processes
        assert (await desktop.execute("echo still here")).output == "still here\n"

    async def test_written_files_stop_at_the_limit(self, desktop: DesktopEnvironment) -> None:
        line = "for f in ~/a /tmp/b /dev/shm/c /var/tmp/d /run/user/*/e; do"
        line += " head -c 100M /dev/zero > $f; done;"
        line += " du -cb ~/a /tmp/b /dev/shm/c /var/tmp/d | tail -1"
        result = await desktop.execute(line)
        await desktop.execute("rm -f ~/a /tmp/b /dev/shm/c /var/tmp/d /run/user/*/e")
        assert "No space left" in result.error
        assert int(result.output.split()[0]) <= 3 * LIMITS.disk_mb << 20
        assert (await desktop.observe()).screen == Size(640, 480)

    async def test_open_files_and_one_process_memory(self, desktop: DesktopEnvironment) -> None:
        result = await python(
            desktop,
            """
            files = []
            try:
                while len(files) < 5000:
                    files.append(open("/dev/null"))
            except OSError:
                print(len(files) < 256)
            try:
                bytearray(700 << 20)
            except MemoryError:
                print("no memory")
            """,
        )
        assert result.output == "True\nno memory\n"

    async def test_log_flood_is_bounded(self, desktop: DesktopEnvironment) -> None:
        services = ".local/share/dbus-1/services"
        flood = b"#!/bin/sh\nhead -c 50M /dev/zero | tr '\\0' x >&2\ntouch ~/flooded\n"
        service = b"[D-BUS Service]\nName=x.Flood\nExec=/bin/sh /home/user/flood\n"
        await desktop.write_file("/home/user/flood", flood)
        await desktop.write_file(f"/home/user/{services}/x.Flood.service", service)
        to_bus = (
            "dbus-send --session --print-reply --reply-timeout=3000 --dest=org.freedesktop.DBus /"
        )
        await desktop.execute(f"{to_bus} org.freedesktop.DBus.ReloadConfig")
        await desktop.execute(
            f"{to_bus} org.freedesktop.DBus.StartServiceByName string:x.Flood uint32:0"
        )
        result = await desktop.execute("until test -e ~/flooded; do sleep 0.1; done", timeout=60.0)
        assert result.exit_code == 0, result
        log = list(Handle.from_json(desktop.handle).folder.glob("log*"))
        assert b"x" * 1000 in b"".join(part.read_bytes() for part in log), "it reached the log"
        assert sum(part.stat().st_size for part in log) < 1 << 20


class TestWatchdog:
    @pytest.mark.parametrize("way", list(_ways()))
    async def test_memory_over_the_limit_ends_the_desktop_with_a_reason(
        self, way: namespaces.Isolation
    ) -> None:
        hog = """
            import os, time
            for _ in range(4):
                if not os.fork():
                    break
            kept = bytearray(os.urandom(1 << 20) * 200)
            time.sleep(60)
        """
        async with RunningDesktop(way) as desktop:
            with pytest.raises(EnvironmentFailed, match=r"held \d+ MB.*memory_mb is 512") as caught:
                await python(desktop, hog)
            assert "environment.limits" in caught.value.fix
            with pytest.raises(EnvironmentFailed, match="memory_mb"):
                await desktop.observe()

    async def test_watchdog_ends_a_desktop_over_the_process_limit(self) -> None:
        if os.geteuid() != 0 or "bubblewrap" in namespaces.refusals():
            pytest.skip("only bubblewrap started by root knows no limit of processes")
        many = "for n in $(seq 250); do sleep 60 & done; wait"
        async with RunningDesktop("bubblewrap") as desktop:
            with pytest.raises(EnvironmentFailed, match=r"ran \d+ processes.*processes is 200"):
                await desktop.execute(many)

    async def test_a_desktop_full_of_processes_is_ended_where_the_kernel_stops_them(self) -> None:
        way: namespaces.Isolation = next(iter(_ways()))
        if way == "bubblewrap" and os.geteuid() == 0:
            pytest.skip("there the kernel does not limit processes")
        bomb = "for n in $(seq 400); do sleep 120 & done 2>/dev/null; true"

        async def keep_full(desktop: DesktopEnvironment) -> None:
            async with asyncio.timeout(patience(60)):
                while True:
                    await desktop.execute(bomb)
                    await asyncio.sleep(0.5)

        async with RunningDesktop(way) as desktop:
            with pytest.raises(EnvironmentFailed, match=r"ran \d+ processes.*processes is 200"):
                await keep_full(desktop)

    async def test_memory_that_nobody_maps_is_counted(self) -> None:
        hidden = """
            import os, time
            for number in range(8):
                file = os.memfd_create("hidden")
                for _ in range(100):
                    os.write(file, os.urandom(1 << 20))
            time.sleep(60)
        """
        async with RunningDesktop() as desktop:
            with pytest.raises(EnvironmentFailed, match="memory_mb is 512"):
                await python(desktop, hidden)

    async def test_stopped_guest_does_not_hold_its_desktop(self) -> None:
        async with RunningDesktop(idle=1.0) as desktop:
            handle = Handle.from_json(desktop.handle)
            desktop_guest = children(find_first_inside(handle))[0]
            os.kill(desktop_guest, signal.SIGSTOP)
            gone = os.pidfd_open(handle.pid)
            ended = await asyncio.to_thread(_has_ended, gone)
            assert ended
            assert not is_alive(handle)
            with pytest.raises(EnvironmentFailed, match="gave no answer"):
                await desktop.observe()


def _has_ended(process: int) -> bool:
    """Whether the process of that descriptor ends in a minute."""
    readable, _, _ = select.select([process], [], [], 60.0)
    os.close(process)
    return bool(readable)


async def test_run_says_which_limit_ended_its_desktop(tmp_path: Path) -> None:
    hog = "import os; [os.fork() for _ in '12']; k = os.urandom(1 << 20) * 250; input()"
    task = Task("t", f'Run the command `tail -f /dev/null | python3 -c "{hog}"`.')
    settings = load(
        assignments=[
            "patterns.enabled=false",
            "environment.limits.memory_mb=512",
            "environment.width=640",
            "environment.height=480",
            "run.max_steps=3",
        ],
        environ={},
    )
    with RunLog.create(tmp_path, task, settings=settings.model_dump(mode="json")) as log:
        async with Agent(settings=settings).open(task, log) as loop:
            known = [read_owner(handle) for handle in list_desktops()]
            assert log.id in {entry.run for entry in known if entry}
            result = await loop.run(task)
    assert (result.status, result.score_state) == ("agent_broke_machine", "no_check")
    assert "environment.limits.memory_mb is 512" in result.message
    assert load_run(log.folder).manifest.exit_status == "agent_broke_machine"


async def test_files_of_the_user_are_found_and_those_of_the_system_are_not(tmp_path: Path) -> None:
    """Without root everything of the user's; of root's, what others may not read."""
    for name in ("open", "closed"):
        (tmp_path / name / "within").mkdir(parents=True)
        (tmp_path / name / "within" / "file").write_text("x")
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "link").symlink_to("open")
    where = str(tmp_path).lstrip("/")
    names = {path.rpartition("/")[2] for path in find_owned([where], os.getuid())}
    assert names == ({"closed"} if os.getuid() == 0 else {"open", "closed"})
    assert find_owned([where], os.getuid() + 1) == []
