"""Pasting by the client of the published guest, on a bare display."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from benchmarks.bare_display import bare_display
from hisa.actions import Write
from hisa.environments.transport.base import GuestClient
from hisa.machine.patience import patience
from hisa.plugins.machines.guests.osworld_client import OSWorldTransport

pytestmark = pytest.mark.desktop


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with bare_display() as name:
        yield name


class _Recording:
    """A guest that keeps what it is asked to run."""

    where = "here"

    def __init__(self) -> None:
        self.words: list[str] = []

    async def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        self.words = more["json"]["command"]
        return httpx.Response(200, json={"output": "", "error": "", "returncode": 0})


def _run(words: list[str], environment: dict[str, str]) -> tuple[int, str]:
    result = subprocess.run(
        words, capture_output=True, env=environment, text=True, timeout=patience(30.0), check=False
    )
    return result.returncode, result.stdout


PASTES = """
import subprocess
def hotkey(*keys):
    read = ["xclip", "-selection", "clipboard", "-o"]
    print(*keys, subprocess.run(read, capture_output=True, encoding="utf-8").stdout)
"""
"""A window that takes the text as soon as the keys come."""


async def test_pasting_leaves_no_pipe_of_the_command_open(display: str, tmp_path: Path) -> None:
    """The published server reads both pipes of a command to their end, as `communicate` does."""
    guest = _Recording()
    await OSWorldTransport(cast(GuestClient, guest)).act([Write("Grüße, 漢字")])
    (tmp_path / "pyautogui.py").write_text(PASTES)
    environment = {**os.environ, "DISPLAY": display, "PYTHONPATH": str(tmp_path)}
    program = [sys.executable, *guest.words[1:]]
    pasted = await asyncio.to_thread(_run, program, environment)
    assert pasted == (0, "ctrl v Grüße, 漢字\n")
    read = ["xclip", "-selection", "clipboard", "-o"]
    assert await asyncio.to_thread(_run, read, environment) == (0, "Grüße, 漢字")
