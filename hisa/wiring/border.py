"""The border of a machine: the wrappers that hooks put around it, for agents and other users."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.config import Settings
from hisa.hooks import Hook
from hisa.protocols import Environment
from hisa.runs.log import RunLog
from hisa.text.redact.named_secrets import Scrubber
from hisa.wiring.base import HookParts
from hisa.wiring.hook_list import open_hooks

__all__ = ["border_of", "scrubber_of", "with_border"]


def with_border(environment: Environment, hooks: Iterable[Hook]) -> Environment:
    """Returns the machine wrapped by the border of each hook, in order."""
    for hook in hooks:
        environment = hook.at_border(environment)
    return environment


def scrubber_of(hooks: Iterable[Hook]) -> Scrubber | None:
    """Returns the ``scrubber`` of a hook, which keeps the values of secrets from models."""
    scrubbers = (getattr(hook, "scrubber", None) for hook in hooks)
    return next(filter(None, scrubbers), None)


def border_of(environment: Environment, settings: Settings, log: RunLog) -> Environment:
    """Returns a machine with its border, for code that acts on it without an agent.

    Args:
        environment: the machine itself.
        settings: the settings, which decide which hooks are needed.
        log: receives the events of the hooks.

    Raises:
        OperatorError: a hook that the settings need is not available.
    """
    hooks = open_hooks(HookParts(settings, log, log.emit))
    return with_border(environment, [hook for hook in hooks if _has_border(hook)])


def _has_border(hook: Hook) -> bool:
    return type(hook).at_border is not Hook.at_border
