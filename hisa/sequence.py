"""Plans, grounds and makes the calls of a step, one after another (OS-Catalyst, section 3.1).

The targets of all calls are grounded on one look, before anything is done. A call is done in
actions: a press on the screen with what leads to it, or a call of a tool. Hooks are called before
and after each action.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hisa.actions import Action, KeyDown, KeyUp, Scroll, parse, points, presses
from hisa.actions.action_records import kinds
from hisa.actions.unchanged_look import arrival
from hisa.errors import ActionRefused, NotFound, ScreenChanged
from hisa.events import Acted, Observed, SequenceStopped
from hisa.hooks import Step, StepAction
from hisa.protocols import ExecutedCall, GroundedCall, Grounder, Outcome, Planner, ToolCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import by_number

__all__ = ["combine_outcomes", "ground_calls", "make_calls", "plan_call"]

_TRIES = 3
"""How often an action is tried if its place changes: as decided, on a new look, by its name."""


async def plan_call(step: Step, planner: Planner) -> ToolCall:
    """Ask the planner for the next call; a hook may interrupt it, see `Step.planning`.

    Raises:
        ActionRefused: a hook interrupted the planner; the text says why.
        InvalidReply, ModelUnavailable, BudgetExceeded: from the planner.
    """
    own = asyncio.current_task()
    assert own is not None, "a run is an asyncio task"
    stops = own.cancelling()
    step.planning = asyncio.ensure_future(planner.plan(step.task, step.look, step.view))
    try:
        call = await step.planning
    except asyncio.CancelledError:
        if not step.interrupted or own.cancelling() > stops:
            raise
        raise ActionRefused(step.interrupted) from None
    finally:
        step.planning = None
    if own.cancelling() > stops:  # the planner caught the cancellation that stops the run
        raise asyncio.CancelledError
    return call


async def ground_calls(
    call: ToolCall, observation: Observation, grounder: Grounder
) -> GroundedCall:
    """Ground the targets of a call and of those that follow it.

    If a later target is not found, the sequence ends before its call, and ``missing_reason`` of
    the grounded call says why.

    Args:
        call: the planner's call, with those that follow it.
        observation: the look on which all targets are grounded.
        grounder: turns each description into a place.

    Raises:
        NotFound: the target of the first call was not found.
        ActionRefused: the source of a gui_action cannot be parsed.
        ModelUnavailable, BudgetExceeded: from the grounder.
    """
    calls = [_with_actions(part) for part in call.sequence]
    if not call.following:
        return await grounder.resolve(calls[0], observation)
    alone = (replace(part, following=()) for part in calls)
    results = await asyncio.gather(
        *(grounder.resolve(part, observation) for part in alone), return_exceptions=True
    )
    return _join_grounded(call, results)


def _with_actions(call: ToolCall) -> ToolCall:
    """Returns the call with its parsed actions, if a planner or hook wrote only the source."""
    if call.tool != "gui_action" or call.actions or not isinstance(call.input, str):
        return call
    return replace(call, actions=parse(call.input))


def _join_grounded(call: ToolCall, results: list[GroundedCall | BaseException]) -> GroundedCall:
    """Returns the calls up to the first one whose target was not found.

    Raises:
        BaseException: the error of the first call, or any error other than `NotFound`.
    """
    for error in results:
        if isinstance(error, BaseException) and not isinstance(error, NotFound):
            raise error
    grounded: list[GroundedCall] = []
    missing_reason = ""
    for number, result in enumerate(results, 1):
        if isinstance(result, BaseException):
            if number == 1:
                raise result
            missing_reason = f"action {number}: {result}"
            break
        grounded.append(result)
    first, *rest = grounded
    # A resolved call has the words for a target that the planner chose by its number.
    following = (*(part.call for part in rest), *call.following[len(rest) :])
    full_call = replace(first.call, following=following)
    return replace(first, call=full_call, following=tuple(rest), missing_reason=missing_reason)


async def make_calls(step: Step, *, settle: float) -> Outcome:
    """Do the calls of a step, until one fails, is refused or ends the run.

    Args:
        step: a step with its grounded call; ``actions`` and ``executed_calls`` are filled in.
        settle: longest wait, in seconds, for the screen to stop changing between two calls.

    Raises:
        ActionRefused, InvalidReply: a hook refused the first action; nothing was done.
        EnvironmentFailed: the machine broke.
    """
    call = step.grounded
    assert call is not None, "the call was grounded"
    observation, reason = step.look, ""
    for part in call.sequence:
        alone = replace(part, following=(), missing_reason="")
        try:
            if step.executed_calls:
                observation = await _look_between(step, settle)
            outcome = await _make_call(step, alone, observation)
        except ScreenChanged as error:
            reason = str(error)
            break
        if outcome.refused:  # by a hook: the call does not count as executed
            reason = f"action {len(step.executed_calls) + 1} was refused: {outcome.error}"
            break
        if not outcome.ok or any(a.executed for a in step.actions if a.full_call is alone):
            step.run.log.emit(_build_acted_event(alone, outcome))
        step.executed_calls.append(
            ExecutedCall(_with_target_look(alone, step.actions), outcome, observation)
        )
        reason = _find_stop_reason(alone, outcome, len(step.executed_calls))
        if reason or outcome.ends:
            break
    planned = len(call.call.sequence)
    if planned > 1:
        reason = (reason or call.missing_reason) if len(step.executed_calls) < planned else ""
        if reason:
            stopped = SequenceStopped(made=len(step.executed_calls), of=planned, reason=reason)
            step.run.log.emit(stopped)
    if not step.executed_calls:
        outcome = Outcome(ok=False, error=f"nothing was done: {reason}")
        step.run.log.emit(_build_acted_event(call, outcome))
        return outcome
    return (
        combine_outcomes(step.executed_calls, reason)
        if planned > 1
        else step.executed_calls[0].outcome
    )


async def _make_call(step: Step, call: GroundedCall, observation: Observation) -> Outcome:
    """Do a call, press by press.

    Raises:
        ScreenChanged: the place of the first press has changed; nothing was done.
        ActionRefused: see `make_calls`.
    """
    parts = presses(call.actions)
    executed_actions: tuple[Action, ...] = ()
    outcomes = []
    for part, following in zip(parts, [*parts[1:], ()], strict=True):
        piece = call if len(parts) == 1 else call.part(part)
        if following:  # move the pointer to the next press now, to see what opens there
            piece = replace(piece, next_moves=tuple(arrival(following)[0][-1:]))
        number = len(step.actions) + 1
        action = StepAction(
            piece, observation, number, full_call=call, earlier_actions=executed_actions
        )
        try:
            outcome = await _act(step, action)
        except (ActionRefused, ScreenChanged) as error:
            if number == 1 or (not executed_actions and isinstance(error, ScreenChanged)):
                raise
            outcome = Outcome(ok=False, error=str(error), refused=isinstance(error, ActionRefused))
        if executed_actions and not outcome.ok:
            return await _abort_call(step, call, executed_actions, outcome)
        outcomes.append(outcome)
        if not outcome.ok or outcome.ends:
            break
        executed_actions += part
    if len(outcomes) == 1:
        return outcomes[0]
    return replace(
        outcomes[-1],
        points=tuple(points(call.actions)),
        seconds=sum(outcome.seconds for outcome in outcomes),
        began=outcomes[0].began,
    )


async def _act(step: Step, action: StepAction) -> Outcome:
    """Do one action, and call the hooks before and after it.

    Raises:
        ScreenChanged: its place changed at every try; it was not done.
        ActionRefused, InvalidReply: from a hook.
    """
    step.actions.append(action)
    run = step.run
    while action.outcome is None:
        await run.hooks.call("before_action", step, action, again=action.tries > 0)
        if action.outcome is None:
            action.executed = True
            try:
                action.outcome = await run.tools.execute(action.call, action.look, run.environment)
            except ScreenChanged as error:
                action.tries, action.changed = action.tries + 1, str(error)
                if action.tries == _TRIES:
                    raise
    await run.hooks.call("after_action", step, action)
    return action.outcome


async def _abort_call(
    step: Step, call: GroundedCall, executed_actions: tuple[Action, ...], last: Outcome
) -> Outcome:
    """Release the keys that are still down, and say how much of a call was done."""
    if releases := list(_list_key_releases(executed_actions)):
        await step.environment.act(releases)
    count, rest = len(kinds(executed_actions)), len(kinds(call.actions[len(executed_actions) :]))
    error = f"{count} of {count + rest} acts were done, the rest was not: {last.error}"
    return Outcome(ok=False, error=error, points=tuple(points(executed_actions)))


def _list_key_releases(executed_actions: Sequence[Action]) -> Iterator[Action]:
    """Yields the actions that release the keys which are still down, the last pressed first."""
    down = [action.key for action in executed_actions if isinstance(action, KeyDown)]
    up = [action.key for action in executed_actions if isinstance(action, KeyUp)]
    yield from (KeyUp(key) for key in reversed(down) if down.count(key) > up.count(key))


async def _look_between(step: Step, settle: float) -> Observation:
    """Take a look between two calls and log it like any other."""
    started = time.monotonic()
    observation = await step.environment.observe(settle=settle)
    seconds = time.monotonic() - started
    picture = await step.run.log.save(observation.screenshot)
    step.run.log.emit(Observed.of(observation, file_names=(picture, ""), seconds=seconds))
    return observation


def _with_target_look(call: GroundedCall, actions: Sequence[StepAction]) -> GroundedCall:
    """Returns the call with the look on which its targets were last grounded."""
    first = next(action for action in actions if action.full_call is call)
    return replace(call, target_look=first.call.target_look or call.target_look)


def _build_acted_event(call: GroundedCall, outcome: Outcome) -> Acted:
    return Acted(
        tool=call.call.tool,
        input=call.input,
        points=tuple((point.x, point.y) for point in outcome.points),
        ok=outcome.ok,
        output=outcome.output,
        error=outcome.error,
        exit_code=outcome.exit_code,
        seconds=outcome.seconds,
        ends=outcome.ends,
    )


def _find_stop_reason(call: GroundedCall, outcome: Outcome, number: int) -> str:
    """Returns why no other call can follow this one; empty if one can."""
    if not outcome.ok:
        detail = outcome.error or outcome.output or f"exit status {outcome.exit_code}"
        return f"action {number} failed: {detail}"
    if any(isinstance(action, Scroll) for action in call.actions):
        return f"action {number} scrolled, so that nothing is where it was"
    return ""


def combine_outcomes(executed_calls: Sequence[ExecutedCall], stopped: str) -> Outcome:
    """Returns the outcome of a sequence: it failed if any call did, and ends as the last one."""
    outcomes = [call.outcome for call in executed_calls]
    last = outcomes[-1]
    if len(executed_calls) == 1:
        return replace(last, executed_calls=tuple(executed_calls), stopped=stopped)
    return Outcome(
        ok=all(outcome.ok for outcome in outcomes),
        output=by_number((outcome.output for outcome in outcomes), between="\n"),
        error=by_number((outcome.error for outcome in outcomes), between="\n"),
        exit_code=last.exit_code,
        ends=last.ends,
        points=tuple(point for outcome in outcomes for point in outcome.points),
        seconds=sum(outcome.seconds for outcome in outcomes),
        began=outcomes[0].began,
        executed_calls=tuple(executed_calls),
        stopped=stopped,
    )
