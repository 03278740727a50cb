"""A run in a terminal. Texts of models are printed without anything that could steer it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from hisa.errors import UsageError
from hisa.runs import wording
from hisa.runs.audit_view import told_decision
from hisa.runs.manifest import Manifest, Totals
from hisa.runs.read import Run, command_on
from hisa.runs.step_records import StepRecord
from hisa.runs.wording import one_line
from hisa.text.safe_text import safe_text as printable

__all__ = ["run_json", "run_table", "step_json", "step_text", "summary"]


def run_table(rows: list[tuple[Manifest, str]], width: int) -> list[Text]:
    """Manifests and their statuses as a table of so many characters' width."""
    cells: list[tuple[str | Text, ...]] = [
        (
            manifest.id,
            Text(status, wording.STYLES[wording.tone(status)]),
            _score(manifest),
            str(manifest.totals.steps),
            wording.count(manifest.totals.tokens),
            wording.total_money(manifest.totals.roles),
            one_line(manifest.task.instruction, 300),
        )
        for manifest, status in rows
    ]
    columns = ("run", "status", ">score", ">steps", ">tokens", ">cost", "task")
    return _table(columns, cells, shares={"task": 1}, width=width)


def _score(manifest: Manifest) -> str:
    """Empty while the run has no end."""
    if manifest.score is not None:
        return f"{manifest.score:.2f}"
    return "" if manifest.exit_status is None else wording.score(manifest.score_state, None)


def _table(
    columns: tuple[str, ...],
    rows: list[tuple[str | Text, ...]],
    *,
    shares: dict[str, float],
    width: int,
) -> list[Text]:
    """Lines of a table; columns with a share divide what the others leave, and are cut."""
    head = tuple(Text(column.removeprefix(">"), "dim") for column in columns)
    table = [head, *(tuple(c if isinstance(c, Text) else Text(c) for c in row) for row in rows)]
    widths = [max(row[place].cell_len for row in table) for place in range(len(columns))]
    fixed = sum(w for w, column in zip(widths, columns, strict=True) if column not in shares)
    left = width - fixed - 2 * (len(columns) - 1)
    lines = []
    for row in table:
        line = Text(no_wrap=True, overflow="ellipsis")
        for column, cell, wide in zip(columns, row, widths, strict=True):
            room = max(10, int(left * shares[column])) if column in shares else wide
            part = cell.copy()
            part.truncate(room, overflow="ellipsis")
            part.align("right" if column.startswith(">") else "left", room)
            line.append_text(part).append("  ")
        line.rstrip()
        lines.append(line)
    return lines


def summary(run: Run, width: int) -> Iterator[Text]:
    """The head of a run and one line a step, in so many characters' width."""
    yield Text(printable(run.manifest.task.instruction), "bold")
    status = Text(run.status, wording.STYLES[wording.tone(run.status)])
    if run.ended or run.score is not None:
        said = wording.score(run.score_state, run.score)
        status.append(f", {said}{wording.partial(run.score, run.scoring.partial)}", "default")
    if run.message:
        status.append(f", {one_line(run.message)}", "default")
    yield status
    if run.scoring.detail not in ("", run.message):
        yield Text(one_line(f"score: {run.scoring.detail}", 400), "dim")
    yield Text(_facts(run), "dim")
    if run.totals.sampling is not None:
        yield Text(wording.sampling(run.totals.sampling), "dim")
    if run.guidance is not None and run.guidance.advice:
        yield Text("\nAdvice", "bold")
        yield Text(printable(run.guidance.advice))
    yield Text()
    yield from _steps(run, width)
    for line in (line for record in run.steps for line in wording.by_person(record)):
        yield Text(one_line(line, 400), wording.STYLES["live"])
    if run.induced:
        yield Text()
    for pattern in run.induced:
        how = "confirmed" if pattern.confirmed else "learned"
        yield Text(f"{how} ({pattern.kind}) {one_line(pattern.lesson, 160)} [{pattern.pattern}]")
    if run.torn or run.skipped:
        yield Text(f"log: {run.skipped} lines not understood, last line torn: {run.torn}", "yellow")


