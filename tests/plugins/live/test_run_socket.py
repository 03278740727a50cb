"""The socket of a run: where it lies, who may come in, and what a killed process left there."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.live.watched.run_socket import serving, socket_path


async def nothing(*_: object) -> tuple[dict[str, Any], bytes]:
    """Answers with no more than that it is well."""
    return {}, b""


def test_too_long_socket_path_moves_to_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    own = f"hisa-{os.getuid()}/live/20261126-120000-abcd.sock"
    assert socket_path("20261126-120000-abcd") == Path("/run/user/1", own)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + "x" * 100)
    assert socket_path("20261126-120000-abcd") == Path("/tmp", own)


async def test_old_sockets_of_the_dead_are_removed_and_those_of_the_living_stay() -> None:
    own, dead, young, living = map(socket_path, ("own", "dead", "young", "living"))
    async with serving(living, nothing, nothing):
        for path in (own, dead, young):
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(path))
        for path in (dead, living):
            os.utime(path, (0, 0))
        async with serving(own, nothing, nothing):
            assert sorted(os.listdir(own.parent)) == ["living.sock", "own.sock", "young.sock"]
            assert stat.S_IMODE(os.stat(own).st_mode) == 0o600
            assert stat.S_IMODE(os.stat(own.parent).st_mode) == 0o700
            reader, writer = await asyncio.open_unix_connection(str(living))
            writer.write(b'{"do": "status"}\n{"do": "status"}\n')
            assert await reader.readline() == b'{"ok": true}\n'
            assert await reader.readline() == b'{"ok": true}\n'
            writer.close()
            await writer.wait_closed()
        assert sorted(os.listdir(own.parent)) == ["living.sock", "young.sock"]


async def test_a_folder_that_is_open_to_others_is_refused(runtime_folder: str) -> None:
    os.mkdir(os.path.join(runtime_folder, f"hisa-{os.getuid()}"))
    os.chmod(os.path.join(runtime_folder, f"hisa-{os.getuid()}"), 0o755)
    with pytest.raises(PermissionError, match="is open to others"):
        async with serving(socket_path("own"), nothing, nothing):
            raise AssertionError("it listens")


async def test_a_connection_too_many_is_hung_up() -> None:
    path, writers = socket_path("own"), []
    async with serving(path, nothing, nothing):
        for _ in range(101):
            reader, writer = await asyncio.open_unix_connection(str(path))
            writers.append(writer)
        assert await reader.read() == b""
        for writer in reversed(writers):
            writer.close()
            await writer.wait_closed()
