"""Output that cannot hold every letter: nothing ends there, JSON and files stay whole."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hisa.cli.run import read_task
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.testing.model_server import FakeServer, ReceivedRequest
from hisa.testing.scripted import tool_call
from tests.never_ending import never_terminate
from tests.stock.stock_guest import StockGuest

pytestmark = pytest.mark.process
LETTERS = "é 😀 Ж “x”"
LATIN = {"PYTHONIOENCODING": "latin-1"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LOCALES = pytest.mark.parametrize("locale", [LATIN, ASCII], ids=["latin-1", "ascii"])


def run_hisa(
    folder: Path, locale: dict[str, str], *words: str, code: int = 0
) -> tuple[bytes, bytes]:
    environ = {
        **os.environ,
        **locale,
        "HISA_RUN__FOLDER": str(folder / "runs"),
        "HISA_PATTERNS__PATH": str(folder / "patterns"),
        "COLUMNS": "200",
    }
    line = [sys.executable, "-m", "hisa", *words]
    ended = subprocess.run(line, env=environ, stdin=subprocess.DEVNULL, capture_output=True)
    assert b"Traceback" not in ended.stderr, ended.stderr
    assert ended.returncode == code, ended.stderr
    return ended.stdout, ended.stderr


def ends(received: ReceivedRequest) -> str:
    if received.job.casefold() == "# global planner":
        return tool_call("termination", LETTERS, thought=f"Done: {LETTERS}.")
    return never_terminate(received.job, received.step, received.text_by("user"))


@LOCALES
def test_run_continues_when_the_output_encoding_lacks_a_letter(
    locale: dict[str, str], tmp_path: Path
) -> None:
    with StockGuest() as guest, FakeServer(then=ends) as server:
        model = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        words = [
            "run",
            LETTERS,
            "--env",
            f"guest={guest.url}",
            "--model",
            "m",
            "--confirm",
            "never",
        ]
        output, _ = run_hisa(
            tmp_path, {**locale, **model}, *words, "--set", "environment.settle=0.1"
        )
    assert b"succeeded" in output
    assert b"?" in output
    output.decode("latin-1" if locale is LATIN else "ascii")
    (folder,) = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "run.json").read_bytes())["task"]["instruction"] == LETTERS
    assert "😀" in (folder / "report.html").read_bytes().decode()


@LOCALES
def test_lists_and_errors_are_printed_in_every_encoding(
    locale: dict[str, str], tmp_path: Path
) -> None:
    with RunLog.create(tmp_path / "runs", Task(id="t", instruction=LETTERS)) as log:
        pass
    output, _ = run_hisa(tmp_path, locale, "runs", "show", log.id)
    assert b"?" in output
    _, errors = run_hisa(tmp_path, locale, "run", "no😀.yaml", code=2)
    assert b"try:" in errors


@pytest.mark.parametrize("data", [LETTERS.encode(), b"caf\xe9"], ids=["utf-8", "latin-1"])
def test_a_task_from_a_pipe_is_read_as_utf_8_whatever_the_locale_says(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))
    instruction = read_task("-", domain="", seed=0).instruction
    assert instruction == (LETTERS if data == LETTERS.encode() else "caf\ufffd")
