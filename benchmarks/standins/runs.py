"""Runs of a stand-in task: done by its keys, and with nothing done."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import hisa
from benchmarks.standins.shapes import HOST, files_of
from benchmarks.standins.stand_in import StandIn
from hisa.errors import OperatorError
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.protocols import ModelRequest
from hisa.testing import FunctionModel, ScriptedModel, tool_call

__all__ = ["Outcome", "outcome", "served"]


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    score: float | None
    why: str
    seconds: float


@contextmanager
def served(files: Mapping[str, bytes]) -> Iterator[str]:
    """Serve files under their paths on a loopback address, which is the mirror's."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = files.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *args: object) -> None:
            """Nothing is said."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


async def outcome(one: StandIn, *, done: bool, kind: str, folder: Path) -> Outcome:
    """Run a task on a fresh machine and return how it ended.

    Args:
        one: the task.
        done: whether its keys are pressed before the planner says that it is done.
        kind: of the machine, as for ``hisa run --env``.
        folder: gets the task file and the run.
    """
    path = folder / "examples" / one.domain / f"{one.task['id']}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(one.task, indent=2), "utf-8")
    made = {name: make() for name, make in one.files.items()}
    begun = time.monotonic()
    with served(files_of(made)) as mirror:
        try:
            result = await hisa.run(
                path,
                settings=_settings(folder / "runs", mirror),
                model=_model(one.does if done else ()),
                environment=kind,
            )
            score, why = result.score, f"{result.status}, {result.score_state}: {_said(result)}"
        except OperatorError as error:
            score, why = None, str(error)
        finally:
            _forget(made)
    return Outcome(score, why, time.monotonic() - begun)


def _said(result: hisa.RunResult) -> str:
    return result.score_detail or result.message


def _settings(folder: Path, mirror: str) -> hisa.Settings:
    return hisa.Settings.model_validate(
        {
            "patterns": {"enabled": False},
            "run": {"folder": folder, "max_steps": 30},
            "tasks": {"mirror": mirror},
            "environment": {"width": 1920, "height": 1080},
        }
    )


def _model(lines: tuple[str, ...]) -> FunctionModel:
    """A planner that gives those lines in order, then ends; every other role is content."""
    calls = [tool_call("gui_action", line) for line in lines]
    script = ScriptedModel([*calls, tool_call("termination", "It is done.")])

    async def answer(request: ModelRequest) -> str:
        if request.role != "planner":
            return "Succeeded. It did."
        return (await script.complete(request)).text

    return FunctionModel(answer)


def _forget(names: Mapping[str, bytes]) -> None:
    """Take the files out of the cache of downloads: the next run makes others of that name."""
    cache = FileCache()
    for name in names:
        path = cache.path(f"{HOST}/{name}")
        for each in path.parent.glob(f"{path.name}*"):
            each.unlink(missing_ok=True)
