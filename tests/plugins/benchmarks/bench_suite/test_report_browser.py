"""The page of a bench in a real browser, at the width of a phone and of a desk."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.plugins.benchmarks.bench.pages import write_report
from tests.plugins.benchmarks.bench_suite.sample import build
from tests.runs.test_report_browser import (
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
    return write_report(build_report(root / "ours", root / "theirs"), root / "ours")[1].as_uri()


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
