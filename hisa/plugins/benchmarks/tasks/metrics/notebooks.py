"""Metrics over Jupyter notebooks: what was run, what came out, what stands in the cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    Unreadable,
    as_path,
    metric,
    read_json,
    read_text,
    rule,
    rules_of,
    same,
    unlike,
    verdict,
)

__all__: list[str] = []

_INSTALLER = ("Requirement already satisfied:", "Successfully installed")
"""What pip prints; it differs from machine to machine and is not the agent's work."""


def _cells(path: Any) -> list[Mapping[str, Any]]:
    """The cells of a notebook of any format, as format 4 has them."""
    import nbformat
    from nbformat import reader

    try:
        cells = list(nbformat.convert(reader.reads(read_text(path)), 4)["cells"])
    except nbformat.ValidationError as error:
        raise Unreadable(f"{as_path(path).name}: {str(error)[:300]}") from error
    for cell in cells:
        kind, _ = str(cell["cell_type"]), cell["source"]
        if kind == "code":
            list(cell["outputs"])
    return cells


def _run(result: Any, options: Options) -> dict[int, bool]:
    """Number of each cell of the type asked for, and whether it says that it was run."""
    kind = options.get("cell_type", "code")
    if options.get("version", 4) != 4:
        raise BadRules(f"notebooks are read as format 4, not {options['version']!r}")
    return {
        number: bool(cell.get("execution_count"))
        for number, cell in enumerate(_cells(as_path(result)))
        if cell["cell_type"] == kind
    }


@metric("is_jupyter_cell_executed", read_expected=rule("expected"), needs=("nbformat",))
def is_jupyter_cell_executed(result: Any, expected: Any, options: Options) -> Score:
    """The cells that were not run are those expected, by number from 0."""
    return same([number for number, run in _run(result, options).items() if not run], expected)


@metric("are_jupyter_outputs_cleared", read_expected=rule("expected"), needs=("nbformat",))
def are_jupyter_outputs_cleared(result: Any, expected: Any, options: Options) -> Score:
    """The cells that still have the number of a run are those expected."""
    return same([number for number, run in _run(result, options).items() if run], expected)


@metric(
    "compare_ipynb_files",
    read_result=read_json,
    read_expected=lambda path: rules_of(read_json(path)),
)
def compare_ipynb_files(result: Any, expected: Any, options: Options) -> Score:
    """Two notebook files say the same; what the editor notes about the whole does not count."""
    names = (expected.keys() | result.keys()) - {"metadata"}
    differ = sorted(n for n in names if n not in result or result[n] != expected.get(n))
    return verdict(not differ, "equal", f"differ: {differ[:10]}")


@metric("compare_notebook_cells", read_result=_cells, read_expected=_cells, needs=("nbformat",))
def compare_notebook_cells(result: Any, expected: Any, options: Options) -> Score:
    """Two notebooks have the same cells: their types and what stands in them."""
    first, second = (
        [(cell["cell_type"], cell["source"]) for cell in cells] for cells in (result, expected)
    )
    return _compare_cells(first, second)


@metric("compare_notebook_outputs", read_result=_cells, read_expected=_cells, needs=("nbformat",))
def compare_notebook_outputs(result: Any, expected: Any, options: Options) -> Score:
    """Two notebooks have cells of the same types, and their code printed and gave the same.

    What is printed as errors, and what a result is besides its text (a picture), does not count.
    """
    return _compare_cells(
        [_outcome(cell, without=_INSTALLER) for cell in result],
        [_outcome(cell) for cell in expected],
    )


def _outcome(cell: Mapping[str, Any], without: tuple[str, ...] = ()) -> tuple[str, list[Any]]:
    outputs: list[Any] = []
    for output in cell["outputs"] if cell["cell_type"] == "code" else ():
        if output.get("name") == "stdout":
            if not any(part in output["text"] for part in without):
                outputs.append(dict(output))
        elif "text/plain" in output.get("data", {}):
            outputs.append(output["data"]["text/plain"])
    return cell["cell_type"], outputs


def _compare_cells(result: list[Any], expected: list[Any]) -> Score:
    if len(result) != len(expected):
        return 0.0, f"{len(result)} cells, not {len(expected)}"
    differ = [
        n for n, (left, right) in enumerate(zip(result, expected, strict=True)) if left != right
    ]
    first = unlike(f"cell {differ[0]}", result[differ[0]], expected[differ[0]]) if differ else ""
    return verdict(not differ, "equal", f"cells that differ, from 0: {differ[:20]}; {first}")
