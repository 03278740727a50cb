"""The state manager: everything the agent knows, bounded in size (HiSA, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hisa.config import StateSettings
from hisa.errors import ActionRefused
from hisa.events import (
    Abstracted,
    Acted,
    Event,
    Guidance,
    HeldBack,
    LoopDetected,
    Planned,
    Refined,
    RuleEntered,
)
from hisa.hooks import Hook, Step, StepAction
from hisa.models.profile import Profile
from hisa.models.tokens import estimate_tokens
from hisa.protocols import (
    Advice,
    Emit,
    GroundedCall,
    Model,
    Outcome,
    Pattern,
    StateView,
    StepSummary,
    Task,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.state.background_changes import BackgroundChanges, LookAgain
from hisa.state.base import Memory, NewSteps
from hisa.state.changes import describe_changes
from hisa.state.context import ContextRefiner
from hisa.state.facts import smallest_focused
from hisa.state.loops import Attempt, Loop, action_key, find_loop, find_tries, refusal
from hisa.state.notes import Notes, take_notes
from hisa.state.roi import exact_pair, full_pair, roi_pair
from hisa.state.step_abstraction import StepAbstractor
from hisa.state.token_limits import cut_at_line, cut_at_sentence
from hisa.state.written_files import WrittenSince
from hisa.text.prompt_text import by_number, clean, ends, field_text, one_line, speaks_of

__all__ = ["HierarchicalState", "Repeats", "build_state"]


class HierarchicalState:
    """The bounded state <E_t, R_k, P>. It depends only on the run's events, see `restore`.

    All lines are kept for pattern induction; the planner sees only those since the last
    refinement.

    Args:
        abstractor: level 1.
        refiner: level 2.
        emit: gets `Abstracted`, `Refined` and `LoopDetected`, among others.
        memory: level 3; None: nothing is recalled or learned.
        settings: limits and the refinement interval.
        again: takes one more look, to tell what the screen changes by itself; None: no look is
            taken.
    """

    def __init__(
        self,
        abstractor: StepAbstractor,
        refiner: ContextRefiner,
        *,
        emit: Emit,
        memory: Memory | None = None,
        settings: StateSettings | None = None,
        again: LookAgain | None = None,
    ) -> None:
        self._background = BackgroundChanges(again)
        self._abstractor = abstractor
        self._refiner = refiner
        self._emit = emit
        self._memory = memory
        self._settings = settings or StateSettings()
        self._advice = ""
        self._advised_ids: tuple[str, ...] = ()
        self._waiting_rules: dict[str, tuple[str, ...]] = {}
        self._attempts: list[Attempt] = []
        self._refined = ""
        self._refined_to = 0
        self._judged_look: Observation | None = None
        self._shown_look: Observation | None = None
        self._meanwhile = ""
        self._moved = False
        self._held_inputs: tuple[str | Mapping[str, object], ...] = ()

    async def recall(self, task: Task) -> Advice:
        """Level 3 before the first step; see `hisa.protocols.StateManager`."""
        advice = Advice() if self._memory is None else await self._memory.recall(task)
        self._advise(advice.text, tuple(hit.pattern.id for hit in advice.patterns))
        self._waiting_rules = dict(advice.waiting)
        return advice

    def view(self, observation: Observation | None = None) -> StateView:
        """Returns the planner's context for the next step; see `hisa.protocols.StateManager`."""
        self._take_rules(observation)
        loop = self._loop()
        newest_verdict = self._attempts[-1].event.verdict if self._attempts else None
        lines = tuple(attempt.event.line for attempt in self._attempts)
        *older, newest = lines[self._shown_from() :] or ("",)
        self._background.watch(self._judged_look, observation)
        self._shown_look = observation
        self._moved = self._looks_differ(self._judged_look, observation)
        newest += self._meanwhile + self._describe_change_since(observation)
        notes = self._notes()
        return StateView(
            advice=self._advice,
            refined=self._refined,
            lines=lines,
            steps=tuple(filter(None, (*older, newest))),
            notes=notes.text if notes.lines else "",
            notice="\n".join(filter(None, (loop.notice if loop else "", notes.refused))),
            output=self._newest_output(),
            troubled=loop is not None or newest_verdict in ("failed", "unexpected"),
        )

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1: write the line of a step, keep it and return it.

        Args:
            call: what was done, with coordinates.
            before: the look before it.
            after: the look after it.
            outcome: what the tool returned.
        """
        number = len(self._attempts) + 1  # counts lines: an interrupted step has none
        self._background.watch(self._shown_look, before)
        moved = (
            self._moved
            if before is self._shown_look
            else self._looks_differ(self._judged_look, before)
        )
        self._judged_look = after
        self._meanwhile = self._describe_change_while_planned(before)
        before = await self._background.look_before(call, before, after)
        shown_call = _hide_place(call, outcome)
        executed_calls = tuple(
            replace(m, call=_hide_place(m.call, m.outcome)) for m in outcome.executed_calls
        )
        observations = before, after
        event = await self._abstractor.abstract(
            number, shown_call, observations, replace(outcome, executed_calls=executed_calls)
        )
        refocused = _has_focus_moved(before, after)
        event = event.model_copy(update={"moved": moved, "refocused": refocused})
        ran = (
            self._held_inputs
            or [part.call.input for part in outcome.executed_calls]
            or [call.input]
        )
        last = outcome.executed_calls[-1].outcome if outcome.executed_calls else outcome
        held, self._held_inputs = bool(self._held_inputs), ()
        printed = _format_output(outcome.output, outcome.error)
        self._attempts.append(
            _build_attempt(call.call, ran, event, last, output=printed, held=held)
        )
        self._emit(event)
        loop = self._loop()
        if loop is not None:
            self._emit(LoopDetected(action=loop.action, times=loop.times))
        return event.line

    def require_new(self, call: GroundedCall, tools: Iterable[str] = ()) -> None:
        """Refuse a call that failed, or twice had no effect, on the present screen.

        Args:
            call: the call, with or without coordinates.
            tools: names of tools that the refusal suggests instead.

        Raises:
            ActionRefused: the text says how the call ended before, and what to do instead.
        """
        inputs = tuple(part.input for part in call.sequence)
        keys = tuple(map(action_key, call.call.sequence, inputs))
        same = any(attempt.keys[:1] in ((), keys[:1]) for attempt in self._attempts)
        tries = find_tries(self._attempts, keys) if same and not self._moved else {}
        if not tries:
            return
        self._held_inputs = inputs
        self._emit(HeldBack(inputs=inputs, steps=tuple(tries)))
        raise ActionRefused(refusal(tries, [*tools]))

    async def refine_if_due(self, task: Task) -> None:
        """Level 2 after every N steps; does nothing before that, or with ``refine = "window"``."""
        due = len(self._attempts) - self._refined_to >= self._settings.refine_every
        if not due or self._settings.refine == "window":
            return
        last = len(self._attempts)
        new = self._attempts[self._refined_to :]
        steps = NewSteps(
            lines=tuple(attempt.event.line for attempt in new),
            thoughts=tuple(attempt.call.thought for attempt in new),
            notes=self._notes().text,
            by_program=all(attempt.call.by_program for attempt in new),
        )
        self._refined = await self._refiner.refine(
            task, self._refined, steps=steps, first=1, last=last
        )
        self._refined_to = last
        self._emit(Refined(text=self._refined, first=1, last=last))

    async def induct(self, task: Task, run_id: str) -> tuple[Pattern, ...]:
        """Level 3 from all lines of the run; learns nothing without a memory or a step."""
        if self._memory is None or not self._attempts:
            return ()
        lines = tuple(attempt.event.line for attempt in self._attempts)
        return await self._memory.induct(task, run_id, lines=lines)

    async def credit(self, *, won: bool | None) -> None:
        """Credits the patterns of the advice; see `hisa.protocols.StateManager`."""
        if self._memory is not None:
            steps = [
                StepSummary(attempt.call.thought, attempt.event.line) for attempt in self._attempts
            ]
            await self._memory.credit(self._advised_ids, steps=steps, won=won)

    def restore(self, events: Iterable[Event]) -> None:
        """Rebuild the state from the events of a run; nothing is emitted and no model is asked.

        A step that was interrupted before it had a line leaves no trace. For a step that was done
        twice, the last time counts.

        Args:
            events: the events of one run, in order.
        """
        self._advice, self._attempts = "", []
        refined: list[Refined] = []
        planned: Planned | None = None
        held: HeldBack | None = None
        acted: list[Acted] = []
        for event in events:
            match event:
                case Guidance():
                    shown = (use.id for use in event.patterns if use.shown)
                    self._advise(event.advice, tuple(shown))
                    self._waiting_rules = dict(event.waiting)
                case RuleEntered():
                    self._enter(event.rule)
                case Planned():
                    planned, held, acted = event, None, []
                case HeldBack():
                    held = event
                case Acted():
                    acted.append(event)
                case Abstracted():
                    at = event.step - 1 if event.step else len(self._attempts)
                    self._attempts[at:] = [_rebuild_attempt(event, planned, acted, held)]
                    planned, held, acted = None, None, []
                    refined = [earlier for earlier in refined if earlier.last <= at]
                case Refined():
                    refined.append(event)
                case _:
                    pass
        self._refined = refined[-1].text if refined else ""
        self._refined_to = refined[-1].last if refined else 0

    def _advise(self, text: str, patterns: tuple[str, ...]) -> None:
        self._advised_ids = patterns
        # A binding rule is shown whole or said to be missing, never cut.
        limit = self._settings.advice_tokens + self._settings.lesson_tokens
        self._advice = cut_at_line(clean(text), limit)

    def _take_rules(self, observation: Observation | None) -> None:
        """Add the waiting rules that speak of what the look shows, as far as there is room."""
        if observation is None or not self._waiting_rules:
            return
        shown = _words_of(observation)
        for rule, words in [*self._waiting_rules.items()]:
            if speaks_of(shown, words) and self._enter(rule):
                self._emit(RuleEntered(rule=rule))

    def _enter(self, rule: str) -> bool:
        """Add a rule at the end of the advice; returns whether there was room for it."""
        line = rule if rule.startswith("MUST") else f"MUST: {rule}"
        advice = f"{self._advice}\n- {line}".strip()
        self._waiting_rules.pop(rule, None)
        fits = (
            estimate_tokens(advice) <= self._settings.advice_tokens + self._settings.lesson_tokens
        )
        self._advice = advice if fits else self._advice
        return fits

    def _shown_from(self) -> int:
        """Returns the index of the first step whose line the planner sees."""
        if self._settings.refine == "window":
            return max(0, len(self._attempts) - self._settings.window)
        # The planner has not read the newest result yet, so a summary must not replace it.
        return max(0, min(self._refined_to, len(self._attempts) - 1))

    def _describe_change_while_planned(self, before: Observation) -> str:
        """Returns what changed between the look that a step was planned on and the step itself.

        A page that appeared during planning is not an effect of the step.
        """
        text = _describe_difference(self._background.without(self._shown_look, before), before)
        return f" While it was planned, the screen had changed. {text}" if text else ""

    def _describe_change_since(self, observation: Observation | None) -> str:
        """Returns what changed since the newest step was judged; empty if nothing did."""
        if not self._moved:
            return ""
        text = _describe_difference(
            observation and self._background.without(self._judged_look, observation), observation
        )
        return f" After that was written, the screen changed: go by the screenshot. {text}".rstrip()

    def _newest_output(self) -> str:
        """Returns the newest step's output; empty if the step's line has all of it."""
        if not self._attempts:
            return ""
        newest = self._attempts[-1]
        has_columns = "\t" in newest.output or "  " in newest.output
        known = one_line(newest.output) in newest.event.line and not has_columns
        return "" if known else newest.output

    def _notes(self) -> Notes:
        notes = [attempt.call.note for attempt in self._attempts]
        return take_notes(notes) if any(note is not None for note in notes) else Notes()

    def _looks_differ(self, earlier: Observation | None, later: Observation | None) -> bool:
        """Whether two looks visibly differ; False if one is missing."""
        if earlier is None or later is None or earlier is later:
            return False
        calm = self._background.without(earlier, later)
        return calm is not None and full_pair(calm, later) is not None

    def _loop(self) -> Loop | None:
        return find_loop(self._attempts[-_LOOP_WINDOW:])


class Repeats(Hook):
    """Refuses a call that was already tried on this very screen and did not help.

    Args:
        state: knows what was tried.
        others: returns the names of other tools to suggest, for a tool and a look.
    """

    name = "repeats"

    def __init__(
        self, state: HierarchicalState, others: Callable[[str, Observation], Iterable[str]]
    ) -> None:
        self._state, self._others = state, others

    async def after_plan(self, step: Step) -> None:
        """Refuse a call before its targets are grounded; see `HierarchicalState.require_new`."""
        if call := step.call:
            self._require_new(GroundedCall(call, call.input, call.actions), step)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Refuse a call whose coordinates are known by now."""
        if action.number == 1 and step.grounded is not None:
            self._require_new(step.grounded, step)

    def _require_new(self, call: GroundedCall, step: Step) -> None:
        self._state.require_new(call, self._others(call.call.tool, step.look))


