"""Statistics against values worked out by hand, by brute force, or published."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.plugins.benchmarks.bench.stats import (
    compare_pairs,
    length_buckets,
    ratio_over_tasks,
    sign_test,
    t95,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_the_published_one(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    # As printed in tables of Student's t.
    [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (15, 2.131), (30, 2.042), (120, 1.980)],
)
def test_students_quantile_is_the_published_one(freedom: int, quantile: float) -> None:
    assert t95(freedom) == pytest.approx(quantile, abs=6e-4)


def test_an_interval_ends_where_its_numbers_do_and_one_task_has_none() -> None:
    estimate = ratio_over_tasks([(1.0, 1), (3.0, 1)], least=1.0)
    assert estimate.low == 1.0
    alone = ratio_over_tasks([(30.0, 20)])
    assert (alone.value, alone.low, alone.high) == (1.5, None, None)


@given(st.integers(0, 7), st.integers(0, 7))
def test_the_sign_test_is_the_share_of_all_coin_throws_as_uneven(wins: int, losses: int) -> None:
    throws = list(itertools.product((0, 1), repeat=wins + losses))
    gap = abs(wins - losses)
    uneven = sum(abs(2 * sum(throw) - len(throw)) >= gap for throw in throws)
    assert sign_test(wins, losses) == pytest.approx(uneven / len(throws))


def test_two_benches_are_compared_on_the_tasks_that_both_have() -> None:
    first = {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.5, "only": 1.0}
    second = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 1.0, "other": 0.0}
    comparison = compare_pairs(first, second)
    assert comparison is not None
    assert (comparison.tasks, comparison.wins, comparison.losses, comparison.ties) == (4, 2, 1, 1)
    assert comparison.difference == pytest.approx((1 + 0 + 1 - 0.5) / 4)
    assert comparison.p == 1.0


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 12).map(float), max_size=40))
def test_buckets_hold_every_task_once_in_order_and_never_part_equal_lengths(
    lengths: dict[str, float],
) -> None:
    buckets = length_buckets(lengths)
    assert len(buckets) <= 3
    assert sorted(task for bucket in buckets for task in bucket.tasks) == sorted(lengths)
    assert all(bucket.tasks for bucket in buckets)
    for before, after in itertools.pairwise(buckets):
        assert before.first <= before.last < after.first <= after.last
