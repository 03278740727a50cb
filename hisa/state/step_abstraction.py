"""Level 1: describes a step in one line, by what changed on the screen (HiSA, section 3.3.1)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hisa.actions import Write, points
from hisa.config import RAW_TOKENS
from hisa.events import Abstracted
from hisa.machine.patience import patience
from hisa.models.tokens import estimate_tokens
from hisa.outcomes.sequence_progress import describe_sequence_progress
from hisa.outcomes.verdicts import VERDICT_WORDS
from hisa.protocols import (
    ExecutedCall,
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
from hisa.state.base import Looks
from hisa.state.changes import IDLE, describe_changes
from hisa.state.facts import DIALOGS, disabled_facts, field_facts, held_facts, written_facts
from hisa.state.lines import call_description, call_input, history_line
from hisa.state.refusals import find_surprise
from hisa.state.roi import RoiPair, roi_pair
from hisa.state.token_limits import ask_within, cut_at_sentence, excerpt_within, words_of
from hisa.state.typed_text import read_back
from hisa.state.written_files import NOTHING_KNOWN, WrittenPaths, WrittenSince
from hisa.text.prompt_text import ends, excerpt, field_text, one_line, sections
from hisa.text.prompts import render

__all__ = [
    "Effect",
    "Evidence",
    "Judgement",
    "Pair",
    "StepAbstractor",
    "find_effects",
    "judge",
    "merge_calls",
]
__all__ += ["describe_quiet_actions", "describe_stop", "describe_surprise", "with_executed_calls"]

_PER_ACTION = 0.35
"""Share of a step's limit that each further action of a sequence adds, for its description, its
input and its effect; it has no thought of its own."""
_READ = 20_000
"""Characters of an output that are read; no limit on tokens lets more through."""

_LATE = 1.0
"""Seconds after an action within which a program may still write a file: an editor took 0.3 s.
Until then the line does not say that no file was written."""

_LABELS = 14
"""Tokens of exit status, labels and punctuation."""

_VERDICT = re.compile(
    r"""[\s*_"'`]*(?:result\s*:[\s*_"'`]*)?"""
    r"""(?P<word>succeeded|success|failed|failure|unexpected|no\s+(?:visible\s+)?changes?)\b"""
    r"""[*_"'`]*\s*(?:[.:,;!–—-]+[*_"'`]*\s*|$)""",
    re.IGNORECASE,
)
_VERDICTS_BY_LETTER: Mapping[str, StepVerdict] = {
    "s": "succeeded",
    "f": "failed",
    "u": "unexpected",
}
"""Verdict by the first letter of a model's word for it; any other is "no change"."""


