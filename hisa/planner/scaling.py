"""Test-time scaling: several candidates for a step, a judge picks (GTA1, section 3.1).

Constant, as GTA1 has it: always K candidates, always a judge. Adaptive: two candidates, and where
they would do the same nothing more is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hisa.events import Chosen, ChosenBy
from hisa.planner.judging import Candidate, Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Candidates, Sampler
from hisa.protocols import Emit, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ScaledPlanner", "Scaling"]

Scaling = Literal["adaptive", "frugal", "constant"]
Widened = Literal["", "constant", "trouble", "disagreement", "none_good"]

_FIRST = 2
"""Candidates that can agree: the fewest."""
_ENDING = frozenset({"termination", "infeasible"})
"""Tools that end a run. Nothing mends a wrong end, and a run pays for one judgement on it."""


@dataclass
class _Decision:
    """One step's decision on its way."""

    observation: Observation
    rounds: list[Candidates]
    widened: Widened = ""

    def event(self, n: int | None, by: ChosenBy, detail: str) -> Chosen:
        """Returns the event that tells of it."""
        return Chosen(
            n=n,
            by=by,
            samples=sum(candidates.count for candidates in self.rounds),
            usable=sum(len(candidates.usable) for candidates in self.rounds),
            distinct=sum(len(candidates.distinct) for candidates in self.rounds),
            rounds=len(self.rounds),
            widened=self.widened,
            detail=detail,
        )


class ScaledPlanner:
    """Samples candidates, and has a judge pick where they do not agree.

    Adaptive: two candidates; where they would do the same, that is done without a judge, unless it
    ends the run. K at once after a step that failed and in a loop, K in all where the two disagree.
    Frugal: where the two disagree, and after a step that failed or in a loop even where they agree,
    the judge is asked about these first, and K fresh ones are sampled only where it finds neither
    good. Constant: K and the judge once, always; that judge has to pick one.

    A judge that may find none good, and does, gets K fresh candidates, which were told its reasons,
    once. Where no judge decides (its answers are no judgements, it cannot be asked, or it finds
    none good twice) the step goes on with what most candidates would do, and the log says so: a
    wrong step is seen and mended in the next one, while a step refused three times ends the run.

    Args:
        planner: asks for one candidate, and writes down what was chosen.
        sampler: asks it several times.
        judge: picks.
        emit: gets one `Chosen` for each decision.
        samples: K.
        scaling: when more than two are sampled.
    """

    chosen: Candidate | None = None
    """The newest one that was chosen."""

    def __init__(
        self,
        planner: GlobalPlanner,
        sampler: Sampler,
        judge: Judge,
        *,
        emit: Emit,
        samples: int,
        scaling: Scaling = "adaptive",
    ) -> None:
        self._planner = planner
        self._sampler = sampler
        self._judge = judge
        self._emit = emit
        self._samples = samples
        self._scaling = scaling

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """The next call; see `hisa.protocols.Planner`."""
        asked = await self._planner.question(task, observation, view)
        candidates = Candidates(asked)
        decision = _Decision(observation, [candidates])
        await self._sample_first(decision, view)
        if not candidates.usable:
            failure = candidates.failure()
            self._emit(decision.event(None, "nobody", str(failure)))
            raise failure
        doubted = view.troubled or candidates.usable[0].call.tool in _ENDING
        if not decision.widened and candidates.agree and not doubted:
            return self._chosen(decision, candidates.usable[0], "agreement")
        if len(candidates.usable) == 1:
            return self._chosen(decision, candidates.usable[0], "alone")
        constant = self._scaling == "constant"
        judgement = await self._judge.judge(asked, candidates.distinct, must_pick=constant)
        if judgement.pick is not None:
            return self._chosen(decision, judgement.pick, "judge")
        if judgement.invalid:
            return await self._voted(decision, candidates, judgement.invalid)
        return await self._again(decision, task, view, judgement.explaining)

    async def _sample_first(self, decision: _Decision, view: StateView) -> None:
        """The first round: two candidates or K at once, and K in all where two are not enough."""
        troubled = view.troubled and self._scaling == "adaptive"
        constant = self._scaling == "constant"
        decision.widened = "constant" if constant else "trouble" if troubled else ""
        (candidates,) = decision.rounds
        count = self._samples if decision.widened else min(_FIRST, self._samples)
        await self._sampler.sample(candidates, count, decision.observation)
        judged_first = self._scaling == "frugal" and len(candidates.usable) == count
        if candidates.usable and not (candidates.agree or judged_first):
            await self._widen(decision, candidates)

    async def _widen(self, decision: _Decision, candidates: Candidates) -> None:
        """Sample what is missing to K."""
        more = self._samples - candidates.count
        if more > 0:
            decision.widened = decision.widened or "disagreement"
            await self._sampler.sample(candidates, more, decision.observation)

    async def _again(
        self, decision: _Decision, task: Task, view: StateView, reasons: str
    ) -> ToolCall:
        """One more try after a judge found none good: fresh candidates that know its reasons."""
        (before,) = decision.rounds
        told = _reasons(len(before.distinct), reasons)
        view = replace(view, notice="\n".join(filter(None, (view.notice, told))))
        asked = await self._planner.question(task, decision.observation, view)
        fresh = Candidates(asked, first=before.next_n)
        decision.rounds.append(fresh)
        decision.widened = decision.widened or "none_good"
        await self._sampler.sample(fresh, self._samples, decision.observation, round_=2)
        if not fresh.usable:
            why = f"the judge found none good, and no fresh reply is usable: {fresh.failure()}"
            return await self._voted(decision, before, why)
        judgement = await self._judge.judge(asked, fresh.distinct)
        if judgement.pick is not None:
            return self._chosen(decision, judgement.pick, "judge")
        why = judgement.invalid or f"the judge found none good twice: {judgement.explaining}"
        return await self._voted(decision, fresh, why)

    async def _voted(self, decision: _Decision, candidates: Candidates, why: str) -> ToolCall:
        """Take what most would do, where no judge decided; two that disagree are no vote."""
        newest = candidates is decision.rounds[-1]
        if newest and len(candidates.distinct) == len(candidates.usable):
            await self._widen(decision, candidates)
        pick = candidates.favourite
        votes = sum(each.key == pick.key for each in candidates.usable)
        detail = f"{why}; {votes} of {len(candidates.usable)} would do this"
        return self._chosen(decision, pick, "votes", detail)

    def _chosen(
        self, decision: _Decision, pick: Candidate, by: ChosenBy, detail: str = ""
    ) -> ToolCall:
        self._emit(decision.event(pick.n, by, detail))
        self._planner.record(pick.call)
        self.chosen = pick
        return pick.call


def _reasons(count: int, reasons: str) -> str:
    return (
        f"{count} answers to this very question were judged before they were carried out, and "
        f"none was good: {reasons or 'no reason was given'} Answer with something else."
    )
