"""Decides each action before it is done: from its call, its tool and a look with new elements.

A decision takes a few milliseconds besides reading the elements, and asks no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from hisa.actions import Move, Scroll, Sleep
from hisa.config import PolicySettings
from hisa.environments.confirmation import Ask, Question, ask_person
from hisa.errors import ActionRefused, ToolFailed
from hisa.events import Decided
from hisa.grounder.elements_reader import ElementsReader
from hisa.hooks import StepAction
from hisa.plugins.guard.policy.call_facts import facts_of, is_exempt
from hisa.plugins.guard.policy.named_facts import CallFacts
from hisa.plugins.guard.policy.press_effects import shows_effect
from hisa.plugins.guard.policy.rule_decision import Policy, Reason, Ruling
from hisa.plugins.guard.policy.screen_part import is_browser_in_front
from hisa.plugins.guard.policy.screen_things import NOTHING, PressJudgement, judge_words
from hisa.protocols import Emit, Environment, GroundedCall, Outcome
from hisa.screen.observation import Observation
from hisa.screen.sight import is_seen
from hisa.tools.base import BaseTool, ToolContext
from hisa.wiring.hook_list import has_default_rules

__all__ = ["Decider", "open_policy"]

_GO_ON = (
    "Do not try the same another way: go on without it, or end with infeasible and say what was "
    "refused"
)
_HOME_SECONDS = 10.0
"""Time limit of a command that prints one line; chosen by hand."""
_READINGS = 2
"""Times that elements are read if some could not be: a window may have just opened."""
_LONGEST = 2_000
"""Characters of a call that an event and a refusal keep; the call's own event has it whole."""


@dataclass(frozen=True, slots=True)
class _Word:
    """Whether a call may be executed, a person's answer if one was needed, and the refusal."""

    allowed: bool
    answer: Literal["", "once", "kind", "stop", "refuse", "earlier", "nobody"] = ""
    refusal: str = ""


async def open_policy(
    policy: PolicySettings, environment: Environment, decisions: Iterable[Decided] = ()
) -> Policy:
    """Returns the policy of a run.

    Args:
        policy: the section of the settings.
        environment: the machine; a throw-away machine has no default rules unless they are set.
        decisions: those from before the run was resumed.
    """
    named = bool(policy.folders) or any(rule.path for rule in policy.rules)
    home = await _home(environment) if named else ""
    thrown_away = "throw_away" in environment.capabilities
    guarded = has_default_rules(policy, thrown_away=thrown_away)
    always = (
        kind for decision in decisions if decision.answer == "kind" for kind in decision.kinds
    )
    return Policy(policy, guarded=guarded, home=home, always=always)


async def _home(environment: Environment) -> str:
    """The home folder of the desktop's user; empty if the machine cannot say."""
    if "execute" not in environment.capabilities:
        return ""
    answer = await environment.execute(["sh", "-c", 'printf %s "$HOME"'], timeout=_HOME_SECONDS)
    folder = answer.output.strip().rstrip("/")
    return folder if answer.exit_code == 0 and folder.startswith("/") else ""


