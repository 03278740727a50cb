"""A real editor, explored for a moment: written as it goes, ended at any time, gone on with."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hisa.machine.patience import patience
from hisa.plugins.synthesis.exploration import Exploration

pytestmark = [pytest.mark.desktop, pytest.mark.process]
needs_mousepad = pytest.mark.skipif(not shutil.which("mousepad"), reason="needs mousepad")


def line(folder: Path, transitions: int) -> list[str]:
    most = f"--workers 1 --minutes 30 --transitions {transitions}"
    return ["explore", "mousepad", *most.split(), "-o", str(folder)]


@needs_mousepad
def test_killed_in_the_middle_it_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    triples = tmp_path / "triples.jsonl"
    process = subprocess.Popen([sys.executable, "-m", "hisa", *line(tmp_path, 40)], cwd=Path.cwd())
    end = time.monotonic() + patience(120)
    while time.monotonic() < end and process.poll() is None:
        if triples.exists() and triples.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    killed = Exploration.open(tmp_path)
    assert len(killed.triples) >= 3
    with triples.open("ab") as file:
        file.write(b'{"number": 99')  # a line that the kill cut off

    result = subprocess.run(
        [sys.executable, "-m", "hisa", *line(tmp_path, 5)],
        capture_output=True,
        text=True,
        check=True,
    )
    again = Exploration.open(tmp_path)
    assert [triple.number for triple in again.triples] == list(range(len(again.triples)))
    assert len(again.triples) == len(killed.triples) + 5
    assert re.search(r"new transitions +5\n", result.stdout)
    assert again.triples[-1].desktop == killed.triples[-1].desktop + 1
    acts = [(triple.before, triple.act.key) for triple in again.triples]
    assert len(set(acts)) == len(acts)
    assert all(again.route(triple.after) is not None for triple in again.triples)
    assert any(triple.differences for triple in again.triples)
    for state in again.states.values():
        assert again.picture(state).exists()
        assert again.elements(state)


def test_exploring_refuses_a_persistent_machine(tmp_path: Path) -> None:
    arguments = ["--set", "environment.kind=display=:9", "explore", "mousepad"]
    result = subprocess.run(
        [sys.executable, "-m", "hisa", *arguments, "-o", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "keeps what exploring does to the machine" in result.stderr
    assert "environment.kind=desktop" in result.stderr
