"""A folder of the host inside a private desktop: read-only unless asked, with the right owner."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.environments.share import Share, parse_shares
from hisa.errors import UsageError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import DesktopRuntime, namespaces
from hisa.screen.geometry import Size
from tests.cli.command import Command

OWNER = 1234 if os.geteuid() == 0 else os.geteuid()
"""Somebody to whom the folder belongs, and who is not who runs HiSA where that is root."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that its owner alone may enter, with a file that its owner alone may read."""
    data_folder = tmp_path / "my data"
    data_folder.mkdir(mode=0o700)
    (data_folder / "prices.csv").write_text("a,1\n", "utf-8")
    (data_folder / "prices.csv").chmod(0o600)
    for path in (data_folder, data_folder / "prices.csv"):
        os.chown(path, OWNER, OWNER if os.geteuid() == 0 else -1)
    return data_folder


def desktop(isolation: namespaces.Isolation, *shares: Share) -> DesktopEnvironment:
    environment = DesktopEnvironment(shares=shares)
    environment._runtime = DesktopRuntime(Size(640, 480), isolation=isolation, shares=shares)
    return environment


async def read_output(environment: DesktopEnvironment, command: str) -> str:
    result = await environment.execute(command)
    return (result.output + result.error).strip()


@pytest.mark.desktop
async def test_a_folder_is_read_and_not_written(folder: Path) -> None:
    async with desktop(namespaces.available_isolation(), Share(str(folder))) as machine:
        place = "~/shared/'my data'"
        assert await read_output(machine, f"cat {place}/prices.csv") == "a,1"
        for attempt in (
            "touch {}/new",
            "rm {}/prices.csv",
            "echo x >>{}/prices.csv",
            "chmod 777 {}",
            "mount -o remount,rw {}",
        ):
            result = await machine.execute(attempt.format(place))
            assert result.exit_code != 0, attempt
    assert os.listdir(folder) == ["prices.csv"]
    assert await asyncio.to_thread((folder / "prices.csv").read_text, "utf-8") == "a,1\n"


@pytest.mark.desktop
async def test_written_file_belongs_to_the_owner_of_the_folder(folder: Path) -> None:
    async with desktop(
        namespaces.available_isolation(), Share(str(folder), writable=True)
    ) as machine:
        place = "~/shared/'my data'"
        assert await read_output(machine, f"echo b,2 >>{place}/prices.csv; mkdir {place}/sub") == ""
        assert await read_output(machine, f"echo new >{place}/sub/new.txt") == ""
        assert await read_output(machine, f"stat -c %U {place}/prices.csv") == "user"
    for name in ("prices.csv", "sub", "sub/new.txt"):
        assert os.stat(folder / name).st_uid == OWNER
    assert await asyncio.to_thread((folder / "prices.csv").read_text, "utf-8") == "a,1\nb,2\n"


@pytest.mark.desktop
async def test_bubblewrap_shares_a_folder_as_namespaces_do(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    shares = (Share(str(folder)), Share(str(own), writable=True))
    async with desktop("bubblewrap", *shares) as machine:
        assert (await machine.execute("touch ~/shared/'my data'/new")).exit_code != 0
        assert await read_output(machine, "echo x >~/shared/own/new.txt") == ""
    assert os.stat(own / "new.txt").st_uid == os.geteuid()
    assert os.listdir(folder) == ["prices.csv"]


@pytest.mark.desktop
def test_a_run_reads_a_folder_and_writes_into_another(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    os.chown(out, OWNER, -1)
    report = Command(tmp_path).json(
        "run",
        'Open the text editor. Type "hello". Save the file as "/home/user/shared/out/hi.txt".',
        "--share",
        str(folder),
        "--share",
        f"{out}:rw",
    )
    assert (out / "hi.txt").read_text("utf-8") == "hello"
    assert (out / "hi.txt").stat().st_uid == OWNER
    assert report["made"] == []  # it is here, and not on the machine


@pytest.mark.parametrize("kind", ["display=:0", "vm:minimal", "guest=http://10.0.0.5:5000"])
def test_environment_without_shares_refuses_them(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot share a folder") as caught:
        open_environment(EnvironmentSettings(kind=kind, share=(str(tmp_path),)))
    assert "--fetch" in caught.value.fix


def test_shares_are_parsed(tmp_path: Path) -> None:
    (tmp_path / "a:b").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "x").mkdir()
    options = [f"{tmp_path}/a:b", f"{tmp_path}/x:rw", f"{tmp_path}/y:ro"]
    assert [(s.place, s.writable) for s in parse_shares(options)] == [
        ("/home/user/shared/a:b", False),
        ("/home/user/shared/x", True),
        ("/home/user/shared/y", False),
    ]
    for wrong, why in (
        ([f"{tmp_path}/none"], "is not a folder"),
        (["/"], "/ cannot be shared"),
        ([f"{tmp_path}/x", f"{tmp_path}/y/x"], "two shared folders"),
    ):
        with pytest.raises(UsageError, match=why):
            parse_shares(wrong)
