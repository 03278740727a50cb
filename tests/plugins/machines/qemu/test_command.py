"""``hisa vm`` on real machines: build, start, look inside, freeze, fork, restore, end."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.plugins.machines.qemu.qmp import connect_unix
from tests.cli.command import ROOT, Command

pytestmark = pytest.mark.vm

OTHER_SIZE = ("--set", "environment.width=800", "--set", "environment.height=600")
"""A ready desktop that no other test makes."""


def ids(hisa: Command, kind: str) -> list[str]:
    return [row["id"] for row in hisa.json("vm", "ls")[kind]]


def start(hisa: Command, name: str) -> str:
    return str(hisa.json("vm", "start", name)["id"])


def inside(hisa: Command, ident: str, script: str, code: int = 0) -> str:
    return hisa.run("vm", "shell", ident, "--", "sh", "-c", script, code=code)


@pytest.fixture
def snapshot(hisa: Command) -> Iterator[str]:
    """A snapshot of a machine with a file and a program at work, which is ended."""
    ident = start(hisa, "minimal")
    inside(hisa, ident, "echo kept >note; sleep 6000 & echo $! >pid")
    name = f"test-{ident}"
    assert f"{name}: frozen in" in hisa.run("vm", "snapshot", ident, name)
    assert "exists" in hisa.refused("vm", "snapshot", ident, name)
    hisa.run("vm", "stop", ident)
    assert name in ids(hisa, "snapshots")
    yield name
    for ident in ids(hisa, "machines"):
        hisa.run("vm", "stop", ident)
    assert f"removed snapshots/{name}" in hisa.run("vm", "gc", "--snapshot", name)
    assert name not in ids(hisa, "snapshots")


class TestBuild:
    def test_killed_at_the_boot_it_leaves_nothing_and_the_next_one_is_whole(
        self, hisa: Command, own_cache: Path
    ) -> None:
        place = own_cache / "hisa" / "vm" / "ready"
        before = ids(hisa, "ready")
        process = hisa.start(*OTHER_SIZE, "vm", "build", "minimal")
        while not (drafts := list(place.glob(".draft-*/qmp"))):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        _, told = process.communicate()
        assert "is built" in told
        assert "booting" in told
        while _listens(drafts[0]):
            time.sleep(0.01)
        assert ids(hisa, "ready") == before

        assert "minimal: ready" in hisa.run(*OTHER_SIZE, "vm", "build", "minimal")
        assert list(place.glob(".draft-*")) == []
        assert len(ids(hisa, "ready")) == len(before) + 1

    def test_of_what_is_there_it_does_nothing(self, hisa: Command) -> None:
        hisa.run("vm", "build", "minimal")
        process = hisa.start("vm", "build", "minimal")
        output, told = process.communicate()
        assert "minimal: ready" in output
        assert "is built" in told
        assert "booting" not in told


def _listens(path: Path) -> bool:
    try:
        connect_unix(path).close()
    except OSError:
        return False
    return True


class TestMachine:
    def test_commands_give_their_output_and_exit_code(self, hisa: Command) -> None:
        ident = start(hisa, "minimal")
        assert ident in ids(hisa, "machines")
        assert inside(hisa, ident, "echo here; exit 7", code=7) == "here\n"
        assert "no terminal" in hisa.refused("vm", "shell", ident)
        hisa.run("vm", "stop", ident)
        assert ident not in ids(hisa, "machines")

    def test_console_is_a_shell(self, hisa: Command) -> None:
        ident = start(hisa, "minimal")
        shown = _typed(hisa, ident, b"systemctl list-units | cat\n", b"hisa-guest.socket")
        assert "hisa-guest" in shown

    def test_restored_it_is_as_it_was_frozen(self, hisa: Command, snapshot: str) -> None:
        ident = start(hisa, snapshot)
        inside(hisa, ident, "rm note; kill $(cat pid); ! kill -0 $(cat pid)")
        assert hisa.json("vm", "restore", ident, snapshot)["id"] == ident
        assert inside(hisa, ident, "cat note; kill -0 $(cat pid)") == "kept\n"
        assert "in use by" in hisa.refused("vm", "gc", "--snapshot", snapshot)
        hisa.run("vm", "restore", ident, "minimal")
        assert inside(hisa, ident, "ls note pid 2>&1", code=2).count("No such file") == 2

    def test_forks_of_a_snapshot_do_not_see_each_other(self, hisa: Command, snapshot: str) -> None:
        one, two = start(hisa, snapshot), start(hisa, snapshot)
        assert abs(int(inside(hisa, one, "date +%s")) - time.time()) < 60
        inside(hisa, one, "echo one >mine; echo 1 >alone; rm note")
        inside(hisa, two, "echo two >mine; kill $(cat pid)")
        assert inside(hisa, one, "cat mine alone; kill -0 $(cat pid)") == "one\n1\n"
        assert inside(hisa, two, "cat mine note; test ! -e alone") == "two\nkept\n"

    def test_what_is_in_use_is_kept(self, hisa: Command, snapshot: str) -> None:
        ident = start(hisa, snapshot)
        kept = {kind: ids(hisa, kind) for kind in ("images", "ready", "snapshots", "machines")}
        assert hisa.run("vm", "gc").startswith("nothing to remove")
        assert {kind: ids(hisa, kind) for kind in kept} == kept
        assert inside(hisa, ident, "cat note") == "kept\n"


def _typed(hisa: Command, ident: str, text: bytes, until: bytes) -> str:
    """What the console shows after ``text`` was typed at its prompt."""
    outer, inner = pty.openpty()
    line = [sys.executable, "-m", "hisa", "vm", "shell", ident]
    process = subprocess.Popen(
        line, stdin=inner, stdout=inner, stderr=inner, env=hisa.environ, cwd=ROOT
    )
    os.close(inner)
    said = b""
    while b"$ " not in said:
        said += os.read(outer, 4096)
    os.write(outer, text)
    while until not in said:
        said += os.read(outer, 4096)
    os.write(outer, b"\x1d")
    assert process.wait() == 0
    os.close(outer)
    return said.decode(errors="replace")