def _words_of(observation: Observation) -> str:
    """Returns all words of a look, in lower case."""
    texts = [f"{window.title} {window.app}" for window in observation.windows]
    texts += [f"{e.role} {e.name} {e.label} {e.text}" for e in observation.elements or ()]
    return "\n".join(texts).casefold()


def _has_focus_moved(before: Observation, after: Observation) -> bool:
    """Whether another element has the focus now; False if the elements are not known."""
    old, new = (smallest_focused(observation.all_elements or ()) for observation in (before, after))
    return old is not None and new is not None and (old.role, old.box) != (new.role, new.box)


def _describe_difference(earlier: Observation | None, later: Observation | None) -> str:
    """Returns what differs in two looks, in two sentences; empty if the elements do not tell."""
    if earlier is None or later is None or (pair := full_pair(earlier, later)) is None:
        return ""
    changes = describe_changes(earlier, later, pair.box) or ()
    return cut_at_sentence(field_text(" ".join(changes[:_SENTENCES])), _CHANGE_TOKENS)


_SENTENCES = 2
_CHANGE_TOKENS = 50
"""Most tokens on a change that is no effect of a step: room for a window's title, a message."""

_LOOP_WINDOW = 50
"""Number of newest steps that are searched for loops."""

_OUTPUT_CHARS = 2000
"""Most characters of the newest output that the planner reads: a page of text."""


