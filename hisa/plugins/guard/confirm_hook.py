"""Asks a person before each act and command, also before those of a task's set-up and check."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from hisa.actions import Action, to_source, to_space
from hisa.environments.confirmation import ActionKind, Ask, Question, ask_person
from hisa.errors import ActionRefused, UsageError
from hisa.hooks import Hook, Step, StepAction
from hisa.plugins.guard.environment_wrapper import WrappedEnvironment
from hisa.protocols import CommandResult, Emit, Environment
from hisa.tools.base import BaseTool
from hisa.tools.isolation import shorten_output
from hisa.tools.registry import ToolRegistry
from hisa.wiring.base import HookParts
from hisa.wiring.hook_list import may_need, needed_hooks

__all__ = ["ConfirmHook", "open_confirm_hook"]


class _Questioner:
    """Asks a person about kinds of actions; a kind allowed for the run is not asked about again.

    Args:
        ask: returns the function that asks; None if nobody can be asked.
        emit: takes a `Confirmed` for each question.
    """

    def __init__(self, ask: Callable[[], Ask | None], emit: Emit) -> None:
        self._ask = ask
        self._emit = emit
        self._always: set[ActionKind] = set()

    async def require(self, kind: ActionKind, description: str) -> None:
        """Ask, unless the kind is allowed already.

        Raises:
            ActionRefused: the person said no, or nobody can be asked.
            asyncio.CancelledError: the person stopped the run.
        """
        if kind in self._always:
            return
        ask = self._ask()
        if ask is None:
            raise ActionRefused(
                f"this needs a person's word, and nobody can be asked: {description}"
            )
        answer = await ask_person(ask, Question(kind, description), emit=self._emit)
        if answer.kind == "kind":
            self._always.add(kind)


class _ConfirmingMachine(WrappedEnvironment):
    """The machine of a task's set-up and check, which also act but may look without a question.

    Args:
        inner: the machine itself.
        questioner: asks before each act, command and written file.
    """

    def __init__(self, inner: Environment, questioner: _Questioner) -> None:
        super().__init__(inner)
        self._questioner = questioner

    async def act(self, actions: Sequence[Action], /) -> None:
        """Ask, then act.

        Raises:
            ActionRefused: the person said no; nothing was done.
        """
        await self._questioner.require("acts", to_source(actions))
        await self._inner.act(actions)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Ask, then run.

        Args:
            command: a line for the shell, or a program with its arguments.
            timeout: longest time, in seconds.
            limit: most characters of each output stream.

        Raises:
            ActionRefused: the person said no; nothing was run.
        """
        line = command if isinstance(command, str) else " ".join(command)
        await self._questioner.require("commands", f"$ {line}")
        return await self._inner.execute(command, timeout=timeout, limit=limit)

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Ask, then write.

        Raises:
            ActionRefused: the person said no; nothing was written.
        """
        await self._questioner.require("files", f"write {len(data)} bytes to {path}")
        await self._inner.write_file(path, data)


class ConfirmHook(Hook):
    """Asks a person once before each action that may change the machine.

    An action that the person has allowed already, when the policy asked, is not asked about again.

    Args:
        parts: the parts of the run; the person is looked up when there is a question.
    """

    name = "confirm"

    def __init__(self, parts: HookParts) -> None:
        self._parts = parts
        self._questioner = _Questioner(lambda: parts.ask, parts.emit)

    def applies(self, environment: Environment) -> bool:
        """Whether the settings want a person asked on a machine.

        Raises:
            UsageError: they do, and nobody can be asked.
        """
        if self.name not in needed_hooks(self._parts.settings, environment):
            return False
        if self._parts.ask is None:
            raise UsageError(
                f"run.confirm = {self._parts.settings.run.confirm!r} asks a person before each act "
                f"on {environment.name}, and nobody can be asked",
                fix="pass ask=…, an async function from a Question of "
                "hisa.environments.confirmation to an Answer, or set run.confirm = 'never'",
            )
        return True

    def at_task(self, environment: Environment) -> Environment:
        """Returns a machine that asks a person before each act, command and written file."""
        return _ConfirmingMachine(environment, self._questioner)

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Ask, if the action may change the machine and no person has allowed it yet.

        Raises:
            ActionRefused: the person said no; nothing was done.
            asyncio.CancelledError: the person stopped the run.
        """
        if action.approved or action.outcome is not None:
            return
        tool = cast(ToolRegistry, step.run.tools).find(action.call.call.tool)
        question = None if tool is None else _question(tool, action)
        if question is None:
            return
        try:
            await self._questioner.require(*question)
        except ActionRefused as error:
            raise ActionRefused(shorten_output(str(error))) from None
        action.approved = True


def _question(tool: BaseTool, action: StepAction) -> tuple[ActionKind, str] | None:
    """Returns the question about an action; None if it changes nothing on the machine."""
    call, observation = action.call, action.look
    if tool.always and tool.name == "gui_action":
        screen_actions = to_space(
            call.actions, "screen", screen=observation.screen, image=observation.image
        )
        return "acts", to_source(screen_actions)
    asks_itself = tool.traits.needs.capabilities >= {"person"}
    only_looks = tool.traits.reads and tool.trusted  # a package's tool may claim it falsely
    if not tool.uses_machine or only_looks or asks_itself:
        return None
    if tool.always and tool.name == "bash_execution":
        line = call.input if isinstance(call.input, str) else call.input.get("command", call.input)
        return "commands", f"$ {line}"
    words = call.input if isinstance(call.input, str) else json.dumps(dict(call.input))
    return "commands", f"{tool.name} {words}"


def open_confirm_hook(parts: HookParts) -> Hook | None:
    """Returns the hook; None if the settings want nobody asked on any machine."""
    return ConfirmHook(parts) if may_need("confirm", parts.settings) else None