class StepAbstractor:
    """Asks a model what a step changed, but only if something changed.

    Without a change there are no pictures to show, so the model is asked only about an action that
    failed without saying why. A step that ends the run is never asked about.

    Args:
        model: the state role's model.
        tokens: hard limit of a step's whole line.
        pair: makes the pictures that the model is shown; returns None if nothing changed.
        written: tells which files were written; None: this is not known.
        by_facts: whether the line is written without a model, from the elements and the tool's
            report; the steps of a stored program are always described so.
        raw: whether level 1 is left out (HiSA, table 5): no model is asked, and the line is what
            the tool reported.
        pictures: whether the model reads pictures.
    """

    def __init__(
        self,
        model: Model,
        tokens: int,
        *,
        pair: Pair = roi_pair,
        written: WrittenSince | None = None,
        by_facts: bool = False,
        raw: bool = False,
        pictures: bool = True,
    ) -> None:
        self._model = model
        self._by_facts, self._raw, self._pictures = by_facts or raw, raw, pictures
        self._hidden: Sequence[Element] = ()
        self._tokens = tokens
        self._pair = pair
        self._written = written
        self._result_tokens = tokens * 3 // 5
        self._seen_tokens = tokens * 4 // 5

    async def abstract(
        self, step: int, call: GroundedCall, observations: Looks, outcome: Outcome
    ) -> Abstracted:
        """Returns a step in words. A sequence takes only one request.

        Args:
            step: the number of the step.
            call: what was done.
            observations: the look before the step and the look after it.
            outcome: what the tool returned.

        Raises:
            ModelUnavailable, BudgetExceeded: from the model.
            EnvironmentFailed: the machine does not answer.
        """
        step_effects = find_effects(call, observations, outcome, self._pair)
        last = step_effects[-1]
        pair = last.pair if len(step_effects) == 1 else self._pair(*observations)
        merged_call = merge_calls(call, outcome.executed_calls)
        changed = any(effect.pair for effect in step_effects)
        telling = outcome.ends is None and (changed or _is_unexplained(outcome))
        changes = (
            self._changes(observations, pair, merged_call) if telling and not self._raw else ()
        )
        written = await self._find_written(last)
        reply = ""
        if was_queried := telling and not (self._by_facts or call.call.by_program):
            request = self._build_request(
                step, merged_call, outcome, pair, changes=changes, step_effects=step_effects
            )
            reply = one_line(await ask_within(self._model, request, self._reply_tokens(outcome)))
        evidence = Evidence(step_effects, written, outcome, pair, changes, reply, was_queried)
        judgement = judge(call, evidence)
        size, held = (
            1 + _PER_ACTION * (len(step_effects) - 1),
            held_facts(merged_call, *observations),
        )
        limit = RAW_TOKENS if self._raw else round(size * self._tokens)
        result = _build_result(judgement, outcome, round(size * self._seen_tokens), held)
        if self._raw:
            result = _build_raw_result(judgement, outcome, held)
        line = history_line(
            step, with_executed_calls(call, outcome.executed_calls), result, limit=limit
        )
        return Abstracted(
            line=line,
            result=result,
            roi=_round_box(pair.box) if pair else None,
            asked_model=was_queried,
            verdict=judgement.verdict,
        )

    async def _find_written(self, last: Effect) -> WrittenPaths:
        """Returns the files that an action wrote; the screen seldom shows them."""
        call, outcome = last.executed_call.call, last.executed_call.outcome
        if self._written is None or not call.actions or not outcome.ok or outcome.ends:
            return NOTHING_KNOWN
        began = outcome.began or last.looks[0].at
        written = await self._written(began)
        late = began + patience(_LATE) - time.time()
        if last.pair is None and written.complete and not written.paths and late > 0:
            await asyncio.sleep(late)
            written = await self._written(began)
        return written

    def _changes(
        self, observations: Looks, pair: RoiPair | None, call: GroundedCall
    ) -> tuple[str, ...]:
        """Returns what changed in words, by the elements."""
        lines = describe_changes(
            *observations, pair.box if pair else None, call, hidden=self._hidden
        )
        self._keep_hidden(*observations)
        return lines or ()

    def _keep_hidden(self, before: Observation, after: Observation) -> None:
        """Keep the elements that a dialog hides until it is gone."""
        waits = [
            any(e.role in DIALOGS for e in observation.elements or ())
            for observation in (before, after)
        ]
        if waits[1] and not waits[0]:
            self._hidden = before.elements or ()
        elif not waits[1]:
            self._hidden = ()

    def _reply_tokens(self, outcome: Outcome) -> int:
        """Returns how many tokens are left for the model: those of a result, less the facts."""
        facts = estimate_tokens(_facts(outcome, self._result_tokens // 2))
        return self._result_tokens - facts

    def _build_request(
        self,
        step: int,
        call: GroundedCall,
        outcome: Outcome,
        pair: RoiPair | None,
        *,
        changes: Sequence[str],
        step_effects: Sequence[Effect],
    ) -> ModelRequest:
        limit = self._reply_tokens(outcome)
        system = render(
            "step_abstraction",
            limit=limit,
            words=words_of(limit),
            actions=len(step_effects),
            pictures=self._pictures,
        )
        section_lines = {
            "action": _action_lines(call),
            "outcome": [
                *_outcome_lines(outcome, pair, shown=self._pictures),
                *_effect_lines(step_effects),
            ],
            "changes": changes,
        }
        text = sections({tag: "\n".join(lines) for tag, lines in section_lines.items()})
        parts: list[Part] = [TextPart(text)]
        if pair is not None and self._pictures:
            parts += [ImagePart(pair.before), ImagePart(pair.after)]
        return ModelRequest(
            role="state",
            messages=(Message("system", (TextPart(system),)), Message("user", tuple(parts))),
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a step when it is judged.

    ``effects`` are its calls with their effects, ``written`` the files that the last call wrote,
    ``pair`` is what changed from first to last (None: nothing), and ``changes`` is the same in
    words. ``reply`` is the model's reply, and ``was_queried`` whether the model was asked.
    """

    effects: Sequence[Effect]
    written: WrittenPaths
    outcome: Outcome
    pair: RoiPair | None
    changes: Sequence[str] = ()
    reply: str = ""
    was_queried: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a step, what speaks against success, and what changed."""

    verdict: StepVerdict
    surprise: str
    body: str


def judge(call: GroundedCall, evidence: Evidence) -> Judgement:
    """Judge a step: facts come before what a model says, and silence is no success.

    A sequence succeeds only if all of its calls were done and each had an effect. A call that only
    types succeeds only if a field shows that the text arrived.
    """
    outcome = evidence.outcome
    if outcome.ends is not None:
        return Judgement("succeeded", "", "")
    word, body = _read_verdict(evidence.reply)
    body = body or _own_words(evidence.pair, evidence.changes)
    trouble = describe_surprise(evidence.effects)
    stop_sentence = describe_stop(call, outcome) if call.call.following else ""
    if stop_sentence and not outcome.executed_calls:
        trouble, stop_sentence = f"{stop_sentence} {trouble}".strip(), ""
    ending = _judge_last_action(evidence, word, body)
    silent = describe_quiet_actions(evidence.effects, ending.verdict)
    if not outcome.ok:
        verdict: StepVerdict = "failed"
    elif trouble or outcome.stopped:
        verdict = "failed" if word == "failed" else "unexpected"
    elif len(evidence.effects) == 1:
        verdict, body = ending.verdict, ending.body
    elif silent:
        verdict = "no_change" if evidence.pair is None else "unexpected"
    else:
        verdict = word or _default_verdict(outcome, was_queried=evidence.was_queried)
        body = body if word or verdict != "unexpected" else f"Not judged: {body}"
    several = len(evidence.effects) > 1 and evidence.written.paths
    files = written_facts(evidence.written) if several else ""
    judgement = Judgement(
        verdict, trouble, " ".join(filter(None, (stop_sentence, silent, files, body)))
    )
    return _doubt_typed_text(evidence, judgement)


def _judge_last_action(evidence: Evidence, word: StepVerdict | None, body: str) -> Judgement:
    """Judge the last action by files, tool and model; nothing is known to speak against it."""
    last = evidence.effects[-1]
    only = len(evidence.effects) == 1
    files = written_facts(evidence.written)
    wrote = files if evidence.written.paths else ""
    idle = all(sentence.startswith(IDLE) for sentence in evidence.changes)
    if (last.pair is None or (only and idle)) and (
        dead := disabled_facts(last.executed_call.call, last.looks[0])
    ):
        return Judgement("no_change", "", dead)
    if last.pair is None:
        changed, field = field_facts(last.executed_call.call, *last.looks)
        if changed or wrote:
            return Judgement(
                "succeeded", "", " ".join(filter(None, (field if changed else "", wrote)))
            )
        if _has_report(last.executed_call.outcome):
            return Judgement("succeeded", "", "")
        return Judgement("no_change", "", " ".join(filter(None, (files, field))))
    if word == "no_change" and (wrote or _has_report(evidence.outcome)):
        word = "succeeded"
    if word is None:
        word = _default_verdict(evidence.outcome, was_queried=evidence.was_queried)
        body = f"Not judged: {body}" if word == "unexpected" else body
    return Judgement(word, "", " ".join(filter(None, (wrote, body))))


def _doubt_typed_text(evidence: Evidence, judgement: Judgement) -> Judgement:
    """Returns the judgement; a success becomes "changed" if typed text is not seen to have arrived.

    Only calls that do nothing but click and type are checked.
    """
    if judgement.verdict != "succeeded":
        return judgement
    ends = (
        evidence.effects[0].looks[0],
        evidence.effects[-1].looks[1],
    )  # the looks in between may lack elements
    for effect in evidence.effects:
        call = effect.executed_call.call
        if not any(isinstance(act, Write) for act in call.actions):
            continue
        first, *others = (read_back(call, *observations) for observations in (effect.looks, ends))
        arrived = any(read and read.verdict == "arrived" for read in (first, *others))
        if first and not arrived:
            return Judgement(
                "changed", judgement.surprise, f"{judgement.body} {first.sentence}".strip()
            )
    return judgement


def _effect_lines(step_effects: Sequence[Effect]) -> list[str]:
    """Returns a line for each action of a sequence: whether the screen changed, and where."""
    if len(step_effects) == 1:
        return []
    return [
        f"after action {number}: "
        + (f"changed: {_corners(effect.pair.box)}" if effect.pair else "screen: unchanged")
        for number, effect in enumerate(step_effects, 1)
    ]


def _has_report(outcome: Outcome) -> bool:
    """Whether the tool itself reported what it did: a command's exit status, or any output."""
    return outcome.exit_code is not None or bool(outcome.output.strip())


def _default_verdict(outcome: Outcome, *, was_queried: bool) -> StepVerdict:
    """Returns the verdict on a change if the model gave none, or was not asked."""
    if _has_report(outcome):
        return "succeeded"
    return "unexpected" if was_queried else "changed"


def _build_result(judgement: Judgement, outcome: Outcome, tokens: int, held: str) -> str:
    """Returns verdict, objections, the tool's report and what changed, within ``tokens``."""
    judgement = replace(judgement, surprise=" ".join(filter(None, (judgement.surprise, held))))
    rest = judgement.surprise or judgement.body
    room = tokens - estimate_tokens(VERDICT_WORDS[judgement.verdict]) - 1
    facts = _facts(outcome, room // 2 if rest else room)
    # A dialog's words come before everything but the verdict; a tool's reason before a surprise.
    parts = [judgement.surprise, facts] if outcome.ok else [facts, judgement.surprise]
    text = " ".join(
        part for part in (VERDICT_WORDS[judgement.verdict], *parts, judgement.body) if part
    )
    return cut_at_sentence(field_text(text), tokens)


def _build_raw_result(judgement: Judgement, outcome: Outcome, held: str) -> str:
    """Returns verdict, objections and all that the tool reported."""
    exited = f"exit {outcome.exit_code}" if outcome.exit_code is not None else ""
    report = [judgement.surprise, held, exited, outcome.output, outcome.error]
    if outcome.executed_calls or not any(text.strip() for text in report):
        report.append(judgement.body)
    parts = [VERDICT_WORDS[judgement.verdict], *report]
    return field_text(" ".join(text for text in parts if text.strip()))


def _is_unexplained(outcome: Outcome) -> bool:
    """Whether the action failed without saying why."""
    facts = (outcome.error.strip(), outcome.output.strip())
    return not outcome.ok and not any(facts) and outcome.exit_code is None


def _read_verdict(reply: str) -> tuple[StepVerdict | None, str]:
    """Returns the verdict in a model's reply, None if it has none, and the rest of the reply.

    The rest is dropped if it has no letters or is JSON: neither describes anything.
    """
    match = _VERDICT.match(reply)
    body = reply[match.end() :].strip() if match else reply
    if body.startswith(("{", "```")) or not any(char.isalnum() for char in body):
        body = ""
    verdict = _VERDICTS_BY_LETTER.get(match["word"][0].lower(), "no_change") if match else None
    first = body.split(maxsplit=1)[:1]
    if first and first[0].isalpha():  # otherwise it may be a file name, whose case matters
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
    """Returns a description of the change without a model; empty if nothing changed."""
    if changes:
        return " ".join(changes[:3])
    return f"The screen changed in {_corners(pair.box)}." if pair is not None else ""


def _round_box(box: BoundingBox) -> tuple[int, int, int, int]:
    return round(box.left), round(box.top), round(box.right), round(box.bottom)


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


Pair = Callable[[Observation, Observation], RoiPair | None]
"""Makes the pictures of the looks before and after a step; returns None if nothing changed."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An executed call, the looks before and after it, and what differs in them (None: nothing)."""

    executed_call: ExecutedCall
    looks: Looks
    pair: RoiPair | None


def find_effects(
    call: GroundedCall, observations: Looks, outcome: Outcome, pair: Pair
) -> tuple[Effect, ...]:
    """Returns the effect of each executed call, in order; of ``call`` if it is no sequence.

    Args:
        call: what was planned.
        observations: the look before the first call and the look after the last one.
        outcome: the outcome of the step, with its executed calls if it was a sequence.
        pair: compares two looks.
    """
    calls = outcome.executed_calls or (ExecutedCall(call, outcome, observations[0]),)
    starts = [observations[0], *(executed_call.before for executed_call in calls[1:])]
    ends = [*starts[1:], observations[1]]
    return tuple(
        Effect(executed_call, (start, end), pair(start, end))
        for executed_call, start, end in zip(calls, starts, ends, strict=True)
    )


def merge_calls(call: GroundedCall, executed_calls: Sequence[ExecutedCall]) -> GroundedCall:
    """Returns one call that has the actions and places of all executed calls."""
    if not executed_calls:
        return call
    return replace(
        call,
        following=tuple(part.call for part in executed_calls[1:]),
        actions=tuple(action for part in executed_calls for action in part.call.actions),
        places=tuple(place for part in executed_calls for place in part.call.places),
    )


def with_executed_calls(call: GroundedCall, executed_calls: Sequence[ExecutedCall]) -> GroundedCall:
    """Returns the call followed by the calls that were executed after it, for the step's line."""
    return (
        replace(call, following=tuple(other.call for other in executed_calls[1:]))
        if executed_calls
        else call
    )


def describe_surprise(step_effects: Sequence[Effect]) -> str:
    """Returns the first sign that something went wrong, with its action's number; empty if none."""
    for number, effect in enumerate(step_effects, 1):
        if surprise := find_surprise(effect.executed_call.call, *effect.looks):
            return f"{number}) {surprise}" if len(step_effects) > 1 else surprise
    return ""


def describe_quiet_actions(step_effects: Sequence[Effect], last: StepVerdict) -> str:
    """Returns which actions of a sequence had no visible effect; empty if each had one.

    A click before typing is not counted: it may only give a field the focus, which may not show.

    Args:
        step_effects: the effects, in order.
        last: the verdict on the last action, which was judged more closely.
    """
    numbers = []
    for number, effect in enumerate(step_effects if len(step_effects) > 1 else (), 1):
        if effect.pair is not None or not effect.executed_call.call.actions:
            continue
        if number == len(step_effects):
            silent = last == "no_change"
        else:
            following = step_effects[number].executed_call.call
            focuses = bool(points(effect.executed_call.call.actions)) and bool(following.actions)
            silent = not (focuses and not points(following.actions))
        if silent:
            numbers.append(str(number))
    if not numbers:
        return ""
    subject = f"Action {numbers[0]}" if len(numbers) == 1 else f"Actions {', '.join(numbers)}"
    return f"{subject} changed nothing that shows."


def describe_stop(call: GroundedCall, outcome: Outcome) -> str:
    """Returns how many calls of a sequence were executed, and why not more."""
    reason = field_text(excerpt(outcome.stopped, 300))
    return describe_sequence_progress(len(outcome.executed_calls), len(call.call.sequence), reason)
