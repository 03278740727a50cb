"""A private desktop of somebody whose umask lets nobody else read what they make."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.environments.share import Share
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import boot
from hisa.plugins.machines.profiles.process import run


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o077)
    yield 0o077
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.desktop
async def test_desktop_starts_and_its_files_are_readable_under_any_umask(umask: int) -> None:
    async with DesktopEnvironment() as desktop:
        result = await desktop.execute(
            "cat /etc/hosts && ls /run/hisa/guest && touch made && umask"
        )
        assert result.exit_code == 0, result.error
        assert "localhost" in result.output
        assert result.output.split()[-1] == "0022"


@pytest.mark.desktop
async def test_files_left_in_a_shared_folder_follow_the_umask_of_their_owner(
    umask: int, tmp_path: Path
) -> None:
    async with DesktopEnvironment(shares=(Share(str(tmp_path), writable=True),)) as desktop:
        result = await desktop.execute(f"echo new >~/shared/{tmp_path.name}/new.txt")
        assert result.exit_code == 0, result.error
    assert mode(tmp_path / "new.txt") == 0o666 & ~umask
    assert await asyncio.to_thread((tmp_path / "new.txt").read_text, "utf-8") == "new\n"


def test_programs_installed_for_one_user_are_readable_inside(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "part").mkdir(parents=True)
    (source / "part" / "module.py").write_text("", "utf-8")
    (source / "part" / "module.py").chmod(0o600)
    for folder in (source / "part", source):
        folder.chmod(0o700)
    root = tmp_path / "root"
    boot._lay_own(str(root), os.getuid(), {"guest": str(source)})
    place = Path(f"{root}{boot.GUEST_FOLDER}", "guest")
    modes = [mode(path) for path in (place, place / "part", place / "part" / "module.py")]
    assert modes == [0o755, 0o755, 0o644]


@pytest.mark.process
def test_a_program_that_builds_a_system_makes_files_that_others_read(
    umask: int, tmp_path: Path
) -> None:
    run(["touch", "hosts"], tmp_path / "log", lambda _: None, fix="")
    assert mode(tmp_path / "hosts") == 0o644
