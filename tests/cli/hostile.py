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
from hisa.testing.model_server import FakeServer, ReceivedRequest
from tests.cli.command import ROOT, Command
from tests.environments.stock import REVERT
from tests.stock.stock_guest import StockGuest

PLACES = (
    "instruction", "set-up", "check", "thought", "typed", "command", "output", "errors",
    "rejected", "result", "ending", "description",
)  # fmt: skip
"""Where in a run a text of somebody else can stand."""

PlaceText = Callable[[str], str]
"""What stands in a place."""


def plan(thought: str, tool: str, value: str, **more: str) -> str:
    """A planner's reply."""
    return json.dumps({"thought": thought, "tool": tool, "input": value, **more})


def script(text_of: PlaceText) -> list[str]:
    """The planner's replies: a command, one that does not parse, keys, an element, the end."""
    return [
        plan(text_of("thought"), "bash_execution", f"cat <<'END'\n{text_of('command')}\nEND"),
        f"no JSON at all: {text_of('rejected')}",
        plan("keys", "gui_action", f"pyautogui.write({text_of('typed')!r})"),
        plan(
            "x",
            "gui_action",
            "pyautogui.click(X_COORD, Y_COORD)",
            description="the field of " + text_of("description"),
        ),
        plan("done", "termination", text_of("ending")),
    ]


def task_file(folder: Path, text_of: PlaceText) -> Path:
    """A task whose every text is somebody else's."""
    tree = {
        "id": "hostile",
        "instruction": text_of("instruction"),
        "domain": "general",
        "setup": [{"write": {"path": "~/notes.txt", "text": text_of("set-up")}}],
        "check": [{"file": "~/notes.txt", "contains": text_of("check")}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hostile.yaml"
    path.write_text(yaml.safe_dump(tree), "utf-8")
    return path


def server(text_of: PlaceText) -> FakeServer:
    """Answers the planner by the script, and every other role with a result."""
    replies = iter(script(text_of))

    def answer(received: ReceivedRequest) -> str:
        if received.role == "planner":
            return next(replies, plan("done", "termination", "done"))
        return "Succeeded. " + text_of("result")

    return FakeServer(then=answer)


def guest(text_of: PlaceText) -> StockGuest:
    """A machine whose commands say what they are to say."""

    def run(words: Sequence[str]) -> CommandResult | None:
        is_command = any("cat <<" in word for word in words)
        return CommandResult(1, text_of("output"), text_of("errors")) if is_command else None

    return StockGuest(run=run)


class Hostile:
    """Runs the command line on them; ``shown`` is what a terminal got."""

    def __init__(self, folder: Path, text_of: PlaceText, **environ: str) -> None:
        self.folder = folder
        self._text_of = text_of
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
        task = task_file(self.folder / "tasks", self._text_of)
        with server(self._text_of) as model, guest(self._text_of) as machine:
            where = ("--env", f"guest={machine.url}", "--model", "anything")
            return self.terminal("run", str(task), *where, *more, url=model.url)

    def terminal(self, *arguments: str, url: str = "") -> str:
        """What any command shows in a terminal, with the controls it was sent."""
        if url:
            self._command.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}
        parent_end, child_end = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "hisa", *arguments],
            env=self._command.environ,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=child_end,
            stderr=child_end,
        )
        os.close(child_end)
        shown = b""
        try:
            while part := os.read(parent_end, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(parent_end)
            process.wait(60)
        return shown.decode("utf-8", "surrogateescape")
