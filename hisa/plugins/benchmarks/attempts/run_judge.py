"""Asks a judge about whole runs: which of several attempts to take, and the class of a failure.

Agent S3 calls the former "behavior best-of-N". An attempt whose machine or model broke cannot be
judged and is not a candidate. The judge is asked once about all candidates, in random order, and
reads only their facts. If it does not decide, the one attempt that says that it succeeded is taken;
if none or several say so, no attempt is.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
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
from hisa.models.tokens import estimate_tokens
from hisa.patterns.excerpt import excerpt as steps_within
from hisa.planner.judging import Judge
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts, attempt_facts
from hisa.plugins.benchmarks.attempts.attempt_group import AttemptGroup, Choice, Judging
from hisa.protocols import Emit, ImagePart, Message, Model, Part, Role, TextPart
from hisa.runs.failure_class import FAILURES, Failure, keep_failure
from hisa.runs.run_reader import MANIFEST, Run, load_run
from hisa.screen.observation import Screenshot
from hisa.state.token_limits import cut_at_line, excerpt_within
from hisa.text.prompt_text import guard_tags, one_line, sections
from hisa.text.prompts import render

__all__ = [
    "REQUEST_TOKENS",
    "choose",
    "classify",
    "failed_runs",
    "judge_attempts",
    "run_question",
    "with_judge",
]

REQUEST_TOKENS = 12_000
"""Most text tokens of a request, by the upper estimate: about ten steps of each of 8 attempts, or
all steps of two runs of 30. Pictures come on top, one per attempt."""
_TASK_TOKENS = 2500
_TAGS_TOKENS = 100
"""Room for the tags around the sections."""
_FILES_TOKENS, _MESSAGE_TOKENS, _HEAD_TOKENS = 350, 120, 20
"""Limits of one attempt's parts, if the attempts do not all fit whole."""
_EXPLAINING_CHARS = 600
_BROKEN = ("environment_error", "model_error")
"""Endings that say nothing about the agent: neither a wrong answer nor a candidate."""


async def judge_attempts(
    runs: Sequence[Run],
    settings: Settings,
    *,
    on_event: Callable[[Event], object] = lambda _: None,
    own: Mapping[Role, Model] | None = None,
) -> AttemptGroup:
    """Choose one of several attempts at a task, and keep the choice beside their runs.

    The judge is the model of the role ``judge``; if none is set, the planner's, be it the offline
    model. Its calls count against the settings' limits of money and tokens, separately from the
    runs.

    Args:
        runs: the attempts that have ended; at least one.
        settings: the settings of the runs.
        on_event: called with each event of the judging.
        own: models by role, in place of those of the settings; only ``judge`` is asked.
    """
    judging = Judging(runs)

    def emit(event: Event, /) -> None:
        judging.emit(event)
        on_event(event)

    candidates = [attempt_facts(run) for run in runs if run.status not in _BROKEN]
    if not candidates:
        nobody = Choice(by="nobody", why="in every attempt the machine or the model broke")
        return judging.keep(nobody, "")
    if len(candidates) == 1:
        why = f"it is the only attempt whose machine and model worked ({candidates[0].status})"
        return judging.keep(Choice(run=candidates[0].run, by="alone", why=why), "")
    task = runs[0].manifest.task.instruction  # a page may have drawn its own
    random.Random(f"{settings.run.seed} {judging.folder.name}").shuffle(candidates)
    async with _open_judge(settings, emit, len(candidates), own) as (judge, pictures):
        choice = await choose(candidates, task, judge, pictures=pictures)
        return judging.keep(choice, judge.name)


async def choose(
    candidates: Sequence[AttemptFacts], instruction: str, judge: Judge, *, pictures: bool = False
) -> Choice:
    """Returns the judge's choice, or, if it makes none, what follows from how the attempts ended.

    Args:
        candidates: in the order in which the judge is shown them.
        instruction: the task's instruction, as the agent got it.
        judge: asked about all candidates at once.
        pictures: whether the judge is shown the last screenshot of each.
    """
    order = tuple(facts.run for facts in candidates)
    question = run_question(candidates, instruction, pictures=pictures)
    try:
        judgement = await judge.judge(question, range(1, len(candidates) + 1))
    except BudgetExceeded as error:
        problem = f"the judge cannot be asked: {error}"
    else:
        why = one_line(judgement.explaining)
        if judgement.index is not None:
            return Choice(run=order[judgement.index - 1], by="judge", why=why, order=order)
        invalid = judgement.invalid
        problem = (
            f"no usable judgement: {invalid}" if invalid else f"the judge finds none good: {why}"
        )
    claimed = [facts.run for facts in candidates if facts.status == "succeeded"]
    why = f"{one_line(problem)}; {len(claimed)} of {len(candidates)} ended with 'succeeded'"
    if len(claimed) == 1:
        return Choice(run=claimed[0], by="facts", why=f"chosen without a judge: {why}", order=order)
    return Choice(by="nobody", why=why, order=order)