def _facts(run: Run) -> str:
    totals = run.totals
    models = ", ".join(f"{role} {name}" for role, name in run.manifest.models.items())
    parts = f"{wording.fresh_and_cached(totals.tokens_in, totals.cached_in)}, "
    parts += f"{wording.count(totals.tokens_out)} out"
    return one_line(
        f"{run.id} · {totals.steps} steps · {wording.duration(totals.seconds)} · "
        f"{wording.count(totals.tokens)} tokens ({parts}) · {wording.total_money(totals.roles)} · "
        f"{run.manifest.environment or 'no environment'} · {models or 'no model'}",
        400,
    )


def _steps(run: Run, width: int) -> list[Text]:
    rows: list[tuple[str | Text, ...]] = []
    for record in run.steps:
        result = record.abstracted.result if record.abstracted else _state(record)
        style = wording.STYLES[wording.verdict_tone(record.verdict)]
        rows.append(
            (
                str(record.number),
                one_line(record.planned.tool if record.planned else "–", 24),
                one_line(record.source, 200),
                Text(one_line(result, 200), style),
                wording.duration(record.seconds),
            )
        )
    columns = (">step", "tool", "action", "result", ">time")
    return _table(columns, rows, shares={"action": 0.42, "result": 0.58}, width=width)


def _state(record: StepRecord) -> str:
    if record.interrupted:
        return "cut off, then resumed"
    return "" if record.finished else "in flight"


def step_text(run: Run, number: int) -> str:
    """Everything of one step, as plain text.

    Raises:
        UsageError: the run has no such step.
    """
    return "\n\n".join("\n".join(_lines(run, record)) for record in _records(run, number))


def step_json(run: Run, number: int) -> list[dict[str, Any]]:
    """All events of one step.

    Raises:
        UsageError: the run has no such step.
    """
    return [e.model_dump() for record in _records(run, number) for e in record.events]


def _records(run: Run, number: int) -> list[StepRecord]:
    found = [record for record in run.steps if record.number == number]
    if not found:
        numbers = [record.number for record in run.steps]
        have = f"it has steps {numbers[0]} to {numbers[-1]}" if numbers else "it has no steps"
        raise UsageError(
            f"run {run.id} has no step {number}; {have}", fix=command_on(run.folder, "show")
        )
    return found


def _lines(run: Run, record: StepRecord) -> Iterator[str]:
    yield f"Step {record.number} {_state(record)}".rstrip()
    shown = {"before": record.before, "just before it": record.acted_on, "after": record.after}
    for name, look in shown.items():
        if look is not None:
            path = run.image(look.image)
            yield f"{name}: {path or 'picture missing'} ({printable(look.window)})"
    for line in wording.by_person(record):
        yield printable(line)
    if record.planned is not None:
        yield f"thought: {printable(record.planned.thought)}"
        if record.planned.note is not None:
            yield f"note: {printable(record.planned.note) or '(all dropped)'}"
        yield f"tool: {printable(record.tool)}"
        for call in record.planned.sequence:
            if call.description:
                yield f"description: {printable(call.description)}"
    yield f"input: {printable(record.source)}"
    yield from _decision(record)
    for decided in record.decisions:
        if decided.told:
            yield f"policy: {printable(told_decision(decided))}"
    for step in record.tried:
        yield f"searched: {printable(wording.tried(step))}"
    for place in record.places:
        score = "" if place.score is None else f" {place.score:.2f}"
        where = f"({place.x:g}, {place.y:g}) by {place.source}{score} {place.label}"
        yield f"place: {printable(place.description)} -> {printable(where)}"
    yield from _outcome(record)


def _decision(record: StepRecord) -> Iterator[str]:
    """Tells how the call was chosen among several."""
    for sample in record.sampled:
        yield f"sample {printable(wording.sampled(sample))}"
    for judgement in record.judged:
        yield f"judge: {printable(wording.judged(judgement))}"
    if record.chosen is not None:
        yield f"chosen: {printable(wording.chosen(record.chosen))}"


