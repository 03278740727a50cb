"""Test-time scaling: several candidates for a step, a judge picks (GTA1, section 3.1).

Constant, as GTA1 has it: always K candidates, always the judge, who has to pick one. Frugal: two
candidates, and the judge where they differ or where there is doubt; K fresh ones where it finds
none good. The target of the pick alone is searched for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.events import Chosen, ChosenBy
from hisa.models.profiles import Profile
from hisa.planner.judging import Judge, Judgement
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Candidate, Candidates, Sampler
from hisa.planner.step_question import step_question
from hisa.protocols import Emit, Model, Planner, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ScaledPlanner", "Scaling", "open_scaling"]

Scaling = Literal["frugal", "constant"]
Widened = Literal["", "constant", "disagreement", "none_good"]

_FIRST = 2
"""Candidates that can agree: the fewest."""
_ENDING = frozenset({"termination", "infeasible"})
"""Tools that end a run. Nothing mends a wrong end, and a run pays for one judgement on it."""


@dataclass
class _Decision:
    """One step's decision on its way."""

    rounds: list[Candidates]
    widened: Widened = ""

    def event(self, n: int | None, by: ChosenBy, detail: str = "") -> Chosen:
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

    Where no judge decides (its answers are no judgements, it cannot be asked, or it finds none
    good twice) the step goes on with what most candidates would do, and the log says so: a wrong
    step is seen and mended in the next one, while a step refused three times ends the run.

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
        scaling: Scaling = "frugal",
    ) -> None:
        self._planner = planner
        self._sampler = sampler
        self._judge = judge
        self._emit = emit
        self._samples = samples
        self._constant = scaling == "constant"

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call; see `hisa.protocols.Planner`."""
        first = Candidates(await self._planner.question(task, observation, view))
        decision = _Decision([first], "constant" if self._constant else "")
        count = self._samples if self._constant else min(_FIRST, self._samples)
        await self._sampler.sample(first, count)
        if not first.usable:
            failure = first.failure()
            self._emit(decision.event(None, "nobody", str(failure)))
            raise failure
        doubted = self._constant or view.troubled or first.usable[0].call.tool in _ENDING
        if first.agree and not doubted:
            return self._chosen(decision, first.usable[0], "agreement")
        if len(first.usable) == 1:
            return self._chosen(decision, first.usable[0], "alone")
        judgement = await self._ask(first, must_pick=self._constant)
        if judgement.index is not None:
            return self._picked(decision, first, judgement.index)
        if judgement.invalid:
            return await self._voted(decision, first, judgement.invalid)
        told = _reasons(len(first.distinct), judgement.explaining)
        view = replace(view, notice="\n".join(filter(None, (view.notice, told))))
        fresh = Candidates(await self._planner.question(task, observation, view), first.next_n)
        return await self._again(decision, first, fresh)

    async def _again(self, decision: _Decision, before: Candidates, fresh: Candidates) -> ToolCall:
        """Try once more after a judge found none good: fresh candidates that know its reasons."""
        decision.rounds.append(fresh)
        decision.widened = "none_good"
        await self._sampler.sample(fresh, self._samples, round_=2)
        if not fresh.usable:
            why = f"the judge found none good, and no fresh reply is usable: {fresh.failure()}"
            return await self._voted(decision, before, why)
        judgement = await self._ask(fresh)
        if judgement.index is not None:
            return self._picked(decision, fresh, judgement.index)
        why = judgement.invalid or f"the judge found none good twice: {judgement.explaining}"
        return await self._voted(decision, fresh, why)

    async def _ask(self, candidates: Candidates, *, must_pick: bool = False) -> Judgement:
        listed = candidates.distinct
        question = step_question(candidates.asked, listed, must_pick=must_pick)
        numbers = [candidate.n for candidate in listed]
        return await self._judge.judge(question, numbers, must_pick=must_pick)

    async def _voted(self, decision: _Decision, candidates: Candidates, why: str) -> ToolCall:
        """Take what most would do, where no judge decided; two that differ are no vote."""
        more = self._samples - candidates.count
        newest = candidates is decision.rounds[-1]
        if newest and more > 0 and len(candidates.distinct) == len(candidates.usable):
            decision.widened = decision.widened or "disagreement"
            await self._sampler.sample(candidates, more)
        pick = candidates.favourite
        votes = sum(candidate.key == pick.key for candidate in candidates.usable)
        detail = f"{why}; {votes} of {len(candidates.usable)} would do this"
        return self._chosen(decision, pick, "votes", detail)

    def _picked(self, decision: _Decision, candidates: Candidates, index: int) -> ToolCall:
        return self._chosen(decision, candidates.distinct[index - 1], "judge")

    def _chosen(
        self, decision: _Decision, pick: Candidate, by: ChosenBy, detail: str = ""
    ) -> ToolCall:
        self._emit(decision.event(pick.n, by, detail))
        self._planner.record(pick.call)
        return pick.call


def _reasons(count: int, reasons: str) -> str:
    return (
        f"{count} answers to this very question were judged before they were carried out, and "
        f"none was good: {reasons or 'no reason was given'} Answer with something else."
    )


def open_scaling(
    settings: PlannerSettings,
    model: ModelSettings,
    planner: Planner,
    judge: Model,
    *,
    emit: Emit,
    profile: Profile,
) -> ScaledPlanner:
    """Returns the planner, asked up to ``planner.samples`` times a step.

    Raises:
        ConfigError: it can be asked only once a step, or would always answer the same.
    """
    samples = f"planner.samples = {settings.samples}"
    if not isinstance(planner, GlobalPlanner):
        raise ConfigError(
            f"{samples}: a planner with a computer tool is asked once a step",
            fix="--set planner.samples=1, or --set planner.kind=chat",
        )
    if alike := _alike(model, profile):
        raise ConfigError(f"{samples}: {alike[0]}", fix=f"--set planner.samples=1, or {alike[1]}")
    return ScaledPlanner(
        planner,
        Sampler(planner, temperature=settings.sample_temperature, emit=emit),
        Judge(judge, emit=emit),
        emit=emit,
        samples=settings.samples,
        scaling=settings.scaling,
    )


def _alike(model: ModelSettings, profile: Profile) -> tuple[str, str] | None:
    """Returns why all samples would be alike, and what mends it; None where they vary."""
    if profile.reads_elements:
        return f"{profile.name} always answers the same", "give --model"
    if model.temperature == 0 and profile.temperature:
        why = "with models.planner.temperature = 0 all samples are alike"
        return why, "leave that out, for planner.sample_temperature"
    if model.seed is not None and profile.seed:
        why = f"with models.planner.seed = {model.seed} all samples are alike"
        return why, "leave the seed out"
    return None
