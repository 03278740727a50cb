"""Level 1: a step made into one line, from the changed part of the screen (HiSA, section 3.3.1)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from hisa.actions import Write
from hisa.config import RAW_TOKENS
from hisa.models.tokens import estimate_tokens
from hisa.outcomes.verdicts import VERDICT_WORDS
from hisa.protocols import (
    GroundedCall,
    ImagePart,
    Message,
    Model,
    ModelRequest,
    Outcome,
    Part,
    StepVerdict,
    TextPart,
)
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.state.base import AbstractedStep
from hisa.state.changes import describe_changes
from hisa.state.facts import DIALOGS, disabled_facts, field_facts, held_facts, written_facts
from hisa.state.inspection import Looks, StepEvidence, StepInspector
from hisa.state.lines import call_description, call_input, history_line
from hisa.state.refusals import unexpected
from hisa.state.roi import RoiPair, roi_pair, whole_pair
from hisa.state.sentences import change_sentences, without_said
from hisa.state.sequence_steps import (
    Effect,
    effects,
    merged,
    quiet,
    shown,
    stopped,
    surprises,
)
from hisa.state.token_limits import answer_within, cut_at_sentence, excerpt_within, words_of
from hisa.state.typed_text import read_back
from hisa.text.prompt_text import ends, excerpt, field_text, sections
from hisa.text.prompts import render

T = TypeVar("T")
U = TypeVar("U")

__all__ = ["Judged", "RawLog", "StepAbstractor", "judge"]

_PER_ACTION = 0.35
"""Share of a step's limit that each further action of a sequence adds: its description, its input
and its effect, but no thought of its own."""
_READ = 20_000
"""Characters of an output that are looked at; no limit on tokens lets more through."""

_LABELS = 14
"""Tokens of exit status, labels and punctuation."""

_VERDICT = re.compile(
    r"""[\s*_"'`]*(?:result\s*:[\s*_"'`]*)?"""
    r"""(?P<word>succeeded|success|failed|failure|unexpected|no\s+(?:visible\s+)?changes?)\b"""
    r"""[*_"'`]*\s*(?:[.:,;!–—-]+[*_"'`]*\s*|$)""",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"(?:it\s+|the\s+action\s+)?(?P<word>succeeded|failed)\b", re.IGNORECASE)
_MEANT: Mapping[str, StepVerdict] = {"s": "succeeded", "f": "failed", "u": "unexpected"}
"""Verdict by the first letter of a model's word for it; any other is "no change"."""


Pair = Callable[[Observation, Observation], RoiPair | None]
"""What is shown of the looks before and after a step."""


