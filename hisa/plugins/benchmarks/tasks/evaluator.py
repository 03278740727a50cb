"""Scores a benchmark's task by its evaluator.

A single metric gives the score. With several, ``and`` gives 0 at the first 0, else the mean; ``or``
gives 1 at the first 1, else the greatest. A missing result scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hisa.plugins.benchmarks.tasks.benchmark import Part, RawStep, evaluator_of
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.judge import choose_judge, judge
from hisa.plugins.benchmarks.tasks.metrics import NotScored, Unreadable
from hisa.plugins.benchmarks.tasks.setup import SETUP
from hisa.protocols import ExitStatus
from hisa.tasks.task_context import Context

__all__ = ["evaluate", "run_step"]

_SETTLE_SECONDS = 20.0  # chosen by hand


async def run_step(context: Context, step: RawStep) -> None:
    """Do one setup step of a benchmark's task.

    Raises:
        UsageError: unknown type or wrong parameters.
        EnvironmentFailed: the machine cannot do it.
    """
    await SETUP.run(context, step.type, step.parameters)


async def evaluate(context: Context, status: ExitStatus) -> tuple[float | None, str]:
    """Returns the score of a task with its reason, or None with the reason why it has none.

    Raises:
        UsageError: the task asks for a piece that HiSA does not have.
        EnvironmentFailed: the machine does not answer.
    """
    evaluator = evaluator_of(context.task)
    if evaluator.infeasible:
        good = status == "infeasible"
        return float(good), "infeasible, and said so" if good else f"infeasible, ended {status}"
    if status == "infeasible":
        return 0.0, "given up as infeasible"
    for step in evaluator.postconfig:
        await run_step(context, step)
    if evaluator.postconfig:
        # The pauses of a task file are too short for a busy machine: a file may be half written.
        await context.environment.observe(settle=_SETTLE_SECONDS)
    return await _combine_scores(context, evaluator.parts, evaluator.conj)


async def _combine_scores(
    context: Context, parts: tuple[Part, ...], conj: str
) -> tuple[float | None, str]:
    scores, reasons = [], []
    for part in parts:
        score, why = await _score(context, part)
        scores.append(score)
        reasons.append(f"{part.func}: {why}")
        if len(parts) > 1 and conj == "and" and score == 0.0:
            return 0.0, reasons[-1]
        if len(parts) > 1 and conj == "or" and score == 1.0:
            return 1.0, reasons[-1]
    total = max(scores) if conj == "or" else sum(scores) / len(scores)
    return total, "; ".join(reasons)


async def _score(context: Context, part: Part) -> tuple[float, str]:
    choose_judge(part.func)  # fails before the machine is asked anything
    try:
        result = await _read_value(context, part.result)
        if result is None and part.result is not None:
            return 0.0, f"nothing there: {_describe_config(part.result)}"
        expected = await _read_value(context, part.expected)
        score, why = await judge(part.func, result, expected, part.options)
    except Unreadable as error:
        return 0.0, str(error)
    if math.isnan(score):
        raise NotScored(f"{part.func} gave no number: {why}")
    return min(1.0, max(0.0, score)), why


async def _read_value(context: Context, config: Mapping[str, Any] | None) -> Any:
    if config is None:
        return None
    return await GETTERS.run(context, str(config.get("type")), config)


def _describe_config(config: Mapping[str, Any]) -> str:
    subject = config.get("path") or config.get("command") or ""
    return f"{config.get('type')} {subject}".strip()[:200]
