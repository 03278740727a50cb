"""Level 1: a step made into one line, from the changed part of the screen (HiSA, section 3.3.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hisa.geometry import Box
from hisa.models.tokens import estimate_tokens
from hisa.observation import Observation, Screenshot
from hisa.prompts import render
from hisa.protocols import (
    GroundedCall,
    ImagePart,
    Message,
    Model,
    ModelRequest,
    Outcome,
    Part,
    TextPart,
)
from hisa.state.bounds import ask_within, cut_at_sentence, excerpt_within
from hisa.state.changes import describe_changes
from hisa.state.lines import call_description, call_input, history_line
from hisa.state.roi import RoiPair, roi_pair
from hisa.state.text import excerpt, field_text, one_line

__all__ = ["AbstractedStep", "Abstractor", "StepAbstractor"]

_LABELS = 10
"""Tokens of exit status, labels and punctuation."""

_VERDICT = re.compile(
    r"""[\s*_"'`]*(?:result\s*:[\s*_"'`]*)?(succeeded|success|failed|failure)\b"""
    r"""[*_"'`]*\s*(?:[.:,;!–—-]+[*_"'`\s]*|$)""",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"(?:it\s+|the\s+action\s+)?(succeeded|failed)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AbstractedStep:
    """A step in words.

    ``line`` is what the planner reads, ``result`` its last field, ``roi`` the changed image-space
    box (None: nothing changed), ``asked_model`` whether a model was needed.
    """

    line: str
    result: str
    roi: Box | None
    asked_model: bool


Pair = Callable[[Screenshot, Screenshot], RoiPair | None]
"""What is shown of the looks before and after a step."""


class Abstractor(Protocol):
    """Level 1, as the manager sees it."""

    async def abstract(
        self,
        step: int,
        call: GroundedCall,
        looks: tuple[Observation, Observation],
        outcome: Outcome,
    ) -> AbstractedStep:
        """The step in words; ``looks`` are before and after.

        Raises:
            ModelUnavailable, BudgetExceeded: from the model.
        """
        ...


class StepAbstractor:
    """Asks a model what a step changed, and only where something did.

    Without a change there is no picture, and no model call unless the action failed without
    saying why. Steps that end the run change nothing and are never asked about.

    Args:
        model: the state role's model.
        tokens: hard limit of a step's whole line.
        pair: the pictures it is shown; None from it means that nothing changed.
    """

    def __init__(self, model: Model, tokens: int, *, pair: Pair = roi_pair) -> None:
        self._model = model
        self._tokens = tokens
        self._pair = pair
        self._result_tokens = tokens * 3 // 5

    async def abstract(
        self,
        step: int,
        call: GroundedCall,
        looks: tuple[Observation, Observation],
        outcome: Outcome,
    ) -> AbstractedStep:
        """See `Abstractor`."""
        before, after = looks
        pair = self._pair(before.screenshot, after.screenshot)
        roi = pair.box if pair else None
        asked = outcome.ends is None and (pair is not None or _unexplained(outcome))
        changes: tuple[str, ...] = ()
        said = ""
        if asked:
            changes = describe_changes(before, after, roi) or ()
            request = self._request(step, call, outcome, pair, changes=changes)
            said = one_line(await ask_within(self._model, request, self._asked_tokens(outcome)))
        result = self._result(outcome, pair, said, changes)
        line = history_line(step, call, result, limit=self._tokens)
        return AbstractedStep(line, result, roi, asked)

    def _asked_tokens(self, outcome: Outcome) -> int:
        """What the model may write: the facts that stand before it take their part."""
        facts = estimate_tokens(_facts(outcome, self._result_tokens // 2))
        return self._result_tokens - facts

    def _request(
        self,
        step: int,
        call: GroundedCall,
        outcome: Outcome,
        pair: RoiPair | None,
        *,
        changes: Sequence[str],
    ) -> ModelRequest:
        limit = self._asked_tokens(outcome)
        system = render("step_abstraction", limit=limit, words=limit * 3 // 4)
        sections = [
            _section("action", _action_lines(call)),
            _section("outcome", _outcome_lines(outcome, pair)),
            _section("changes", changes),
        ]
        parts: list[Part] = [TextPart("\n".join(section for section in sections if section))]
        if pair is not None:
            parts += [ImagePart(pair.before), ImagePart(pair.after)]
        return ModelRequest(
            role="state",
            messages=(Message("system", (TextPart(system),)), Message("user", tuple(parts))),
            step=step,
        )

    def _result(
        self, outcome: Outcome, pair: RoiPair | None, said: str, changes: Sequence[str]
    ) -> str:
        """Verdict, facts, and what the model said or, where it said nothing, what is known."""
        succeeded, body = _verdict(said, outcome.ok)
        body = body or _own_words(outcome, pair, changes)
        facts = _facts(outcome, self._result_tokens // 2 if body else self._result_tokens - 3)
        verdict = "Succeeded." if succeeded else "Failed."
        text = field_text(" ".join(part for part in (verdict, facts, body) if part))
        return cut_at_sentence(text, self._result_tokens)


def _unexplained(outcome: Outcome) -> bool:
    """Whether the action failed without a word why."""
    facts = (outcome.error.strip(), outcome.output.strip())
    return not outcome.ok and not any(facts) and outcome.exit_code is None


def _verdict(said: str, ok: bool) -> tuple[bool, str]:
    """Success or not, and the rest of what the model said; a failed tool never succeeded.

    Replies without letters and replies in JSON are no description.
    """
    found = _VERDICT.match(said)
    body = said[found.end() :].strip() if found else said
    if body.startswith(("{", "```")) or not any(char.isalnum() for char in body):
        body = ""
    word = found or _CLAIM.match(said)
    succeeded = word.group(1).lower().startswith("succ") if word else ok
    return ok and succeeded, body[:1].upper() + body[1:]


def _facts(outcome: Outcome, tokens: int) -> str:
    """What the tool itself reported: exit status, output and error, in at most ``tokens``."""
    output, error = outcome.output.strip(), outcome.error.strip()
    exited = outcome.exit_code is not None
    room = (tokens - _LABELS) // (2 if output and error else 1)
    facts = [f"exit {outcome.exit_code}"] if exited else []
    if shown := excerpt_within(output, room):
        facts.append(f"output: {shown}")
    if shown := excerpt_within(error, room):
        facts.append(f"error: {shown}" if exited else shown)
    text = "; ".join(facts)
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def _own_words(outcome: Outcome, pair: RoiPair | None, changes: Sequence[str]) -> str:
    """What can be said without a model."""
    if outcome.ends is not None:
        return ""
    if changes:
        return f"On the screen: {'; '.join(changes[:3])}."
    if pair is not None:
        box = pair.box
        return f"The screen changed in {_corners(box)}."
    told = outcome.exit_code is not None or outcome.output.strip() or outcome.error.strip()
    return "" if told else "No visible change."


def _corners(box: Box) -> str:
    return f"({box.left:.0f}, {box.top:.0f}) to ({box.right:.0f}, {box.bottom:.0f})"


def _section(tag: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"]) if lines else ""


def _action_lines(call: GroundedCall) -> list[str]:
    fields = {
        "tool": call.call.tool,
        "intent": excerpt(call.call.thought, 300),
        "description": excerpt(call_description(call), 300),
        "input": excerpt(call_input(call), 600),
    }
    return [f"{name}: {text}" for name, text in fields.items() if text]


def _outcome_lines(outcome: Outcome, pair: RoiPair | None) -> list[str]:
    lines = ["ok" if outcome.ok else "failed"]
    if outcome.exit_code is not None:
        lines.append(f"exit: {outcome.exit_code}")
    if outcome.output.strip():
        lines.append(f"output: {excerpt(outcome.output, 600)}")
    if outcome.error.strip():
        lines.append(f"error: {excerpt(outcome.error, 300)}")
    if pair is None:
        lines.append("screen: unchanged")
    else:
        lines.append(f"changed: {_corners(pair.box)}; the pictures show {_corners(pair.shown)}")
    return lines
