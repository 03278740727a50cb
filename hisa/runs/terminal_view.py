"""Shows a run in a terminal. Texts of models are printed without control characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from hisa.errors import UsageError
from hisa.runs import wording
from hisa.runs.audit_view import describe_decision
from hisa.runs.manifest import Manifest
from hisa.runs.run_reader import Run, command_on
from hisa.runs.step_records import StepRecord
from hisa.runs.wording import one_line
from hisa.text.safe_text import safe_text as printable

__all__ = ["head", "run_json", "run_table", "step_json", "step_text", "summary", "table"]


def table(rows: Sequence[Mapping[str, object]], *, cut: Sequence[str] = ()) -> Table:
    """Returns rows with the same keys as a table; the columns in ``cut`` are cut if need be."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in rows[0]:
        grid.add_column(name, no_wrap=name not in cut, min_width=10 if name in cut else None)
    for row in rows:
        grid.add_row(*(_cell(value, in_full=name not in cut) for name, value in row.items()))
    return grid


def _cell(value: object, *, in_full: bool) -> Text:
    text = value.copy() if isinstance(value, Text) else Text(printable(str(value)))
    if not in_full:
        text.no_wrap, text.overflow = True, "ellipsis"
    return text


def run_table(rows: list[tuple[Manifest, str]]) -> Table:
    """Returns manifests and their statuses as a table."""
    cells = [
        {
            "run": manifest.id,
            "status": Text(status, wording.STYLES[wording.tone(status)]),
            "score": _score(manifest),
            "steps": manifest.totals.steps,
            "tokens": wording.count(manifest.totals.tokens),
            "cost": wording.total_money(manifest.totals.roles),
            "task": one_line(manifest.task.instruction, 300),
        }
        for manifest, status in rows
    ]
    return table(cells, cut=("task",))


def _score(manifest: Manifest) -> str:
    """Returns the score, or why there is none; empty while the run goes on."""
    if manifest.score is not None:
        return f"{manifest.score:.2f}"
    return "" if manifest.exit_status is None else wording.score(manifest.score_state, None)


def head(run: Run) -> Iterator[Text]:
    """Yields the task of a run, how it ended, and its totals."""
    yield Text(printable(run.manifest.task.instruction), "bold")
    status = Text(run.status, wording.STYLES[wording.tone(run.status)])
    if run.ended or run.score is not None:
        score_text = wording.score(run.score_state, run.score)
        status.append(f", {score_text}{wording.partial(run.score, run.scoring.partial)}", "default")
    if run.message:
        status.append(f", {one_line(run.message)}", "default")
    yield status
    if run.scoring.detail not in ("", run.message):
        yield Text(one_line(f"score: {run.scoring.detail}", 400), "dim")
    yield Text(_facts(run), "dim")


def summary(run: Run) -> Iterator[Text | Table]:
    """Yields the head of a run and one line for each step."""
    yield from head(run)
    if run.guidance is not None and run.guidance.advice:
        yield Text("\nAdvice", "bold")
        yield Text(printable(run.guidance.advice))
    yield Text()
    if run.steps:
        yield table([_step_line(record) for record in run.steps], cut=("action", "result"))
    for line in (line for record in run.steps for line in wording.by_person(record)):
        yield Text(one_line(line, 400), wording.STYLES["live"])
    for pattern in run.induced:
        label = "confirmed" if pattern.confirmed else "learned"
        yield Text(f"{label} ({pattern.kind}) {one_line(pattern.lesson, 160)} [{pattern.pattern}]")
    if run.torn or run.skipped:
        torn = "yes" if run.torn else "no"
        note = f"log: {run.skipped} lines could not be read; last line incomplete: {torn}"
        yield Text(note, "yellow")


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


def _step_line(record: StepRecord) -> dict[str, object]:
    result = record.abstracted.result if record.abstracted else _state(record)
    style = wording.STYLES[wording.verdict_tone(record.verdict)]
    return {
        "step": record.number,
        "tool": one_line(record.planned.tool if record.planned else "–", 24),
        "action": one_line(record.source, 200),
        "result": Text(one_line(result, 200), style),
        "time": wording.duration(record.seconds),
    }


def _state(record: StepRecord) -> str:
    if record.interrupted:
        return "interrupted, then resumed"
    return "" if record.finished else "in flight"


