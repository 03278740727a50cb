"""Runs the tests of a program on the real application, inside the machine."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hisa.plugins.toolkits.builder.build_records import ProgramCase, same
from hisa.plugins.toolkits.builder.guest_program import Answer, call_program
from hisa.protocols import Environment
from hisa.text.prompt_text import ends
from hisa.text.redact import redact

__all__ = ["case_failures", "does_nothing"]

CASE_SECONDS = 30.0
"""Time limit of one call in a test, and of its check; chosen by hand: the slowest call of HiSA's
own toolkits opens a document in about five seconds."""
_SHOWN = 1200
"""Characters of a failure that the model hears."""


def does_nothing(name: str) -> str:
    """Returns a program whose function takes anything and does nothing.

    Tests that it passes show nothing.
    """
    return f"def {name}(**arguments):\n    return None\n"


async def case_failures(
    environment: Environment, code: str, name: str, *, cases: Sequence[ProgramCase]
) -> tuple[str, ...]:
    """Run the cases one after another; returns a line or more for each that failed.

    Args:
        environment: a machine in the initial state.
        code: the program.
        name: its function.
        cases: its tests.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    failures = []
    for number, case in enumerate(cases, 1):
        for path, text in case.files.items():
            await environment.write_file(path, text.encode("utf-8", "replace"))
        answer = await call_program(environment, code, name, case.arguments, seconds=CASE_SECONDS)
        if wrong := await _wrong(environment, case, answer):
            told = json.dumps(case.arguments, ensure_ascii=False)
            failures.append(ends(redact(f"case {number} ({case.why}), {told}: {wrong}"), _SHOWN))
        if answer.timed_out:
            left = len(cases) - number
            return (*failures, *([f"the {left} cases after it were not run"] if left else []))
    return tuple(failures)


async def _wrong(environment: Environment, case: ProgramCase, answer: Answer) -> str:
    """Returns what is wrong with an answer; empty where nothing is."""
    if answer.broke:
        return f"it broke: {answer.broke}"
    if case.refused:
        return "" if answer.refused else f"it did not refuse, and returned {_told(answer.value)}"
    if answer.refused:
        return f"it refused: {answer.refused}"
    other = case.value is not None and not same(answer.value, case.value)
    wanted = f", and {_told(case.value)} was wanted" if other else ""
    said = await _check(environment, case, answer) if case.check else ""
    if not wanted and not said:
        return ""
    return f"it returned {_told(answer.value)}{wanted}{said and f'; its check: {said}'}"


async def _check(environment: Environment, case: ProgramCase, answer: Answer) -> str:
    """Returns what a case's check says is wrong; empty where nothing is."""
    checked = await call_program(
        environment, case.check, "check", {"value": answer.value}, seconds=CASE_SECONDS
    )
    if not checked.ok:
        return f"it could not be carried out: {checked.refused or checked.broke}"
    return "" if checked.value in ("", None, True) else _told(checked.value)


def _told(value: object) -> str:
    return ends(json.dumps(value, ensure_ascii=False), 400)
