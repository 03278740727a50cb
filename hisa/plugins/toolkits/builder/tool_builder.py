"""Goes through the stages of a build: requirements, and for each function tests and programs.

ComputerRL (appendix A) writes the program first and its tests after it. Here the tests come first
and are written from the description alone; they count only once a function that does nothing fails
them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from hisa.errors import (
    BudgetExceeded,
    EnvironmentFailed,
    InvalidReply,
    ModelUnavailable,
    UsageError,
)
from hisa.plugins.toolkits.builder.build_records import Build, Built, Cases, ProgramCase
from hisa.plugins.toolkits.builder.built_toolkit import Answer, call_program, wrapper
from hisa.plugins.toolkits.builder.stage_requests import BuildRequest, StageRequests
from hisa.protocols import Environment, Model
from hisa.text.prompt_text import ends
from hisa.text.redact import redact
from hisa.tools.base import Tool
from hisa.tools.traits import Needs

__all__ = ["ToolBuilder"]

_TRIES = 3
"""Programs that are written for one function."""
_SHOWN = 1200
"""Characters of a failure that the model hears."""


class ToolBuilder:
    """Builds the tools that a request asks for.

    Args:
        model: writes plans, tests and programs.
        environment: a started machine that is thrown away; all programs run there.
        prepare: brings a fresh machine to the initial state: the application is open.
        report: called with a line on each thing done.
    """

    def __init__(
        self,
        model: Model,
        environment: Environment,
        *,
        prepare: Callable[[Environment], Awaitable[object]],
        report: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._model = model
        self._environment = environment
        self._prepare = prepare
        self._report = report

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
        await self._require_open(request)
        stages = StageRequests(self._model, request)
        try:
            plan = await stages.requirements()
        except InvalidReply as error:
            raise ModelUnavailable(
                f"{self._model.name} gave no usable plan: {redact(str(error))}",
                fix="try again, or another --model",
            ) from error
        functions = [Built(described=described) for described in plan.functions]
        build = Build(
            app=request.app,
            model=self._model.name,
            needed=plan.needed,
            functions=functions,
        )
        names = ", ".join(built.described.name for built in functions) or "nothing"
        self._report(f"{len(plan.needed)} functionalities needed; to be made: {names}")
        for built in functions:
            try:
                await self._make(stages, built)
            except (BudgetExceeded, ModelUnavailable) as error:
                built.given_up = build.stopped = str(error)
                break
            except InvalidReply as error:
                built.given_up = f"no usable reply: {redact(str(error))}"
        return build

    async def _require_open(self, request: BuildRequest) -> None:
        await self._environment.reset()
        await self._prepare(self._environment)
        look = await self._environment.observe()
        if not Needs(apps=(request.app,)).is_open(look):
            there = ", ".join(sorted({window.app for window in look.windows})) or "none"
            raise UsageError(
                f"no window of {request.app!r} is open; there are windows of: {there}",
                fix="--task FILE, a task file whose setup opens it and waits for its window",
            )

    async def _make(self, stages: StageRequests, built: Built) -> None:
        """Write tests and programs of one function, until one passes or the tries are used up."""
        if not await self._write_tests(stages, built):
            built.given_up = "its tests are passed by a function that does nothing"
            return
        for number in range(1, _TRIES + 1):
            last = built.failures[-1] if built.failures else ()
            built.code = await stages.program(built.described, built.code, last)
            built.failures.append(await self._failures(built, built.code))
            failed = f"{len(built.failures[-1])} of {len(built.cases)} cases failed"
            self._report(f"{built.described.name}, program {number}: {failed}")
            if built.passed:
                return

    async def _write_tests(self, stages: StageRequests, built: Built) -> bool:
        """Ask for tests, and once more where a function that does nothing passes them."""
        tool = Tool(wrapper(built.described))

        def require_fitting(reply: Cases) -> None:
            for number, case in enumerate(reply.cases, 1):
                try:
                    tool.arguments(case.arguments)
                except InvalidReply as error:
                    raise InvalidReply(f"case {number}: {error}") from error

        idle = f"def {built.described.name}(**arguments):\n    return None\n"
        problem = ""
        for _ in range(2):
            reply = await stages.cases(built.described, check=require_fitting, problem=problem)
            built.cases = reply.cases
            if await self._failures(built, idle):
                return True
            problem = "A function that does nothing and returns null passes every case."
        return False

    async def _failures(self, built: Built, code: str) -> tuple[str, ...]:
        """Run the tests on a fresh machine; one that breaks meanwhile is a failure of the program.

        Raises:
            EnvironmentFailed: the machine cannot be brought up.
        """
        machine = self._environment
        await machine.reset()
        await self._prepare(machine)
        failures = []
        try:
            for number, case in enumerate(built.cases, 1):
                answer = await call_program(machine, code, built.described.name, case.arguments)
                if wrong := await _wrong(machine, case, answer):
                    head = f"case {number} ({case.why}), {_shown(case.arguments)}"
                    failures.append(ends(redact(f"{head}: {wrong}"), _SHOWN))
        except EnvironmentFailed as error:
            return (*failures, f"the machine broke while the tests ran: {redact(str(error))}")
        return tuple(failures)


async def _wrong(environment: Environment, case: ProgramCase, answer: Answer) -> str:
    """Returns what is wrong with an answer; empty where nothing is."""
    if answer.broke:
        return f"it broke: {answer.broke}"
    if case.refused:
        return "" if answer.refused else f"it did not refuse, and returned {_shown(answer.value)}"
    if answer.refused:
        return f"it refused: {answer.refused}"
    problems = []
    if case.value is not None and answer.value != case.value:
        problems.append(f"it returned {_shown(answer.value)}, and {_shown(case.value)} was wanted")
    if case.check:
        given = {"value": answer.value}
        checked = await call_program(environment, case.check, "check", given)
        if checked.refused or checked.broke:
            problems.append(f"its check did not run: {checked.refused or checked.broke}")
        elif checked.value not in ("", None, True):
            problems.append(f"its check: {_shown(checked.value)}")
    return "; ".join(problems)


def _shown(value: object) -> str:
    return ends(json.dumps(value, ensure_ascii=False), 400)
