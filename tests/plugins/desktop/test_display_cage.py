"""What commands on a person's own display cannot do to the machine of that person."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import textwrap
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.bare_display import bare_display
from hisa.config import load
from hisa.environments.transport import Transport
from hisa.errors import ConfigError, EnvironmentFailed, UsageError
from hisa.plugins.desktop.display_guest import DisplayGuest
from hisa.protocols import CommandResult, FileRefused

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]

OBEYED = ("hisa.toml", ".git/hooks/pre-commit", ".git/config", ".venv/bin/hisa", "runs/1/run.json")
"""What later commands in a project's folder read or run."""


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with bare_display() as name:
        yield name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder of a person, and a data folder of this test."""
    folder = tmp_path / "project"
    for name in OBEYED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return folder


class Caged:
    """Runs commands as `hisa.protocols.Environment` does."""

    def __init__(self, guest: DisplayGuest, transport: Transport) -> None:
        self.guest, self.transport = guest, transport

    @property
    def folder(self) -> Path:
        """The folder in which commands may write."""
        assert self.guest.folder
        return self.guest.folder

    async def execute(self, command: str | Sequence[str], timeout: float = 120.0) -> CommandResult:
        return await self.transport.execute(command, timeout=timeout, limit=100_000)


@asynccontextmanager
async def on_display(
    display: str, *assignments: str, notes: list[str] | None = None
) -> AsyncIterator[Caged]:
    """The guest of a display with the limits of the settings."""
    limits = load(assignments=assignments, environ={}).environment.limits
    messages = [] if notes is None else notes
    guest = DisplayGuest(display, limits=limits, note=messages.append)
    try:
        yield Caged(guest, await guest.start())
    finally:
        await guest.stop()


async def python(environment: Caged, program: str, *words: str) -> CommandResult:
    return await environment.execute(["/usr/bin/python3", "-c", textwrap.dedent(program), *words])


async def test_caged_command_cannot_write_into_the_current_folder(
    display: str, project: Path
) -> None:
    async with on_display(display) as environment:
        for name in OBEYED:
            await environment.execute(f"echo 'command = [\"/bin/evil\"]' > {project / name}")
        result = await environment.execute("echo kept > note; cat note")
    assert [name for name in OBEYED if (project / name).exists()] == []
    assert result.output == "kept\n"


async def test_no_socket_of_the_host_answers(display: str, project: Path) -> None:
    asks = """
        import socket, sys
        for path in sys.argv[1:]:
            try:
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(path)
                print("answers", path)
            except OSError:
                pass
    """
    folders = [Path.home(), Path("/var/tmp"), Path("/var/lib"), project]
    places = [str(folder / ".hisa-test.sock") for folder in folders if os.access(folder, os.W_OK)]
    with ExitStack() as stack:
        for place in places:
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            stack.callback(Path(place).unlink, missing_ok=True)
            listening.bind(place)
            listening.listen()
        os.chdir(Path.home())
        relative = stack.enter_context(socket.socket(socket.AF_UNIX))
        stack.callback((Path.home() / ".hisa-relative.sock").unlink, missing_ok=True)
        relative.bind(".hisa-relative.sock")
        relative.listen()
        places.append(str(Path.home() / ".hisa-relative.sock"))
        async with on_display(display) as environment:
            result = await python(environment, asks, *places)
    assert (result.output, result.exit_code) == ("", 0)


async def test_calls_keys_and_limits_are_those_of_a_private_desktop(
    display: str, project: Path
) -> None:
    asks = """
        import ctypes, os, resource, socket
        libc = ctypes.CDLL(None)
        numbers = {"x86_64": (250, 321, 425), "aarch64": (219, 280, 425)}[os.uname().machine]
        for name, number in zip(("keyctl", "bpf", "io_uring"), numbers):
            print(name, libc.syscall(number, 0, -3, 0))
        try:
            socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
            print("vsock open")
        except OSError:
            print("vsock refused")
        print(resource.getrlimit(resource.RLIMIT_DATA)[1] == 512 << 20)
        print(resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 4096)
        try:
            print(len(open("/proc/keys").read()))
        except OSError:
            print(0)
    """
    async with on_display(display, "environment.limits.memory_mb=512") as environment:
        result = await python(environment, asks)
    calls = ["keyctl -1", "bpf -1", "io_uring -1", "vsock refused"]
    assert result.output.splitlines() == [*calls, "True", "True", "0"]


TAKES = """
    import os, sys, time
    try:
        for _ in range(int(sys.argv[1])):
            if not os.fork():
                held = os.urandom(1 << 20) * int(sys.argv[2])
                time.sleep(150)
    except OSError:
        print("refused", flush=True)
    time.sleep(150)
