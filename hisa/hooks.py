"""Hooks: what may watch a run, refuse an action, replace a call, or wait, at named moments.

::

    class OnlyOneClick(Hook):
        async def before_action(self, step: Step, action: StepAction) -> None:
            if action.number > 1:
                raise ActionRefused("one action a step, please")

The order of a run's hooks is one list: `hisa doctor` prints it, and so does the head of the log.
Hooks are given to `hisa.Agent`, or announced by a package in the entry-point group ``hisa.hooks``.
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
    """One run, from its start to its end, with its parts."""

    task: Task
    environment: Environment
    tools: Toolbox
    log: Recorder
    """Takes events; its ``step`` is the number of the present step."""
    hooks: Hooks
    state: StateManager | None = None
    """None: nobody abstracts what is done, as where a client acts by itself."""
    max_steps: int = 50
    step: Step | None = None
    """The present step; None before the first one."""
    result: Result | None = None
    """How it ended; None until then, and for a run that a defect ended."""


@dataclass(eq=False)
class StepAction:
    """One thing that is done: a press on the screen with what belongs to it, or a call of a tool.

    A step has one for each press of each call of its reply; typing belongs to the press before it
    in its call. Whether it clicks: ``any(isinstance(a, Click) for a in action.call.actions)``.
    """

    call: GroundedCall
    """What is done. A hook may put another in its place."""
    look: Observation
    """The look that it is decided on."""
    number: int
    """Its number in the step, from 1."""
    full_call: GroundedCall
    """The call that it is a part of."""
    earlier_actions: tuple[Action, ...] = ()
    """What was done of the same call before it; empty for the first press."""
    approved: bool = False
    """Whether a person was asked and allowed it."""
    tries: int = 0
    """How often it was tried and not done, because the screen changed before."""
    changed: str = ""
    """What was no longer as on the look when it was tried last."""
    executed: bool = False
    """Whether its tool was called; False too where a hook said what came of it."""
    outcome: Outcome | None = None
    """What came of it; None before it was done. Where a hook sets it before, it is not done."""


@dataclass(eq=False)
class Step:
    """One step: everything that is known of it so far."""

    number: int
    run: Run
    look: Observation
    """What the planner sees."""
    view: StateView
    """The state that the planner gets. `Hook.before_plan` may replace it."""
    call: ToolCall | None = None
    """The planner's reply. `Hook.after_plan` may replace it."""
    grounded: GroundedCall | None = None
    """The call with its places. Set in `Hook.after_plan`, it is not grounded again."""
    actions: list[StepAction] = field(default_factory=list)
    executed_calls: list[ExecutedCall] = field(default_factory=list)
    """The calls of the reply that are done."""
    outcome: Outcome | None = None
    """What came of it. `Hook.after_step` may put one in its place whose ``ends`` ends the run."""
    before: Observation | None = None
    """The look that the step is judged from; a hook may replace it until the step is abstracted."""
    after: Observation | None = None
    """The look after it. `Hook.after_step` may set None: the next step looks anew."""
    line: str = ""
    """Its line in the planner's history, to be read; `Hook.before_plan` may replace ``view.steps``,
    the lines that are sent."""
    events: list[Event] = field(default_factory=list)
    planning: asyncio.Task[ToolCall] | None = None
    """The planner at work; a hook may cancel it, and the step fails with ``interrupted``, unless
    the planner answers the cancelling with a call."""
    interrupted: str = ""

    @property
    def task(self) -> Task:
        """The task of the run."""
        return self.run.task

    @property
    def environment(self) -> Environment:
        """The machine."""
        return self.run.environment


class Hook:
    """Does nothing at any moment; a subclass has those methods that it needs.

    Before and after the plan and before an action, a method refuses by raising
    `hisa.errors.ActionRefused`, whose text the planner reads: the step, or the rest of it, is not
    done. Any other exception ends the run and names the hook.
    """

    name = ""
    """As printed; empty: the name of the class."""
    watches = False
    """Whether it only watches: if it fails, the run goes on without it, with a note in the log."""
    every_try = False
    """Whether `before_action` comes again, with ``action.changed``, if the screen changed before
    the action was done and it is tried again."""

    def applies(self, environment: Environment) -> bool:
        """Whether the run needs it on a machine; it is left out of the list otherwise."""
        return True

    def at_border(self, environment: Environment) -> Environment:
        """Returns the machine as everybody else sees it: for what must see every byte."""
        return environment

    def at_task(self, environment: Environment) -> Environment:
        """Returns the machine as the task's set-up and check see it: they act besides the agent."""
        return environment

    async def on_start(self, run: Run) -> None:
        """Comes before the machine is brought to the task's initial state, or the run goes on."""

    async def before_plan(self, step: Step) -> None:
        """Comes before the planner is asked."""

    async def after_plan(self, step: Step) -> None:
        """Comes once the planner answered, before the call's places are looked for."""

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Comes before each action of a call or a sequence, with its places."""

    async def after_action(self, step: Step, action: StepAction) -> None:
        """Comes after each action that was done, with its outcome."""

    async def after_step(self, step: Step) -> None:
        """Comes once the step has its line and is done, however long this takes."""

    async def on_end(self, run: Run) -> None:
        """Comes once the run has its score, before anything is learned from it."""


class Hooks:
    """The hooks of a run, in their order.

    Args:
        hooks: in order.
        emit: gets a `Noted` for one that only watches and failed.
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
        """Let one more take part from now on, after the others."""
        self._hooks.append(hook)
        self._at = {}

    def remove(self, hook: Hook) -> None:
        """Let one no longer take part."""
        self._hooks = [other for other in self._hooks if other is not hook]
        self._at = {}

    async def call(self, moment: Moment, *records: Any, again: bool = False) -> None:
        """Call the hooks that have a method for a moment, in order; one that joins meanwhile too.

        Args:
            moment: the name of the method.
            records: what it is called with.
            again: whether this is another try, for those with ``every_try`` alone.

        Raises:
            HisaError: from a hook, as it is.
            HookFailed: from a hook that fails in another way; it names the hook.
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
        """Leave out a hook that only watches; the run ends with the error of any other."""
        if hook.watches:
            self.remove(hook)
            text = f"{name_of(hook)} failed in {moment} and watches no more: {error}"
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
    """Returns the name of a hook as it is printed."""
    return hook.name or type(hook).__name__
