"""The report's numbers, worked out again from the run folders, and its pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.bench_report import Report, build_report
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.pages import html_page, markdown_table, write_report
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.benchmarks.bench.tables import tables
from tests.plugins.benchmarks.bench_suite.sample import build, fill, plan

HOSTILE = "</style></title><script>document.title='owned'</script>|`x`[a](b) {{ 7*7 }}"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("benches")
    build(root / "ours", variants=("full", "no-roi"), repeat=2)
    build(root / "theirs", chance=0.2, slower=1.5)
    return build_report(root / "ours", root / "theirs")


def build_from_rows(folder: Path, *rows: tuple[str, int, int, str, float | None]) -> Report:
    """A report of attempts given as task, repeat, steps, status and score."""
    book = AttemptLedger(folder, plan(tasks=8, repeat=2))
    for task, repeat, steps, status, score in rows:
        fill(book, Slot("full", task, repeat), steps=steps, status=status, score=score)
    book.close()
    return build_report(folder)


def test_the_numbers_by_hand(tmp_path: Path) -> None:
    report = build_from_rows(
        tmp_path,
        ("task-00", 1, 4, "succeeded", 1.0),
        ("task-00", 2, 4, "succeeded", 0.0),
        ("task-01", 1, 8, "max_steps", 0.5),
        ("task-01", 2, 8, "succeeded", 1.0),
        ("task-02", 1, 2, "infeasible", 1.0),
        ("task-03", 1, 9, "model_error", None),
        ("task-04", 1, 6, "succeeded", None),
    )
    (group,) = report.variants
    assert group.rate == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert (group.low, group.high) == pytest.approx(wilson(2.0, 3))
    assert (group.rated, group.scored) == (3, 5)
    assert group.false_success.value == pytest.approx(1 / 3)
    assert group.false_success.n == 3
    assert group.means["steps"] == pytest.approx((4 + 4 + 8 + 8 + 2 + 6) / 6)
    assert group.means["bash"] == pytest.approx((0 + 0 + 2 + 1 + 0 + 1) / 6)
    assert group.means["other"] == pytest.approx((1 + 1 + 0 + 1 + 0 + 1) / 6)
    assert group.means["images"] == pytest.approx(4 * 32 / 6)
    assert {t.task: t.what for t in report.troubles if t.repeat == 1} == {
        "task-03": "model_error, not scored",
        "task-04": "succeeded, no check",
        "task-05": "not run yet",
        "task-06": "not run yet",
        "task-07": "not run yet",
    }


def test_the_curve_is_the_mean_over_the_attempts_that_came_so_far(report: Report) -> None:
    for curve in report.curves:
        expected = [
            3000 + 200 * (n % 5) + 250 + 2010 + 1190 for n in range(1, len(curve.tokens) + 1)
        ]
        assert curve.tokens == pytest.approx(expected)
        assert curve.ended == sorted(curve.ended)
        assert curve.ended[-1] == 1.0
    assert [curve.baseline for curve in report.curves] == [False, False, True]


def test_broken_and_lost_attempts_are_in_no_rate(report: Report) -> None:
    assert report.sums["given_up"] == 4
    assert report.sums["environment_errors"] == 12
    assert report.sums["lost"] == 2
    assert all(row.task != "task-05" for row in report.tasks)
    assert {t.task for t in report.troubles} == {"task-05", "task-06"}


def test_the_page_has_every_table_that_is_printed(report: Report, tmp_path: Path) -> None:
    paths = write_report(report, tmp_path / "pages")
    assert [path.name for path in paths] == ["report.json", "report.html"]
    assert Report.model_validate_json(paths[0].read_bytes()) == report
    page = paths[1].read_text("utf-8")
    assert f"{100 * (report.variants[0].rate or 0):.1f} " in page
    assert [table.title for table in tables(report)] == [
        "Performance and cost",
        "By steps and by repeats",
        "Partial success and efficiency",
        "Failures by class",
        "Task by task",
        "By domain",
        "By length",
        "By component",
        "Tasks",
        "Without a score",
    ]
    for table in tables(report):
        assert f"<h2>{table.title}</h2>" in page
        rows = [line for line in markdown_table(table).splitlines() if line.startswith("|")]
        assert len({row.count(" | ") for row in rows}) == 1


def test_hostile_names_are_text(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    base = plan(tasks=2)
    task = base.tasks[0].model_copy(update={"id": HOSTILE, "domain": HOSTILE})
    variants = {HOSTILE: base.variants["full"]}
    changed = base.model_copy(
        update={"tasks": (task,), "variants": variants, "problems": {HOSTILE: HOSTILE}}
    )
    book = AttemptLedger(folder, changed)
    fill(book, Slot(HOSTILE, HOSTILE, 1), steps=3, status="succeeded", score=None)
    book.close()
    report = build_report(folder)
    page = html_page(report)
    assert "<script" not in page
    assert "{{ 7*7 }}" in page
    written = "\n".join(map(markdown_table, tables(report)))
    assert "<script" not in written.replace("\\<", "")
    for line in written.splitlines():
        if "owned" in line and line.startswith("|"):
            assert "\\|\\`x\\`" in line


def test_an_empty_bench_has_a_report(tmp_path: Path) -> None:
    AttemptLedger(tmp_path, plan()).close()
    report = build_report(tmp_path)
    assert report.variants[0].rate is None
    assert report.sums["missing"] == 8
    assert "not run yet" in html_page(report)
    assert "nan" not in html_page(report).lower().replace("finance", "")


def test_abandoned_slots_are_shown_beside_the_rate(tmp_path: Path) -> None:
    book = AttemptLedger(tmp_path, plan(tasks=2))
    fill(book, Slot("full", "task-00", 1), steps=2, status="succeeded", score=1.0)
    for _ in range(3):
        fill(book, Slot("full", "task-01", 1), steps=2, status="environment_error", score=None)
    book.close()
    report = build_report(tmp_path)
    assert "success rate 100.0% over 1 scored, 1 of 2 given up" in html_page(report)
    assert tables(report)[0].rows[0][1].endswith("1 of 2 given up")


def build_limited_report(folder: Path, limit: int, *, independent: bool = False) -> Report:
    """Two repeats of three tasks, of runs that were allowed so many steps."""
    planned = plan(tasks=3, repeat=2)
    tree = planned.variants["full"]
    tree = {**tree, "run": {**tree["run"], "max_steps": limit}}
    changes = {"variants": {"full": tree}, "independent": independent}
    book = AttemptLedger(folder, planned.model_copy(update=changes))
    for task, repeat, steps, status, score in (
        ("task-00", 1, 15, "succeeded", 1.0),
        ("task-00", 2, 16, "succeeded", 1.0),
        ("task-01", 1, 50, "succeeded", 1.0),
        ("task-01", 2, 51, "succeeded", 1.0),
        ("task-02", 1, 100, "max_steps", 1.0),
        ("task-02", 2, 9, "succeeded", 0.0),
    ):
        slot = Slot("full", task, repeat)
        fill(book, slot, steps=steps, status=status, score=score)
    book.close()
    return build_report(folder)


def test_success_by_steps_counts_attempts_ended_by_then(tmp_path: Path) -> None:
    report = build_limited_report(tmp_path, 100)
    within = report.variants[0].within
    rates = {steps: estimate.value for steps, estimate in within.items()}
    assert rates == pytest.approx({15: 0.5 / 3, 50: 1.5 / 3, 100: 2.5 / 3})
    assert within[100].value == pytest.approx(report.variants[0].rate)
    assert list(report.domains[0].within) == [15]  # its attempts took 15 and 16 steps
    (table,) = (
        candidate for candidate in tables(report) if candidate.title == "By steps and by repeats"
    )
    assert table.header == ("Variant", "@15", "@50", "@100", "#1", "#2", "Spread")
    assert table.rows[0][2].startswith("50.0 [")
    assert table.rows[0][2].endswith("(n 3)")


@pytest.mark.parametrize("independent", [False, True])
def test_repeats_are_reported_with_their_spread(tmp_path: Path, independent: bool) -> None:
    report = build_limited_report(tmp_path, 100, independent=independent)
    rates = {
        repeat: (estimate.n, estimate.value)
        for repeat, estimate in report.variants[0].repeats.items()
    }
    assert rates == {1: (3, 1.0), 2: (3, pytest.approx(2 / 3))}
    (table,) = (
        candidate for candidate in tables(report) if candidate.title == "By steps and by repeats"
    )
    # The sample standard deviation of 100 and 66.7 is half their distance times the root of 2.
    assert table.rows[0][-3:] == ("100.0", "66.7", "23.6")
    assert ("which recalls its own patterns alone" in table.note) == independent
    assert ("not independent" in table.note) != independent
