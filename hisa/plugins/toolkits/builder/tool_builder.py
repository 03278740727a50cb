"""Runs the stages of a build: requirements, then tests and programs for each function.

Unlike in ComputerRL (appendix A), the tests come first and are written from the description alone;
they count only once a function that does nothing fails them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence

from hisa.actions.effects import EFFECTS
from hisa.errors import (
    BudgetExceeded,
    EnvironmentFailed,
    InvalidReply,
    ModelUnavailable,
    UsageError,
)
from hisa.models.correction import with_correction
from hisa.plugins.toolkits.builder.build_records import (
    TYPES,
    Build,
    BuiltFunction,
    Cases,
    ProgramCase,
    ProgramReply,
    Reply,
    Requirements,
    parse_reply,
)
from hisa.plugins.toolkits.builder.built_toolkit import Answer, call_program, wrap_program
from hisa.protocols import Environment, Message, Model, ModelRequest, TextPart
from hisa.text.prompt_text import ends, guard_tags, mark_untrusted, sections
from hisa.text.prompts import render
from hisa.text.redact import redact
from hisa.tools.base import BaseTool, Tool
from hisa.tools.offer import SUMMARY_CHARACTERS, offered_line
from hisa.tools.traits import Needs

__all__ = ["ToolBuilder"]

_TRIES, _CORRECTIONS = 3, 2
"""Most programs written for one function; most times that an unusable reply is asked for again."""
_EXAMPLES, _TOOLS, _SHOWN, _RESULTS = 12_000, 60, 1200, 6_000
"""What prompts show at most: characters of example tasks, existing tools, characters of one failure
and of all failures."""


class ToolBuilder:
    """Builds tools for an application.

    Args:
        model: writes plans, tests and programs.
        environment: a started machine that is thrown away; all programs run there.
        app: the class of the application's windows, in small letters.
        examples: instructions of tasks that the tools are for.
        prepare: brings a fresh machine to the initial state, with the application open.
        about: how programs reach the application, in the user's words.
        existing: the tools that the application has already.
        report: called with a line about each finished stage.
    """

    def __init__(
        self,
        model: Model,
        environment: Environment,
        *,
        app: str,
        examples: Sequence[str],
        prepare: Callable[[Environment], Awaitable[object]],
        about: str = "",
        existing: Sequence[BaseTool] = (),
        report: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._model, self._environment, self._app = model, environment, app
        self._examples, self._about, self._existing = examples, about, existing
        self._prepare, self._report = prepare, report

    async def build(self) -> Build:
        """Plan and make the functions.

        If the budget is spent or the model fails after the plan, the build ends and says so.

        Raises:
            UsageError: the machine keeps changes, or the application is not open.
            EnvironmentFailed: the machine cannot be started.
            ModelUnavailable: the model failed before there was a plan, or gave no usable one.
            BudgetExceeded: the budget was spent before there was a plan.
        """
        await self._require_open()
        try:
            plan = await self._plan_functions()
        except InvalidReply as error:
            message = f"{self._model.name} gave no usable plan: {redact(str(error))}"
            raise ModelUnavailable(message, fix="try again, or another --model") from error
        functions = [BuiltFunction(described=described) for described in plan.functions]
        build = Build(
            app=self._app, model=self._model.name, needed=plan.needed, functions=functions
        )
        names = ", ".join(built.described.name for built in functions) or "nothing"
        self._report(f"{len(plan.needed)} functionalities needed; to be made: {names}")
        for built in functions:
            try:
                await self._make_function(built)
            except (BudgetExceeded, ModelUnavailable) as error:
                built.given_up = build.stopped = str(error)
                break
            except InvalidReply as error:
                built.given_up = f"no usable reply: {redact(str(error))}"
        return build

    async def _require_open(self) -> None:
        machine, app = self._environment, self._app
        if "throw_away" not in machine.capabilities:
            raise UsageError(
                f"{machine.name} keeps changes, and programs that a model wrote would run there",
                fix="--env desktop, or leave --env out",
            )
        await machine.reset()
        await self._prepare(machine)
        observation = await machine.observe()
        if not Needs(apps=(app,)).is_open(observation):
            open_apps = ", ".join(sorted({window.app for window in observation.windows})) or "none"
            raise UsageError(
                f"no window of {app!r} is open; there are windows of: {open_apps}",
                fix="--task FILE, a task file whose setup opens it and waits for its window",
            )

    async def _plan_functions(self) -> Requirements:
        """Asks the model what the tasks need, and which functions to make."""
        tools = self._existing
        system = render(
            "tool_requirements",
            most=6,
            summary=SUMMARY_CHARACTERS,
            types=", ".join(f'"{name}"' for name in TYPES),
            effects=", ".join(f'"{name}"' for name in EFFECTS),
        )
        tasks = ({"instruction": example} for example in self._examples)
        lines = "\n".join(json.dumps(task, ensure_ascii=False) for task in tasks)
        tool_lines = "\n".join(map(offered_line, tools[:_TOOLS])) or "(none)"
        known_names = {tool.name for tool in tools}

        def require_new(plan: Requirements) -> None:
            names = [function.name for function in plan.functions]
            repeated = set(names) & (known_names | {name.partition("_")[2] for name in known_names})
            if repeated or len(set(names)) < len(names):
                raise InvalidReply(f"names exist already or are repeated: {', '.join(names)}")
            if unknown := sorted({n.covered_by for n in plan.needed} - {"", *names, *known_names}):
                raise InvalidReply(f"covered_by names unknown functions: {', '.join(unknown)}")

        parts = {"requirements": ends(lines, _EXAMPLES), "tools": tool_lines}
        return await self._ask_model(system, parts, Requirements, require_new)

    async def _make_function(self, built: BuiltFunction) -> None:
        """Write tests and programs of one function, until one passes or the tries are used up."""
        if not await self._write_tests(built):
            built.given_up = "a function that does nothing passes its tests"
            return
        for number in range(1, _TRIES + 1):
            system = render("tool_program", tried=number > 1, seconds=30, characters=20_000)
            parts = {"requirements": built.described.model_dump_json(indent=2)}
            if built.failures:
                parts["last_output"] = built.code
                parts[mark_untrusted("results")] = ends("\n\n".join(built.failures[-1]), _RESULTS)
            built.code = (await self._ask_model(system, parts, ProgramReply, lambda _: None)).code
            built.failures.append(await self._run_tests(built, built.code))
            failed = f"{len(built.failures[-1])} of {len(built.cases)} cases failed"
            self._report(f"{built.described.name}, program {number}: {failed}")
            if built.passed:
                return

    async def _write_tests(self, built: BuiltFunction) -> bool:
        """Write tests; returns whether a function that does nothing fails them."""
        tool = Tool(wrap_program(built.described))

        def require_fitting(reply: Cases) -> None:
            for number, case in enumerate(reply.cases, 1):
                try:
                    tool.arguments(case.arguments)
                except InvalidReply as error:
                    raise InvalidReply(f"case {number}: {error}") from error

        parts = {"requirements": built.described.model_dump_json(indent=2)}
        system = render("tool_tests", least=2, most=6)
        built.cases = (await self._ask_model(system, parts, Cases, require_fitting)).cases
        idle = f"def {built.described.name}(**arguments):\n    return None\n"
        return bool(await self._run_tests(built, idle))

    async def _ask_model(
        self,
        system: str,
        parts: Mapping[str, str],
        kind: type[Reply],
        check: Callable[[Reply], None],
    ) -> Reply:
        """Asks the model until a reply is usable, and returns it.

        Raises:
            InvalidReply: the last reply is not usable either. Errors of the model pass through.
        """
        about = self._about.strip() or "Nothing is said about how programs reach it."
        task = f"An application whose windows are of the class {self._app}.\n{about}"
        user = sections({tag: guard_tags(text) for tag, text in {"task": task, **parts}.items()})
        messages = (Message("system", (TextPart(system),)), Message("user", (TextPart(user),)))
        schema = kind.model_json_schema()
        first = request = ModelRequest("planner", messages, schema=schema, max_tokens=8192)
        for left in range(_CORRECTIONS, -1, -1):
            reply = await self._model.complete(request)
            try:
                value = parse_reply(kind, reply.text)
                check(value)
                return value
            except InvalidReply as error:
                if not left:
                    raise
                correction = f"That cannot be used: {error}\nAnswer again, with one JSON object."
                request = with_correction(first, reply, correction)
        raise AssertionError("the last try returns or raises")

    async def _run_tests(self, built: BuiltFunction, code: str) -> tuple[str, ...]:
        """Run the tests on a fresh machine; if it breaks meanwhile, that is the program's failure.

        Raises:
            EnvironmentFailed: the machine cannot be started.
        """
        machine = self._environment
        await machine.reset()
        await self._prepare(machine)
        failures = []
        try:
            for number, case in enumerate(built.cases, 1):
                answer = await call_program(machine, code, built.described.name, case.arguments)
                if problems := await _find_problems(machine, case, answer):
                    head = f"case {number} ({case.why}), {_format_value(case.arguments)}"
                    failures.append(ends(redact(f"{head}: {problems}"), _SHOWN))
        except EnvironmentFailed as error:
            return (*failures, f"the machine broke while the tests ran: {redact(str(error))}")
        return tuple(failures)


async def _find_problems(environment: Environment, case: ProgramCase, answer: Answer) -> str:
    """Returns what is wrong with an answer; empty if nothing is."""
    if answer.broke:
        return f"it broke: {answer.broke}"
    if case.refused:
        return (
            ""
            if answer.refused
            else f"it did not refuse, and returned {_format_value(answer.value)}"
        )
    if answer.refused:
        return f"it refused: {answer.refused}"
    problems = []
    if case.value is not None and answer.value != case.value:
        problems.append(
            f"it returned {_format_value(answer.value)}; expected {_format_value(case.value)}"
        )
    if case.check:
        arguments = {"value": answer.value}
        checked = await call_program(environment, case.check, "check", arguments)
        if checked.refused or checked.broke:
            problems.append(f"its check did not run: {checked.refused or checked.broke}")
        elif checked.value not in ("", None, True):
            problems.append(f"its check: {_format_value(checked.value)}")
    return "; ".join(problems)


def _format_value(value: object) -> str:
    return ends(json.dumps(value, ensure_ascii=False), 400)