class Decider:
    """Decides the actions of a run, asks a person if that is the verdict, and logs decisions.

    Args:
        policy: the rules.
        environment: the machine.
        find: finds a tool by its name.
        emit: gets a `Decided` for each action, and a `Confirmed` for each question.
        ask: asks a person; None if nobody can be asked: what needs a person is then refused.
    """

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        *,
        find: Callable[[str], BaseTool | None],
        emit: Emit,
        ask: Ask | None = None,
    ) -> None:
        self.policy = policy
        self._environment = environment
        self._find = find
        self._emit = emit
        self._ask = ask
        self._reader = ElementsReader(environment, emit=emit)
        self._last: Observation | None = None
        self._newest: Observation | None = None

    async def decide(self, action: StepAction) -> None:
        """Let an action be done; in a dry run, give it an outcome that says what would be done.

        A later press of a call is decided alone if its look shows the effect of the presses before
        it, else together with them.

        Raises:
            ActionRefused: it must not be done; the message is for the planner.
            asyncio.CancelledError: the person who was asked stopped the run.
            EnvironmentFailed: the machine does not answer.
        """
        call, tool = action.call, self._find(action.call.call.tool)
        dry = self.policy.settings.dry_run
        if tool is None or is_exempt(tool):
            if dry and call.call.tool in ("termination", "infeasible"):
                action.outcome = _dry_outcome(f"end the run: {call.input}", "")
            return
        if not action.changed:
            self._last = self._newest  # the look of the previous press
        observation = self._newest = await self._look(call, action.look)
        if dry:
            call = action.full_call
            facts, ruling = await self._judge(call, tool, observation)
            if facts.acts or ruling.verdict != "allow":
                event = _build_decision(
                    call, facts, ruling, word=_Word(ruling.verdict == "allow"), dry=True
                )
                self._emit(event)
                verdict = f"{ruling.verdict} ({ruling.rule})"
                action.outcome = _dry_outcome(f"make {event.tool}: {event.what}", verdict)
                return
        if action.earlier_actions and not self._is_shown(action, observation):
            call = call.part((*action.earlier_actions, *call.actions))
        action.approved |= await self._allow(call, tool, observation)

    def _is_shown(self, action: StepAction, observation: Observation) -> bool:
        """Whether a look shows the effect of a call's earlier part: the rest is then judged alone.

        True too if effects do not matter to the rules.
        """
        if not self.policy.judges_effects:
            return True
        return self._last is not None and shows_effect(
            action.earlier_actions, self._last, observation
        )

    async def _allow(self, call: GroundedCall, tool: BaseTool, observation: Observation) -> bool:
        """Decide and log the decision; returns whether a person was asked and allowed the call.

        Raises:
            ActionRefused: it is not allowed.
        """
        facts, ruling = await self._judge(call, tool, observation)
        word = await self._ask_for_word(call, facts, ruling)
        decided = _build_decision(call, facts, ruling, word=word)
        self._emit(decided)
        if decided.answer == "kind":
            self.policy.always.update(decided.kinds)
        if not word.allowed:
            raise ActionRefused(word.refusal)
        return bool(word.answer)

    async def _judge(
        self, call: GroundedCall, tool: BaseTool, observation: Observation
    ) -> tuple[CallFacts, Ruling]:
        facts = facts_of(
            call,
            tool,
            observation,
            home=self.policy.home,
            judges_effects=self.policy.judges_effects,
            aimed=await self._judge_aim(ToolContext(call, observation, self._environment), tool),
        )
        return facts, self.policy.decide(facts)

    async def _look(self, call: GroundedCall, observation: Observation) -> Observation:
        """Returns the look to judge, with new elements if it matters what would be pressed.

        Elements are also read for the address that a browser shows, if a rule depends on it.
        """
        presses = any(not isinstance(action, (Move, Scroll, Sleep)) for action in call.actions)
        pressing = presses and self.policy.judges_effects
        addressed = self.policy.shows_addresses and is_browser_in_front(observation)
        if not (pressing or addressed) or "elements" not in self._environment.capabilities:
            return observation
        if call.target_look is not None and call.target_look.at >= observation.at:
            observation = call.target_look
        for _ in range(_READINGS):
            observation = await self._reader.recent(observation)
            if observation.complete or is_seen(observation):
                break
        return observation

    async def _judge_aim(self, context: ToolContext, tool: BaseTool) -> PressJudgement:
        """Returns what a tool would press, if that matters and the tool can tell."""
        aim = tool.traits.aim
        if aim is None or not self.policy.judges_effects:
            return NOTHING
        try:
            target = await aim(context, **tool.arguments(context.call.input))
        except ToolFailed as error:
            return PressJudgement(unknown=str(error)[:_LONGEST])
        if target is None:
            return NOTHING
        return judge_words(target.names, target.around, name="what it would press")

    async def _ask_for_word(self, call: GroundedCall, facts: CallFacts, ruling: Ruling) -> _Word:
        """Returns whether the call may be executed, and if not, why."""
        if ruling.verdict == "allow":
            return _Word(True)
        if ruling.verdict == "deny":
            return _Word(False, refusal=self._refusal(ruling, "the policy refuses this"))
        if all(reason.kind in self.policy.always for reason in ruling.reasons):
            return _Word(True, "earlier")
        if self._ask is None:
            refusal = "this needs a person's word, and nobody can be asked"
            return _Word(False, "nobody", self._refusal(ruling, refusal))
        question = Question("policy", _question(call, ruling))
        try:
            answer = await ask_person(self._ask, question, emit=self._emit)
        except ActionRefused as error:
            return _Word(False, "refuse", f"{str(error)[:_LONGEST]}. Nothing was done. {_GO_ON}")
        except asyncio.CancelledError:
            word = _Word(False, "stop")
            self._emit(_build_decision(call, facts, ruling, word=word))
            raise
        return _Word(True, "kind" if answer.kind == "kind" else "once")

    def _refusal(self, ruling: Ruling, summary: str) -> str:
        about = "; ".join(_list_reasons(ruling))[:_LONGEST]
        sentences = [f"{summary}: {about}. Rule: {ruling.rule}"]
        sentences += [f"Reason: {ruling.why}"] if ruling.why else []
        sentences += ["Nothing was done", *self._limits(ruling.reasons), _GO_ON]
        return ". ".join(sentences)

    def _limits(self, reasons: tuple[Reason, ...]) -> list[str]:
        """The allowed sites and folders, if a call leaves them."""
        if not any("leaving" in reason.rule for reason in reasons):
            return []
        settings = self.policy.settings
        sentences = [f"Allowed sites: {', '.join(settings.sites)}"] if settings.sites else []
        if settings.folders:
            sentences.append(f"Files may be changed in: {', '.join(settings.folders)}")
        return sentences


