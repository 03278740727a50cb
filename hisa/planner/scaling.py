"""Test-time scaling: several candidates for a step, a judge picks (GTA1, section 3.1).

Constant, as GTA1 has it: always K candidates, always a judge. Adaptive: two candidates, and where
they would do the same nothing more is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hisa.events import Chosen, ChosenBy
from hisa.outcomes.verdicts import split_verdict
from hisa.planner.judging import Candidate, Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Candidates, Sampler
from hisa.protocols import Emit, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ScaledPlanner", "Scaling", "in_trouble"]

Scaling = Literal["adaptive", "frugal", "constant"]
Widened = Literal["", "constant", "trouble", "disagreement", "none_good"]

_FIRST = 2
"""Candidates that can agree: the fewest."""
_ENDING = frozenset({"termination", "infeasible"})
"""Tools that end a run. Nothing mends a wrong end, and a run pays for one judgement on it."""


def in_trouble(view: StateView) -> bool:
    """Whether the newest step failed, or a loop was found: then agreement proves little."""
    newest = view.steps[-1] if view.steps else ""
    verdict, _ = split_verdict(newest.partition(" | Result: ")[2])
    return bool(view.notice) or verdict == "failed"


@dataclass
class _Decision:
    """One step's decision on its way."""

    observation: Observation
    candidates: Candidates
    widened: Widened = ""
    rounds: int = 1
    samples: int = 0
    usable: int = 0
    distinct: int = 0

    def count(self) -> None:
        """Take over the numbers of the round's candidates."""
        self.samples = self.candidates.next_n - 1
        self.usable += len(self.candidates.usable)
        self.distinct += len(self.candidates.distinct)


class ScaledPlanner:
    """Samples candidates, and has a judge pick where they do not agree.

    Adaptive: two candidates; where they would do the same, that is done without a judge, unless it
    ends the run. K at once after a step that failed and in a loop, K in all where the two disagree.
    Frugal: where the two disagree the judge is asked about these first, and K fresh ones are
    sampled only where it finds neither good. Constant: K and the judge, always.

    A judge that finds none good gets K fresh candidates, which were told its reasons, once. Where
    no judge decides (its answers are no judgements, it cannot be asked, or it finds none good
    twice) the step goes on with what most candidates would do, and the log says so: a wrong step
    is seen and mended in the next one, while a step refused three times ends the run.

    Args:
        planner: asks for one candidate, and writes down what was chosen.
        sampler: asks it several times.
        judge: picks.
        emit: gets one `Chosen` for each decision.
        samples: K.
        scaling: when more than two are sampled.
    """

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
        decision = _Decision(observation, Candidates(asked))
        await self._sample_first(decision, view)
        candidates = decision.candidates
        if not candidates.usable:
            raise self._failed(decision)
        agreed = not decision.widened and candidates.agree
        if agreed and candidates.usable[0].call.tool not in _ENDING:
            return self._chosen(decision, candidates.usable[0], "agreement")
        if len(candidates.usable) == 1:
            return self._chosen(decision, candidates.usable[0], "alone")
        judgement = await self._judge.judge(asked, candidates.distinct)
        if judgement.pick is not None:
            return self._chosen(decision, judgement.pick, "judge")
        if judgement.invalid:
            return self._chosen(decision, candidates.favourite, "votes", judgement.invalid)
        return await self._again(decision, task, view, judgement.explaining)

    async def _sample_first(self, decision: _Decision, view: StateView) -> None:
        """The first round: two candidates or K at once, and K in all where two are not enough."""
        constant = self._scaling == "constant"
        decision.widened = "constant" if constant else "trouble" if in_trouble(view) else ""
        candidates, seen = decision.candidates, decision.observation
        count = self._samples if decision.widened else min(_FIRST, self._samples)
        await self._sampler.sample(candidates, count, seen)
        if candidates.usable and not (decision.widened or candidates.agree):
            enough = self._scaling == "frugal" and len(candidates.usable) == count
            more = self._samples - count
            if more and not enough:
                decision.widened = "disagreement"
                await self._sampler.sample(candidates, more, seen)
        decision.count()

    async def _again(
        self, decision: _Decision, task: Task, view: StateView, reasons: str
    ) -> ToolCall:
        """One more try after a judge found none good: fresh candidates that know its reasons."""
        before, told = decision.candidates, _reasons(len(decision.candidates.distinct), reasons)
        view = replace(view, notice="\n".join(filter(None, (view.notice, told))))
        asked = await self._planner.question(task, decision.observation, view)
        fresh = decision.candidates = Candidates(asked, first=before.next_n)
        decision.rounds, decision.widened = 2, decision.widened or "none_good"
        await self._sampler.sample(fresh, self._samples, decision.observation, round_=2)
        decision.count()
        if not fresh.usable:
            detail = f"the judge found none good, and no fresh reply is usable: {fresh.failure()}"
            return self._chosen(decision, before.favourite, "votes", detail)
        judgement = await self._judge.judge(asked, fresh.distinct)
        if judgement.pick is not None:
            return self._chosen(decision, judgement.pick, "judge")
        detail = judgement.invalid or f"the judge found none good twice: {judgement.explaining}"
        return self._chosen(decision, fresh.favourite, "votes", detail)

    def _chosen(
        self, decision: _Decision, pick: Candidate, by: ChosenBy, detail: str = ""
    ) -> ToolCall:
        self._tell(decision, pick.n, by, detail)
        self._planner.record(pick.call)
        return pick.call

    def _failed(self, decision: _Decision) -> Exception:
        failure = decision.candidates.failure()
        self._tell(decision, None, "nobody", str(failure))
        return failure

    def _tell(self, decision: _Decision, n: int | None, by: ChosenBy, detail: str) -> None:
        self._emit(
            Chosen(
                n=n,
                by=by,
                samples=decision.samples,
                usable=decision.usable,
                distinct=decision.distinct,
                rounds=decision.rounds,
                widened=decision.widened,
                detail=detail,
            )
        )


def _reasons(count: int, reasons: str) -> str:
    return (
        f"{count} answers to this very question were judged before they were carried out, and "
        f"none was good: {reasons or 'no reason was given'} Answer with something else."
    )