def _hide_place(call: GroundedCall, outcome: Outcome) -> GroundedCall:
    """Returns the call; if it was refused, as the planner wrote it, so without coordinates."""
    return replace(call, input=call.call.input) if outcome.refused else call


def _format_output(output: str, error: str) -> str:
    """Returns output and error of a tool; if they are too long, their beginning and end."""
    full_text = "\n".join(ends(part, _READ) for part in (output, error) if part.strip())
    text = clean(full_text, laid_out=True)
    return text if len(text) <= _OUTPUT_CHARS else ends(clean(full_text), _OUTPUT_CHARS)


_READ = 20_000
"""Characters of an output that are read: more than any built-in tool keeps."""


def build_state(
    model: Model,
    settings: StateSettings,
    *,
    emit: Emit,
    memory: Memory | None = None,
    written: WrittenSince | None = None,
    profile: Profile | None = None,
    again: LookAgain | None = None,
) -> HierarchicalState:
    """Build the state manager with both model-written levels, or what the settings ask for instead.

    Args:
        model: the state role's model.
        settings: limits and the refinement interval.
        emit: gets the state's events.
        memory: level 3; None: off.
        written: tells which files a step wrote; None: this is not known.
        profile: the profile of the model: a small model writes neither lines nor summaries. None:
            a capable model.
        again: see `HierarchicalState`.
    """
    by_facts = profile is not None and profile.small
    raw = settings.steps != "abstracted"
    pairs = {False: full_pair, True: roi_pair, "exact": exact_pair}
    abstractor = StepAbstractor(
        model,
        settings.step_tokens,
        pair=full_pair if raw else pairs[settings.roi],
        written=written,
        by_facts=by_facts,
        raw=raw,
        pictures=profile is None or profile.sees_pictures,
    )
    return HierarchicalState(
        abstractor,
        ContextRefiner(model, settings.refined_tokens, by_facts=by_facts),
        emit=emit,
        memory=memory,
        settings=settings,
        again=again,
    )


