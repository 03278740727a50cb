"""Test-time scaling: several candidates for a step, one of which a judge picks (GTA1, section 3.1).

Constant, as in GTA1: always K candidates, and always the judge, who has to pick one. Frugal: two
candidates, and the judge only if they differ or there is doubt; K candidates if it finds neither
good. Only the target of the pick is grounded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.events import Chosen, ChosenBy
from hisa.models.profiles import Profile
from hisa.planner.judging import Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Candidate, Candidates
from hisa.planner.step_question import step_question
from hisa.protocols import Emit, Model, Planner, StateView, Task, ToolCall
from hisa.screen.observation import Observation

__all__ = ["ScaledPlanner", "Scaling", "open_scaling"]

Scaling = Literal["frugal", "constant"]
_Pick = tuple[Candidate, ChosenBy, str]
"""The chosen candidate, who chose it, and why no judge decided."""

_FIRST = 2
"""The fewest candidates that can agree."""
_ENDING = frozenset({"termination", "infeasible"})
"""Tools that end a run, which cannot be undone."""


class ScaledPlanner:
    """Samples candidates, and has a judge pick if they disagree.

    If the judge does not decide, the step does what most candidates would do, and the log says so:
    a wrong step can be corrected in the next one, while a step refused three times ends the run.

    Args:
        planner: asks for one candidate, and logs the chosen one.
        judge: picks a candidate.
        emit: takes one `Chosen` for each decision.
        settings: how many candidates, when, and at which temperature.
    """

    def __init__(
        self, planner: GlobalPlanner, judge: Judge, *, emit: Emit, settings: PlannerSettings
    ) -> None:
        self._planner = planner
        self._judge = judge
        self._emit = emit
        self._temperature = settings.sample_temperature
        self._samples = settings.samples
        self._constant = settings.scaling == "constant"

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call; see `hisa.protocols.Planner`.

        Args:
            task: what to do.
            observation: the current look.
            view: the bounded state.
        """
        question = await self._planner.question(task, observation, view)
        question = replace(question, temperature=self._temperature)
        candidates = Candidates(self._planner, question, self._emit)
        first = self._samples if self._constant else min(_FIRST, self._samples)
        await candidates.sample(first)
        picked = await self._pick(candidates, view)
        if picked is None:
            await candidates.sample(self._samples - first)
            picked = await self._ask_judge(candidates, must_pick=True)
        pick, by, detail = picked
        self._tell(candidates, pick.n, by, detail)
        self._planner.record(pick.call)
        return pick.call

    async def _pick(self, candidates: Candidates, view: StateView) -> _Pick | None:
        """Returns the pick among the first candidates; None if more are needed."""
        usable = candidates.usable
        if not usable:
            failure = candidates.failure()
            self._tell(candidates, None, "nobody", str(failure))
            raise failure
        if len(usable) == 1:
            return usable[0], "alone", ""
        doubted = self._constant or view.troubled or usable[0].call.tool in _ENDING
        if len(candidates.distinct) == 1 and not doubted:
            return usable[0], "agreement", ""
        last = candidates.count >= self._samples
        picked = await self._ask_judge(candidates, must_pick=last)
        return picked if last or picked[1] == "judge" else None

    async def _ask_judge(self, candidates: Candidates, *, must_pick: bool) -> _Pick:
        """Returns the judge's pick, or what most candidates would do if it does not decide."""
        distinct = candidates.distinct
        question = step_question(candidates.question, distinct, must_pick=must_pick)
        judgement = await self._judge.judge(question, [candidate.n for candidate in distinct])
        if judgement.index is not None:
            return distinct[judgement.index - 1], "judge", ""
        pick = candidates.favourite
        votes = sum(candidate.key == pick.key for candidate in candidates.usable)
        reason = judgement.invalid or f"the judge picked none: {judgement.explaining}"
        return pick, "votes", f"{reason}; {votes} of {len(candidates.usable)} would do this"

    def _tell(self, candidates: Candidates, n: int | None, by: ChosenBy, detail: str = "") -> None:
        widened = candidates.count > _FIRST
        self._emit(
            Chosen(
                n=n,
                by=by,
                samples=candidates.count,
                usable=len(candidates.usable),
                distinct=len(candidates.distinct),
                widened="constant" if self._constant else "none_good" if widened else "",
                detail=detail,
            )
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
    """Returns a planner that samples up to ``planner.samples`` replies per step.

    Args:
        settings: section of the planner.
        model: settings of the planner's model, for its temperature.
        planner: the planner to sample from.
        judge: the judge's model.
        emit: takes the events of samples and choices.
        profile: profile of the planner's model.

    Raises:
        ConfigError: the planner can be asked only once per step, or would always reply the same.
    """
    samples = f"planner.samples = {settings.samples}"
    if not isinstance(planner, GlobalPlanner):
        raise ConfigError(
            f"{samples}: a planner with a computer tool is asked once a step",
            fix="--set planner.samples=1, or --set planner.kind=chat",
        )
    if sameness := _explain_sameness(model, profile):
        raise ConfigError(
            f"{samples}: {sameness[0]}", fix=f"--set planner.samples=1, or {sameness[1]}"
        )
    return ScaledPlanner(planner, Judge(judge, emit=emit), emit=emit, settings=settings)


def _explain_sameness(model: ModelSettings, profile: Profile) -> tuple[str, str] | None:
    """Returns why all samples would be alike, and what fixes it; None where they vary."""
    if profile.reads_elements:
        return f"{profile.name} always answers the same", "give --model"
    if model.temperature == 0 and profile.temperature:
        reason = "with models.planner.temperature = 0 all samples are alike"
        return reason, "leave that out, for planner.sample_temperature"
    if model.seed is not None and profile.seed:
        reason = f"with models.planner.seed = {model.seed} all samples are alike"
        return reason, "leave the seed out"
    return None
