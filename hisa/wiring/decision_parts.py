"""What stands around the planner: samples and their judge, sequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hisa.config import Settings
from hisa.environments.confirm import Ask, Question, ask_person
from hisa.events import Decided
from hisa.grounder.reading import ElementsReader
from hisa.models.profiles import Profile
from hisa.protocols import (
    Emit,
    Environment,
    GroundedCall,
    Grounder,
    Model,
    Planner,
    Role,
    Toolbox,
    ToolCall,
)
from hisa.screen.observation import Observation
from hisa.sequence import ground_calls
from hisa.tools.policy.deciding import Memory, Policy
from hisa.tools.policy.policy_toolbox import Approve, PolicyToolbox
from hisa.tools.registry import ToolRegistry
from hisa.wiring.memo import MemoGrounder, TellingGrounder

__all__ = ["open_policy", "open_toolbox", "scaled"]

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
) -> tuple[Planner, Grounder]:
    """A planner that samples, and the agent's side of the grounder that they share.

    Raises:
        ConfigError: this planner cannot be sampled.
    """
    from hisa.planner.open_scaling import open_scaling  # most runs ask once

    memo = MemoGrounder(grounder)
    judge = models.get("judge", models["planner"])
    scaled = open_scaling(
        settings.planner,
        settings.models.planner,
        planner,
        _Calls(memo),
        judge,
        emit=emit,
        profile=profile,
    )
    return scaled, TellingGrounder(memo, emit=emit)


class _Calls:
    """Resolves all calls of a sequence with another grounder."""

    def __init__(self, inner: Grounder) -> None:
        self._inner = inner

    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        """See `hisa.sequence.ground_calls`."""
        return await ground_calls(call, observation, self._inner)


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
    registry: ToolRegistry,
    reader: ElementsReader | None,
    emit: Emit,
    *,
    policy: Policy,
    ask: Ask | None,
) -> Toolbox:
    """The tools behind the policy."""
    return PolicyToolbox(
        registry,
        policy,
        find=registry.find,
        emit=emit,
        approve=_approving(ask, emit),
        inspect=reader.recent if reader else None,
    )