def run_question(
    candidates: Sequence[AttemptFacts],
    instruction: str,
    *,
    pictures: bool = False,
    classes: Mapping[str, str] | None = None,
) -> tuple[Message, Message]:
    """Returns the messages that ask which attempt to take, or to which class a failure belongs.

    Args:
        candidates: in the order in which they are numbered, from 1.
        instruction: the task's instruction, as the agent got it.
        pictures: whether the last screenshot of each is shown.
        classes: name to meaning: the judge picks one of these, for a single attempt.
    """
    looks = [_load_picture(facts) if pictures else None for facts in candidates]
    system = render(
        "failure_class" if classes else "best_run",
        pictures=any(looks),
        most=len(candidates),
        classes=classes or {},
        chars=_EXPLAINING_CHARS,
    )
    task = guard_tags(instruction)
    if estimate_tokens(task) > _TASK_TOKENS:
        task = excerpt_within(task, _TASK_TOKENS)
    room = REQUEST_TOKENS - estimate_tokens(system) - estimate_tokens(task) - _TAGS_TOKENS
    parts: list[Part] = [
        TextPart(sections({"task": task, "attempts": _describe_attempts(candidates, room)}))
    ]
    for number, look in enumerate(looks, 1):
        if look is not None:
            parts += [TextPart(f"The last look of attempt {number}:"), ImagePart(look)]
    return Message("system", (TextPart(system),)), Message("user", tuple(parts))


def _load_picture(facts: AttemptFacts) -> Screenshot | None:
    if facts.picture is None:
        return None
    try:
        return Screenshot.from_png(facts.picture.read_bytes())
    except (OSError, ValueError):  # damaged by a crash or by hand; the text must do
        return None


def _describe_attempts(candidates: Sequence[AttemptFacts], room: int) -> str:
    """Returns all attempts within ``room`` tokens; each gets an equal share if not all fit."""
    full_text = "\n".join(
        _describe_attempt(number, facts) for number, facts in enumerate(candidates, 1)
    )
    if estimate_tokens(full_text) <= room:
        return full_text
    share = room // len(candidates)
    return "\n".join(
        _describe_attempt(number, facts, share) for number, facts in enumerate(candidates, 1)
    )


def _describe_attempt(number: int, facts: AttemptFacts, share: int | None = None) -> str:
    """Returns one attempt; with a share, steps, files and last message are cut to its tokens."""
    steps: Sequence[str] = [f"Step {at}: {text}" for at, text in enumerate(facts.steps, 1)]
    files, message = "\n".join(facts.files), facts.message
    if share is not None:
        files = cut_at_line(files, _FILES_TOKENS) if files else ""
        message = excerpt_within(message, _MESSAGE_TOKENS)
    end = [*filter(None, [files]), f"Ended: {facts.status}{f': {message}' if message else ''}"]
    if share is not None:
        left = share - estimate_tokens("\n".join(end)) - _HEAD_TOKENS
        steps = steps_within(steps, max(0, left))
    return "\n".join([f"Attempt {number}", f"Steps: {len(facts.steps)}", *steps, *end])


def with_judge(models: ModelsSettings) -> ModelsSettings:
    """Returns the models with a judge: the planner's if none is named."""
    return models.model_copy(update={"judge": models.judge or models.planner})


@asynccontextmanager
async def _open_judge(
    settings: Settings,
    emit: Emit,
    count: int,
    own: Mapping[Role, Model] | None = None,
) -> AsyncIterator[tuple[Judge, bool]]:
    """Yields the judge, and whether it can be shown ``count`` pictures."""
    budget = Budget(settings.run.budget_usd, settings.run.budget_tokens)
    models_settings = with_judge(settings.models)
    model_settings = settings.models.judge or settings.models.planner
    async with open_models(
        models_settings, settings.planner, emit, budget, Ledger(), own=own
    ) as models:
        blind = settings.models.judge is None and settings.planner.sees == "elements"
        pictures = not blind and _has_room(
            models.profiles["judge"], count, model_settings.max_tokens
        )
        yield Judge(models["judge"], emit=emit, max_tokens=model_settings.max_tokens), pictures


def _has_room(profile: Profile, count: int, answer: int) -> bool:
    """Whether the model reads pictures, and has room for ``count`` beside text and answer."""
    needed = REQUEST_TOKENS + count * profile.image_tokens + answer
    sees = profile.sees_pictures and not profile.reads_elements
    return sees and (profile.context is None or needed <= profile.context)


def failed_runs(folder: Path) -> dict[str, Run]:
    """Returns the runs of a bench, or of a folder of runs, that were scored and did not succeed."""
    places = sorted([*folder.glob(f"*/{MANIFEST}"), *folder.glob(f"runs/*/{MANIFEST}")])
    if not places:
        raise UsageError(f"{str(folder)!r} holds no runs", fix="name a bench or a folder of runs")
    runs = [load_run(place.parent) for place in places]
    return {run.id: run for run in runs if run.score_state == "scored" and not run.success}


async def classify(
    runs: Iterable[Run], settings: Settings, classes: Mapping[str, str] = FAILURES
) -> str:
    """Ask the judge for the class of each run's failure, and keep it in the run's folder.

    Args:
        runs: failed runs.
        settings: for the judge: its model, and the limits of money and tokens of all calls.
        classes: name to meaning; the judge picks one of these.

    Returns:
        Why the first run that got no class has none; empty if all have one.
    """
    problems = []
    async with _open_judge(settings, lambda _: None, 1) as (judge, pictures):
        for run in runs:
            problems.append(await _classify_run(run, judge, classes, pictures=pictures))
    return next(filter(None, problems), "")


async def _classify_run(
    run: Run, judge: Judge, classes: Mapping[str, str], *, pictures: bool
) -> str:
    facts = attempt_facts(run)
    check_result = one_line(run.scoring.detail) or "not done"
    facts = replace(facts, message=f"{facts.message} | The check: {check_result}")
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
