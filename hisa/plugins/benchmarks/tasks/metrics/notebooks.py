"""Metrics over Jupyter notebooks: which cells were run, their outputs and their content."""

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
    """Returns the cells of a notebook of any format, converted to format 4."""
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
    """Returns the number of each cell of the requested type, and whether it was run."""
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
    """Checks that the cells that were not run are those expected.

    Args:
        result: the agent's notebook, as a file.
        expected: numbers of the cells, from 0.
        options: ``cell_type`` (default code).
    """
    return same([number for number, run in _run(result, options).items() if not run], expected)


@metric("are_jupyter_outputs_cleared", read_expected=rule("expected"), needs=("nbformat",))
def are_jupyter_outputs_cleared(result: Any, expected: Any, options: Options) -> Score:
    """Checks that the cells that still have the number of a run are those expected.

    Args:
        result: the agent's notebook, as a file.
        expected: numbers of the cells, from 0.
        options: ``cell_type`` (default code).
    """
    return same([number for number, run in _run(result, options).items() if run], expected)


@metric(
    "compare_ipynb_files",
    read_result=read_json,
    read_expected=lambda path: rules_of(read_json(path)),
)
def compare_ipynb_files(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two notebook files are equal, except for the metadata of the notebook.

    Args:
        result: the JSON of the agent's notebook.
        expected: the JSON of the notebook to compare it with.
        options: none are used.
    """
    names = (expected.keys() | result.keys()) - {"metadata"}
    differ = sorted(n for n in names if n not in result or result[n] != expected.get(n))
    return verdict(not differ, "equal", f"differ: {differ[:10]}")


@metric("compare_notebook_cells", read_result=_cells, read_expected=_cells, needs=("nbformat",))
def compare_notebook_cells(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two notebooks have the same cells: types and content.

    Args:
        result: the cells of the agent's notebook, in format 4.
        expected: the cells to compare them with.
        options: none are used.
    """
    first, second = (
        [(cell["cell_type"], cell["source"]) for cell in cells] for cells in (result, expected)
    )
    return _compare_cells(first, second)


@metric("compare_notebook_outputs", read_result=_cells, read_expected=_cells, needs=("nbformat",))
def compare_notebook_outputs(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two notebooks have cells of the same types, with the same outputs.

    Standard error does not count, nor does the part of a result that is not text (a picture).

    Args:
        result: the cells of the agent's notebook, in format 4; what pip prints is left out.
        expected: the cells to compare them with.
        options: none are used.
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