def step_text(run: Run, number: int) -> str:
    """Returns all that is known of one step, as plain text.

    Raises:
        UsageError: the run has no such step.
    """
    return "\n\n".join("\n".join(_lines(run, record)) for record in _find_records(run, number))


def step_json(run: Run, number: int) -> list[dict[str, Any]]:
    """Returns all events of one step as plain data.

    Raises:
        UsageError: the run has no such step.
    """
    return [e.model_dump() for record in _find_records(run, number) for e in record.events]


def _find_records(run: Run, number: int) -> list[StepRecord]:
    records = [record for record in run.steps if record.number == number]
    if not records:
        numbers = [record.number for record in run.steps]
        have = f"it has steps {numbers[0]} to {numbers[-1]}" if numbers else "it has no steps"
        raise UsageError(
            f"run {run.id} has no step {number}; {have}", fix=command_on(run.folder, "show")
        )
    return records


def _lines(run: Run, record: StepRecord) -> Iterator[str]:
    yield f"Step {record.number} {_state(record)}".rstrip()
    shown = {"before": record.before, "just before acting": record.acted_on, "after": record.after}
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
        if decided.is_notable:
            yield f"policy: {printable(describe_decision(decided))}"
    for step in record.tried:
        yield f"searched: {printable(wording.describe_try(step))}"
    for place in record.places:
        score = "" if place.score is None else f" {place.score:.2f}"
        where = f"({place.x:g}, {place.y:g}) by {place.source}{score} {place.label}"
        yield f"place: {printable(place.description)} -> {printable(where)}"
    yield from _outcome(record)


def _decision(record: StepRecord) -> Iterator[str]:
    """Yields how the call was chosen among several samples."""
    for sample in record.sampled:
        yield f"sample {printable(wording.describe_sample(sample))}"
    for judgement in record.judged:
        yield f"judge: {printable(wording.describe_judgement(judgement))}"
    if record.chosen is not None:
        yield f"chosen: {printable(wording.describe_choice(record.chosen))}"


def _outcome(record: StepRecord) -> Iterator[str]:
    for missed in record.not_found:
        yield f"no place found: {printable(missed.description)}: {printable(missed.reason)}"
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
        message = f"{record.stopped.made} of {record.stopped.of} done: {record.stopped.reason}"
        yield f"sequence: {printable(message)}"
    if record.abstracted is not None:
        yield f"result: {printable(record.abstracted.result)}"
        yield f"changed: {record.abstracted.roi or 'nothing'}"
    if record.refined is not None:
        yield f"refined context: {printable(record.refined.text)}"
    for call in record.calls:
        cost = f"{wording.money(call.usd)}, {wording.duration(call.seconds)}"
        tokens = wording.fresh_and_cached(call.tokens_in, call.cached_in)
        output_tokens = f"{call.tokens_out} out{wording.thought(call.reasoning_out)}"
        usage = f"{tokens}, {output_tokens}, {call.images} images, {cost}"
        effort = f" (effort: {printable(call.effort)})" if call.effort else ""
        yield f"model: {call.role} {printable(call.model)}{effort}: {usage}"
    if record.finished is not None:
        phases = (f"{name} {wording.duration(s)}" for name, s in record.finished.seconds.items())
        yield f"time: {', '.join(phases)}"


def run_json(run: Run) -> dict[str, Any]:
    """Returns a run and its steps as plain data."""
    return {
        **run.manifest.model_dump(),
        "status": run.status,
        "score": run.score,
        "score_state": run.score_state,
        "score_detail": run.scoring.detail,
        "partial": run.scoring.partial,
        "success": run.success,
        "totals": run.totals.model_dump(),
        "folder": str(run.folder),
        "log": {"skipped": run.skipped, "torn": run.torn},
        "steps": [_step_row(record) for record in run.steps],
    }


def _step_row(record: StepRecord) -> dict[str, Any]:
    return {
        "step": record.number,
        "finished": record.finished is not None,
        "interrupted": record.interrupted,
        "thought": record.planned.thought if record.planned else "",
        "tool": record.tool,
        "input": record.source,
        "chosen": record.chosen.model_dump() if record.chosen else None,
        "acts": [{"tool": a.tool, "input": a.input, "ok": a.ok} for a in record.acts],
        "result": record.abstracted.result if record.abstracted else "",
        "verdict": record.verdict,
        "before": record.before.image if record.before else None,
        "after": record.after.image if record.after else None,
        "person": [event.model_dump() for event in record.person],
        "seconds": record.seconds,
    }
