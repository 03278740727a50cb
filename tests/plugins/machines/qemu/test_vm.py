"""A real machine under QEMU: what every environment does, fresh starts, forks and a killed QEMU."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import httpx
import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.runtime.state import process_start
from hisa.plugins.machines.guests.any_guest import connect_stock
from hisa.plugins.machines.qemu.runtime import list_machines
from hisa.plugins.machines.qemu.template import Template
from hisa.plugins.machines.vm_clone import VmEnvironment
from tests.environments.conformance import CommandConformance, Conformance, EditorConformance

pytestmark = pytest.mark.vm


@pytest.fixture
async def environment(minimal: Template) -> AsyncIterator[VmEnvironment]:
    async with VmEnvironment("minimal") as machine:
        yield machine


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestVm(Conformance, CommandConformance, EditorConformance):
    documented = "a QEMU machine"

    async def test_clock_is_the_hosts(self, environment: VmEnvironment) -> None:
        result = await environment.execute(["date", "+%s"])
        assert abs(int(result.output) - time.time()) < 60

    async def test_machine_cannot_reach_the_network(self, environment: VmEnvironment) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = (
                "10.0.2.2",
                listener.getsockname()[1],
            )  # of the host, if there were a network
            code = f"import socket; socket.create_connection({address!r}, 3)"
            result = await environment.execute(["python3", "-c", code], timeout=30.0)
        assert result.exit_code == 1
        assert "Error" in result.error or "timed out" in result.error


class TestStock(Conformance):
    documented = "a QEMU machine, by stock routes"

    @pytest.fixture
    async def environment(self, minimal: Template) -> AsyncIterator[VmEnvironment]:
        async with VmEnvironment("minimal", connect=connect_stock) as machine:
            yield machine


class TestForks:
    async def test_two_of_one_desktop_do_not_see_each_other(self, minimal: Template) -> None:
        before = _hash(minimal.folder)
        async with VmEnvironment("minimal") as first, VmEnvironment("minimal") as second:
            await asyncio.gather(
                first.write_file("/home/user/mine", b"one"),
                second.write_file("/home/user/mine", b"two"),
            )
            await first.write_file("/home/user/alone", b"1")
            assert await first.read_file("/home/user/mine") == b"one"
            assert await second.read_file("/home/user/mine") == b"two"
            with pytest.raises(FileNotFoundError):
                await second.read_file("/home/user/alone")
        assert _hash(minimal.folder) == before

    async def test_token_is_required(self, environment: VmEnvironment) -> None:
        assert environment.machine
        url = f"http://127.0.0.1:{environment.machine.port}/screenshot"
        async with httpx.AsyncClient() as client:
            assert (await client.get(url, timeout=20)).status_code == 401


def _hash(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: _digest(path) for path in files}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TestFaults:
    async def test_killed_qemu_is_the_environments_failure_and_a_fresh_one_works(
        self, minimal: Template
    ) -> None:
        async with VmEnvironment("minimal") as machine:
            await machine.write_file("/home/user/before", b"x")
            assert machine.machine
            os.kill(machine.machine.pid, signal.SIGKILL)
            with pytest.raises(EnvironmentFailed, match="no answer"):
                await machine.execute("true")
            await machine.reset()
            assert (await machine.execute("echo back")).output == "back\n"
            with pytest.raises(FileNotFoundError):
                await machine.read_file("/home/user/before")

    def test_machine_ends_with_its_owner(self, minimal: Template) -> None:
        code = (
            "import time; from hisa.plugins.machines.qemu.runtime import start_machine;"
            "from hisa.screen.observation import DEFAULT_IMAGE_LIMIT as size;"
            "machine = start_machine('minimal', size);"
            "print(machine.pid, machine.folder.name, flush=True); time.sleep(600)"
        )
        owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert owner.stdout is not None
        pid, name = owner.stdout.readline().split()
        owner.kill()
        owner.wait()
        owner.stdout.close()
        while process_start(int(pid)) is not None:
            time.sleep(0.01)
        assert name.decode() not in [path.name for path, _ in list_machines()]

    async def test_closed_machine_leaves_nothing_behind(self, minimal: Template) -> None:
        async with VmEnvironment("minimal") as machine:
            assert machine.machine
            place, pid = machine.machine.folder, machine.machine.pid
        assert not place.exists()
        assert process_start(pid) is None