def _rebuild_attempt(
    event: Abstracted, planned: Planned | None, acted: Sequence[Acted], held: HeldBack | None
) -> Attempt:
    """Returns the attempt that a step was, from its events."""
    call = ToolCall(thought="", tool=acted[0].tool if acted else "", input="")
    if planned is not None:
        first, *following = (
            ToolCall(thought="", **dict(planned_call)) for planned_call in planned.sequence
        )
        call = replace(
            first, thought=planned.thought, following=tuple(following), note=planned.note
        )
    ran = held.inputs if held else [act.input for act in acted] or [call.input]
    last = acted[-1] if acted else Outcome(ok=True)
    return _build_attempt(
        call, ran, event, last, output=_format_outputs(acted), held=held is not None
    )


def _build_attempt(
    call: ToolCall,
    ran: Iterable[str | Mapping[str, object]],
    event: Abstracted,
    last: Outcome | Acted,
    *,
    output: str,
    held: bool,
) -> Attempt:
    """Returns the attempt that a step was; ``last`` is the result of the last call that ran."""
    keys = tuple(map(action_key, call.sequence, ran))
    reason = "" if last.ok else one_line(f"{last.error} {last.output}"[:_READ]) or "no reason"
    return Attempt(call, keys, event, reason, output, last.exit_code is not None, held)


def _format_outputs(acted: Sequence[Acted]) -> str:
    """Returns the output of a step's tools, as `_format_output` does for the step's outcome."""
    if len(acted) == 1:
        return _format_output(acted[0].output, acted[0].error)
    outputs, errors = ([getattr(act, name) for act in acted] for name in ("output", "error"))
    return _format_output(by_number(outputs, between="\n"), by_number(errors, between="\n"))
