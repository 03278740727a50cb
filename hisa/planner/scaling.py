"""Test-time scaling: K candidates for a step, one of which a judge picks (GTA1, section 3.1).

The target of the pick alone is searched for.
"""

from __future__ import annotations

from dataclasses import replace

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

__all__ = ["ScaledPlanner", "open_scaling"]


class ScaledPlanner:
    """Samples candidates, and has a judge pick one where they do not all agree.

    Where the judge does not decide, the step goes on with what most candidates would do, and the
    log says so: a wrong step is seen and mended in the next one, while a step refused three times
    ends the run.

    Args:
        planner: asks for one candidate, and writes down what was chosen.
        judge: picks.
        emit: gets one `Chosen` for each decision.
        settings: how many candidates, and at which temperature.
    """

    def __init__(
        self, planner: GlobalPlanner, judge: Judge, *, emit: Emit, settings: PlannerSettings
    ) -> None:
        self._planner = planner
        self._judge = judge
        self._emit = emit
        self._settings = settings

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns the next call; see `hisa.protocols.Planner`."""
        question = await self._planner.question(task, observation, view)
        question = replace(question, temperature=self._settings.sample_temperature)
        candidates = Candidates(self._planner, question, self._emit)
        await candidates.sample(self._settings.samples)
        if not candidates.usable:
            failure = candidates.failure()
            self._tell(candidates, None, "nobody", str(failure))
            raise failure
        pick, by, detail = await self._pick(candidates)
        self._tell(candidates, pick.n, by, detail)
        self._planner.record(pick.call)
        return pick.call

    async def _pick(self, candidates: Candidates) -> tuple[Candidate, ChosenBy, str]:
        """Returns the pick, who chose it, and the reason where no judge decided."""
        usable, distinct = candidates.usable, candidates.distinct
        if len(distinct) == 1:
            return usable[0], "agreement" if len(usable) > 1 else "alone", ""
        question = step_question(candidates.question, distinct)
        judgement = await self._judge.judge(question, [candidate.n for candidate in distinct])
        if judgement.index is not None:
            return distinct[judgement.index - 1], "judge", ""
        pick = candidates.favourite
        votes = sum(candidate.key == pick.key for candidate in usable)
        why = judgement.invalid or f"the judge picked none: {judgement.explaining}"
        return pick, "votes", f"{why}; {votes} of {len(usable)} would do this"

    def _tell(self, candidates: Candidates, n: int | None, by: ChosenBy, detail: str) -> None:
        self._emit(
            Chosen(
                n=n,
                by=by,
                samples=candidates.count,
                usable=len(candidates.usable),
                distinct=len(candidates.distinct),
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
    """Returns the planner, asked ``planner.samples`` times a step.

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
    return ScaledPlanner(planner, Judge(judge, emit=emit), emit=emit, settings=settings)


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
