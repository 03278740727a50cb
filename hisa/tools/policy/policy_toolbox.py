"""Stands between the planner and everything that is done: each call is decided before it is made.

The decision is taken from the call, its tool and a look whose elements are new, and the call is
passed on with that look. It takes a few milliseconds besides reading them, and no model is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from hisa.actions import Move, Scroll, Sleep
from hisa.errors import ActionRefused, ToolFailed
from hisa.events import Decided
from hisa.protocols import Emit, Environment, GroundedCall, Outcome, Toolbox
from hisa.screen.observation import Observation
from hisa.tools.base import AsksItself, BaseTool, ToolContext
from hisa.tools.catalogue import Catalogue
from hisa.tools.policy.call_facts import facts_of, is_never_asked
from hisa.tools.policy.deciding import Policy, Reason, Ruling
from hisa.tools.policy.named_facts import CallFacts
from hisa.tools.policy.screen_part import is_browser_in_front
from hisa.tools.policy.screen_things import NOTHING, Judged, judged_words

__all__ = ["Approve", "PolicyToolbox"]

_GO_ON = (
    "Do not try the same another way: go on without it, or end with infeasible and say what was "
    "refused"
)
_READINGS = 2
"""Times that elements are read where some could not be: a window may just have come."""
_TOLD = 2_000
"""Characters of a call that an event and a refusal keep; the log has it whole where it is made."""

Approve = Callable[[str], Awaitable[bool]]
"""Asks a person; returns whether the same kind is allowed for the whole run. Raises `ActionRefused`
where the person says no."""


@dataclass(frozen=True, slots=True)
class _Word:
    """What came of asking."""

    allowed: bool
    answer: Literal["", "once", "kind", "stop", "refuse", "earlier", "nobody"] = ""
    refusal: str = ""


class PolicyToolbox(Catalogue):
    """A toolbox whose calls are decided first; see `hisa.protocols.Toolbox`.

    Args:
        inner: makes the calls.
        policy: decides.
        find: finds a tool by its name.
        emit: gets a `Decided` for each call, and an `Acted` for each that is refused.
        approve: asks a person; None: nobody can be asked, and what needs one is refused.
        inspect: takes a look with elements no older than a given one; None: the machine is asked.
        clock: tells the time of day.
    """

    def __init__(
        self,
        inner: Toolbox,
        policy: Policy,
        *,
        find: Callable[[str], BaseTool | None],
        emit: Emit,
        approve: Approve | None = None,
        inspect: Callable[[Observation], Awaitable[Observation]] | None = None,
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        super().__init__(inner)
        self._policy = policy
        self._find = find
        self._emit = emit
        self._approve = approve
        self._inspect = inspect
        self._clock = clock

    async def execute(
        self, call: GroundedCall, observation: Observation, environment: Environment
    ) -> Outcome:
        """Decide, ask where that is the verdict, and do it where it is allowed."""
        tool = self._find(call.call.tool)
        dry = self._policy.settings.dry_run
        if tool is None or is_never_asked(tool):
            if dry and call.call.tool in ("termination", "infeasible"):
                return _dry(f"end the run: {call.input}", "")
            return await self._inner.execute(call, observation, environment)
        observation = await self._seen(call, observation, environment)
        if dry:
            facts, ruling = await self._judged(call, tool, observation, environment)
            if facts.acts or ruling.verdict != "allow":
                word = _Word(ruling.verdict == "allow")
                event = _decided(call, facts, ruling, word=word, dry=True)
                self._emit(event)
                return _dry(f"make {event.tool}: {event.what}", _verdict(ruling))
        word = await self._decide(call, tool, observation, environment)
        if not word.allowed:
            return Outcome(ok=False, error=word.refusal, refused=True)
        return await self._inner.execute(call, observation, _unasked(environment, word))

    async def _judged(
        self, call: GroundedCall, tool: BaseTool, look: Observation, environment: Environment
    ) -> tuple[CallFacts, Ruling]:
        facts = facts_of(
            call,
            tool,
            look,
            home=self._policy.home,
            judged=self._policy.judges_effects,
            aimed=await self._aimed(ToolContext(call, look, environment), tool),
        )
        return facts, self._policy.decide(facts, self._clock().time())

    async def _decide(
        self, call: GroundedCall, tool: BaseTool, look: Observation, environment: Environment
    ) -> _Word:
        """Decide, ask where that is the verdict, and take note."""
        facts, ruling = await self._judged(call, tool, look, environment)
        word = await self._word(call, facts, ruling)
        decided = _decided(call, facts, ruling, word=word)
        self._emit(decided)
        self._policy.memory.take(decided)
        return word

    async def _seen(
        self, call: GroundedCall, look: Observation, environment: Environment
    ) -> Observation:
        """Returns the look that is judged, with new elements where they say what is pressed.

        So they do of the address that a browser shows, where that matters.
        """
        presses = any(not isinstance(each, (Move, Scroll, Sleep)) for each in call.actions)
        pressing = presses and self._policy.judges_effects
        addressed = self._policy.shows_addresses and is_browser_in_front(look)
        if not (pressing or addressed) or "elements" not in environment.capabilities:
            return look
        for _ in range(_READINGS):
            if self._inspect is not None:
                look = await self._inspect(look)
            elif look.all_elements is None:
                look = await environment.observe(elements=True)
            if look.complete:
                break
        return look

    async def _aimed(self, context: ToolContext, tool: BaseTool) -> Judged:
        """Returns what a tool would press, where that matters and it can tell."""
        aim = tool.traits.aim
        if aim is None or not self._policy.judges_effects:
            return NOTHING
        try:
            target = await aim(context, **tool.arguments(context.call.input))
        except ToolFailed as error:
            return Judged(unknown=str(error)[:_TOLD])
        if target is None:
            return NOTHING
        return judged_words(target.names, target.around, what="what it would press")

    async def _word(self, call: GroundedCall, facts: CallFacts, ruling: Ruling) -> _Word:
        """Returns whether the call may be made, and why not."""
        if ruling.verdict == "allow":
            return _Word(True)
        if ruling.verdict == "deny":
            return _Word(False, refusal=self._refusal(ruling, "the policy refuses this"))
        if all(reason.kind in self._policy.memory.always for reason in ruling.reasons):
            return _Word(True, "earlier")
        if self._approve is None:
            said = "this needs a person's word, and nobody can be asked"
            return _Word(False, "nobody", self._refusal(ruling, said))
        try:
            kept = await self._approve(_question(call, ruling))
        except ActionRefused as error:
            return _Word(False, "refuse", f"{str(error)[:_TOLD]}. Nothing was done. {_GO_ON}")
        except asyncio.CancelledError:
            word = _Word(False, "stop")
            self._emit(_decided(call, facts, ruling, word=word))
            raise
        return _Word(True, "kind" if kept else "once")

    def _refusal(self, ruling: Ruling, what: str) -> str:
        about = "; ".join(_about(ruling))[:_TOLD]
        said = [f"{what}: {about}. Rule: {ruling.rule}"]
        said += [f"Reason: {ruling.why}"] if ruling.why else []
        said += ["Nothing was done", *self._limits(ruling.reasons), _GO_ON]
        return ". ".join(said)

    def _limits(self, reasons: tuple[Reason, ...]) -> list[str]:
        """The sites and folders that are allowed, where a call leaves them."""
        if not any("leaving" in reason.rule for reason in reasons):
            return []
        settings = self._policy.settings
        told = [f"Allowed sites: {', '.join(settings.sites)}"] if settings.sites else []
        if settings.folders:
            told.append(f"Files may be changed in: {', '.join(settings.folders)}")
        return told


def _unasked(environment: Environment, word: _Word) -> Environment:
    """The machine on which a person who gave their word is not asked again."""
    asks = word.answer and isinstance(environment, AsksItself)
    return environment.unasked() if asks and isinstance(environment, AsksItself) else environment


def _about(ruling: Ruling) -> list[str]:
    return list(dict.fromkeys(reason.said for reason in ruling.reasons if reason.said))


def _question(call: GroundedCall, ruling: Ruling) -> str:
    """Returns the text of the question: the call whole, and why it is asked about."""
    description = f"\n({call.call.description})" if call.call.description else ""
    reasons = "\n".join(f"- {reason.said}: {reason.rule}" for reason in ruling.reasons)
    why = f"\n{ruling.why}" if ruling.why else ""
    return f"{call.call.tool}: {call.input}{description}\nasked because of:\n{reasons}{why}"


def _verdict(ruling: Ruling) -> str:
    return f"{ruling.verdict} ({ruling.rule})"


def _dry(what: str, verdict: str) -> Outcome:
    told = f"; the policy says: {verdict}" if verdict else ""
    message = f"dry run, nothing was done. The agent would {what[:_TOLD]}{told}"
    return Outcome(ok=True, output=message, ends="stopped")


def _decided(
    call: GroundedCall, facts: CallFacts, ruling: Ruling, *, word: _Word, dry: bool = False
) -> Decided:
    described = f" ({call.call.description})" if call.call.description else ""
    return Decided(
        tool=call.call.tool,
        what=f"{call.input}{described}"[:_TOLD],
        verdict=ruling.verdict,
        rule=ruling.rule,
        why=ruling.why,
        about=tuple(each[:_TOLD] for each in _about(ruling)),
        facts=facts.words(),
        allowed=word.allowed,
        asked=word.answer in ("once", "kind", "stop", "refuse"),
        answer=word.answer,
        dry_run=dry,
        counted=ruling.counted,
        kinds=tuple(dict.fromkeys(reason.kind for reason in ruling.reasons if reason.kind)),
    )
