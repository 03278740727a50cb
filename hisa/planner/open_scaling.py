"""Puts a planner that samples together, as the settings ask for it."""

from __future__ import annotations

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.models.profiles import Profile
from hisa.planner.judging import Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Sampler
from hisa.planner.scaling import ScaledPlanner
from hisa.protocols import Emit, GroundedCall, Grounder, Model, Planner, ToolCall
from hisa.screen.observation import Observation

__all__ = ["open_scaling"]


def open_scaling(
    settings: PlannerSettings,
    model: ModelSettings,
    planner: Planner,
    grounder: Grounder,
    judge: Model,
    *,
    emit: Emit,
    profile: Profile,
) -> ScaledPlanner:
    """The planner, asked up to ``planner.samples`` times a step.

    Args:
        settings: how often it is asked.
        model: the settings of its model.
        planner: asks once.
        grounder: finds candidates' targets; the agent's own, so that nothing is found twice. With
            constant scaling it finds those of the chosen one alone, at its act.
        judge: serves the role ``judge``.
        emit: gets the events of decisions.
        profile: of the planner's model.

    Raises:
        ConfigError: it can be asked only once a step, or would always answer the same.
    """
    told = f"planner.samples = {settings.samples}"
    if not isinstance(planner, GlobalPlanner):
        raise ConfigError(
            f"{told}: a planner with a computer tool is asked once a step",
            fix="--set planner.samples=1, or --set planner.kind=chat",
        )
    if alike := _alike(model, profile):
        raise ConfigError(f"{told}: {alike[0]}", fix=f"--set planner.samples=1, or {alike[1]}")
    finder = _Later() if settings.scaling == "constant" else grounder
    sampler = Sampler(planner, finder, temperature=settings.sample_temperature, emit=emit)
    return ScaledPlanner(
        planner,
        sampler,
        Judge(judge, emit=emit),
        emit=emit,
        samples=settings.samples,
        scaling=settings.scaling,
    )


class _Later:
    """Leaves all targets to be found once one call is chosen (GTA1, section 3.1)."""

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """The call as it was written."""
        return GroundedCall(call, call.input, call.actions)


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
