"""The folder in which a person reviews what a build made, and the package that comes of it.

The folder holds ``toolkit.json``, the newest program of each function and a report; it is no
package, and can be neither installed nor imported.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.toolkits.builder.build_records import Build, Built, FunctionDescription
from hisa.plugins.toolkits.builder.built_toolkit import DATA
from hisa.plugins.toolkits.scaffold import fill_template, new_folder
from hisa.text.prompt_text import one_line
from hisa.text.redact import redact

__all__ = ["REPORT", "accept", "says_of_itself", "write_review"]

REPORT = "report.md"


def write_review(folder: Path, build: Build, spent: Mapping[str, int | float]) -> None:
    """Write a build, and what it cost, into a folder that is there and empty."""
    for built in build.functions:
        _program(folder, built).write_bytes(built.code.encode("utf-8", "replace"))
    (folder / DATA).write_bytes(build.model_dump_json(indent=1).encode("utf-8", "replace"))
    report = redact("\n".join(_lines(build, spent))) + "\n"
    (folder / REPORT).write_text(report, "utf-8", "replace")


def _program(folder: Path, built: Built) -> Path:
    """Returns the file of a function's newest program; as a module it cannot be imported."""
    return folder / f"{built.described.name}.guest.py"


def says_of_itself(described: FunctionDescription) -> str:
    """Returns what a function says that it does to the machine, which the policy goes by."""
    if described.reads:
        return "only reads"
    return f"may {', '.join(described.effects)}" if described.effects else "changes something"


def _lines(build: Build, spent: Mapping[str, int | float]) -> Iterator[str]:
    yield f"# Tools for {_text(build.app)}, built by {_text(build.model)}\n"
    yield (
        f"{len(build.passed)} of {len(build.functions)} planned functions pass their tests on the "
        "real application. A passed test shows what it checks and no more: read the programs "
        "before you accept them."
    )
    if build.stopped:
        yield f"\nThe build ended early: {_text(build.stopped)}"
    yield "\n## Needed\n"
    for need in build.needed:
        yield f"- {_text(need.functionality)}: {_text(need.covered_by) or 'not covered'}"
    for built in build.functions:
        described = built.described
        state = "passed" if built.passed else "failed" if built.failures else "no program was tried"
        yield f"\n## {described.name}: {state}\n"
        yield f"{_text(described.summary)}; it says of itself: {says_of_itself(described)}."
        yield from (f"- case: {_text(case.why)}" for case in built.cases)
        for number, failures in enumerate(built.failures, 1):
            yield f"- program {number}: {'failed' if failures else 'passed'}"
            yield from (f"  - {_text(failure)}" for failure in failures)
        if built.given_up:
            yield f"- given up: {_text(built.given_up)}"
    yield "\n## Cost\n\n" + ", ".join(f"{name}: {value}" for name, value in spent.items())


def _text(text: str) -> str:
    """Returns one line that neither begins nor ends anything in Markdown or HTML."""
    line = one_line(text)
    for char in "\\`*_[]<>|#":
        line = line.replace(char, f"\\{char}")
    return line


def accept(review: Path, to: Path | None = None) -> tuple[Path, Build, list[str]]:
    """Write an installable package of what passed, as ``to``, else beside the review folder.

    Returns its folder, what is in it, and what was left out, each with the reason.

    Raises: UsageError: the folder is no review folder, nothing in it passed, or ``to`` is there.
    """
    try:
        build = Build.model_validate_json((review / DATA).read_bytes())
    except (OSError, ValueError) as error:
        message = f"{review} holds no build: {str(error)[:300]}"
        raise UsageError(message, fix="name a folder that `hisa tools build` wrote") from error
    failed = [built for built in build.functions if not built.passed]
    changed = [built for built in build.passed if not _is_unchanged(review, built)]
    left_out = [f"{built.described.name} failed its tests" for built in failed]
    left_out += [f"{built.described.name} was changed after its tests ran" for built in changed]
    taken = [built for built in build.passed if built not in changed]
    if not taken:
        reason = "; ".join(left_out) or "no function was tried"
        raise UsageError(f"{review} has nothing to accept: {reason}", fix=f"read {review / REPORT}")
    package, module = f"{build.kit}-tools", f"{build.kit}_tools"
    folder = new_folder(to or review.resolve().parent / package)
    (folder / module).mkdir()
    values = {"package": package, "module": module, "kit": build.kit}
    fill_template(folder / "pyproject.toml", "built_pyproject.toml", values)
    fill_template(folder / "README.md", "built_README.md", values)
    fill_template(folder / module / "__init__.py", "built_init.py", values)
    accepted = build.model_copy(update={"functions": taken})
    (folder / module / DATA).write_text(accepted.model_dump_json(indent=1), "utf-8")
    if (review / REPORT).is_file():
        shutil.copyfile(review / REPORT, folder / REPORT)
    return folder, accepted, left_out


def _is_unchanged(review: Path, built: Built) -> bool:
    """Whether the program that a person reads is the one that was tested."""
    path = _program(review, built)
    return path.is_file() and path.read_bytes() == built.code.encode("utf-8", "replace")
