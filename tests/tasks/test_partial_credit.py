"""How much of a task of our own is done: weights of checks, and what counts only with the rest."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.errors import UsageError
from hisa.protocols import Scoring, Task
from hisa.tasks.find_format import problems
from hisa.tasks.partial_credit import Graded, partial_score
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.tasks.host import Host

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
HOLDS, FAILS, BREAKS = "exit 0", "exit 1", "sleep 60"


def task_of(folder: Path, *checks: str) -> Task:
    path = folder / "t.yaml"
    path.write_text("\n".join(["instruction: x", "check:", *(f"  - {{{c}}}" for c in checks)]))
    return load_task(path)


async def score_checks(folder: Path, *checks: str) -> Scoring:
    task = task_of(folder, *checks)
    assert problems(task) == []
    return await TaskScorer().score(task, Host(folder / "home"), "succeeded")


# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([Graded(1.0), Graded(0.0), Graded(0.0)], 1 / 3),
        ([Graded(1.0, 3.0), Graded(0.0, 1.0)], 0.75),
        ([Graded(0.5, 3.0), Graded(1.0, 1.0)], 0.625),
        ([Graded(1.0, 0.2, needs_all=True), Graded(1.0, 0.4), Graded(0.0, 0.4)], 0.4),
        ([Graded(1.0, 0.2, needs_all=True), Graded(1.0, 0.4), Graded(0.5, 0.4)], 0.6),
        ([Graded(0.0, 0.2, needs_all=True), Graded(1.0, 0.4), Graded(1.0, 0.4)], 0.8),
        ([Graded(1.0, 0.2, needs_all=True), Graded(1.0, 0.4), Graded(1.0, 0.4)], 1.0),
        ([Graded(0.5, 0.2, needs_all=True), Graded(1.0, 0.8)], 0.9),
        ([Graded(1.0, needs_all=True)], 1.0),
        ([Graded(1.0, 0.5, needs_all=True), Graded(0.0, 0.5, needs_all=True)], 0.0),
        ([Graded(1.0, 1e308), Graded(0.0, 1e308), Graded(1.0, 5e-324)], 0.5),
    ],
)
def test_the_partial_score_by_hand(checks: list[Graded], expected: float) -> None:
    assert partial_score(checks) == pytest.approx(expected)


WEIGHTS = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.floats(0, 1), WEIGHTS, st.booleans()), min_size=1, max_size=12))
def test_partial_score_is_a_share_and_1_if_every_check_passes(
    rows: list[tuple[float, float, bool]],
) -> None:
    checks = [Graded(*row) for row in rows]
    share = partial_score(checks)
    assert math.isfinite(share)
    assert 0.0 <= share <= 1.0
    assert partial_score([check._replace(score=1.0) for check in checks]) == 1.0


# ---------------------------------------------------------------- in a task file


@pytest.mark.process
@pytest.mark.parametrize(
    ("checks", "score", "partial"),
    [
        ((f"command: {HOLDS}", f"command: {FAILS}"), 0.0, 0.5),
        ((f"command: {HOLDS}, weight: 3", f"command: {FAILS}, weight: 1"), 0.0, 0.75),
        ((f"command: {HOLDS}, weight: 0.3", f"command: {HOLDS}, weight: 0.1"), 1.0, 1.0),
        ((f"command: {HOLDS}, needs: all", f"command: {FAILS}", f"command: {HOLDS}"), 0.0, 1 / 3),
        ((f"command: {FAILS}",), 0.0, 0.0),
    ],
)
async def test_the_score_says_whether_and_the_partial_score_how_much(
    tmp_path: Path, checks: tuple[str, ...], score: float, partial: float
) -> None:
    result = await score_checks(tmp_path, *checks)
    assert (result.state, result.value) == ("scored", score)
    assert result.partial == pytest.approx(partial)


@pytest.mark.process
async def test_a_check_that_could_not_be_carried_out_leaves_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hisa.tasks.hisa_format.CHECK_SECONDS", 0.2)
    result = await score_checks(tmp_path, f"command: {HOLDS}", f"command: {BREAKS}")
    assert (result.state, result.value, result.partial) == ("score_failed", None, None)


async def test_a_task_without_a_check_has_no_partial_score(tmp_path: Path) -> None:
    result = await TaskScorer().score(Task("t", "x"), Host(tmp_path / "home"), "succeeded")
    assert (result.state, result.partial) == ("no_check", None)


@pytest.mark.process
@pytest.mark.parametrize(("answer", "score"), [("yes", 1.0), ("no", 0.0)])
async def test_the_partial_score_of_a_benchmarks_task_is_its_score(
    tmp_path: Path, answer: str, score: float
) -> None:
    rule = {"type": "rule", "rules": "yes"}
    expected = {"type": "rule", "rules": {"expected": answer}}
    check = {"func": "exact_match", "result": rule, "expected": expected}
    task = Task("t", "x", check=check, format="osworld")
    result = await TaskScorer().score(task, Host(tmp_path / "home"), "succeeded")
    assert (result.state, result.value, result.partial) == ("scored", score, score)


# ---------------------------------------------------------------- the examples

FILTER = ("category = Hardware", "priority = 2 - High", "state = Open")
FORM = ("name: Ana Sousa", "room: B 214", "problem: the projector stays dark", "urgency: low")
ORDER = ("memory: 32 GB", "disk: 1 TB", "keyboard: Portuguese")
WRONG = (*FORM[:3], "urgency: high")


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "left", "partial"),
    [
        ("incident_filter", {}, 0.0),
        ("incident_filter", {"Documents/filter.txt": FILTER[:1]}, 1 / 3),
        ("incident_filter", {"Documents/filter.txt": FILTER}, 1.0),
        ("request_form", {}, 0.0),
        ("request_form", {"Documents/request.txt": FORM[:3]}, 0.6),
        ("request_form", {"Documents/request.txt": FORM}, 0.8),
        ("request_form", {"Documents/request.txt": WRONG, "Outbox/request.txt": WRONG}, 0.6),
        ("request_form", {"Documents/request.txt": FORM, "Outbox/request.txt": FORM}, 1.0),
        ("laptop_order", {}, 0.0),
        ("laptop_order", {"Catalog/sales-laptop/order.txt": ORDER}, 0.0),
        ("laptop_order", {"Catalog/developer-laptop/order.txt": ()}, 0.3),
        ("laptop_order", {"Catalog/developer-laptop/order.txt": ORDER[:2]}, 0.7),
        ("laptop_order", {"Outbox/order.txt": ORDER}, 0.1),
        (
            "laptop_order",
            {"Catalog/developer-laptop/order.txt": ORDER, "Outbox/order.txt": ORDER},
            1.0,
        ),
    ],
)
async def test_the_examples_give_credit_as_the_paper_does(
    tmp_path: Path, name: str, left: dict[str, tuple[str, ...]], partial: float
) -> None:
    task = load_task(EXAMPLES / f"{name}.yaml")
    assert problems(task) == []
    home = tmp_path / "home"
    leave(home, left)
    result = await TaskScorer().score(task, Host(home), "succeeded")
    assert result.partial == pytest.approx(partial)
    assert result.value == (1.0 if partial == 1.0 else 0.0)


def leave(home: Path, files: dict[str, tuple[str, ...]]) -> None:
    """Put what an agent left behind into a home folder."""
    for place, lines in files.items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text("\n".join(lines), "utf-8")


# ---------------------------------------------------------------- hostile files


@pytest.mark.parametrize(
    "weight", ["0", "-1", ".nan", ".inf", "yes", "a lot", '"0.5"', "[0.5]", "0x" + "f" * 5000]
)
def test_invalid_weight_is_refused(tmp_path: Path, weight: str) -> None:
    with pytest.raises(UsageError, match=r"check\.0\.weight"):
        task_of(tmp_path, f"command: {HOLDS}, weight: {weight}")