"""


@pytest.mark.parametrize("words", [("12", "100"), ("400", "0")], ids=["memory", "processes"])
async def test_command_over_the_limits_is_ended_and_the_display_stays(
    display: str, project: Path, words: tuple[str, str]
) -> None:
    limits = ("environment.limits.memory_mb=512", "environment.limits.processes=200")
    async with on_display(display, *limits) as environment:
        line = ["/usr/bin/python3", "-c", textwrap.dedent(TAKES), *words]
        result = await environment.execute(line, timeout=120.0)
        after = await environment.execute("echo there")
    # bubblewrap's own end is -9; if it outlives its child, it ends with 128 + 9
    assert result.exit_code in (-9, 137) or "refused" in result.output
    assert after.output == "there\n"


async def test_links_out_of_the_folder_are_not_followed(
    display: str, project: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "secret").write_text("of somebody")
    async with on_display(display) as environment:
        inside = environment.folder
        await environment.execute(f"ln -s {out} way; ln -s {out}/secret file")
        for name in ("way/new", "way/deep/new", "file"):
            with suppress(EnvironmentFailed):
                await environment.transport.write_file(str(inside / name), b"written")
        contents = []
        for name in ("way/secret", "file"):
            with suppress(FileRefused, FileNotFoundError):
                path = str(inside / name)
                contents.append(await environment.transport.read_file(path, limit=1000))
    assert sorted(path.name for path in out.rglob("*")) == ["secret"]
    assert (out / "secret").read_text() == "of somebody"
    assert b"of somebody" not in contents


async def test_settings_that_commands_wrote_are_not_taken(
    display: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    async with on_display(display, notes=notes) as environment:
        result = await environment.execute("echo '[run]' > hisa.toml; pwd")
    folder = result.output.strip()
    assert notes[0].endswith(f"can write files only in {folder}")
    assert notes[1] == f"commands wrote to {folder}: 1 entries"
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="commands may have written"):
        load(environ={})


async def test_a_folder_left_empty_is_taken_away(display: str, project: Path) -> None:
    async with on_display(display) as environment:
        folder = (await environment.execute("pwd")).output.strip()
    assert not os.path.exists(folder)  # noqa: ASYNC240


async def test_commands_write_in_the_folder_alone(display: str, project: Path) -> None:
    async with on_display(display) as environment:
        result = await environment.execute("echo in > inside; pwd; touch /usr/local/hisa-was-here")
        assert result.exit_code != 0
        assert result.output == f"{environment.folder}\n"
        assert (environment.folder / "inside").read_text() == "in\n"


async def test_command_opens_a_window_that_stays(display: str, project: Path) -> None:
    async with on_display(display) as environment:
        started = await environment.execute("mousepad >/dev/null 2>&1 & echo started")
        assert started.output == "started\n"
        words = ["xwininfo", "-display", display, "-root", "-tree"]
        for _ in range(600):
            if "Mousepad" in (await asyncio.to_thread(subprocess.check_output, words, text=True)):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("no window")


async def test_no_key_and_no_session_bus_reach_a_command(
    display: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(bus))
        listening.listen(1)
        for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "HISA_GUEST_TOKEN"):
            monkeypatch.setenv(name, "planted-secret")
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={bus}")
        async with on_display(display) as environment:
            result = await environment.execute("env; cat /proc/*/environ | tr '\\0' '\\n'; ls /run")
            guest = Path(f"/proc/{environment.guest.pid}/environ").read_bytes()  # noqa: ASYNC240
    assert b"planted-secret" not in guest
    assert "DISPLAY=" in result.output
    assert "planted-secret" not in result.output
    assert str(bus) not in result.output


async def test_missing_display_is_a_broken_machine(project: Path) -> None:
    with pytest.raises(EnvironmentFailed):
        async with on_display(":9876"):
            pass


async def test_without_bubblewrap_nothing_begins(
    display: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailed, match="bubblewrap") as caught:
        async with on_display(display):
            pass
    assert caught.value.fix == "hisa install system"


async def test_name_of_a_display_is_checked() -> None:
    with pytest.raises(UsageError, match="local display"):
        DisplayGuest("host:0; rm")
