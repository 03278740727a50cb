"""OSWorld's results layout: a folder a task, with pictures and actions in screen pixels."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

from hisa.actions import parse, to_source, to_space
from hisa.errors import ActionRefused, UsageError
from hisa.events import Observed
from hisa.runs.read import Run
from hisa.runs.step_records import StepRecord
from hisa.runs.turns import Turn
from hisa.screen.geometry import Size

__all__ = ["export_osworld", "write_results"]


def write_results(turns: list[Turn], runs: list[Run], path: Path) -> Path:
    """Write the results of runs below a folder; returns the last run's own folder.

    Raises:
        UsageError: the folder cannot be written.
    """
    return [export_osworld(run, path) for run in runs][-1]


def export_osworld(run: Run, root: Path) -> Path:
    """Write OSWorld's results layout; returns the task's folder.

    ``root/pyautogui/screenshot/MODEL/DOMAIN/TASK/`` gets ``traj.jsonl``, ``step_0.png`` (the first
    look), ``step_N_TIME.png`` after each step, and ``result.txt`` where the run was scored.
    Coordinates are in screen pixels, as OSWorld executes them.

    Raises:
        UsageError: the folder cannot be written.
    """
    task = run.manifest.task
    model = run.manifest.models.get("planner", "unknown")
    folder = root / "pyautogui" / "screenshot" / _safe(model) / _safe(task.domain) / _safe(task.id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_osworld(run, folder)
    except OSError as error:
        raise UsageError(
            f"cannot write {str(folder)!r}: {error.strerror}", fix="choose another folder with -o"
        ) from error
    return folder


def _write_osworld(run: Run, folder: Path) -> None:
    records = [record for record in run.steps if record.finished is not None]
    if records and records[0].before is not None:
        _copy(run, records[0].before, folder / "step_0.png")
    lines = []
    for number, record in enumerate(records, 1):
        assert record.finished is not None
        moment = datetime.fromtimestamp(record.finished.at, UTC).strftime("%Y%m%d@%H%M%S")
        name = f"step_{number}_{moment}.png"
        look = record.after or record.before
        row = {
            "step_num": number,
            "action_timestamp": moment,
            "action": _osworld_action(record),
            "response": record.planned.thought if record.planned else "",
            "reward": 0,
            "done": record is records[-1] and run.status in ("succeeded", "infeasible"),
            "info": {"result": record.abstracted.result if record.abstracted else ""},
            "screenshot_file": name if look is not None and _copy(run, look, folder / name) else "",
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    (folder / "traj.jsonl").write_text("".join(lines), encoding="utf-8", errors="replace")
    if run.score is not None:
        (folder / "result.txt").write_text(f"{run.score}\n", encoding="utf-8")


def _copy(run: Run, look: Observed, target: Path) -> bool:
    source = run.image(look.image)
    if source is None:
        return False
    shutil.copyfile(source, target)
    return True


def _osworld_action(record: StepRecord) -> str:
    """The step in OSWorld's ``pyautogui`` action space."""
    acts = [(act.tool, act.input) for act in record.acts]
    if not acts and record.planned is not None:
        acts = [(record.planned.tool, record.planned.input)]
    return "\n".join(_osworld_act(tool, ran, record.before) for tool, ran in acts)


def _osworld_act(tool: str, ran: object, look: Observed | None) -> str:
    """One act in OSWorld's ``pyautogui`` action space."""
    source = ran if isinstance(ran, str) else json.dumps(ran, ensure_ascii=False, indent=1)
    match tool:
        case "wait":
            return "WAIT"
        case "termination":
            return "DONE"
        case "infeasible":
            return "FAIL"
        case "bash_execution":
            return f"import subprocess\nsubprocess.run(['bash', '-c', {source!r}])"
        case "gui_action" if look is not None:
            return _on_screen(source, look)
        case _:
            return source


def _on_screen(source: str, look: Observed) -> str:
    """Source in image pixels as source in screen pixels; as it is where it cannot be read."""
    image = Size(look.width, look.height)
    screen = Size(look.screen_width, look.screen_height)
    try:
        return to_source(to_space(parse(source), "screen", screen=screen, image=image), stock=True)
    except ActionRefused:
        return source


def _safe(name: str) -> str:
    """A text as one part of a path."""
    cleaned = re.sub(r"[^A-Za-z0-9._ ()-]", "_", name).strip(". ")
    return cleaned[:100] or "unnamed"
