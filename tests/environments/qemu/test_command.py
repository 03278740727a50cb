"""``hisa vm`` on a real machine: start, look inside, freeze, restore, end."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hisa.environments.qemu.template import Template

pytestmark = pytest.mark.vm

_HISA = (sys.executable, "-m", "hisa", "vm")


def _vm(*words: str, code: int = 0) -> str:
    done = subprocess.run(
        [*_HISA, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def _ids(kind: str) -> list[str]:
    return [row["id"] for row in json.loads(_vm("ls", "--json"))[kind]]


def test_life_of_a_machine(minimal: Template) -> None:
    ident = str(json.loads(_vm("start", "minimal", "--json"))["id"])
    name = f"test-{ident}"
    try:
        _vm("shell", ident, "--", "sh", "-c", "echo kept >note; sleep 600 & echo $! >pid")
        assert "frozen in" in _vm("snapshot", ident, name)
        assert "exists" in _vm("snapshot", ident, name, code=2)
        assert name in _ids("snapshots")
        _vm("shell", ident, "--", "sh", "-c", "rm note; kill $(cat pid)")
        assert "in use" not in _vm("restore", ident, name)
        assert _vm("shell", ident, "--", "cat", "note") == "kept\n"
        _vm("shell", ident, "--", "sh", "-c", "kill -0 $(cat pid)")
        assert "in use by" in _vm("gc", "--snapshot", name, code=2)
        assert _vm("shell", ident, "--", "sh", "-c", "exit 7", code=7) == ""
        assert "no terminal" in _vm("shell", ident, code=2)
        assert "hisa-guest" in _typed(ident, b"systemctl list-units | cat\n", b"hisa-guest.socket")
    finally:
        _vm("stop", ident)
    assert ident not in _ids("machines")
    _vm("gc", "--snapshot", name)
    assert name not in _ids("snapshots")


def _typed(ident: str, text: bytes, until: bytes) -> str:
    """What the console shows after ``text`` was typed at its prompt."""
    outer, inner = pty.openpty()
    process = subprocess.Popen([*_HISA, "shell", ident], stdin=inner, stdout=inner, stderr=inner)
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


def test_build_of_what_is_there_does_nothing(minimal: Template) -> None:
    said = _vm("build", "minimal")
    assert "is built" in said
    assert f"minimal: ready ({minimal.shape.accel})" in said
    assert Path(minimal.shape.image).name in _ids("images")
