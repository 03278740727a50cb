"""A person is asked before anything is done on a machine, also by a task's set-up and check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hisa.actions import Action, to_source
from hisa.environments.confirm import ActionKind, Ask, Question, ask_person
from hisa.errors import ActionRefused
from hisa.plugins.guard.wrapped import WrappedEnvironment
from hisa.protocols import CommandResult, Emit, Environment

__all__ = ["AskedMachine", "Questioner"]


class Questioner:
    """Asks a person about kinds of things; one that is allowed for the run is asked no more.

    Args:
        ask: gives who is asked; None where nobody can be.
        emit: takes a `Confirmed` for each question.
    """

    def __init__(self, ask: Callable[[], Ask | None], emit: Emit) -> None:
        self._ask = ask
        self._emit = emit
        self._always: set[ActionKind] = set()

    async def require(self, kind: ActionKind, what: str) -> None:
        """Ask, unless the kind is allowed already.

        Raises:
            ActionRefused: the person said no, or nobody can be asked.
            asyncio.CancelledError: the person stopped the run.
        """
        if kind in self._always:
            return
        ask = self._ask()
        if ask is None:
            raise ActionRefused(f"this needs a person's word, and nobody can be asked: {what}")
        answer = await ask_person(ask, Question(kind, what), emit=self._emit)
        if answer.kind == "kind":
            self._always.add(kind)


class AskedMachine(WrappedEnvironment):
    """A machine as a task's set-up and check get it: they act besides the agent, and look freely.

    Args:
        inner: where it is done.
        questioner: asks before each act, command and written file.
    """

    def __init__(self, inner: Environment, questioner: Questioner) -> None:
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
