"""One episode by HiSA, in BrowserGym's browser, with the settings of its arm.

    python -m benchmarks.small_model.hisa_run SPECIFICATION    (JSON; see `episodes.Plan`)

It begins without patterns, so that episodes do not depend on each other, and without house rules,
which are kept with them; ``patterns.enabled=true`` brings both, for each episode anew. The rest is
as it ships.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.small_model.recording_proxy import append_line
from hisa.agent import run_sync
from hisa.config import Settings, load
from hisa.events import (
    Abstracted,
    Acted,
    Event,
    GroundingFailed,
    Instructed,
    Planned,
    RunFinished,
    StepFinished,
)

_ENDS = {"succeeded": "said done", "infeasible": "gave up", "max_steps": "steps", "budget": "time"}


def settings_of(plan: dict[str, Any]) -> Settings:
    """The settings of an arm's episode; those that the command line gives win."""
    folder = str(Path(plan["trace"]).with_suffix(""))
    chosen = {
        "models.planner.model": plan["model"],
        "models.planner.base_url": plan["base_url"],
        "models.planner.constrain": str(plan["schema"]).lower(),
        "models.planner.max_tokens": plan["reply_tokens"],
        "models.planner.timeout": plan["seconds"],
        "models.planner.max_retries": 0,
        "planner.kind": plan["prompt"],
        "planner.sees": "elements",
        "patterns.enabled": "false",
        "patterns.path": f"{folder}/patterns",
        "environment.kind": plan.get("environment", "browsergym"),
        "run.max_steps": plan["steps"],
        "run.seed": plan["seed"],
        "run.budget_seconds": plan["seconds"],
        "run.folder": folder,
    }
    given = [f"{name}={value}" for name, value in chosen.items()] + plan["settings"]
    return load(assignments=given, environ={})


class Tracer:
    """Writes the events of a run as the lines of an episode's trace."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace
        self._forget()

    def _forget(self) -> None:
        self._action, self._happened, self._failed = "no readable answer", "", True

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case Instructed():
                append_line(self._trace, kind="goal", text=event.instruction)
            case Planned():
                asked = json.dumps(event.input, ensure_ascii=False, default=str)
                self._action = f"{event.tool} {asked} {event.description}".strip()
            case GroundingFailed():
                self._happened = f"not found: {event.description}: {event.reason}"
            case Acted():
                self._happened, self._failed = event.error or event.output, not event.ok
            case Abstracted():
                self._happened = f"{self._happened} | {event.line}"
                self._failed = self._failed or event.verdict in ("failed", "no_change")
            case StepFinished():
                append_line(
                    self._trace,
                    kind="step",
                    action=self._action,
                    happened=self._happened[:2000],
                    failed=self._failed,
                )
                self._forget()
            case RunFinished():
                ended = _ENDS.get(event.exit_status, event.exit_status)
                append_line(
                    self._trace,
                    kind="end",
                    reward=event.score or 0.0,
                    ended=ended,
                    message=event.message[:500],
                    detail=event.score_detail[:500],
                )
            case _:
                pass


def main() -> None:
    """Play the one episode that the argument tells."""
    plan = json.loads(sys.argv[1])
    task = plan.get("task") or f"browsergym:miniwob.{plan['page']}"
    tracer = Tracer(Path(plan["trace"]))
    run_sync(task, settings=settings_of(plan), on_event=tracer)


if __name__ == "__main__":
    main()
