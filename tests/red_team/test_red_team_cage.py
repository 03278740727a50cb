"""The cage of a display, against commands that know what they want.

Ten cases are drawn by seed; with ``HISA_RED_TEAM=all`` all are tried.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from benchmarks.bare_display import bare_display
from tests.plugins.desktop.guest_display import GuestDisplay
from tests.red_team.caged import CALLS, SOCKETS, WRITES

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]

SEED, DRAWN = 24, 10
CASES = [
    *(("write", case) for case in WRITES),
    *(("socket", case) for case in SOCKETS),
    *(("call", case) for case in CALLS),
    *(("limit", case) for case in ("flood", "memory", "files", "devices", "left behind")),
]
CHOSEN = CASES if os.environ.get("HISA_RED_TEAM") == "all" else None
CHOSEN = CHOSEN or random.Random(SEED).sample(CASES, DRAWN)


@dataclass(frozen=True)
class Scene:
    environment: GuestDisplay
    root: Path
    folder: Path

    def fill(self, text: str) -> str:
        """A text with the places of this scene."""
        for name in ("PROJECT", "OUT"):
            text = text.replace(name, str(self.root / name.lower()))
        return text.replace("HOME", str(self.root / "home")).replace("FOLDER", str(self.folder))

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Everything that the person has, with its content."""
        paths = [path for path in self.root.rglob("*") if self.folder not in path.parents]
        return {
            str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in paths
        }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene() -> AsyncIterator[Scene]:
    """Beside the real home: what lies in /tmp is not there inside anyway."""
    root = Path(tempfile.mkdtemp(prefix=".hisa-red-team-", dir=Path.home()))
    for name in ("project/.git/hooks", "project/.venv/bin", "project/runs/1", "home", "out"):
        (root / name).mkdir(parents=True)
    (root / "project/deep/er").mkdir(parents=True)
    (root / "project/kept.toml").write_text("kept")
    with bare_display() as display, pytest.MonkeyPatch.context() as patch:
        patch.chdir(root / "project")
        patch.setenv("XDG_DATA_HOME", str(root / "data"))
        async with GuestDisplay(display) as environment:
            yield Scene(environment, root, environment.folder)
    shutil.rmtree(root)


async def writes(scene: Scene, line: str) -> None:
    before = scene.state()
    result = await scene.environment.execute(scene.fill(line), timeout=60.0)
    assert scene.state() == before
    assert "GOT" not in result.output.split()
    assert not os.path.exists("/usr/local/bin/hisa-was-here")  # noqa: ASYNC240


ASKS = """
import socket, sys
place, port = sys.argv[1].replace("@", chr(0)), int(sys.argv[2])
try:
    kind = socket.AF_INET if port else socket.AF_UNIX
    with socket.socket(kind) as client:
        client.connect((place, port) if port else place)
    print("GOT")
except OSError as error:
    print("refused", error)
"""


async def sockets(scene: Scene, place: str) -> None:
    place, port = scene.fill(place), 0
    with ExitStack() as stack:
        network = place == "127.0.0.1"
        family = socket.AF_INET if network else socket.AF_UNIX
        listening = stack.enter_context(socket.socket(family))
        if network:
            listening.bind((place, 0))
            port = listening.getsockname()[1]
        else:
            if place[0] == "/" and not os.access(os.path.dirname(place), os.W_OK):
                pytest.skip(f"{place} is not writable")
            stack.callback(Path(place.lstrip("\0")).unlink, missing_ok=True)
            listening.bind(place)
        listening.listen()
        words = ["/usr/bin/python3", "-c", ASKS, place.replace("\0", "@"), str(port)]
        result = await scene.environment.execute(words)
    assert result.output.startswith("refused")


async def calls(scene: Scene, name: str) -> None:
    program = f"import ctypes; print(ctypes.CDLL(None).syscall({CALLS[name]}, 0, -3, 0, 0, 0))"
    result = await scene.environment.execute(["/usr/bin/python3", "-c", program])
    assert result.output == "-1\n"


TAKES = {
    "flood": "for _ in range(1500): os.fork() or time.sleep(150)",
    "memory": "for _ in range(9): os.fork() or (x := os.urandom(1 << 20) * 500) and time.sleep(99)",
    "files": "for at in range(9): open(f'/dev/shm/{at}', 'wb').write(bytes(1 << 27))",
    "devices": "for at in range(9): open(f'/dev/{at}', 'wb').write(bytes(1 << 27))",
    "left behind": "os.fork() and os._exit(0); os.setsid(); time.sleep(1)\n"
    "for _ in range(1500): os.fork() or time.sleep(150)",
}


async def limits(scene: Scene, name: str) -> None:
    program = f"import os, time\n{TAKES[name]}\ntime.sleep(150)"
    words = ["/usr/bin/python3", "-c", program]
    result = await scene.environment.execute(words, timeout=120.0)
    if name == "left behind":
        await scene.environment.execute("sleep 5")
    else:
        assert result.exit_code not in (0, 124), "it was ended, or refused"
    assert _count_processes(scene) < 1100


def _count_processes(scene: Scene) -> int:
    """How many processes of this machine stand in the folder."""
    count = 0
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            count += path.name.isdigit() and os.readlink(path / "cwd") == str(scene.folder)
    return count


TRIED = {"write": writes, "socket": sockets, "call": calls, "limit": limits}


@pytest.mark.parametrize(("kind", "name"), CHOSEN)
async def test_caged_command_reaches_nothing_of_the_person(
    scene: Scene, kind: str, name: str
) -> None:
    await TRIED[kind](scene, name)
    assert (await scene.environment.execute("echo there")).output == "there\n"


async def test_the_set_is_large_enough() -> None:
    assert len(CASES) == len(set(CASES)) >= 40
