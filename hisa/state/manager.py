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
from hisa.state.base import Memory, NewSteps
from hisa.state.by_itself import ByItself, LookAgain
from hisa.state.changes import describe_changes
from hisa.state.context import ContextRefiner
from hisa.state.facts import smallest_focused
from hisa.state.loops import Attempt, Loop, action_key, find_loop, find_tries, refusal
from hisa.state.notes import Notes, take_notes
from hisa.state.roi import exact_pair, roi_pair, whole_pair
from hisa.state.step_abstraction import StepAbstractor
from hisa.state.token_limits import cut_at_sentence, whole_lines
from hisa.state.written_files import WrittenSince
from hisa.text.prompt_text import by_number, clean, ends, field_text, one_line, speaks_of

__all__ = ["HierarchicalState", "Repeats", "build_state"]


class HierarchicalState:
    """The bounded state <E_t, R_k, P>: a function of the run's events, see `restore`.

    Every line is kept for pattern induction; only those since the last refinement are shown.

    Args:
        abstractor: level 1.
        refiner: level 2.
        emit: gets `Abstracted`, `Refined` and `LoopDetected`.
        memory: level 3; None: nothing is recalled or learned.
        settings: limits and the refinement interval.
        again: looks once more, to tell what goes on by itself; None: nobody does.
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
        self._by_itself = ByItself(again)
        self._abstractor = abstractor
        self._refiner = refiner
        self._emit = emit
        self._memory = memory
        self._settings = settings or StateSettings()
        self._advice = ""
        self._advised: tuple[str, ...] = ()
        self._waiting: dict[str, tuple[str, ...]] = {}
        self._kept: list[Attempt] = []
        self._refined = ""
        self._refined_to = 0
        self._judged: Observation | None = None
        self._shown: Observation | None = None
        self._meanwhile = ""
        self._moved = False
        self._held: tuple[str | Mapping[str, object], ...] = ()

    async def recall(self, task: Task) -> Advice:
        """Level 3 before the first step; see `hisa.protocols.StateManager`."""
        advice = Advice() if self._memory is None else await self._memory.recall(task)
        self._advise(advice.text, tuple(hit.pattern.id for hit in advice.patterns))
        self._waiting = dict(advice.waiting)
        return advice

    def view(self, look: Observation | None = None) -> StateView:
        """Returns the planner's context for the next step; see `hisa.protocols.StateManager`."""
        self._take_rules(look)
        loop, newest_verdict = self._loop(), self._kept[-1].seen.verdict if self._kept else None
        *older, newest = [kept.seen.line for kept in self._kept[self._shown_from() :]] or [""]
        self._by_itself.watch(self._judged, look)
        self._shown, self._moved = look, self._differ(self._judged, look)
        notes = self._notes()
        return StateView(
            advice=self._advice,
            refined=self._refined,
            lines=tuple(kept.seen.line for kept in self._kept),
            steps=tuple(filter(None, (*older, f"{newest}{self._meanwhile}{self._since(look)}"))),
            notes=notes.text if notes.lines else "",
            notice="\n".join(filter(None, (loop.notice if loop else "", notes.refused))),
            output=self._newest_output(),
            troubled=loop is not None or newest_verdict in ("failed", "unexpected"),
        )

    async def abstract(
        self, call: GroundedCall, before: Observation, after: Observation, outcome: Outcome
    ) -> str:
        """Level 1; see `hisa.protocols.StateManager`."""
        number = len(self._kept) + 1  # of the line: steps that were cut off have none
        self._by_itself.watch(self._shown, before)
        moved = self._moved if before is self._shown else self._differ(self._judged, before)
        self._judged = after
        self._meanwhile = self._while_planned(before)
        before = await self._by_itself.look_before(call, before, after)
        told = _untold(call, outcome)
        made = tuple(replace(m, call=_untold(m.call, m.outcome)) for m in outcome.made)
        looks = before, after
        seen = await self._abstractor.abstract(number, told, looks, replace(outcome, made=made))
        refocused = _refocused(before, after)
        seen = seen.model_copy(update={"moved": moved, "refocused": refocused})
        ran = self._held or [made.call.input for made in outcome.made] or [call.input]
        last = outcome.made[-1].outcome if outcome.made else outcome
        held, self._held = bool(self._held), ()
        printed = _printed(outcome.output, outcome.error)
        self._kept.append(_attempt(call.call, ran, seen, last, output=printed, held=held))
        self._emit(seen)
        loop = self._loop()
        if loop is not None:
            self._emit(LoopDetected(action=loop.action, times=loop.times))
        return seen.line

    def require_new(self, call: GroundedCall, tools: Iterable[str] = ()) -> None:
        """Refuse a call that failed, or had no effect twice, on the screen as it is.

        ``call`` has its places found, or not yet looked for; ``tools`` are named as others.

        Raises:
            ActionRefused: what it came to, and what there is instead.
        """
        inputs = tuple(each.input for each in call.sequence)
        keys = tuple(map(action_key, call.call.sequence, inputs))
        same = any(attempt.keys[:1] in ((), keys[:1]) for attempt in self._kept)
        tries = find_tries(self._kept, keys) if same and not self._moved else {}
        if not tries:
            return
        self._held = inputs
        self._emit(HeldBack(inputs=inputs, steps=tuple(tries)))
        raise ActionRefused(refusal(tries, [*tools]))

    async def refine_if_due(self, task: Task) -> None:
        """Level 2 after every N steps; asked too early, or with a window, it does nothing."""
        due = len(self._kept) - self._refined_to >= self._settings.refine_every
        if not due or self._settings.refine == "window":
            return
        last = len(self._kept)
        new = self._kept[self._refined_to :]
        steps = NewSteps(
            lines=tuple(kept.seen.line for kept in new),
            thoughts=tuple(kept.call.thought for kept in new),
            notes=self._notes().text,
            by_program=all(kept.call.by_program for kept in new),
        )
        self._refined = await self._refiner.refine(
            task, self._refined, steps=steps, first=1, last=last
        )
        self._refined_to = last
        self._emit(Refined(text=self._refined, first=1, last=last))

    async def induct(self, task: Task, run_id: str) -> tuple[Pattern, ...]:
        """Level 3 from all lines of the run; nothing without a memory or a step."""
        if self._memory is None or not self._kept:
            return ()
        lines = tuple(kept.seen.line for kept in self._kept)
        return await self._memory.induct(task, run_id, lines=lines)

    async def credit(self, *, won: bool | None) -> None:
        """Counts for the patterns of the advice; see `hisa.protocols.StateManager`."""
        if self._memory is not None:
            steps = [StepSummary(kept.call.thought, kept.seen.line) for kept in self._kept]
            await self._memory.credit(self._advised, steps=steps, won=won)

    def restore(self, events: Iterable[Event]) -> None:
        """Become the state that wrote these events; nothing is emitted and no model is asked.

        ``events`` are those of one run in their order. A step that was cut off before it was
        abstracted leaves no trace; one that was done twice counts as it was done last.
        """
        self._advice, self._kept = "", []
        refined: list[Refined] = []
        planned: Planned | None = None
        held: HeldBack | None = None
        acted: list[Acted] = []
        for event in events:
            match event:
                case Guidance():
                    shown = (use.id for use in event.patterns if use.shown)
                    self._advise(event.advice, tuple(shown))
                    self._waiting = dict(event.waiting)
                case RuleEntered():
                    self._enter(event.rule)
                case Planned():
                    planned, held, acted = event, None, []
                case HeldBack():
                    held = event
                case Acted():
                    acted.append(event)
                case Abstracted():
                    at = event.step - 1 if event.step else len(self._kept)
                    self._kept[at:] = [_deed(event, planned, acted, held)]
                    planned, held, acted = None, None, []
                    refined = [earlier for earlier in refined if earlier.last <= at]
                case Refined():
                    refined.append(event)
                case _:
                    pass
        self._refined = refined[-1].text if refined else ""
        self._refined_to = refined[-1].last if refined else 0

    def _advise(self, text: str, patterns: tuple[str, ...]) -> None:
        self._advised = patterns
        # A rule that binds is passed on whole or said to be missing, never cut.
        limit = self._settings.advice_tokens + self._settings.lesson_tokens
        self._advice = whole_lines(clean(text), limit)

    def _take_rules(self, look: Observation | None) -> None:
        """Let the rules enter that speak of what the look shows, as long as there is room."""
        if look is None or not self._waiting:
            return
        shown = _words_of(look)
        for rule, words in [*self._waiting.items()]:
            if speaks_of(shown, words) and self._enter(rule):
                self._emit(RuleEntered(rule=rule))

    def _enter(self, rule: str) -> bool:
        """Whether there was room for one more rule; it goes to the end, so that the rest stays."""
        line = rule if rule.startswith("MUST") else f"MUST: {rule}"
        told = f"{self._advice}\n- {line}".strip()
        self._waiting.pop(rule, None)
        fits = estimate_tokens(told) <= self._settings.advice_tokens + self._settings.lesson_tokens
        self._advice = told if fits else self._advice
        return fits

    def _shown_from(self) -> int:
        """The first step that the planner sees."""
        if self._settings.refine == "window":
            return max(0, len(self._kept) - self._settings.window)
        # The planner has not read the newest step's result yet: a summary does not replace it.
        return max(0, min(self._refined_to, len(self._kept) - 1))

    def _while_planned(self, before: Observation) -> str:
        """Says what changed between the look that a step was planned on and the step itself.

        The result tells what came after that: a page that came meanwhile is not the step's doing.
        """
        told = _changed(self._by_itself.without(self._shown, before), before)
        return f" While it was planned, the screen had changed. {told}" if told else ""

    def _since(self, look: Observation | None) -> str:
        """Says what changed since the newest step was judged; empty where nothing did."""
        if not self._moved:
            return ""
        told = _changed(look and self._by_itself.without(self._judged, look), look)
        return f" After that was written, the screen changed: go by the screenshot. {told}".rstrip()

    def _newest_output(self) -> str:
        """Returns the newest step's output; empty where the step's line has all of it."""
        if not self._kept:
            return ""
        newest = self._kept[-1]
        has_columns = "\t" in newest.output or "  " in newest.output
        known = one_line(newest.output) in newest.seen.line and not has_columns
        return "" if known else newest.output

    def _notes(self) -> Notes:
        notes = [kept.call.note for kept in self._kept]
        return take_notes(notes) if any(note is not None for note in notes) else Notes()

    def _differ(self, one: Observation | None, other: Observation | None) -> bool:
        """Whether two looks are seen to differ; a look that is not there is not known to."""
        if one is None or other is None or one is other:
            return False
        calm = self._by_itself.without(one, other)
        return calm is not None and whole_pair(calm, other) is not None

    def _loop(self) -> Loop | None:
        return find_loop(self._kept[-_LOOP_WINDOW:])


