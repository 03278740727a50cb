"""Where OSWorld's package has a metric of ours, both give the same score over the same files.

HISA_OSWORLD_PYTHON may name a Python that has the package.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.metrics import METRICS, Unreadable
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    PACKAGE,
    find_installation,
    find_osworld_metric,
)
from hisa.plugins.benchmarks.tasks.osworld_metrics.metric_sandbox import Call, run_calls
from hisa.plugins.benchmarks.tasks.process_limits import OSWORLD_LIMITS
from tests.plugins.benchmarks.tasks.made import Case, build_value
from tests.plugins.benchmarks.tasks.test_metrics import CASES

DIFFERENT: Mapping[str, str] = {
    "compare_csv {'ignore_order': True, 'strict': False, 'ignore_case': True}": (
        "ignore_order is an option of Spider2-V's tasks, which OSWorld's function ignores"
    ),
    "literal_match {'type': 'list', 'ignore_order': True}": (
        "ignore_order is an option of Spider2-V's tasks, which OSWorld's function ignores"
    ),
}
"""Where the two differ, and why ours is right by the task file's meaning."""
BOTH_HAVE = [case for case in CASES if find_osworld_metric(case[0]) is not None]


def label(case: Case) -> str:
    """Returns by what a case is known in `DIFFERENT`."""
    return f"{case[0]} {dict(case[3])}"


def as_call(case: Case, folder: Path) -> Call:
    folder.mkdir()
    return case[0], build_value(case[1], folder), build_value(case[2], folder), case[3]


def our_score(call: Call) -> float:
    name, result, expected, options = call
    metric = METRICS.get(name)
    assert metric is not None
    try:
        return metric.run(result, expected, options)[0]
    except Unreadable:
        return 0.0


@pytest.fixture(scope="module")
def score_pairs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, dict[str, Any]]]:
    """Our score and their verdict for each case; all of theirs come from one process."""
    if not find_installation().folder:
        pytest.skip(f"OSWorld's package is not installed: pip install --no-deps {PACKAGE}")
    folder = tmp_path_factory.mktemp("cases")
    calls = [as_call(case, folder / str(number)) for number, case in enumerate(BOTH_HAVE)]
    verdicts = asyncio.run(run_calls(calls, replace(OSWORLD_LIMITS, processor=900, wall=900.0)))
    return list(zip(map(our_score, calls), verdicts, strict=True))


@pytest.mark.process
@pytest.mark.parametrize("number", range(len(BOTH_HAVE)), ids=lambda n: f"{n}-{BOTH_HAVE[n][0]}")
def test_metric_scores_the_same_as_the_osworld_package(
    score_pairs: list[tuple[float, dict[str, Any]]], number: int
) -> None:
    case = BOTH_HAVE[number]
    score, verdict = score_pairs[number]
    if "is not installed" in verdict.get("broken", ""):
        pytest.skip(verdict["broken"])
    same = verdict == {"score": pytest.approx(score, abs=1e-3)}
    same = same or ("unreadable" in verdict and score == 0.0)
    assert same != (label(case) in DIFFERENT), f"{label(case)}: ours {score}, theirs {verdict}"


def test_every_difference_has_its_case() -> None:
    assert set(DIFFERENT) <= {label(case) for case in BOTH_HAVE}
