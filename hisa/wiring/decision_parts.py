"""What stands around the tools: the policy."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.config import Settings
from hisa.environments.confirm import Ask, Question, ask_person
from hisa.events import Decided
from hisa.grounder.reading import ElementsReader
from hisa.protocols import Emit, Environment, Toolbox
from hisa.tools.policy.deciding import Memory, Policy
from hisa.tools.policy.policy_toolbox import Approve, PolicyToolbox
from hisa.tools.registry import ToolRegistry

__all__ = ["open_policy", "open_toolbox"]

_HOME_SECONDS = 10.0
"""Time limit of a command that prints one line; chosen by hand."""


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
