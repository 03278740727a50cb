"""Logs of attempts, written by the real log: steps, an end and a score as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from hisa.events import (
    Abstracted,
    Acted,
    Evaluated,
    Observed,
    Planned,
    RunFinished,
    StepFinished,
)
from hisa.outcomes.endings import Ending
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts, attempt_facts
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.manifest import ResultsRecord
from hisa.runs.run_reader import Run, load_run
from hisa.screen.observation import Screenshot

Step = tuple[str, str]
"""A PyAutoGUI source, and the result that was seen of it."""
TYPED = ("pyautogui.write('Ada')", "Succeeded. The text Ada appeared.")
WRONG = ("pyautogui.write('Adam')", "Succeeded. The text Adam appeared.")
SAVED = ("pyautogui.hotkey('ctrl', 's')", "Succeeded. The file ~/form.txt was written.")
FAILED = ("pyautogui.hotkey('ctrl', 's')", "Failed. An error came up.")
CHECK = {"all": [{"file": "/home/user/form.txt", "equals": "PLANTED-CHECK-TEXT"}]}
DETAIL = "PLANTED-SCORE-DETAIL 0.123456"
TASK = Task("form", 'Enter "Ada" as the name and save the form.', check=CHECK)


def attempt(
    root: Path,
    steps: Sequence[Step] = (TYPED, SAVED),
    ending: Ending = "succeeded",
    message: str = "Saved.",
    *,
    grey: int = 0,
    results: ResultsRecord | None = None,
    task: Task = TASK,
) -> Run:
    """One run with these steps, scored with `DETAIL`."""
    with RunLog.create(root, task) as log:
        for log.step, (source, result) in enumerate(steps, 1):
            log.emit(Planned(thought="I think so.", tool="gui_action", input=source))
            log.emit(Acted(tool="gui_action", input=source, ok=True))
            look(log, grey)
            log.emit(Abstracted(line=f"Step {log.step}: {result}", result=result))
            log.emit(StepFinished())
        if results is not None:
            log.amend(results=results)
        scored = ending in ("succeeded", "infeasible", "max_steps", "budget")
        state = "scored" if scored else "unscored"
        if scored:
            log.emit(Evaluated(score=0.123456, partial=0.654321, detail=DETAIL, score_state=state))
        log.emit(
            RunFinished(
                exit_status=ending,
                message=message,
                score=0.123456 if scored else None,
                partial=0.654321 if scored else None,
                score_state=state,
                score_detail=DETAIL,
            )
        )
    return load_run(log.folder)


def look(log: RunLog, grey: int) -> None:
    picture = Screenshot(Image.new("RGB", (64, 36), (grey, grey, grey)))
    (log.folder / "images" / f"{picture.sha256}.png").write_bytes(picture.png)
    log.emit(Observed(image=picture.sha256, width=64, height=36, screen_width=64, screen_height=36))


def facts(root: Path, *steps: Step, ending: Ending = "succeeded", **more: object) -> AttemptFacts:
    return attempt_facts(attempt(root, steps or (TYPED, SAVED), ending, **more))  # type: ignore[arg-type]


def judgement(index: object, explaining: str = "It saved the form.") -> str:
    return json.dumps({"explaining": explaining, "index": index})
