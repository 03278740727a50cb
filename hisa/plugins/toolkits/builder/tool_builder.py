"""Goes through the stages of a build: requirements, and for each function tests and programs.

ComputerRL (appendix A) writes the program first and its tests after it. Here the tests come first
and are written from the description alone; they count only once a function that does nothing fails
them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hisa.errors import (
    BudgetExceeded,
    EnvironmentFailed,
    InvalidReply,
    ModelUnavailable,
    UsageError,
)
from hisa.plugins.toolkits.builder.build_records import (
    Built,
    Cases,
    Covered,
    FunctionDescription,
    Try,
)
from hisa.plugins.toolkits.builder.built_toolkit import tool_of
from hisa.plugins.toolkits.builder.program_cases import case_failures, does_nothing
from hisa.plugins.toolkits.builder.stage_requests import BuildRequest, StageRequests
from hisa.protocols import Environment, Model
from hisa.text.redact import redact
from hisa.tools.traits import Needs

__all__ = ["Build", "ToolBuilder"]

_TESTS_ASKED = 2
"""Times that tests are asked for: a function that does nothing passes them, and then once more."""


@dataclass
class Build:
    """All that came of a build, in order."""

    request: BuildRequest
    model: str
    needed: tuple[Covered, ...] = ()
    planned: tuple[FunctionDescription, ...] = ()
    functions: list[Built] = field(default_factory=list)
    stopped: str = ""
    """Why it ended before every function was tried."""

    @property
    def passed(self) -> tuple[Built, ...]:
        """The functions whose tests pass."""
        return tuple(each for each in self.functions if each.passed)


class ToolBuilder:
    """Builds the tools that a request asks for.

    Args:
        model: writes plans, tests and programs.
        environment: a started machine that is thrown away; all programs run there.
        prepare: brings a fresh machine to the initial state: the application is open.
        tell: called with a line on each thing done.
    """

    def __init__(
        self,
        model: Model,
        environment: Environment,
        *,
        prepare: Callable[[Environment], Awaitable[object]],
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._model = model
        self._environment = environment
        self._prepare = prepare
        self._tell = tell
        self._is_fresh = False
        self.made: Build | None = None
        """What there is so far, also where `build` raises."""

    async def build(self, request: BuildRequest) -> Build:
        """Plan and make the functions; a budget or a model that is gone ends it, and is noted.

        Raises:
            UsageError: the machine keeps what is done to it, or the application is not open.
            EnvironmentFailed: the machine cannot be brought up.
            ModelUnavailable, BudgetExceeded: before there was a plan, or none that is usable.
        """
        if "throw_away" not in self._environment.capabilities:
            raise UsageError(
                f"{self._environment.name} keeps what is done to it, and programs of a model are "
                "tried there",
                fix="--env desktop, or leave --env out",
            )
        await self._fresh()
        await self._require_open(request)
        stages = StageRequests(self._model, request)
        try:
            plan = await stages.requirements()
        except InvalidReply as error:
            raise ModelUnavailable(
                f"{self._model.name} gave no usable plan: {redact(str(error))}",
                fix="try again, or another --model",
            ) from error
        build = self.made = Build(request, self._model.name, plan.needed, plan.functions)
        names = ", ".join(each.name for each in plan.functions) or "nothing"
        self._tell(f"{len(plan.needed)} functionalities needed; to be made: {names}")
        for described in plan.functions:
            built = Built(described)
            build.functions.append(built)
            try:
                await self._make(stages, built, request.tries)
            except (BudgetExceeded, ModelUnavailable) as error:
                built.given_up = build.stopped = str(error)
                break
            except InvalidReply as error:
                built.given_up = f"no usable reply: {redact(str(error))}"
            state = "passes its tests" if built.passed else "is given up"
            self._tell(f"{described.name} {state} after {len(built.tries)} programs")
        return build

    async def _fresh(self) -> None:
        if not self._is_fresh:
            await self._environment.reset()
            await self._prepare(self._environment)
        self._is_fresh = True

    async def _require_open(self, request: BuildRequest) -> None:
        look = await self._environment.observe()
        if Needs(apps=(request.app,)).is_open(look):
            return
        there = ", ".join(sorted({window.app for window in look.windows})) or "none"
        raise UsageError(
            f"no window of {request.app!r} is open; there are windows of: {there}",
            fix="--task FILE, a task file whose setup opens it and waits for its window",
        )

    async def _make(self, stages: StageRequests, built: Built, tries: int) -> None:
        """Tests and programs of one function, until one passes or the tries are used up."""
        if not await self._tests(stages, built):
            return
        for number in range(1, tries + 1):
            last = built.tries[-1] if built.tries else None
            code = await stages.program(built.described, last)
            started = time.monotonic()
            failures = await self._tried(code, built)
            built.tries.append(Try(code, failures, time.monotonic() - started))
            self._tell(
                f"{built.described.name}, program {number}: "
                f"{len(failures)} of {len(built.cases)} cases failed"
            )
            if not failures:
                return

    async def _tests(self, stages: StageRequests, built: Built) -> bool:
        """Ask for tests until a function that does nothing fails one; whether there are such."""
        tool = tool_of(built.described, kit="", title="")

        def fits(found: Cases) -> None:
            for number, case in enumerate(found.cases, 1):
                try:
                    tool.arguments(case.arguments)
                except InvalidReply as error:
                    raise InvalidReply(f"case {number}: {error}") from error

        why = ""
        for _ in range(_TESTS_ASKED):
            built.cases = (await stages.cases(built.described, fits=fits, why=why)).cases
            if await self._tried(does_nothing(built.described.name), built):
                return True
            why = "A function that does nothing and returns null passes every case."
        built.given_up = "its tests are passed by a function that does nothing"
        return False

    async def _tried(self, code: str, built: Built) -> tuple[str, ...]:
        """Run the tests on a fresh machine; one that breaks meanwhile is a failure of the program.

        Raises:
            EnvironmentFailed: the machine cannot be brought up again.
        """
        await self._fresh()
        self._is_fresh = False
        try:
            return await case_failures(
                self._environment, code, built.described.name, cases=built.cases
            )
        except EnvironmentFailed as error:
            return (f"the machine broke while the tests ran: {redact(str(error))}",)