class StepAbstractor:
    """Asks a model what a step changed, and only where something did.

    Without a change there is no picture, and no model call unless the action failed without
    saying why. Steps that end the run change nothing and are never asked about.

    Args:
        model: the state role's model.
        tokens: hard limit of a step's whole line.
        pair: the pictures it is shown; None from it means that nothing changed.
        closer: looks for the files that were written.
        by_facts: whether no model is asked: what elements and tools tell of a step is its line,
            as of a stored program's.
        pictures: whether the model takes pictures.
    """

    def __init__(
        self,
        model: Model,
        tokens: int,
        *,
        pair: Pair = roi_pair,
        closer: StepInspector | None = None,
        by_facts: bool = False,
        pictures: bool = True,
    ) -> None:
        self._model = model
        self._by_facts, self._pictures = by_facts, pictures
        self._hidden: Sequence[Element] = ()
        self._tokens = tokens
        self._pair = pair
        self._closer = closer or StepInspector()
        self._result_tokens = tokens * 3 // 5
        self._seen_tokens = tokens * 4 // 5

    async def abstract(
        self, step: int, call: GroundedCall, looks: Looks, outcome: Outcome
    ) -> AbstractedStep:
        """See `hisa.state.base.Abstractor`."""
        if outcome.made:
            return await self._sequence(step, call, looks, outcome)
        pair = self._pair(*looks)
        roi = pair.box if pair else None
        inspect = partial(self._closer.take, call, looks, outcome, changed=pair is not None)
        telling = outcome.ends is None and (pair is not None or _unexplained(outcome))
        changes = self._changes(looks, pair, call) if telling else ()
        if asked := telling and not self._without_model(call):
            request = self._request(step, call, outcome, pair, changes=changes)
            answering = answer_within(self._model, request, self._asked_tokens(outcome))
            inspected, said = await _both(inspect(), answering)
        else:
            inspected, said = await inspect(), ""
        seen = judge(call, inspected, outcome, pair, said=said, changes=changes, asked=asked)
        held = held_facts(call, *looks)
        result = _result(seen, outcome, self._seen_tokens, held)
        line = history_line(step, call, result, limit=self._tokens)
        return AbstractedStep(line, result, roi, asked, seen.verdict)

    async def _sequence(
        self, step: int, call: GroundedCall, looks: Looks, outcome: Outcome
    ) -> AbstractedStep:
        """The step in words, of a sequence: one request for all of its actions."""
        found = effects(looks, outcome, self._pair)
        pair = self._pair(*looks)
        whole = merged(call, outcome.made)
        last = found[-1]
        inspect = self._closer.take(
            last.made.call, last.looks, last.made.outcome, changed=last.pair is not None
        )
        telling = any(effect.pair for effect in found)
        changes = self._changes(looks, pair, whole) if telling else ()
        if asked := telling and not self._without_model(call):
            request = self._request(
                step, whole, outcome, pair, changes=changes, each=_each_lines(found)
            )
            answering = answer_within(self._model, request, self._asked_tokens(outcome))
            inspected, said = await _both(inspect, answering)
        else:
            inspected, said = await inspect, ""
        seen = judge_sequence(
            call, found, inspected, outcome, pair, said=said, changes=changes, asked=asked
        )
        size = 1 + _PER_ACTION * (len(found) - 1)
        held = held_facts(whole, *looks)
        result = _result(seen, outcome, round(size * self._seen_tokens), held)
        limit = round(size * self._tokens)
        line = history_line(step, shown(call, outcome.made), result, limit=limit)
        roi = pair.box if pair else None
        return AbstractedStep(line, result, roi, asked, seen.verdict)

    def _without_model(self, call: GroundedCall) -> bool:
        return self._by_facts or call.call.by_program

    def _changes(self, looks: Looks, pair: RoiPair | None, call: GroundedCall) -> tuple[str, ...]:
        """Returns what changed in words, by the elements."""
        roi = pair.box if pair else None
        lines = describe_changes(*looks, roi, call, hidden=self._hidden) or ()
        self._keep_hidden(*looks)
        return lines

    def _keep_hidden(self, before: Observation, after: Observation) -> None:
        """Keep what a dialog hides until it is gone."""
        waits = [any(e.role in DIALOGS for e in look.elements or ()) for look in (before, after)]
        if waits[1] and not waits[0]:
            self._hidden = before.elements or ()
        elif not waits[1]:
            self._hidden = ()

    def _asked_tokens(self, outcome: Outcome) -> int:
        """Returns the tokens left for the model: those of a result, less those of the facts."""
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
        each: Sequence[str] = (),
    ) -> ModelRequest:
        limit = self._asked_tokens(outcome)
        actions = max(1, len(each))
        system = render(
            "step_abstraction",
            limit=limit,
            words=words_of(limit),
            actions=actions,
            pictures=self._pictures,
        )
        told = {
            "action": _action_lines(call),
            "outcome": [*_outcome_lines(outcome, pair, shown=self._pictures), *each],
            "changes": changes,
        }
        text = sections({tag: "\n".join(lines) for tag, lines in told.items()})
        parts: list[Part] = [TextPart(text)]
        if pair is not None and self._pictures:
            parts += [ImagePart(pair.before), ImagePart(pair.after)]
        return ModelRequest(
            role="state",
            messages=(Message("system", (TextPart(system),)), Message("user", tuple(parts))),
        )


class RawLog:
    """Level 1 left out: writes down what a tool reported, and asks no model (HiSA, table 5).

    Args:
        closer: as for `StepAbstractor`.
    """

    def __init__(self, *, closer: StepInspector | None = None) -> None:
        self._closer = closer or StepInspector()

    async def abstract(
        self, step: int, call: GroundedCall, looks: Looks, outcome: Outcome
    ) -> AbstractedStep:
        """See `Abstractor`."""
        pair = whole_pair(*looks)
        found = effects(looks, outcome, whole_pair)
        if found:
            last = found[-1]
            inspected = await self._closer.take(
                last.made.call, last.looks, last.made.outcome, changed=last.pair is not None
            )
            seen = judge_sequence(call, found, inspected, outcome, pair)
            call = shown(call, outcome.made)
        else:
            inspected = await self._closer.take(call, looks, outcome, changed=pair is not None)
            seen = judge(call, inspected, outcome, pair)
        told = [VERDICT_WORDS[seen.verdict], seen.surprise, held_facts(call, *looks)]
        if outcome.exit_code is not None:
            told.append(f"exit {outcome.exit_code}")
        told += [outcome.output, outcome.error]
        if outcome.made or not any(text.strip() for text in told[1:]):
            told.append(seen.body)
        result = field_text(" ".join(text for text in told if text.strip()))
        line = history_line(step, call, result, limit=RAW_TOKENS)
        roi = pair.box if pair else None
        return AbstractedStep(line, result, roi, asked_model=False, verdict=seen.verdict)


@dataclass(frozen=True, slots=True)
class Judged:
    """The evidence on a step: the verdict, what speaks against it, and what changed."""

    verdict: StepVerdict
    surprise: str
    body: str


