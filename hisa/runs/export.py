"""A run as training data (JSON lines) or in OSWorld's results layout."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hisa.actions import parse, to_source, to_space
from hisa.errors import ActionRefused, UsageError
from hisa.events import Observed, PlannedCall
from hisa.runs.read import Run
from hisa.runs.step_records import StepRecord
from hisa.screen.geometry import Size
from hisa.text.prompt_text import sections

__all__ = ["export_jsonl", "export_osworld", "samples"]


def samples(run: Run) -> Iterator[dict[str, Any]]:
    """One training sample a complete step that the planner decided.

    ``history`` is the text the planner had (the bounded state, tagged as in its prompt),
    ``messages`` the same as a chat that ends with its reply: the picture is a part of the user's
    turn by its path inside the run folder.
    """
    steps: list[str] = []
    refined = ""
    for record in run.steps:
        if record.finished is None:
            continue
        if record.planned is not None and record.before is not None:
            yield _sample(run, record, _history(run, refined, steps))
        if record.abstracted is not None:
            steps.append(record.abstracted.line)
        if record.refined is not None:
            refined, steps = record.refined.text, []


def export_jsonl(run: Run, path: Path) -> Path:
    """Write `samples` to a file, one JSON object a line.

    Raises:
        UsageError: the file cannot be written.
    """
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples(run)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"cannot write {str(path)!r}: {error.strerror}", fix="choose another file with -o FILE"
        ) from error
    return path


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


def _history(run: Run, refined: str, steps: list[str]) -> str:
    told = {
        "task": run.manifest.task.instruction,
        "advice": run.guidance.advice if run.guidance is not None else "",
        "refined_context": refined,
        "execution_history": "\n".join(steps),
    }
    return sections(told)


def _sample(run: Run, record: StepRecord, history: str) -> dict[str, Any]:
    assert record.planned is not None
    assert record.before is not None
    planned = record.planned
    calls = [_call(record, each) for each in planned.sequence]
    reply = {"thought": planned.thought, **(calls[0] if len(calls) == 1 else {"actions": calls})}
    path = run.image(record.before.image)
    image = str(path.relative_to(run.folder)) if path is not None else ""
    user = [{"type": "text", "text": history}, {"type": "image", "image": image}]
    answer = json.dumps(reply, ensure_ascii=False)
    return {
        "run": run.id,
        "task": run.manifest.task.id,
        "domain": run.manifest.task.domain,
        "step": record.number,
        "image": image,
        "size": [record.before.width, record.before.height],
        "history": history,
        "messages": [{"role": "user", "content": user}, {"role": "assistant", "content": answer}],
        "grounding": [place.model_dump() for place in record.places],
        "ok": all(act.ok for act in record.acts) if record.acts else None,
        "result": record.abstracted.result if record.abstracted else "",
        "status": run.status,
        "score": run.score,
        "score_state": run.score_state,
    }


def _call(record: StepRecord, planned: PlannedCall) -> dict[str, Any]:
    """A call as a planner writes it."""
    described = {"description": planned.description, "description_2": planned.description_2}
    words = {key: _in_words(record, text) for key, text in described.items() if text}
    return {"tool": planned.tool, "input": planned.input, **words}


def _in_words(record: StepRecord, description: str) -> str:
    """A description as it stands; of a number, the thing that the list had under it."""
    marked = (p.label for p in record.places if p.source == "mark" and p.description == description)
    return next(marked, description)


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
