"""Where OSWorld's package has a metric of ours, both give the same score over the same files.

HISA_OSWORLD_PYTHON may name a Python with more of the package's libraries than this one has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.metrics import METRICS, Unreadable
from hisa.plugins.benchmarks.tasks.osworld_metrics import PACKAGE, find_osworld_metric, installed
from hisa.plugins.benchmarks.tasks.osworld_metrics.sandboxed import Call, run_calls
from hisa.tasks.limits import OSWORLD_LIMITS
from tests.plugins.benchmarks.tasks import test_metrics as plain
from tests.plugins.benchmarks.tasks import test_metrics_docs as docs
from tests.plugins.benchmarks.tasks import test_metrics_slides as slides
from tests.plugins.benchmarks.tasks import test_metrics_table as table
from tests.plugins.benchmarks.tasks.made import made

DIFFERENT: Mapping[str, str] = {
    "compare_csv {'ignore_order': True, 'strict': False, 'ignore_case': True}": (
        "ignore_order is an option of Spider2-V's tasks, which OSWorld's function ignores"
    ),
    "check_json {'unexpect': [{'key': ['b'], 'method': 'lt', 'ref': 1}]} {}": (
        "a key that is absent breaks no rule; theirs fails when it compares nothing with 1"
    ),
    "literal_match {'type': 'list', 'ignore_order': True}": (
        "ignore_order is an option of Spider2-V's tasks, which OSWorld's function ignores"
    ),
    "compare_table check_cell hyperlink": (
        "theirs compares a text with openpyxl's object of a link, which is never equal"
    ),
    "compare_table sheet_fuzzy ignore_chars": (
        "theirs takes the markup of a text with spaces at its ends for the text"
    ),
}
"""Where the two differ, and why ours is right by the task file's meaning."""


@dataclass(frozen=True)
class Given:
    """A case of the other test files: what makes it up, before it is in files."""

    name: str
    result: Any
    expected: Any
    options: Mapping[str, Any]
    kept: Any

    @property
    def label(self) -> str:
        """By what it is known in `DIFFERENT`."""
        if self.name == "compare_table":
            (rule,) = self.options["rules"]
            words = ("hyperlink", "ignore_chars")
            told = [word for word in words if word in repr(rule)]
            return " ".join([self.name, rule["type"], *told])
        rules = [self.expected] if isinstance(self.expected, dict) else []
        return " ".join([self.name, *map(str, rules), str(dict(self.options))])

    def call(self, folder: Path) -> Call:
        """The case with its files in ``folder``."""
        folder.mkdir()
        pair = self.kept(self.result, folder, "result"), self.kept(self.expected, folder, "gold")
        return self.name, *pair, self.options


def as_made(value: Any, folder: Path, name: str) -> Any:
    return made(value, folder)


def as_book(value: Any, folder: Path, name: str) -> Path:
    path = folder / f"{name}.xlsx"
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        value.save(path)
    (folder / f"{name}-Data.csv").write_text("a,1" if name == "gold" else "A,1 \n\n")
    return path


BOTH = {"sheet_idx0": "RNSheet2", "sheet_idx1": "ENSheet2"}
PIVOT = {"type": "pivot_table", **BOTH, "pivot_props": ["col_fields", "row_fields", "data_fields"]}
LINE = {"type": "sparkline", **table.BOTH}
PRINT = {"type": "sheet_print", **table.BOTH}
TABLES = [
    *table.CASES,
    (table.pivot("SummerSales"), table.pivot("SummerSales"), PIVOT, 1),
    (table.pivot("DemographicProfile"), table.pivot("SummerSales"), PIVOT, 0),
    (table.sparkline("Data!A1:B1"), table.sparkline("Data!A1:B1"), LINE, 1),
    (table.sparkline("Data!A1:B1"), table.sparkline("Data!A2:B2"), LINE, 0),
    (table.book(), table.book(), PRINT, 0),
    (table.book(), table.book(), {**PRINT, "ignore_case": True}, 1),
]
CASES = [
    *(Given(*case[:4], as_made) for case in plain.CASES),
    *(Given(*case[:4], docs.kept) for case in docs.CASES),
    *(Given(*case[:4], slides.kept) for case in slides.CASES),
    *(Given("compare_table", case[0], case[1], {"rules": [case[2]]}, as_book) for case in TABLES),
]
OURS_ALONE = {
    "are_jupyter_outputs_cleared", "check_local_database",
    "check_yaml_file", "compare_ipynb_files", "compare_jupyterlab_images",
    "compare_notebook_cells", "compare_notebook_outputs",
    "is_jupyter_cell_executed", "miniwob_solved", "browsergym_rewarded",
}  # fmt: skip
"""Of Spider2-V and MiniWoB++: OSWorld has nothing under these names."""
BOTH_HAVE = [case for case in CASES if case.name not in OURS_ALONE]


def ours(call: Call) -> float:
    name, result, expected, options = call
    metric = METRICS.get(name)
    assert metric is not None
    try:
        return metric.run(result, expected, options)[0]
    except Unreadable:
        return 0.0


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, dict[str, Any]]]:
    """For each case our score and their verdict; all of theirs are asked in one process."""
    if not installed().folder:
        pytest.skip(f"OSWorld's package is not installed: pip install --no-deps {PACKAGE}")
    folder = tmp_path_factory.mktemp("cases")
    calls = [case.call(folder / str(number)) for number, case in enumerate(BOTH_HAVE)]
    theirs_say = asyncio.run(run_calls(calls, replace(OSWORLD_LIMITS, processor=900, wall=900.0)))
    return list(zip(map(ours, calls), theirs_say, strict=True))


@pytest.mark.process
@pytest.mark.parametrize("number", range(len(BOTH_HAVE)), ids=lambda n: f"{n}-{BOTH_HAVE[n].name}")
def test_both_say_the_same(both: list[tuple[float, dict[str, Any]]], number: int) -> None:
    case = BOTH_HAVE[number]
    score, verdict = both[number]
    if "is not installed" in verdict.get("broken", ""):
        pytest.skip(verdict["broken"])
    same = verdict == {"score": pytest.approx(score, abs=1e-3)}
    same = same or ("unreadable" in verdict and score == 0.0)
    assert same != (case.label in DIFFERENT), f"{case.label}: ours {score}, theirs {verdict}"


def test_only_named_metrics_of_ours_are_not_theirs() -> None:
    assert {name for name in METRICS.names if find_osworld_metric(name) is None} == OURS_ALONE


def test_every_difference_has_its_case() -> None:
    assert set(DIFFERENT) <= {case.label for case in BOTH_HAVE}
