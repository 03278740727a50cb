"""Formats numbers and texts of a run for people; the results are safe to print."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hisa.events import Chosen, GroundingTried, Judged, PersonActed, Sampled
from hisa.models.spending import Totals
from hisa.outcomes.endings import ScoreState
from hisa.outcomes.verdicts import StepVerdict
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from hisa.runs.step_records import StepRecord

__all__ = [
    "STYLES",
    "by_person",
    "clock",
    "count",
    "describe_choice",
    "describe_judgement",
    "describe_sample",
    "describe_try",
    "duration",
    "fresh_and_cached",
    "money",
    "one_line",
    "partial",
    "person_act",
    "role_money",
    "score",
    "score_tone",
    "thought",
    "tone",
    "total_money",
    "verdict_tone",
]

STYLES = {"good": "green", "calm": "default", "warn": "yellow", "bad": "red", "live": "blue"}
"""The colour of each tone in a terminal."""

_TONES = {
    "succeeded": "good",
    "infeasible": "calm",
    "ended": "calm",
    "max_steps": "warn",
    "budget": "warn",
    "stopped": "warn",
    "model_error": "bad",
    "environment_error": "bad",
    "agent_broke_machine": "bad",
    "refused": "bad",
    "defect": "bad",
    "running": "live",
    "unfinished": "warn",
}
_VERDICT_TONES: dict[StepVerdict, str] = {
    "succeeded": "good",
    "changed": "calm",
    "no_change": "warn",
    "unexpected": "bad",
    "failed": "bad",
}
_TRIED = {
    "sure": "sure",
    "unsure": "not sure",
    "agreed": "confirmed by the elements",
    "doubted": "not confirmed by the elements",
    "repeated": "answered twice, and nothing contradicts it",
    "no_point": "no point",
    "unavailable": "cannot be asked",
    "offered": "gets a list to pick from",
    "chosen": "picked from the list",
    "none": "picked nothing from the list",
    "trusted": "asked, as its measured accuracy is high enough",
    "distrusted": "not asked",
}
_SCORE_STATES: dict[ScoreState, str] = {
    "scored": "scored",
    "no_check": "no check",
    "score_failed": "check failed",
    "unscored": "not scored",
}


def tone(status: str) -> str:
    """Returns the colour of a status: good, calm, warn, bad or live."""
    return _TONES.get(status, "calm")


def score(state: ScoreState, value: float | None) -> str:
    """Returns ``score 0.50``, or without a score ``no check``, ``check failed``, ``not scored``."""
    return f"score {value:.2f}" if value is not None else _SCORE_STATES[state]


def partial(score: float | None, share: float | None) -> str:
    """Returns ``, partial score 0.60`` if it differs from the score; else an empty text."""
    return "" if share is None or share == score else f", partial score {share:.2f}"


def score_tone(state: ScoreState, success: bool) -> str:
    """Returns the colour of a score; if nothing was checked, it is neither good nor bad."""
    if state == "scored":
        return "good" if success else "bad"
    return "bad" if state == "score_failed" else "calm"


def verdict_tone(verdict: StepVerdict | None) -> str:
    """Returns the colour of the verdict on a step."""
    return "calm" if verdict is None else _VERDICT_TONES[verdict]


def describe_try(step: GroundingTried) -> str:
    """Returns one step of the search for a place in words: who looked, the result and the place."""
    text = f"{step.by}: {_TRIED[step.verdict]}"
    if step.x is not None and step.y is not None:
        score = "" if step.score is None else f", score {step.score:.2f}"
        text += f": {step.label or 'a point'} at ({step.x:.0f}, {step.y:.0f}){score}"
    if step.part is not None:
        text += ", looking closer at ({}, {}) to ({}, {})".format(*step.part)
    if step.offered:
        text += f", {len(step.offered)} elements"
    return f"{text}: {step.detail}" if step.detail else text


def describe_sample(sample: Sampled) -> str:
    """Returns one of several samples in words: what it would do."""
    if sample.error:
        return f"{sample.n}: unusable: {sample.error}"
    source = sample.input if isinstance(sample.input, str) else json.dumps(sample.input)
    words = " to ".join(filter(None, (sample.description, sample.description_2)))
    return f"{sample.n}: {sample.tool} {source}{f' {words!r}' if words else ''}"


def describe_judgement(judgement: Judged) -> str:
    """Returns a judgement in words, with the samples that it is about."""
    candidates = ", ".join(map(str, judgement.candidates))
    if judgement.invalid:
        return f"no judgement on {candidates}: {judgement.invalid}"
    if judgement.index is None:
        return f"none of {candidates} is good: {judgement.explaining}"
    return f"{judgement.candidates[judgement.index - 1]} of {candidates}: {judgement.explaining}"


_CHOSEN = {
    "agreement": "the samples agree",
    "judge": "picked by the judge",
    "votes": "no judge decided; what most samples would do",
    "alone": "the only usable sample",
    "nobody": "no sample is usable",
}
_WIDENED = {
    "": "",
    "constant": "",
    "disagreement": ", widened because two disagreed",
    "none_good": ", widened because none was good",
}


def describe_choice(decision: Chosen) -> str:
    """Returns in words how one of several samples was chosen."""
    which = "" if decision.n is None else f"{decision.n}: "
    counts = f"{decision.samples} samples, {decision.distinct} distinct"
    why = f": {decision.detail}" if decision.detail else ""
    return f"{which}{_CHOSEN[decision.by]} ({counts}{_WIDENED[decision.widened]}){why}"


def person_act(event: PersonActed) -> str:
    """Returns what a person did: ``a person gave back after 12.0 s: Entry “Name” now reads …``."""
    lasted = f" after {duration(event.seconds)}" if event.seconds else ""
    error = f" (refused: {event.error})" if event.error else ""
    detail = f": {event.text}" if event.text else ""
    return f"a person {event.did.replace('_', ' ')}{lasted}{detail}{error}"


def by_person(record: StepRecord) -> list[str]:
    """Returns a line for each act of a person in a step, with the steps that it was between."""
    lines, when = [], f"between steps {record.number - 1} and {record.number}"
    when = when if record.number > 1 else "before step 1"
    for event in record.events:
        if isinstance(event, PersonActed):
            lines.append(f"{when}, {person_act(event)}")
        elif event.type == "acted":
            when = f"after step {record.number}"
    return lines


def count(number: int) -> str:
    """Returns a number as ``1,234``, ``22.3k`` or ``1.2M``."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def fresh_and_cached(tokens_in: int, cached_in: int) -> str:
    """Returns ``1,234 in`` or, with a cache, ``34 fresh and 1,200 cached in``."""
    if not cached_in:
        return f"{count(tokens_in)} in"
    return f"{count(tokens_in - cached_in)} fresh and {count(cached_in)} cached in"