async def _both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """Await both at once: the machine and a model do not wait for each other.

    Raises:
        Exception: what either raises; the other is given up.
    """
    first = asyncio.ensure_future(one)
    try:
        second = await other
        return await first, second
    finally:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


def judge(
    call: GroundedCall,
    inspected: StepEvidence,
    outcome: Outcome,
    pair: RoiPair | None,
    *,
    said: str = "",
    changes: Sequence[str] = (),
    asked: bool = True,
) -> Judged:
    """The verdict on a step: facts come before what a model says, and silence is no success.

    What was typed has succeeded where a field tells that it arrived, whatever else was seen.

    Args:
        call: what ran.
        inspected: the looks before and after, and what else was found.
        outcome: what the tool reported.
        pair: what changed; None for nothing.
        said: a model's answer; empty where none was asked.
        changes: what changed, in words.
        asked: whether a model was asked.
    """
    word, body = _reading(said)
    if outcome.ends is not None:
        return Judged("succeeded", "", "")
    body = body or _own_words(pair, changes)
    found = unexpected(call, *inspected.looks, pair.regions if pair else ())
    found = found or inspected.error_value
    if call.call.following and not outcome.made:
        found = " ".join(filter(None, (stopped(call, outcome), found)))
    if not outcome.ok:
        return Judged("failed", found, body)
    if found:
        return Judged("failed" if word == "failed" else "unexpected", found, body)
    idle = pair is None or {line[0] for line in changes} <= {"f", "l"}  # the focus, or a look
    if idle and (told := disabled_facts(call, inspected.looks[0])):
        return Judged("no_change", "", told)
    if pair is None:
        return _as_typed([(call, inspected.looks)], _without_change(call, inspected, outcome))
    files = written_facts(inspected.written) if inspected.written.paths else ""
    if word == "no_change" and (files or _told(outcome)):
        word = "succeeded"
    if word is None:
        word = _unjudged(outcome, asked=asked)
        body = f"Not judged: {body}" if word == "unexpected" else body
    judged = Judged(word, "", " ".join(part for part in (files, body) if part))
    return _as_typed([(call, inspected.looks)], judged)


def _as_typed(calls: Sequence[tuple[GroundedCall, *tuple[Looks, ...]]], judged: Judged) -> Judged:
    """The verdict, but no success where none of a call's looks tell that what it typed arrived."""
    typing = [each for each in calls if any(isinstance(act, Write) for act in each[0].actions)]
    readings = [[read_back(call, *pair) for pair in looks] for call, *looks in typing]
    doubts = [
        first.sentence
        for first, *others in readings
        if first and all(one is None or one.verdict != "arrived" for one in (first, *others))
    ]
    if judged.verdict != "succeeded" or not doubts:
        return judged
    body = f"{judged.body} {doubts[0]}".strip()
    return Judged("changed", judged.surprise, body)


def judge_sequence(
    call: GroundedCall,
    found: Sequence[Effect],
    last: StepEvidence,
    outcome: Outcome,
    pair: RoiPair | None,
    *,
    said: str = "",
    changes: Sequence[str] = (),
    asked: bool = True,
) -> Judged:
    """The verdict on a sequence: it succeeded only if all was made and each action had an effect.

    Args:
        call: what was planned.
        found: the effects of those that were made, in order.
        last: what a closer look at the last one found.
        outcome: what the sequence came to.
        pair: what changed from before the first to after the last; None for nothing.
        said: a model's answer; empty where none was asked.
        changes: what changed, in words.
        asked: whether a model was asked.
    """
    word, body = _reading(said)
    body = body or _own_words(pair, changes)
    newest = found[-1]
    ending = judge(newest.made.call, last, newest.made.outcome, newest.pair, said=said, asked=asked)
    trouble = surprises(found, last) or last.error_value
    silent = quiet(found, ending.verdict)
    told = stopped(call, outcome)
    files = written_facts(last.written) if last.written.paths else ""
    if not outcome.ok:
        verdict: StepVerdict = "failed"
    elif trouble or outcome.stopped:
        verdict = "unexpected" if word != "failed" else "failed"
    elif pair is None and silent:
        verdict = "no_change"
    elif silent:
        verdict = "unexpected"
    else:
        verdict = word or _unjudged(outcome, asked=asked)
        body = body if word or verdict != "unexpected" else f"Not judged: {body}"
    judged = Judged(verdict, trouble, " ".join(filter(None, (told, silent, files, body))))
    ends = (found[0].looks[0], last.looks[1])  # looks in between may come without elements
    return _as_typed([(effect.made.call, effect.looks, ends) for effect in found], judged)


