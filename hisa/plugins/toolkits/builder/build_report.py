"""The report of a build: what was asked, tried, passed and failed, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hisa.plugins.toolkits.builder.build_records import Built, FunctionDescription
from hisa.plugins.toolkits.builder.tool_builder import Build
from hisa.text.prompt_text import one_line, printable
from hisa.text.redact import redact

__all__ = ["build_report", "says_of_itself"]

_EXAMPLES = 20
"""Example tasks that are listed."""


def build_report(build: Build, spent: Mapping[str, int | float]) -> str:
    """Returns the report, as Markdown.

    Args:
        build: what was made.
        spent: as `hisa.models.spending.Totals.as_dict`.
    """
    return redact("\n".join(_lines(build, spent))) + "\n"


def says_of_itself(described: FunctionDescription) -> str:
    """Returns what a function says that it does to the machine, which the policy goes by."""
    if described.reads:
        return "only reads"
    return f"may {', '.join(described.effects)}" if described.effects else "changes something"


def _lines(build: Build, spent: Mapping[str, int | float]) -> Iterator[str]:
    request = build.request
    yield f"# Tools for {_text(request.title)}, built by {_text(build.model)}"
    yield ""
    planned, passed = len(build.planned), len(build.passed)
    yield (
        f"{passed} of {planned} planned functions pass their tests on the real application. A "
        "passed test shows what it checks and no more: read the programs before you accept them."
    )
    if build.stopped:
        yield f"\nThe build ended early: {_text(build.stopped)}"
    yield "\n## Asked\n"
    yield from (f"- {_text(str(each))}" for each in _instructions(build)[:_EXAMPLES])
    yield "\n## Needed\n"
    for need in build.needed:
        yield f"- {_text(need.functionality)}: {_text(need.covered_by) or 'not covered'}"
    yield "\n## Functions\n"
    yield "| function | state | programs | cases | says of itself |"
    yield "|---|---|---|---|---|"
    for built in build.functions:
        state = "passed" if built.passed else "failed"
        says = says_of_itself(built.described)
        counts = f"{len(built.tries)} | {len(built.cases)}"
        yield f"| {built.described.name} | {state} | {counts} | {says} |"
    for name in [each.name for each in build.planned[len(build.functions) :]]:
        yield f"| {name} | not tried | 0 | 0 | |"
    for built in build.functions:
        yield from _function(built)
    yield "\n## Cost\n"
    yield (
        f"{spent.get('calls', 0)} calls of the model, {spent.get('tokens_in', 0)} tokens in, "
        f"{spent.get('tokens_out', 0)} out, ${spent.get('usd', 0)}"
        f"{_unpriced(spent)}; {sum(t.seconds for b in build.functions for t in b.tries):.0f} s of "
        "tests."
    )


def _instructions(build: Build) -> list[str]:
    return [str(each.get("instruction", "")) for each in build.request.examples]


def _unpriced(spent: Mapping[str, int | float]) -> str:
    calls = spent.get("unpriced", 0)
    return f" ({calls} calls whose price is not known are not in it)" if calls else ""


def _function(built: Built) -> Iterator[str]:
    described = built.described
    yield f"\n### {described.name}\n"
    yield f"{_text(described.summary)}. Returns {_text(described.returns)}."
    for case in built.cases:
        yield f"- case: {_text(case.why)}"
    for number, each in enumerate(built.tries, 1):
        yield f"- program {number}: {'passed' if not each.failures else 'failed'}"
        for failure in each.failures:
            yield f"  - {_text(failure)}"
    if built.given_up:
        yield f"- given up: {_text(built.given_up)}"


def _text(text: str) -> str:
    """One line that neither begins nor ends anything in Markdown or HTML."""
    line = one_line(printable(text))
    for char in "\\`*_[]<>|#":
        line = line.replace(char, f"\\{char}")
    return line
