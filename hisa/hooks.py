"""Hooks: code that may watch a run, refuse an action, replace a call or wait, at named moments.

::

    class OnlyOneClick(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            if action.number > 1:
                raise ActionRefused("one action a step, please")

Hooks are passed to `hisa.Agent`, or registered by a package in the entry-point group
``hisa.hooks``. They are called one after another; `hisa doctor` prints their order, and so does
the head of the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hisa.actions import Action
from hisa.errors import HisaError, HookFailed
from hisa.events import Event, Noted
from hisa.protocols import (
    Emit,
    Environment,
    ExecutedCall,
    GroundedCall,
    Outcome,
    Recorder,
    Result,
    StateManager,
    StateView,
    Task,
    Toolbox,
    ToolCall,
)
from hisa.screen.observation import Observation

__all__ = ["Hook", "Hooks", "Moment", "Run", "Step", "StepAction"]

Moment = Literal[
    "on_start",
    "before_plan",
    "after_plan",
    "before_action",
    "after_action",
    "after_step",
    "on_end",
]
_Methods: TypeAlias = "tuple[tuple[Hook, Callable[..., Awaitable[None]]], ...]"


@dataclass(eq=False)
class Run:
    """One run from its start to its end, with its parts."""

    task: Task
    environment: Environment
    tools: Toolbox
    log: Recorder
    """Records events; its ``step`` is the number of the present step."""
    hooks: Hooks
    state: StateManager | None = None
    """None if no step lines are written, as when a client of HiSA's server does the acting."""
    max_steps: int = 50
    """The run ends after so many steps."""
    step: Step | None = None
    """The present step; None before the first one."""
    result: Result | None = None
    """How the run ended; None until it does, and if a defect ended it."""


@dataclass(eq=False)
class StepAction:
    """One action of a step: a press on the screen with what belongs to it, or a call of a tool.

    A call on the screen has one action for each press; typing belongs to the press before it. For
    example, click(), write(), click() are two actions: the click with the typing, and the second
    click. To see if an action clicks: ``any(isinstance(a, Click) for a in action.call.actions)``.
    """

    call: GroundedCall
    """What is done. A hook may replace it."""
    look: Observation
    """The look that the action was decided on."""
    number: int
    """The number of the action in its step, from 1."""
    full_call: GroundedCall
    """The whole call that the action is a part of."""
    earlier_actions: tuple[Action, ...] = ()
    """What was already done of the same call; empty for its first press."""
    approved: bool = False
    """Whether a person was asked and allowed it."""
    tries: int = 0
    """How often it was tried and not done, because the screen had changed."""
    changed: str = ""
    """What differed from the look when it was last tried; empty on the first try."""
    executed: bool = False
    """Whether its tool was called; stays False if a hook set the outcome instead."""
    outcome: Outcome | None = None
    """The result; None until the action is done. If `Hook.before_action` sets it, the action is
    not done."""


@dataclass(eq=False)
class Step:
    """One step, with everything that is known of it so far."""

    number: int
    """The number of the step, from 1."""
    run: Run
    look: Observation
    """What the planner sees."""
    view: StateView
    """The state that the planner gets. `Hook.before_plan` may replace it."""
    call: ToolCall | None = None
    """The planner's call. `Hook.after_plan` may replace it."""
    grounded: GroundedCall | None = None
    """The call with coordinates. If `Hook.after_plan` sets it, the grounder is not asked."""
    actions: list[StepAction] = field(default_factory=list)
    """The actions so far, done or refused."""
    executed_calls: list[ExecutedCall] = field(default_factory=list)
    """The calls of the reply that were done."""
    outcome: Outcome | None = None
    """The result. `Hook.after_step` may replace it; one with ``ends`` ends the run."""
    before: Observation | None = None
    """The look that ``after`` is compared with to judge the step. A hook may replace it until the
    step has its line."""
    after: Observation | None = None
    """The look after the step. `Hook.after_step` may set it to None: then the next step takes a
    new look."""
    line: str = ""
    """The line of the step in the planner's history. Changing it has no effect: to change the
    lines that the planner gets, replace ``view.steps`` in `Hook.before_plan`."""
    events: list[Event] = field(default_factory=list)
    """The events of the step so far."""
    planning: asyncio.Task[ToolCall] | None = None
    """The planner's task while it runs. A hook may set ``interrupted`` and cancel it: the step
    fails with that text, unless the planner still returns a call."""
    interrupted: str = ""
    """Why a hook cancelled the planner; the planner reads it in the step's line."""

    @property
    def task(self) -> Task:
        """The task of the run."""
        return self.run.task

    @property
    def environment(self) -> Environment:
        """The machine."""
        return self.run.environment