def _each_lines(found: Sequence[Effect]) -> list[str]:
    """A line for each action of a sequence: whether the screen changed after it, and where."""
    return [
        f"after action {number}: "
        + (f"changed: {_corners(effect.pair.box)}" if effect.pair else "screen: unchanged")
        for number, effect in enumerate(found, 1)
    ]


def _without_change(call: GroundedCall, inspected: StepEvidence, outcome: Outcome) -> Judged:
    """A step that changed no pixel: the focused field, a file or the tool may show its effect."""
    changed, field = field_facts(call, *inspected.looks)
    files = written_facts(inspected.written)
    if changed or inspected.written.paths:
        told = (field if changed else "", files if inspected.written.paths else "")
        return Judged("succeeded", "", " ".join(part for part in told if part))
    if _told(outcome):
        return Judged("succeeded", "", "")
    return Judged("no_change", "", " ".join(part for part in (files, field) if part))


def _told(outcome: Outcome) -> bool:
    """Whether the tool itself reported what it did: a command's exit status, or any output."""
    return outcome.exit_code is not None or bool(outcome.output.strip())


def _unjudged(outcome: Outcome, *, asked: bool) -> StepVerdict:
    """The verdict on a change where no model gave one, though it may have been asked."""
    if _told(outcome):
        return "succeeded"
    return "unexpected" if asked else "changed"


def _result(seen: Judged, outcome: Outcome, tokens: int, held: str) -> str:
    """Verdict, what speaks against it, the tool's report and what changed, within ``tokens``."""
    seen = replace(seen, surprise=" ".join(filter(None, (seen.surprise, held))))
    body = without_said(seen.body, seen.surprise) if seen.surprise else seen.body
    rest = seen.surprise or body
    room = tokens - estimate_tokens(VERDICT_WORDS[seen.verdict]) - 1
    facts = _facts(outcome, room // 2 if rest else room)
    # A dialog's words come before everything but the verdict; a tool's reason before a surprise.
    parts = [seen.surprise, facts, body] if outcome.ok else [facts, seen.surprise, body]
    text = " ".join(part for part in (VERDICT_WORDS[seen.verdict], *parts) if part)
    return cut_at_sentence(field_text(text), tokens)


def _unexplained(outcome: Outcome) -> bool:
    """Whether the action failed without a word why."""
    facts = (outcome.error.strip(), outcome.output.strip())
    return not outcome.ok and not any(facts) and outcome.exit_code is None


def _reading(said: str) -> tuple[StepVerdict | None, str]:
    """The verdict that a model gave, None where it gave none, and the rest of what it said.

    Replies without letters and replies in JSON are no description.
    """
    found = _VERDICT.match(said)
    body = said[found.end() :].strip() if found else said
    if body.startswith(("{", "```")) or not any(char.isalnum() for char in body):
        body = ""
    word = found or _CLAIM.match(said)
    verdict = _MEANT.get(word["word"][0].lower(), "no_change") if word else None
    first = body.split(maxsplit=1)[:1]
    if first and first[0].isalpha():  # else it may be the name of a file
        body = body[:1].upper() + body[1:]
    return verdict, body


def _facts(outcome: Outcome, tokens: int) -> str:
    """Returns the tool's own report, in at most ``tokens``: exit status, output and error."""
    output, error = (field_text(ends(text, _READ)) for text in (outcome.output, outcome.error))
    exited = outcome.exit_code is not None
    room = (tokens - _LABELS) // (2 if output and error else 1)
    facts = [f"exit {outcome.exit_code}"] if exited else []
    if shown := excerpt_within(output, room):
        facts.append(f"output: {shown}")
    if shown := excerpt_within(error, room):
        facts.append(f"error: {shown}" if exited else shown)
    text = "; ".join(facts)
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def _own_words(pair: RoiPair | None, changes: Sequence[str]) -> str:
    """Returns a description of the change that needs no model; empty where nothing changed."""
    if told := [*islice(change_sentences(changes), 3)]:
        return " ".join(told)
    return f"The screen changed in {_corners(pair.box)}." if pair is not None else ""


def _corners(box: BoundingBox) -> str:
    return f"({box.left:.0f}, {box.top:.0f}) to ({box.right:.0f}, {box.bottom:.0f})"


def _action_lines(call: GroundedCall) -> list[str]:
    fields = {
        "tool": call.call.tool,
        "intent": excerpt(call.call.thought, 300),
        "description": excerpt(call_description(call), 300),
        "input": excerpt(call_input(call), 600),
    }
    return [f"{name}: {text}" for name, text in fields.items() if text]


def _outcome_lines(outcome: Outcome, pair: RoiPair | None, *, shown: bool) -> list[str]:
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
        lines.append(f"changed: {_corners(pair.box)}")
        if shown:
            parts = " and below it ".join(_corners(part) for part in pair.shown)
            lines.append(f"the pictures show: {parts}")
    return lines
