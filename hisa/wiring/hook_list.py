"""The hooks of a run: those that packages announce, their order, and those that a run needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hisa.config import PolicySettings, Settings
from hisa.errors import ConfigError, HisaError, PluginFailed
from hisa.events import Noted
from hisa.hooks import Hook, name_of
from hisa.machine import plugins
from hisa.protocols import Environment, ExitStatus, Scorer, Scoring, Task
from hisa.wiring.base import HookParts

__all__ = [
    "NEEDED",
    "ORDER",
    "applied_hooks",
    "has_default_rules",
    "hook_names",
    "in_order",
    "may_need",
    "needed_hooks",
    "open_hooks",
    "scorer_on",
]

ORDER = (
    "repeats",
    "results",
    "program",
    "held_acts",
    "blind_acts",
    "policy",
    "confirm",
    "live",
)
"""HiSA's own hooks, in order; the user's and those of other packages come before them."""
BUILT_IN = ("repeats", "results", "program", "blind_acts")
"""Hooks of the core; packages announce the rest."""
NEEDED = ("held_acts", "policy", "confirm", "secrets")
"""Hooks that settings can need: if a needed one is missing, the run does not start."""
_PLACES = {name: place for place, name in enumerate(ORDER)}


def has_default_rules(policy: PolicySettings, *, thrown_away: bool) -> bool:
    """Whether the policy's default rules apply on a machine."""
    return policy.defaults == "always" or (policy.defaults == "auto" and not thrown_away)


def needed_hooks(settings: Settings, environment: Environment | None) -> Mapping[str, str]:
    """Returns the names of the hooks that a run needs, each with the settings that need it."""
    thrown_away = environment is None or "throw_away" in environment.capabilities
    return dict(_needs(settings, thrown_away=thrown_away))


def may_need(name: str, settings: Settings) -> bool:
    """Whether a run needs a hook on at least some machines."""
    return name in dict(_needs(settings, thrown_away=False))


def _needs(settings: Settings, *, thrown_away: bool) -> Iterator[tuple[str, str]]:
    if settings.planner.guards:
        yield "held_acts", "planner.guards"
    policy, confirm = settings.policy, settings.run.confirm
    limits = ("rules", "sites", "folders", "dry_run")
    reasons = [f"policy.{name}" for name in limits if getattr(policy, name)]
    if policy.unknown != "allow":
        reasons.append(f"policy.unknown = {policy.unknown!r}")
    if has_default_rules(policy, thrown_away=thrown_away):
        reasons.append(f"policy.defaults = {policy.defaults!r}")
    elif policy.defaults != "never" and settings.tools.mcp and settings.tools.allow:
        reasons.append("tools.mcp")  # servers act outside the machine
    if reasons:
        yield "policy", ", ".join(reasons)
    if confirm == "always" or (confirm == "auto" and not thrown_away):
        yield "confirm", f"run.confirm = {confirm!r}"
    if settings.secrets:
        yield "secrets", "secrets"


class _Lacking(Hook):
    """Replaces a missing hook, and ends the run on a machine that needs it."""

    def __init__(self, name: str, settings: Settings, error: HisaError) -> None:
        self.name = name
        self._settings = settings
        self._error = error

    def applies(self, environment: Environment) -> bool:
        """Returns False if the machine does not need the hook.

        Raises:
            PluginFailed, ConfigError: the machine needs it.
        """
        if reason := needed_hooks(self._settings, environment).get(self.name):
            raise _needed_by(self._error, reason)
        return False


def _needed_by(error: HisaError, reason: str) -> HisaError:
    text = f"{error}; {reason} needs it, so nothing was started"
    if isinstance(error, PluginFailed):
        return PluginFailed(text)
    return ConfigError(text, fix=f"run hisa doctor, or omit {reason}")


