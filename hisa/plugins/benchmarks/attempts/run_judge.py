"""Has attempts judged, and failures classified: opens the judge, and writes down what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from hisa.config import ModelsSettings, Settings
from hisa.errors import UsageError
from hisa.events import Event
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models
from hisa.models.profiles import Profile
from hisa.models.spending import Ledger
from hisa.plugins.benchmarks.attempts.attempt_facts import attempt_facts
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup
from hisa.plugins.benchmarks.attempts.best_run import (
    REQUEST_TOKENS,
    Choice,
    Judge,
    asked,
    choose,
    settle,
)
from hisa.protocols import Model, Role
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
    facts = await asyncio.to_thread(group.facts)
    choice, name = settle(facts), ""
    if choice is None:

        def emit(event: Event, /) -> None:
            group.emit(event)
            heard(event)

        budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
        async with open_models(
            with_judge(settings.models), settings.planner, emit, budget, group.ledger, own=own
        ) as models:
            name = models["judge"].name
            judge = _judge(settings.models, models, len(facts), sees=settings.planner.sees)
            choice = await choose(facts, _instruction(group), judge, seed=settings.run.seed)
    group.decide(choice, judge=name)
    return choice


def with_judge(models: ModelsSettings) -> ModelsSettings:
    """Returns the models with a judge: the planner's where none is named."""
    return models.model_copy(update={"judge": models.judge or models.planner})


def _instruction(group: AttemptGroup) -> str:
    """Returns the task's words as the attempts found them: a page may draw its own."""
    runs = group.ended_runs()
    return runs[0].manifest.task.instruction if runs else group.record.task.instruction


def _judge(settings: ModelsSettings, models: Models, attempts: int, *, sees: str) -> Judge:
    profile = models.profiles["judge"]
    wanted = settings.judge or settings.planner
    blind = settings.judge is None and sees == "elements"
    return Judge(
        models["judge"],
        pictures=not blind and _takes_pictures(profile, attempts, wanted.max_tokens),
        max_tokens=wanted.max_tokens,
    )


def _takes_pictures(profile: Profile, count: int, answer: int) -> bool:
    """Whether the model reads pictures, and has room for so many beside text and answer."""
    needed = REQUEST_TOKENS + count * profile.image_tokens + answer
    sees = profile.sees_pictures and not profile.reads_elements
    return sees and (profile.context is None or needed <= profile.context)


def failed_runs(folder: Path) -> dict[str, Run]:
    """The runs of a bench, or of a folder of runs, that were scored and are no success, by id."""
    places = sorted([*folder.glob(f"*/{MANIFEST}"), *folder.glob(f"runs/*/{MANIFEST}")])
    if not places:
        raise UsageError(f"{str(folder)!r} holds no runs", fix="name a bench or a folder of runs")
    runs = [load_run(place.parent) for place in places]
    return {run.id: run for run in runs if run.score_state == "scored" and not run.success}


async def classify(
    runs: Iterable[Run], settings: Settings, classes: Mapping[str, str] = FAILURES
) -> str:
    """Ask the judge for each run's class; returns why the first without one has none."""
    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    async with open_models(
        with_judge(settings.models), settings.planner, lambda _: None, budget, Ledger()
    ) as models:
        judge = _judge(settings.models, models, 1, sees=settings.planner.sees)
        judge = replace(judge, classes=classes)
        return next(filter(None, [await _classified(run, judge) for run in runs]), "")


async def _classified(run: Run, judge: Judge) -> str:
    facts = attempt_facts(run)
    found = one_line(run.scoring.detail) or "not done"
    facts = replace(facts, message=f"{facts.message} | The check: {found}")
    judged, _, problem = await asked([facts], run.manifest.task.instruction, judge)
    if judged is None or not judged.index:
        return f"{run.id}: {problem}"
    kind, reason = [*judge.classes][judged.index - 1], one_line(judged.explaining)
    keep_failure(run.folder, Failure(kind=kind, by=judge.model.name, reason=reason))
    return ""