class Repeats(Hook):
    """Refuses what was tried on this very screen and did not help.

    Args:
        state: knows what was tried.
        others: names tools to go on with besides one, on a look.
    """

    name = "repeats"

    def __init__(
        self, state: HierarchicalState, others: Callable[[str, Observation], Iterable[str]]
    ) -> None:
        self._state, self._others = state, others

    async def after_plan(self, step: Step) -> None:
        """Refuse a call before its places are looked for; see `HierarchicalState.require_new`."""
        if call := step.call:
            self._require_new(GroundedCall(call, call.input, call.actions), step)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Refuse a call whose places are known by now."""
        if action.number == 1 and step.grounded is not None:
            self._require_new(step.grounded, step)

    def _require_new(self, call: GroundedCall, step: Step) -> None:
        self._state.require_new(call, self._others(call.call.tool, step.look))


def _words_of(look: Observation) -> str:
    """Returns all words of a look, in small letters."""
    told = [f"{window.title} {window.app}" for window in look.windows]
    told += [f"{e.role} {e.name} {e.label} {e.text}" for e in look.elements or ()]
    return "\n".join(told).casefold()


def _refocused(before: Observation, after: Observation) -> bool:
    """Whether another element has the focus, as far as the elements are known."""
    old, new = (smallest_focused(look.all_elements or ()) for look in (before, after))
    return old is not None and new is not None and (old.role, old.box) != (new.role, new.box)


def _changed(one: Observation | None, other: Observation | None) -> str:
    """Returns what differs in two looks, in two sentences; empty where no element tells."""
    if one is None or other is None or (pair := whole_pair(one, other)) is None:
        return ""
    changes = describe_changes(one, other, pair.box) or ()
    return cut_at_sentence(field_text(" ".join(changes[:_SENTENCES])), _CHANGE_TOKENS)


_SENTENCES = 2
_CHANGE_TOKENS = 50
"""Of what changed beside a step: a window's title, a message."""

