"""Files that are whole or not there, whoever dies while they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.machine.storage import AppendOnlyFile, Lock, is_locked, replace_file


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    replace_file(path, b"old")

    def parts() -> Iterator[bytes]:
        yield b"ne"
        raise ValueError("the rest cannot be had")

    with pytest.raises(ValueError, match="the rest"):
        replace_file(path, parts())
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"old", ["kept"])


def test_replaced_file_takes_the_requested_permissions(tmp_path: Path) -> None:
    path = tmp_path / "open"
    path.write_text("old")
    path.chmod(0o666)
    replace_file(path, [b"n", b"ew"], synced=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


@pytest.mark.process
def test_a_lock_names_its_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert (is_locked(path), Lock.holder(path)) == (False, "unknown")
    script = (
        "import sys, pathlib, hisa.machine.storage as s\n"
        "held = s.Lock.take(pathlib.Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert (Lock.take(path), is_locked(path)) == (None, True)
        assert Lock.holder(path) == str(other.pid)
        other.send_signal(signal.SIGKILL)
    held = Lock.take(path)
    assert held is not None
    assert Lock.holder(path) == str(os.getpid())
    held.release()
    held.release()
    assert not is_locked(path)


def test_torn_line_is_put_aside_after_every_crash(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for torn in (b"", b"two", b"thr"):
        file = AppendOnlyFile(path)
        file.append(b"one\n")
        file.sync()
        file.close()
        path.write_bytes(path.read_bytes() + torn)
    AppendOnlyFile(path).close()
    assert path.read_bytes() == b"one\n" * 3
    assert (tmp_path / "lines.torn").read_bytes() == b"two\nthr\n"
