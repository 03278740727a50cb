"""A run whose model, task and machine say what a test wants them to, through the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from hisa.protocols import CommandResult
from hisa.testing.model_server import FakeServer, Received
from tests.cli.command import ROOT, Command
from tests.environments.stock import REVERT
from tests.stock.stock_guest import StockGuest

PLACES = (
    "instruction", "set-up", "check", "thought", "typed", "command", "output", "errors",
    "rejected", "result", "ending", "description",
)  # fmt: skip
"""Where in a run a text of somebody else can stand."""

Said = Callable[[str], str]
"""What stands in a place."""


def plan(thought: str, tool: str, given: str, **more: str) -> str:
    """A planner's reply."""
    return json.dumps({"thought": thought, "tool": tool, "input": given, **more})


def script(said: Said) -> list[str]:
    """The planner's replies: a command, one that does not parse, keys, an element, the end."""
    return [
        plan(said("thought"), "bash_execution", f"cat <<'END'\n{said('command')}\nEND"),
        f"no JSON at all: {said('rejected')}",
        plan("keys", "gui_action", f"pyautogui.write({said('typed')!r})"),
        plan(
            "x",
            "gui_action",
            "pyautogui.click(X_COORD, Y_COORD)",
            description="the field of " + said("description"),
        ),
        plan("done", "termination", said("ending")),
    ]


def task_file(folder: Path, said: Said) -> Path:
    """A task whose every text is somebody else's."""
    tree = {
        "id": "hostile",
        "instruction": said("instruction"),
        "domain": "general",
        "setup": [{"write": {"path": "~/notes.txt", "text": said("set-up")}}],
        "check": [{"file": "~/notes.txt", "contains": said("check")}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hostile.yaml"
    path.write_text(yaml.safe_dump(tree), "utf-8")
    return path


def server(said: Said) -> FakeServer:
    """Answers the planner by the script, and every other role with a result."""
    replies = iter(script(said))

    def answer(received: Received) -> str:
        if received.role == "planner":
            return next(replies, plan("done", "termination", "done"))
        return "Succeeded. " + said("result")

    return FakeServer(then=answer)


def guest(said: Said) -> StockGuest:
    """A machine whose commands say what they are to say."""

    def run(words: Sequence[str]) -> CommandResult | None:
        asked = any("cat <<" in word for word in words)
        return CommandResult(1, said("output"), said("errors")) if asked else None

    return StockGuest(run=run)


class Hostile:
    """Runs the command line on them; ``shown`` is what a terminal got."""

    def __init__(self, folder: Path, said: Said, **environ: str) -> None:
        self.folder = folder
        self._said = said
        self._command = Command(folder)
        self._command.environ |= {
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HISA_ENVIRONMENT__REMOTE__REVERT": REVERT,
            "HISA_ENVIRONMENT__SETTLE": "0.2",
            "HISA_PATTERNS__ENABLED": "false",
            "HISA_MODELS__PLANNER__MAX_RETRIES": "0",
            "TERM": "xterm-256color",
            **environ,
        }

    def run(self, *more: str) -> str:
        """One run in a terminal; what it showed."""
        task = task_file(self.folder / "tasks", self._said)
        with server(self._said) as model, guest(self._said) as machine:
            where = ("--env", f"guest={machine.url}", "--model", "anything")
            return self.terminal("run", str(task), *where, *more, url=model.url)

    def terminal(self, *arguments: str, url: str = "") -> str:
        """What any command shows in a terminal, with the controls it was sent."""
        if url:
            self._command.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "hisa", *arguments],
            env=self._command.environ,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(ours)
            process.wait(60)
        return shown.decode("utf-8", "surrogateescape")
