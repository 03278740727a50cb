"""The step that runs a command and then waits for what it was run for."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.plugins.benchmarks.tasks.setup.start_programs import Execute, execute
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import SETUP, Parameters
from hisa.tasks.windows import plain_title

__all__ = ["VerifiedCommand"]


class _Verification(Parameters):
    window_exists: str | None = None
    command_success: str | None = None


class VerifiedCommand(Parameters):
    """A command, and what must hold within some seconds afterwards; all that is named must."""

    command: Annotated[str | tuple[str, ...], Field(min_length=1)]
    shell: bool = False
    verification: Annotated[
        _Verification, BeforeValidator(lambda value: value or {}), Field(validate_default=True)
    ] = _Verification()
    max_wait_time: Annotated[float, Field(ge=0, le=600)] = 10
    check_interval: Annotated[float, Field(gt=0, le=60)] = 1


@SETUP("execute_with_verification", VerifiedCommand)
async def execute_verified(context: StepContext, params: VerifiedCommand) -> None:
    """Run a command, and wait until the window and the state that it is run for are there.

    Raises:
        EnvironmentFailed: they are not within the time; what is lacking is named.
    """
    await execute(context, Execute(command=params.command, shell=params.shell))
    deadline = Deadline(params.max_wait_time)
    while lacking := await _lacking(context, params.verification):
        if deadline.passed:
            waited = f"{deadline.waited:.0f} s after {str(params.command)[:200]!r}"
            raise EnvironmentFailed(f"{waited}: {lacking}")
        await context.pause(params.check_interval)


async def _lacking(context: StepContext, wanted: _Verification) -> str:
    """The first condition that does not hold, in words; empty where all do."""
    if wanted.window_exists is not None:
        titles = [plain_title(window.title) for window in await context.windows()]
        name = plain_title(wanted.window_exists).lower()
        if not any(name in title.lower() for title in titles):
            return f"no window titled {wanted.window_exists!r}; there are: {titles}"
    if wanted.command_success is not None:
        result = await context.run(wanted.command_success, shell=True)
        if result.exit_code != 0:
            said = (result.error or result.output).strip()[-200:]
            return f"{wanted.command_success[:200]!r} ended with {result.exit_code}: {said}"
    return ""
