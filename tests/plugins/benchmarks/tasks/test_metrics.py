"""Every metric: a right result scores 1, a wrong one less, a broken one 0 with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.benchmarks.tasks.metrics import METRICS, BadRules, Unreadable
from tests.plugins.benchmarks.tasks.made import Case, build_value, text
from tests.plugins.benchmarks.tasks.test_metrics_more import CASES as MORE


def is_(value: Any, **more: Any) -> dict[str, Any]:
    return {"expected": value, **more}


LIST = {"type": "list"}
CI = {"ignore_case": True}
CASES: list[Case] = [
    ("check_include_exclude", "a b", {"include": ["a"], "exclude": ["c"]}, {}, 1),
    ("check_include_exclude", "a b", {"include": ["a", "c"]}, {}, 0),
    ("check_include_exclude", "a b", {"include": ["a"], "exclude": ["b"]}, {}, 0),
    ("check_include_exclude", ["a", "b"], {"include": ["a"]}, {}, 1),
    ("check_include_exclude", 7, {"include": ["a"]}, {}, 0),
    ("exact_match", "a", is_("a"), {}, 1),
    ("exact_match", "a\n", is_("a"), {}, 0),
    ("exact_match", {"width": 1}, is_({"width": 1}), {}, 1),
    ("literal_match", 7, "7", {}, 1),
    ("literal_match", "A", "a", {}, 0),
    ("literal_match", "A", "a", CI, 1),
    ("literal_match", ["A", 1], ["a", "1"], {**LIST, **CI}, 1),
    ("literal_match", ["a"], ["a", "b"], LIST, 0),
    ("literal_match", ["b", "a"], ["a", "b"], LIST, 0),
    ("literal_match", ["b", "a"], ["a", "b"], {**LIST, "ignore_order": True}, 1),
    ("literal_match", "a", ["a"], LIST, 0),
    ("compare_config", text("a=1\n"), is_("a=1\n"), {}, 1),
    ("compare_config", text("a=1"), is_("a=1\n"), {}, 0),
    ("compare_csv", text("a,b\n1,2\n"), text("a,b\r\n1,2"), {}, 1),
    ("compare_csv", text("A,b\n 1,2"), text("1,2\na,B"), {"ignore_order": True}, 0),
    ("compare_csv", text("A,b\n 1,2"), text("1,2\na,B"),
     {"ignore_order": True, "strict": False, **CI}, 1),
    ("compare_csv", text("a"), [text("b"), text("a")], {}, 1),
    ("compare_csv", text("c"), [text("b"), text("a")], {}, 0),
    ("miniwob_solved", {"reward": 0.3, "reason": "half"}, {}, {}, 1),
    ("miniwob_solved", {"reward": 0.0, "reason": "not over"}, {}, {}, 0),
    ("browsergym_rewarded", {"reward": 1.0, "reason": "done"}, {}, {}, 1),
    ("browsergym_rewarded", {"reward": 0.0, "reason": "goes on"}, {}, {}, 0),
]  # fmt: skip


def test_every_metric_has_a_right_and_a_wrong_case() -> None:
    right = {name for name, *_, score in CASES if score == 1}
    wrong = {name for name, *_, score in CASES if score < 1}
    for name, *_, score in MORE:
        (right if score == 1 else wrong).add(name)
    assert right == set(METRICS.names)
    assert wrong == set(METRICS.names)


@pytest.mark.parametrize(
    ("name", "result", "expected", "options", "expected_score"),
    [*CASES, *MORE],
    ids=[f"{n}-{case[0]}" for n, case in enumerate([*CASES, *MORE])],
)
def test_scores(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Any, expected_score: float
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    assert metric.missing() == ()
    try:
        score, why = metric.run(
            build_value(result, tmp_path), build_value(expected, tmp_path), options
        )
    except Unreadable as error:
        score, why = 0.0, str(error)
    assert score == pytest.approx(expected_score), why
    assert why


@pytest.mark.parametrize(
    ("name", "result", "expected", "options"),
    [
        ("exact_match", "a", {}, {}),
        ("exact_match", "a", None, {}),
        ("literal_match", "a", "a", {"type": "number"}),
    ],
)
def test_a_rule_without_meaning_is_the_tasks_fault(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Any
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    with pytest.raises(BadRules):
        metric.run(build_value(result, tmp_path), build_value(expected, tmp_path), options)
