"""The hook by which the policy decides each action of a run.

Nothing of the policy is imported before a run needs it. On a throw-away machine without rules, no
run does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hisa.hooks import Hook, Run, Step, StepAction
from hisa.protocols import Environment
from hisa.wiring.base import HookParts
from hisa.wiring.hook_list import may_need, needed_hooks

if TYPE_CHECKING:
    from hisa.plugins.guard.policy.call_decider import Decider
    from hisa.plugins.guard.policy.rule_decision import Policy
    from hisa.tools.registry import ToolRegistry

__all__ = ["PolicyHook", "open_policy_hook"]


class PolicyHook(Hook):
    """Lets an action be done, refuses it, or asks a person, by the rules of the settings.

    Args:
        parts: the parts of the run; the person is looked up when there is a question.
    """

    name = "policy"
    every_try = True

    def __init__(self, parts: HookParts) -> None:
        self._parts = parts
        self._decider: Decider | None = None

    @property
    def policy(self) -> Policy | None:
        """The rules of the run, with what was decided so far; None before it starts."""
        return None if self._decider is None else self._decider.policy

    def applies(self, environment: Environment) -> bool:
        """Whether rules, limits, a dry run or the default rules apply to a machine."""
        return self.name in needed_hooks(self._parts.settings, environment)

    async def on_start(self, run: Run) -> None:
        """Read the rules, and the decisions from before the run was resumed."""
        from hisa.plugins.guard.policy.call_decider import Decider, open_policy

        parts = self._parts
        policy = await open_policy(parts.settings.policy, run.environment, parts.decisions)
        find = cast("ToolRegistry", run.tools).find
        self._decider = Decider(policy, run.environment, find=find, emit=parts.emit, ask=parts.ask)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Decide the action.

        Raises:
            ActionRefused: it must not be done.
        """
        assert self._decider is not None, "a run starts before it acts"
        if action.outcome is not None:
            return  # another hook gave the outcome, so nothing is done
        await self._decider.decide(action)


def open_policy_hook(parts: HookParts) -> Hook | None:
    """Returns the hook of a run's policy; None if the settings need none on any machine."""
    return PolicyHook(parts) if may_need("policy", parts.settings) else None