def _list_reasons(ruling: Ruling) -> list[str]:
    return list(dict.fromkeys(reason.text for reason in ruling.reasons if reason.text))


def _question(call: GroundedCall, ruling: Ruling) -> str:
    """Returns the text of the question: the whole call, and why it needs a person."""
    description = f"\n({call.call.description})" if call.call.description else ""
    reasons = "\n".join(f"- {reason.text}: {reason.rule}" for reason in ruling.reasons)
    why = f"\n{ruling.why}" if ruling.why else ""
    return f"{call.call.tool}: {call.input}{description}\nasked because of:\n{reasons}{why}"


def _dry_outcome(action_text: str, verdict: str) -> Outcome:
    policy_note = f"; the policy says: {verdict}" if verdict else ""
    message = f"dry run, nothing was done. The agent would {action_text[:_LONGEST]}{policy_note}"
    return Outcome(ok=True, output=message, ends="stopped")


def _build_decision(
    call: GroundedCall, facts: CallFacts, ruling: Ruling, *, word: _Word, dry: bool = False
) -> Decided:
    described = f" ({call.call.description})" if call.call.description else ""
    return Decided(
        tool=call.call.tool,
        what=f"{call.input}{described}"[:_LONGEST],
        verdict=ruling.verdict,
        rule=ruling.rule,
        why=ruling.why,
        about=tuple(text[:_LONGEST] for text in _list_reasons(ruling)),
        facts=facts.words(),
        allowed=word.allowed,
        asked=word.answer in ("once", "kind", "stop", "refuse"),
        answer=word.answer,
        dry_run=dry,
        kinds=tuple(dict.fromkeys(reason.kind for reason in ruling.reasons if reason.kind)),
    )
