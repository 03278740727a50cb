"""Puts a planner that samples together, as the settings ask for it."""

from __future__ import annotations

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import ConfigError
from hisa.models.profiles import Profile
from hisa.planner.judging import Judge
from hisa.planner.planner import GlobalPlanner
from hisa.planner.sampling import Ground, Sampler
from hisa.planner.scaling import ScaledPlanner
from hisa.protocols import Emit, GroundedCall, Model, Planner, ToolCall
from hisa.screen.observation import Observation

__all__ = ["open_scaling"]


def open_scaling(
    settings: PlannerSettings,
    model: ModelSettings,
    planner: Planner,
    ground: Ground,
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
        ground: finds candidates' targets. With constant scaling they are found once one of them is
            chosen (GTA1, section 3.1), by the agent.
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
    ground = _find_later if settings.scaling == "constant" else ground
    sampler = Sampler(planner, ground, temperature=settings.sample_temperature, emit=emit)
    return ScaledPlanner(
        planner,
        sampler,
        Judge(judge, emit=emit),
        emit=emit,
        samples=settings.samples,
        scaling=settings.scaling,
    )


async def _find_later(call: ToolCall, look: Observation) -> GroundedCall:
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
