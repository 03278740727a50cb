"""What stands around the planner: samples and their judge, forks, sequences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hisa.config import Settings
from hisa.errors import ConfigError
from hisa.events import Event
from hisa.grounder.memo import MemoGrounder, TellingGrounder
from hisa.grounder.reading import ElementsReader
from hisa.grounder.sequences import SequenceGrounder
from hisa.models.profiles import Profile
from hisa.planner.base import Trials
from hisa.protocols import (
    Emit,
    Environment,
    Forkable,
    Grounder,
    Model,
    Planner,
    Role,
    Toolbox,
)
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot
from hisa.tools.registry import ToolRegistry
from hisa.wiring.tool_parts import open_registry

if TYPE_CHECKING:
    pass

__all__ = ["elements_of", "is_sampled", "open_toolbox", "open_trials", "scaled"]


def scaled(
    settings: Settings,
    planner: Planner,
    grounder: Grounder,
    models: Mapping[Role, Model],
    emit: Emit,
    *,
    profile: Profile,
    trials: Trials | None,
) -> tuple[Planner, Grounder]:
    """A planner that samples, and the agent's side of the grounder that they share.

    Raises:
        ConfigError: this planner cannot be sampled.
    """
    from hisa.planner.open_scaling import open_scaling  # most runs ask once

    memo = MemoGrounder(grounder)
    judge = models.get("judge", models["planner"])
    # Both ask for calls one by one, since the memo's reader gives all of them the same look.
    batch = SequenceGrounder(memo)
    scaled = open_scaling(
        settings, planner, batch, judge, emit=emit, profile=profile, trials=trials
    )
    return scaled, SequenceGrounder(TellingGrounder(memo, emit=emit))


def is_sampled(settings: Settings) -> bool:
    """Whether several replies are sampled for a step.

    Raises:
        ConfigError: one is to be tried against another, and there is one.
    """
    sampling = settings.planner.samples > 1
    if settings.environment.fork and not sampling:
        raise ConfigError(
            "environment.fork tries two sampled replies, and planner.samples is 1",
            fix="--samples 4, or leave --fork out",
        )
    return sampling


def open_trials(settings: Settings, environment: Environment) -> Trials | None:
    """Tries the two best candidates on forks of the machine, where that is asked for."""
    if not settings.environment.fork:
        return None
    if "fork" not in environment.capabilities or not isinstance(environment, Forkable):
        raise ConfigError(
            f"environment.fork: {environment.name} cannot be forked; only a virtual machine can",
            fix="--env vm:NAME, or leave --fork out",
        )
    from hisa.tools.sequence import SequenceToolbox  # few runs fork
    from hisa.tools.trials import ForkedTrials

    settle = settings.environment.settle
    silent = open_registry(settings, _tell_nobody, capabilities=environment.capabilities)
    toolbox = SequenceToolbox(silent, guard=None, save=_keep_nothing, emit=_tell_nobody)
    return ForkedTrials(toolbox, environment, settle=settle)


def _tell_nobody(_: Event, /) -> None:
    """Take no note: what is done on a fork is not done on the run's machine."""


async def _keep_nothing(picture: Screenshot) -> str:
    return ""


def elements_of(reader: ElementsReader, environment: Environment) -> ElementsReader | None:
    """The reader, where the machine can tell elements."""
    return reader if "elements" in environment.capabilities else None


def open_toolbox(
    settings: Settings,
    registry: ToolRegistry,
    reader: ElementsReader | None,
    log: RunLog,
    emit: Emit,
) -> Toolbox:
    """The tools, with sequences where they are asked for."""
    planner = settings.planner
    if planner.sequence == 1:
        return registry
    from hisa.state.guards import SequenceGuard  # most runs make one call a look
    from hisa.tools.sequence import SequenceToolbox

    guard = SequenceGuard(reader, similar=planner.guard_similarity) if planner.guards else None
    return SequenceToolbox(
        registry, guard=guard, save=log.save, emit=emit, settle=settings.environment.settle
    )
