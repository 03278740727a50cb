"""Rebuilds model calls as they were sent and answered, from the events of a run.

A `Turn` is one try of one request, of any role. Nothing in it is rendered again: the body is what
was sent, the reply what was received, and the tokens are the server's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from hisa.errors import UsageError
from hisa.events import Judged, ModelAsked, ModelCalled, ModelFailed, PlanRejected
from hisa.outcomes.endings import ScoreState
from hisa.protocols import TurnTokens, Usage
from hisa.runs.event_line import is_cut
from hisa.runs.run_reader import Run, command_on
from hisa.text.redact import holds_redacted

__all__ = ["Turn", "find_turn", "turns"]


class Turn(BaseModel):
    """One model call. As JSON it is one record of an export."""

    model_config = ConfigDict(frozen=True)
    id: str
    run: str
    task: str
    step: int
    role: str
    attempt: int = 1
    model: str
    served: str = ""
    policy: str = ""
    effort: str = ""
    api: str = ""
    """The protocol of ``request``: "chat" or "responses"; empty: it was not sent to a server."""
    request: dict[str, Any]
    """The body that was sent, with ``{"$image": SHA-256}`` in place of each picture."""
    reply: str | None = None
    """The reply as it was received; None if there is none."""
    finish: str = ""
    usage: Usage | None = None
    usd: float | None = None
    seconds: float = 0.0
    tokens: TurnTokens | None = None
    failure: str = ""
    """Why there is no reply; "no answer" if the run was interrupted."""
    corrects: str = ""
    """The id of the turn whose unusable reply this one asks to correct; empty if none."""
    refused: str = ""
    """Why the reply could not be used; empty if it could."""
    redacted: bool = False
    """Whether a secret was removed from request or reply."""
    cut: bool = False
    """Whether the log has request or reply only in part."""
    outcome: str = ""
    """How the run ended."""
    score: float | None = None
    score_state: ScoreState = "unscored"
    machine_failed: bool = False
    """Whether the run's machine failed: then the run says nothing about the model."""

    @property
    def pictures(self) -> tuple[str, ...]:
        """Hashes of the pictures that were sent, in order."""
        return tuple(_pictures(self.request))

    def require_trainable(self) -> TurnTokens:
        """Returns the tokens, all of which reinforcement learning needs.

        Raises:
            UsageError: some are missing. The turn can still be used for cloning.
        """
        tokens = self.tokens or TurnTokens()
        lacking = [name for name in _NEEDED if getattr(tokens, name) is None]
        if lacking or self.redacted or self.cut:
            why = f"has no {', '.join(lacking)}" if lacking else "is not whole in the log"
            raise UsageError(
                f"turn {self.id} of run {self.run} {why}: fit for cloning, but not for RL",
                fix=f"run with --set models.{self.role}.tokens=true on a server that sends tokens",
            )
        return tokens


_NEEDED = ("prompt_ids", "reply_ids", "logprobs")


def turns(run: Run) -> Iterator[Turn]:
    """Yields the model calls of a run in the order in which they were sent."""
    texts = {
        digest: text
        for event in run.events
        if isinstance(event, ModelAsked)
        for digest, text in event.texts.items()
    }
    answers = _answers(run)
    refused = _refusals(run)
    for event in run.events:
        if isinstance(event, ModelAsked):
            yield _build_turn(run, event, answers.get(event.turn), texts, refused)


def find_turn(run: Run, name: str) -> Turn:
    """Returns the turn of that name, or the only one whose name begins with it.

    Raises:
        UsageError: no turn or several turns match.
    """
    candidates = [turn for turn in turns(run) if turn.id.startswith(name)]
    exact = [turn for turn in candidates if turn.id == name] or candidates
    if len(exact) == 1:
        return exact[0]
    why = "no such model call" if not exact else f"{len(exact)} model calls begin with it"
    raise UsageError(
        f"turn {name!r} of run {run.id}: {why}", fix=f"{command_on(run.folder, 'show')} --turns"
    )