def open_hooks(parts: HookParts) -> list[Hook]:
    """Open the hooks that installed packages announce, and return them in order.

    If a hook of another package fails, the log gets a note.

    Raises:
        PluginFailed: a hook that every machine needs fails; names its package.
        ConfigError: no package announces a hook that every machine needs.
        OperatorError: a factory raised it.
    """
    hooks: dict[str, Hook] = {}
    errors: dict[str, HisaError] = {}
    first = {point.name: point for point in reversed(plugins.points("hooks"))}  # HiSA's own names
    for name in sorted(name for name, point in first.items() if not plugins.is_left_out(point)):
        try:
            hook = plugins.make("hooks", name, parts)
            if not isinstance(hook, Hook | None):
                raise PluginFailed(f"hook {name!r}: {hook!r:.80} is not a hisa.hooks.Hook")
        except PluginFailed as error:
            errors[name] = error
            continue
        if hook is not None:
            hooks[name] = hook
    needed = needed_hooks(parts.settings, None)
    for name in NEEDED:
        if name in hooks or not may_need(name, parts.settings):
            continue
        lacking = ConfigError(f"no installed package provides the hook {name!r} of hisa.hooks")
        failure = errors.pop(name, lacking)
        if name in needed:
            raise _needed_by(failure, needed[name])
        hooks[name] = _Lacking(name, parts.settings, failure)
    for failure in errors.values():
        parts.emit(Noted(where="hooks", text=str(failure)))
    return in_order(hooks.values())


def hook_names() -> tuple[str, ...]:
    """Returns the names of the hooks that are installed, in order, without importing them."""
    first = {point.name: point for point in reversed(plugins.points("hooks"))}
    here = [name for name, point in first.items() if not plugins.is_left_out(point)]
    others = sorted(name for name in here if name not in ORDER)
    return (*others, *(name for name in ORDER if name in BUILT_IN or name in here))


def in_order(hooks: Iterable[Hook]) -> list[Hook]:
    """Returns hooks in the order of a run: others' first, in the given order, then HiSA's own."""
    return sorted(hooks, key=lambda hook: _PLACES.get(name_of(hook), -1))


def applied_hooks(
    hooks: Iterable[Hook], settings: Settings, environment: Environment
) -> list[Hook]:
    """Returns those hooks that apply to the run's machine.

    Args:
        hooks: the hooks of the run.
        settings: the settings, which decide which hooks are needed.
        environment: the machine.

    Raises:
        PluginFailed, ConfigError: a needed hook is missing, or does not apply to the machine.
        UsageError: a person has to be asked, but nobody can be asked.
    """
    applied = [hook for hook in hooks if hook.applies(environment)]
    names = {name_of(hook) for hook in applied}
    for name, reason in needed_hooks(settings, environment).items():
        if name not in names:
            lacking = ConfigError(f"the hook {name!r} does not apply to {environment.name}")
            raise _needed_by(lacking, reason)
    return applied


def scorer_on(scorer: Scorer, hooks: Iterable[Hook], environment: Environment) -> Scorer:
    """Returns a scorer that works on the machine as hooks let tasks see it.

    Args:
        scorer: the scorer to wrap.
        hooks: each may wrap the machine by `Hook.at_task`.
        environment: the machine that the agent acts on.
    """
    machine = environment
    for hook in hooks:
        machine = hook.at_task(machine)
    return scorer if machine is environment else _ScorerOn(scorer, machine)


class _ScorerOn:
    """Prepares and scores tasks on the machine as hooks wrapped it, not as the agent sees it."""

    def __init__(self, scorer: Scorer, machine: Environment) -> None:
        self._scorer = scorer
        self._machine = machine

    async def prepare(self, task: Task, environment: Environment) -> Task:
        """See `hisa.protocols.Scorer`."""
        return await self._scorer.prepare(task, self._machine)

    async def over(self, task: Task, environment: Environment) -> str:
        """See `hisa.protocols.Scorer`."""
        return await self._scorer.over(task, self._machine)

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        """Score ``task`` after ``status``, on the wrapped machine in place of ``environment``."""
        return await self._scorer.score(task, self._machine, status)
