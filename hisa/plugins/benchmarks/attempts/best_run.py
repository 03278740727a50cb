"""Which of several attempts is taken: by their facts, and by a judge who reads nothing else.

Agent S3 calls this behaviour best-of-N. What cannot be judged, because a machine or a model broke,
is no candidate. A judge is asked once about all candidates, in an order drawn by lot so that no
attempt is favoured for its place. Where no judge decides, the facts do if they leave one answer,
else no attempt is taken.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from hisa.errors import BudgetExceeded
from hisa.planner.judging import Judge
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts
from hisa.plugins.benchmarks.attempts.run_question import run_question
from hisa.text.prompt_text import one_line

__all__ = ["BROKEN", "MOST", "Choice", "choose", "settle", "shown_order"]

MOST = 8
"""Attempts at one task: more would leave each of them too few tokens in the judge's request."""
BROKEN = ("environment_error", "model_error")
"""Ends that say nothing of the agent: never a wrong answer, and no candidate."""


class Choice(BaseModel):
    """Which attempt is taken, and by what."""

    run: str | None = None
    """The id of its run; None: none is taken."""
    by: Literal["judge", "facts", "alone", "nobody"]
    """judge: a model picked it; facts: without a judge, it alone said that it succeeded; alone: it
    was the only candidate; nobody: none is taken."""
    why: str
    """In one or two sentences, the judge's where it picked."""
    order: tuple[str, ...] = ()
    """The ids of the runs in the order in which the judge was shown them."""


def shown_order(candidates: Sequence[AttemptFacts], seed: int) -> list[AttemptFacts]:
    """Returns the candidates in an order drawn by lot, the same for the same seed and runs."""
    drawn = sorted(candidates, key=lambda facts: facts.run)
    random.Random(f"{seed} {' '.join(facts.run for facts in drawn)}").shuffle(drawn)
    return drawn


def settle(attempts: Sequence[AttemptFacts]) -> Choice | None:
    """Returns the choice where no judge is needed; None where there is something to judge."""
    candidates = [facts for facts in attempts if facts.status not in BROKEN]
    if not candidates:
        return Choice(by="nobody", why="in every attempt the machine or the model broke")
    if len(candidates) == 1:
        first = candidates[0]
        why = f"it is the only attempt whose machine and model worked ({first.status})"
        return Choice(run=first.run, by="alone", why=why)
    return None


async def choose(
    attempts: Sequence[AttemptFacts],
    instruction: str,
    judge: Judge,
    *,
    pictures: bool = False,
    seed: int = 0,
) -> Choice:
    """Returns the choice, by the judge where one is needed.

    Args:
        attempts: all of them, broken ones included.
        instruction: the task's words.
        judge: asked about all candidates at once.
        pictures: show it the last look of each.
        seed: of the lot that draws the order.
    """
    settled = settle(attempts)
    if settled is not None:
        return settled
    candidates = [facts for facts in attempts if facts.status not in BROKEN]
    shown = shown_order(candidates, seed)
    order = tuple(facts.run for facts in shown)
    question = run_question(shown, instruction, pictures=pictures)
    try:
        judgement = await judge.judge(question, range(1, len(shown) + 1))
    except BudgetExceeded as error:
        return _without_judge(candidates, f"the judge cannot be asked: {error}", order)
    why = one_line(judgement.explaining)
    if judgement.index is not None:
        return Choice(run=shown[judgement.index - 1].run, by="judge", why=why, order=order)
    if judgement.invalid:
        return _without_judge(candidates, f"no usable judgement: {judgement.invalid}", order)
    return _without_judge(candidates, f"the judge finds none good: {why}", order)


def _without_judge(
    candidates: Sequence[AttemptFacts], problem: str, order: tuple[str, ...]
) -> Choice:
    """Returns the only attempt that ended "succeeded", said as such, or none."""
    claimed = [facts for facts in candidates if facts.status == "succeeded"]
    problem = one_line(problem)
    if len(claimed) == 1:
        why = f"chosen without a judge, because it alone ended with 'succeeded'; {problem}"
        return Choice(run=claimed[0].run, by="facts", why=why, order=order)
    many = "none" if not claimed else str(len(claimed))
    why = f"{problem}; {many} of {len(candidates)} attempts ended with 'succeeded'"
    return Choice(by="nobody", why=why, order=order)
