"""What stands around the planner: samples and their judge, forks, sequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hisa.config import Settings
from hisa.environments.confirm import Ask, Question, ask_person
from hisa.errors import ConfigError
from hisa.events import Decided, Event
from hisa.grounder.reading import ElementsReader
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
from hisa.tools.policy.deciding import Memory, Policy
from hisa.tools.policy.policy_toolbox import Approve, PolicyToolbox
from hisa.tools.registry import ToolRegistry
from hisa.wiring.memo import MemoGrounder, TellingGrounder
from hisa.wiring.sequences import SequenceGrounder
from hisa.wiring.tool_parts import open_registry

__all__ = ["elements_of", "is_sampled", "open_policy", "open_toolbox", "open_trials", "scaled"]

_HOME_SECONDS = 10.0
"""Time limit of a command that prints one line; chosen by hand."""


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


def open_trials(settings: Settings, environment: Environment, *, policy: Policy) -> Trials | None:
    """Tries the two best candidates on forks of the machine, where that is asked for.

    What needs a person's word is not tried: it would be asked for twice.

    Raises:
        ConfigError: the machine cannot be forked.
    """
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
    decided = PolicyToolbox(silent, policy, find=silent.find, emit=_tell_nobody, trial=True)
    toolbox = SequenceToolbox(decided, guard=None, save=_keep_nothing, emit=_tell_nobody)
    return ForkedTrials(toolbox, environment, settle=settle)


def _tell_nobody(_: Event, /) -> None:
    """Take no note: what is done on a fork is not done on the run's machine."""


async def _keep_nothing(picture: Screenshot) -> str:
    return ""


def elements_of(reader: ElementsReader, environment: Environment) -> ElementsReader | None:
    """The reader, where the machine can tell elements."""
    return reader if "elements" in environment.capabilities else None


async def open_policy(
    settings: Settings, environment: Environment, decisions: Iterable[Decided] = ()
) -> Policy:
    """The policy of a run.

    Args:
        settings: the effective settings.
        environment: the machine; a thrown-away one has no default rules unless they are asked for.
        decisions: earlier ones, where the run goes on.
    """
    policy = settings.policy
    guarded = policy.defaults == "always" or (
        policy.defaults == "auto" and "throw_away" not in environment.capabilities
    )
    home = await _home(environment) if policy.folders or any(r.path for r in policy.rules) else ""
    return Policy(policy, guarded=guarded, home=home, memory=Memory.of(decisions))


async def _home(environment: Environment) -> str:
    """The home folder of the desktop's user; empty where the machine does not tell."""
    if "execute" not in environment.capabilities:
        return ""
    told = await environment.execute(["sh", "-c", 'printf %s "$HOME"'], timeout=_HOME_SECONDS)
    folder = told.output.strip().rstrip("/")
    return folder if told.exit_code == 0 and folder.startswith("/") else ""


def _approving(ask: Ask | None, emit: Emit) -> Approve | None:
    """Asks a person about a call; None where nobody can be asked."""
    if ask is None:
        return None

    async def approve(what: str) -> bool:
        answer = await ask_person(ask, Question("policy", what), emit=emit)
        return answer.kind == "kind"

    return approve


def open_toolbox(
    settings: Settings,
    registry: ToolRegistry,
    reader: ElementsReader | None,
    log: RunLog,
    emit: Emit,
    *,
    policy: Policy,
    ask: Ask | None,
) -> Toolbox:
    """The tools behind the policy, each call held to the look that it was decided on."""
    decided = PolicyToolbox(
        registry,
        policy,
        find=registry.find,
        emit=emit,
        approve=_approving(ask, emit),
        inspect=reader.recent if reader else None,
    )
    from hisa.state.guards import SequenceGuard
    from hisa.tools.sequence import SequenceToolbox

    planner = settings.planner
    guard = SequenceGuard(reader, similar=planner.guard_similarity) if planner.guards else None
    return SequenceToolbox(
        decided, guard=guard, save=log.save, emit=emit, settle=settings.environment.settle
    )
