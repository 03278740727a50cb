"""The page of a bench in a real browser, at the width of a phone and of a desk."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.plugins.benchmarks.bench.grounding.grounding_report import build_grounding_report
from hisa.plugins.benchmarks.bench.grounding.page import miss_page
from hisa.plugins.benchmarks.bench.grounding.runner import Answer
from hisa.plugins.benchmarks.bench.pages import write_report
from tests.plugins.benchmarks.bench_suite.grounding_suite import draw
from tests.plugins.benchmarks.bench_suite.sample import build
from tests.runs.test_report_browser import (
    HOSTILE,
    WIDTHS,
    browser,
    complaints,
    pytestmark,
    run_script,
    show,
)

__all__ = ["browser", "pytestmark"]

CLIPPED = """
return [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1 && !e.closest('.wide');
}).map(e => e.outerHTML.slice(0, 120));
"""
SMALLEST = """
return Math.min(...[...document.querySelectorAll('svg text')].map(
  e => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a));
"""
OUTSIDE = """
return [...document.querySelectorAll('svg *')].filter(e => {
  const box = e.getBoundingClientRect(), page = e.ownerSVGElement.getBoundingClientRect();
  return box.left < page.left - 1 || box.right > page.right + 1 || box.bottom > page.bottom + 1;
}).map(e => e.outerHTML);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    root: Path = tmp_path_factory.mktemp("benches")
    build(root / "ours", variants=("full", "no-roi"), tasks=16, repeat=2)
    build(root / "theirs", tasks=16, chance=0.2, slower=1.5)
    return write_report(build_report(root / "ours", root / "theirs"), root / "ours")[2].as_uri()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_is_legible_and_the_console_is_silent(
    browser: Chrome, page: str, width: int
) -> None:
    show(browser, page, width)
    assert run_script(browser, "return document.documentElement.scrollWidth") <= width
    assert run_script(browser, CLIPPED) == []
    assert run_script(browser, OUTSIDE) == []
    assert run_script(browser, SMALLEST) >= 9
    assert run_script(browser, "return document.scripts.length") == 0
    assert complaints(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_wide_tables_scroll_inside_their_card(browser: Chrome, page: str, width: int) -> None:
    show(browser, page, width)
    kept = run_script(
        browser,
        """
        return [...document.querySelectorAll('.wide')].map(e => {
            e.scrollLeft = 1e6;
            const name = e.querySelector('tbody th').getBoundingClientRect();
            return name.left >= e.getBoundingClientRect().left - 1;
        });
        """,
    )
    assert kept == [True] * 11


def test_every_plot_and_table_is_there(browser: Chrome, page: str) -> None:
    show(browser, page)
    titles = run_script(
        browser, "return [...document.querySelectorAll('h2')].map(e => e.innerText)"
    )
    assert titles == [
        "Success rate by domain",
        "Success rate by variant",
        "Tokens of a step",
        "Attempts that are over",
        "Cost of an attempt",
        "Steps by domain",
        "Performance and cost",
        "By steps and by repeats",
        "Reliability",
        "Partial success and efficiency",
        "Failures by class",
        "Task by task",
        "By domain",
        "By length",
        "By component",
        "Tasks",
        "Without a score",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_misses_of_a_grounder_are_marked_where_they_lie(
    browser: Chrome, tmp_path: Path, width: int
) -> None:
    draw(tmp_path / "form.png", {"Save": (40, 40, 90, 30)}, (640, 360))
    missed = Answer(
        target="targets.jsonl:1",
        screen="form",
        app=HOSTILE,
        split="train",
        kind="name",
        description=HOSTILE,
        box=(40, 40, 130, 70),
        outcome="wrong",
        point=(100, 200),
        source=HOSTILE,
        label=HOSTILE,
        reason=HOSTILE,
        candidates=(HOSTILE,),
    )
    report = build_grounding_report(HOSTILE, HOSTILE, [missed])
    page = tmp_path / "misses.html"
    page.write_text(miss_page(report, [missed], {"form": tmp_path / "form.png"}), "utf-8")
    show(browser, page.as_uri(), width)
    assert run_script(browser, "return document.documentElement.scrollWidth") <= width
    assert run_script(browser, CLIPPED) == []
    assert run_script(browser, "return document.scripts.length") == 0
    assert run_script(browser, "return document.title").startswith("Grounding ")
    box, hit = run_script(
        browser,
        """
        const image = document.querySelector('.shot img');
        const shot = image.getBoundingClientRect(), scale = image.naturalWidth / shot.width;
        return ['right', 'hit'].map(name => {
            const mark = document.querySelector('.shot i.' + name).getBoundingClientRect();
            return [mark.left, mark.right].map(x => (x - shot.left) * scale)
                .concat([mark.top, mark.bottom].map(y => (y - shot.top) * scale));
        });
        """,
    )
    assert box == pytest.approx([40, 130, 40, 70], abs=4)
    assert [sum(hit[:2]) / 2, sum(hit[2:]) / 2] == pytest.approx([100, 200], abs=4)
    assert complaints(browser) == []
