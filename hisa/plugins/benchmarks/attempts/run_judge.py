"""Has attempts judged, and failures classified: opens the judge, and writes down what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from hisa.config import ModelsSettings, Settings
from hisa.errors import BudgetExceeded, UsageError
from hisa.events import Event
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.profiles import Profile
from hisa.models.spending import Ledger
from hisa.planner.judging import Judge
from hisa.plugins.benchmarks.attempts.attempt_facts import attempt_facts
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup
from hisa.plugins.benchmarks.attempts.best_run import Choice, choose, settle
from hisa.plugins.benchmarks.attempts.run_question import REQUEST_TOKENS, run_question
from hisa.protocols import Emit, Model, Role
from hisa.runs.failure_class import FAILURES, Failure, keep_failure
from hisa.runs.read import MANIFEST, Run, load_run
from hisa.text.prompt_text import one_line

__all__ = ["classify", "failed_runs", "judge_attempts", "with_judge"]


async def judge_attempts(
    group: AttemptGroup,
    settings: Settings,
    *,
    heard: Callable[[Event], object] = lambda _: None,
    own: Mapping[Role, Model] | None = None,
) -> Choice:
    """Choose one of a group's attempts, and write the choice into its record.

    The judge is the role ``judge``, which follows ``planner``, the offline model included. Its
    calls are held against the settings' limits of money and tokens, apart from the runs' own.

    Args:
        group: all of its attempts have ended.
        settings: those of the runs.
        heard: called with each event of the judging.
        own: models in place of the settings'; only ``judge`` is asked.
    """
    runs = await asyncio.to_thread(group.ended_runs)
    facts = await asyncio.to_thread(lambda: [attempt_facts(run) for run in runs])
    choice, name = settle(facts), ""
    if choice is None:

        def emit(event: Event, /) -> None:
            group.emit(event)
            heard(event)

        task = runs[
            0
        ].manifest.task.instruction  # as the attempts found it: a page may draw its own
        seed = settings.run.seed
        async with _open_judge(settings, emit, group.ledger, len(facts), own) as (judge, pictures):
            name = judge.name
            choice = await choose(facts, task, judge, pictures=pictures, seed=seed)
    group.decide(choice, judge=name)
    return choice


def with_judge(models: ModelsSettings) -> ModelsSettings:
    """Returns the models with a judge: the planner's where none is named."""
    return models.model_copy(update={"judge": models.judge or models.planner})


@asynccontextmanager
async def _open_judge(
    settings: Settings,
    emit: Emit,
    ledger: Ledger,
    count: int,
    own: Mapping[Role, Model] | None = None,
) -> AsyncIterator[tuple[Judge, bool]]:
    """Yields the judge, and whether it can be shown so many pictures."""
    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    chosen = with_judge(settings.models)
    wanted = settings.models.judge or settings.models.planner
    async with open_models(chosen, settings.planner, emit, budget, ledger, own=own) as models:
        blind = settings.models.judge is None and settings.planner.sees == "elements"
        pictures = not blind and _has_room(models.profiles["judge"], count, wanted.max_tokens)
        yield Judge(models["judge"], emit=emit, max_tokens=wanted.max_tokens), pictures


def _has_room(profile: Profile, count: int, answer: int) -> bool:
    """Whether the model reads pictures, and has room for so many beside text and answer."""
    needed = REQUEST_TOKENS + count * profile.image_tokens + answer
    sees = profile.sees_pictures and not profile.reads_elements
    return sees and (profile.context is None or needed <= profile.context)


def failed_runs(folder: Path) -> dict[str, Run]:
    """Returns the runs of a bench, or of a folder of runs, that were scored and are no success."""
    places = sorted([*folder.glob(f"*/{MANIFEST}"), *folder.glob(f"runs/*/{MANIFEST}")])
    if not places:
        raise UsageError(f"{str(folder)!r} holds no runs", fix="name a bench or a folder of runs")
    runs = [load_run(place.parent) for place in places]
    return {run.id: run for run in runs if run.score_state == "scored" and not run.success}


async def classify(
    runs: Iterable[Run], settings: Settings, classes: Mapping[str, str] = FAILURES
) -> str:
    """Ask the judge for each run's class; returns why the first without one has none."""
    problems = []
    async with _open_judge(settings, lambda _: None, Ledger(), 1) as (judge, pictures):
        for run in runs:
            problems.append(await _classified(run, judge, classes, pictures=pictures))
    return next(filter(None, problems), "")


async def _classified(run: Run, judge: Judge, classes: Mapping[str, str], *, pictures: bool) -> str:
    facts = attempt_facts(run)
    found = one_line(run.scoring.detail) or "not done"
    facts = replace(facts, message=f"{facts.message} | The check: {found}")
    task = run.manifest.task.instruction
    question = run_question([facts], task, pictures=pictures, classes=classes)
    try:
        judgement = await judge.judge(question, range(1, len(classes) + 1))
    except BudgetExceeded as error:
        return f"{run.id}: the judge cannot be asked: {error}"
    if judgement.index is None:
        return f"{run.id}: {judgement.invalid or judgement.explaining}"
    kind, reason = [*classes][judgement.index - 1], one_line(judgement.explaining)
    keep_failure(run.folder, Failure(kind=kind, by=judge.name, reason=reason))
    return ""