class Hook:
    """The base of all hooks: it does nothing; a subclass overrides the methods that it needs.

    `before_plan`, `after_plan` and `before_action` may refuse by raising
    `hisa.errors.ActionRefused`: the step, or the rest of it, is not done, and the planner reads
    the error's text. Any other exception ends the run with an error that names the hook.
    """

    name = ""
    """The name that is printed; empty: the name of the class."""
    watches = False
    """Whether the hook only watches. If such a hook fails, the run goes on without it, and the log
    says so."""
    every_try = False
    """Whether `before_action` is called again if an action is tried again because the screen
    changed; ``action.changed`` then says what changed."""

    def applies(self, environment: Environment) -> bool:
        """Whether the hook is needed on a machine; if not, it takes no part in the run."""
        return True

    def at_border(self, environment: Environment) -> Environment:
        """Wrap the machine for all that use it: for a hook that must see every byte.

        Returns the environment that the agent, the task's setup and its check use instead.
        """
        return environment

    def at_task(self, environment: Environment) -> Environment:
        """Wrap the machine for the task's setup and check, which act on it beside the agent.

        Returns the environment that they use instead.
        """
        return environment

    async def on_start(self, run: Run) -> None:
        """Called before the machine is brought to the initial state, or a run is resumed."""

    async def before_plan(self, step: Step) -> None:
        """Called before the planner is asked."""

    async def after_plan(self, step: Step) -> None:
        """Called when the planner has returned a call, before its targets are grounded."""

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Called before each action of a call or a sequence; its coordinates are known."""

    async def after_action(self, step: Step, action: StepAction) -> None:
        """Called after each action that was done; its outcome is known."""

    async def after_step(self, step: Step) -> None:
        """Called when the step is done and has its line. The run waits as long as this takes."""

    async def on_end(self, run: Run) -> None:
        """Called when the run has its score, before anything is learned from it."""


class Hooks:
    """The hooks of a run, in the order in which they are called.

    Args:
        hooks: the hooks, in that order.
        emit: gets a `Noted` event if a hook that only watches fails.
    """

    def __init__(self, hooks: Iterable[Hook] = (), *, emit: Emit = lambda _: None) -> None:
        self._hooks = list(hooks)
        self._emit = emit
        self._at: dict[Moment, _Methods] = {}

    def __iter__(self) -> Iterator[Hook]:
        return iter(self._hooks)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hooks, in order."""
        return tuple(name_of(hook) for hook in self._hooks)

    def add(self, hook: Hook) -> None:
        """Add a hook after the others; it is called from now on."""
        self._hooks.append(hook)
        self._at = {}

    def remove(self, hook: Hook) -> None:
        """Remove a hook; it is no longer called."""
        self._hooks = [other for other in self._hooks if other is not hook]
        self._at = {}

    async def call(self, moment: Moment, *records: Any, again: bool = False) -> None:
        """Call the hooks that have a method for a moment, in order.

        A hook that is added meanwhile is called too.

        Args:
            moment: the name of the method.
            records: the arguments of the method.
            again: whether an action is tried again: only hooks with ``every_try`` are called.

        Raises:
            HisaError: a hook raised it.
            HookFailed: a hook raised anything else; the error names the hook.
        """
        known: _Methods = ()
        while (methods := self._methods(moment)) is not known:
            for hook, method in methods:
                if (hook, method) in known or (again and not hook.every_try):
                    continue
                try:
                    await method(*records)
                except Exception as error:  # noqa: BLE001 - a hook may raise anything
                    self._take_failure(hook, moment, error)
            known = methods

    def _take_failure(self, hook: Hook, moment: Moment, error: Exception) -> None:
        """Remove the hook if it only watches; otherwise raise, so that the run ends."""
        if hook.watches:
            self.remove(hook)
            text = f"{name_of(hook)} failed in {moment} and is no longer called: {error}"
            self._emit(Noted(where="hooks", text=text))
        elif isinstance(error, HisaError):
            raise error
        else:
            text = f"hook {name_of(hook)!r} failed in {moment}: {type(error).__name__}: {error}"
            raise HookFailed(text) from error

    def _methods(self, moment: Moment) -> _Methods:
        if moment not in self._at:
            own = getattr(Hook, moment)
            self._at[moment] = tuple(
                (hook, getattr(hook, moment))
                for hook in self._hooks
                if getattr(type(hook), moment) is not own
            )
        return self._at[moment]


def name_of(hook: Hook) -> str:
    """Returns the name under which a hook is printed."""
    return hook.name or type(hook).__name__