def _outcome(record: StepRecord) -> Iterator[str]:
    for missed in record.not_found:
        yield f"no place: {printable(missed.description)}: {printable(missed.reason)}"
    for failure in record.model_failures:
        yield f"failed call: {failure.role} {failure.kind} {printable(failure.message)}"
    for reply in record.rejected:
        yield f"rejected reply {reply.attempt}: {printable(reply.error)}"
        yield f"  {printable(reply.reply)}"
    for act in record.acts:
        for name, text in (("output", act.output), ("error", act.error)):
            if text:
                yield f"{name}: {printable(text)}"
        if act.exit_code is not None:
            yield f"exit status: {act.exit_code}"
    if record.stopped is not None:
        told = f"{record.stopped.made} of {record.stopped.of} made: {record.stopped.reason}"
        yield f"sequence: {printable(told)}"
    if record.abstracted is not None:
        yield f"result: {printable(record.abstracted.result)}"
        yield f"changed: {record.abstracted.roi or 'nothing'}"
    if record.refined is not None:
        yield f"refined context: {printable(record.refined.text)}"
    for call in record.calls:
        cost = f"{wording.money(call.usd)}, {wording.duration(call.seconds)}"
        tokens = wording.fresh_and_cached(call.tokens_in, call.cached_in)
        said = f"{call.tokens_out} out{wording.thought(call.reasoning_out)}"
        asked = f"{tokens}, {said}, {call.images} images, {cost}"
        effort = f" (effort: {printable(call.effort)})" if call.effort else ""
        yield f"model: {call.role} {printable(call.model)}{effort}: {asked}"
    if record.finished is not None:
        phases = (f"{name} {wording.duration(s)}" for name, s in record.finished.seconds.items())
        yield f"time: {', '.join(phases)}"


def run_json(run: Run) -> dict[str, Any]:
    """A run and its steps as plain data."""
    return {
        **run.manifest.model_dump(),
        "status": run.status,
        "score": run.score,
        "score_state": run.score_state,
        "score_detail": run.scoring.detail,
        "partial": run.scoring.partial,
        "success": run.success,
        "totals": _totals(run.totals),
        "folder": str(run.folder),
        "started": datetime.fromtimestamp(run.manifest.started_at, UTC).isoformat(),
        "log": {"skipped": run.skipped, "torn": run.torn},
        "steps": [_step_row(record) for record in run.steps],
    }


def _totals(totals: Totals) -> dict[str, Any]:
    """The sums by role, and over all roles with fresh and cached input apart."""
    return {
        **totals.model_dump(),
        "fresh_in": totals.tokens_in - totals.cached_in,
        "cached_in": totals.cached_in,
        "tokens_out": totals.tokens_out,
        "usd": round(totals.usd, 6),
    }


def _step_row(record: StepRecord) -> dict[str, Any]:
    planned, acted = record.planned, record.acts[0] if record.acts else None
    return {
        "step": record.number,
        "finished": record.finished is not None,
        "interrupted": record.interrupted,
        "thought": planned.thought if planned else "",
        "note": planned.note if planned else None,
        "tool": planned.tool if planned else "",
        "input": acted.input if acted else planned.input if planned else "",
        "description": planned.description if planned else "",
        "chosen": record.chosen.model_dump() if record.chosen else None,
        "following": [call.model_dump() for call in planned.following] if planned else [],
        "acts": [{"tool": a.tool, "input": a.input, "ok": a.ok} for a in record.acts],
        "stopped": record.stopped.reason if record.stopped else "",
        "ok": all(act.ok for act in record.acts) if record.acts else None,
        "result": record.abstracted.result if record.abstracted else "",
        "verdict": record.verdict,
        "roi": record.abstracted.roi if record.abstracted else None,
        "before": record.before.image if record.before else None,
        "acted_on": record.acted_on.image if record.acted_on else None,
        "after": record.after.image if record.after else None,
        "person": [event.model_dump() for event in record.person],
        "seconds": record.finished.seconds if record.finished else {},
    }
