"""Opens the policy of a run: its rules, the machine's home folder, and the decisions so far."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.config import PolicySettings
from hisa.events import Decided
from hisa.plugins.guard.policy.deciding import Policy
from hisa.protocols import Environment
from hisa.wiring.hook_list import has_default_rules

__all__ = ["open_policy"]

_HOME_SECONDS = 10.0
"""Time limit of a command that prints one line; chosen by hand."""


async def open_policy(
    policy: PolicySettings, environment: Environment, decisions: Iterable[Decided] = ()
) -> Policy:
    """The policy of a run.

    Args:
        policy: the section of the settings.
        environment: the machine; a thrown-away one has no default rules unless they are asked for.
        decisions: earlier ones, where the run goes on.
    """
    named = bool(policy.folders) or any(rule.path for rule in policy.rules)
    home = await _home(environment) if named else ""
    thrown_away = "throw_away" in environment.capabilities
    guarded = has_default_rules(policy, thrown_away=thrown_away)
    always = (kind for each in decisions if each.answer == "kind" for kind in each.kinds)
    return Policy(policy, guarded=guarded, home=home, always=always)


async def _home(environment: Environment) -> str:
    """The home folder of the desktop's user; empty where the machine does not tell."""
    if "execute" not in environment.capabilities:
        return ""
    answer = await environment.execute(["sh", "-c", 'printf %s "$HOME"'], timeout=_HOME_SECONDS)
    folder = answer.output.strip().rstrip("/")
    return folder if answer.exit_code == 0 and folder.startswith("/") else ""