def _build_turn(
    run: Run,
    request_event: ModelAsked,
    answer: ModelCalled | ModelFailed | None,
    texts: Mapping[str, str],
    refused: Mapping[str, str],
) -> Turn:
    called = answer if isinstance(answer, ModelCalled) else None
    request = _restore_texts(request_event.body, texts)
    text = json.dumps(request, ensure_ascii=False) + (called.reply if called else "")
    failure = "" if called else "no answer"
    if isinstance(answer, ModelFailed):
        failure = f"{answer.kind}: {answer.message}"
    return Turn(
        id=request_event.turn,
        run=run.id,
        task=run.manifest.task.id,
        step=request_event.step,
        role=request_event.role,
        attempt=request_event.attempt,
        model=request_event.model,
        effort=request_event.effort,
        api=request_event.api,
        request=request,
        corrects=request_event.corrects,
        failure=failure,
        refused=refused.get(request_event.turn, ""),
        redacted=holds_redacted(text),
        cut=any(map(is_cut, _texts([request, called.reply if called else ""]))),
        outcome=run.status,
        score=run.score,
        score_state=run.score_state,
        machine_failed=run.status == "environment_error",
        **_build_reply_fields(run, called),
    )


def _build_reply_fields(run: Run, called: ModelCalled | None) -> dict[str, Any]:
    if called is None:
        return {}
    usage = Usage(called.tokens_in, called.tokens_out, called.cached_in, called.reasoning_out)
    return {
        "reply": called.reply,
        "finish": called.finish,
        "usage": usage,
        "usd": called.usd,
        "seconds": called.seconds,
        "served": called.served,
        "policy": called.policy,
        "tokens": _read_tokens(run, called.tokens),
    }


def _read_tokens(run: Run, name: str) -> TurnTokens | None:
    if not name:
        return None
    try:
        fields = json.loads((run.folder / name).read_text("utf-8"))
        return TurnTokens(**{key: tuple(value) for key, value in fields.items()})
    except (OSError, ValueError, TypeError):
        return None  # deleted or damaged: as if no server had sent tokens


def _answers(run: Run) -> dict[str, ModelCalled | ModelFailed]:
    """Returns the reply or failure of each request, by turn."""
    answers: dict[str, ModelCalled | ModelFailed] = {}
    for event in run.events:
        if isinstance(event, ModelCalled | ModelFailed):
            answers.setdefault(event.turn, event)
    return answers


def _refusals(run: Run) -> dict[str, str]:
    """Returns why replies could not be used, by turn."""
    refused: dict[str, str] = {}
    for event in run.events:
        if isinstance(event, PlanRejected):
            refused[event.turn] = event.error
        elif isinstance(event, Judged) and event.invalid:
            refused[event.turn] = event.invalid
        elif isinstance(event, ModelAsked) and event.corrects:
            refused.setdefault(event.corrects, event.reason)
    return refused


def _restore_texts(value: Any, texts: Mapping[str, str]) -> Any:
    """Returns a body with its texts put back in; pictures stay hashes."""
    match value:
        case {"$text": str(digest)} if len(value) == 1:
            return texts.get(digest, _GONE)
        case {"$json": str(digest)} if len(value) == 1:
            try:
                return json.loads(texts.get(digest, ""))
            except ValueError:
                return texts.get(digest, _GONE)  # cut
        case dict():
            return {key: _restore_texts(item, texts) for key, item in value.items()}
        case list():
            return [_restore_texts(item, texts) for item in value]
    return value


_GONE = "[1 more characters were cut]"
"""Put in place of a text that is missing in the log."""


def _pictures(value: Any) -> Iterator[str]:
    match value:
        case {"$image": str(name)} if len(value) == 1:
            yield name
        case dict():
            for item in value.values():
                yield from _pictures(item)
        case list():
            for item in value:
                yield from _pictures(item)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from _texts(list(value.values()))
        case list():
            for item in value:
                yield from _texts(item)