def thought(reasoning_out: int) -> str:
    """Returns `` (120 of them reasoning)``; empty if the server reports no such tokens."""
    return f" ({count(reasoning_out)} of them reasoning)" if reasoning_out else ""


def money(usd: float | None) -> str:
    """Returns dollars, with enough digits to see small sums; a dash if the price is not known."""
    if usd is None:
        return "–"
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def role_money(usd: float, calls: int, unpriced: int) -> str:
    """Returns the cost of several calls; "≥ $0.12" if the price of some is not known.

    Args:
        usd: the sum of the known prices, in US dollars.
        calls: the number of calls.
        unpriced: the number of calls without a known price.
    """
    if calls and unpriced == calls:
        return "–"
    return f"≥ {money(usd)}" if unpriced else money(usd)


def total_money(roles: dict[str, Totals]) -> str:
    """Returns the cost of all roles."""
    calls = sum(role.calls for role in roles.values())
    unpriced = sum(role.unpriced for role in roles.values())
    return role_money(sum(role.usd for role in roles.values()), calls, unpriced)


def duration(seconds: float) -> str:
    """Returns a time as ``85 ms``, ``3.2 s``, ``2 min 05 s`` or ``1 h 02 min``."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min {rest:02d} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60:02d} min"
    )


def clock(at: float) -> str:
    """Returns a moment in UTC, from seconds since 1970."""
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "unknown time"


def one_line(text: str, limit: int = 100) -> str:
    """Returns the text on one line, cut with an ellipsis."""
    return safe_line(text, limit)