_LOOP_WINDOW = 50
"""Number of steps in which loops are looked for."""

_OUTPUT_CHARS = 2000
"""Characters of the newest output that the planner reads: a page of text."""


def _untold(call: GroundedCall, outcome: Outcome) -> GroundedCall:
    """The call as the planner wrote it, where it was refused: a refusal hands out no place."""
    return replace(call, input=call.call.input) if outcome.refused else call


def _printed(output: str, error: str) -> str:
    """Output and error of a tool: beginning and end, where there is too much of them."""
    told = "\n".join(ends(part, _READ) for part in (output, error) if part.strip())
    text = clean(told, laid_out=True)
    return text if len(text) <= _OUTPUT_CHARS else ends(clean(told), _OUTPUT_CHARS)


_READ = 20_000
"""Characters of an output that are looked at: more than any built-in tool keeps."""


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
    """The state manager with both model-written levels, or what the settings put in their place.

    Args:
        model: the state role's model.
        settings: limits and the refinement interval.
        emit: gets the state's events.
        memory: level 3; None: off.
        written: tells which files a step wrote; None: nobody does.
        profile: the model's; a small one writes neither lines nor summaries. None: a capable one.
        again: as for `HierarchicalState`.
    """
    by_facts = profile is not None and profile.small
    raw = settings.steps != "abstracted"
    pairs = {False: whole_pair, True: roi_pair, "exact": exact_pair}
    abstractor = StepAbstractor(
        model,
        settings.step_tokens,
        pair=whole_pair if raw else pairs[settings.roi],
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


def _deed(
    event: Abstracted, planned: Planned | None, acted: Sequence[Acted], held: HeldBack | None
) -> Attempt:
    """The attempt that an abstracted step was, from its events."""
    call = ToolCall(thought="", tool=acted[0].tool if acted else "", input="")
    if planned is not None:
        first, *following = (ToolCall(thought="", **dict(each)) for each in planned.sequence)
        call = replace(
            first, thought=planned.thought, following=tuple(following), note=planned.note
        )
    ran = held.inputs if held else [each.input for each in acted] or [call.input]
    last = acted[-1] if acted else Outcome(ok=True)
    return _attempt(call, ran, event, last, output=_printed_by(acted), held=held is not None)


def _attempt(
    call: ToolCall,
    ran: Iterable[str | Mapping[str, object]],
    seen: Abstracted,
    last: Outcome | Acted,
    *,
    output: str,
    held: bool,
) -> Attempt:
    """The attempt that a step was; ``last`` is the result of the last call that ran."""
    keys = tuple(map(action_key, call.sequence, ran))
    reason = "" if last.ok else one_line(f"{last.error} {last.output}"[:_READ]) or "no reason"
    return Attempt(call, keys, seen, reason, output, last.exit_code is not None, held)


def _printed_by(acted: Sequence[Acted]) -> str:
    """The output of the tools of a step, as `_printed` has it of the outcome of all."""
    if len(acted) == 1:
        return _printed(acted[0].output, acted[0].error)
    outputs, errors = ([getattr(each, name) for each in acted] for name in ("output", "error"))
    return _printed(by_number(outputs, between="\n"), by_number(errors, between="\n"))
