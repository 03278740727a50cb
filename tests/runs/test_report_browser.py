"""The report in a real browser, at the width of a phone and of a desk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from hisa.events import (
    Abstracted,
    Acted,
    Confirmed,
    Failed,
    Grounded,
    GroundingFailed,
    GroundingTried,
    Guidance,
    Induced,
    ModelCalled,
    ModelFailed,
    PatternUse,
    PlaceFound,
    Planned,
    PlanRejected,
    Refined,
    RunFinished,
    StepFinished,
)
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.runs.report import write_report
from hisa.runs.run_reader import load_run
from tests.chromium import NEEDED, chromium
from tests.runs.sample import build, look

WIDTHS = (360, 1280)
HOSTILE = (
    "</script></style></title></pre><script>document.title='owned'</script>"
    '<img src=x onerror="document.title=\'owned\'">" onmouseover="document.title=\'owned\'" '
    "x='{{ 7*7 }}<svg onload=document.title='owned'>&lt;b&gt;" + "w" * 400
)

pytestmark = [
    pytest.mark.browser,
    NEEDED,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = build(tmp_path_factory.mktemp("runs"))
    return write_report(load_run(folder), folder).as_uri()


def show(browser: Chrome, page: str, width: int = 1280, *, scripts: bool = True) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get(page)


def run_script(browser: Chrome, script: str) -> Any:
    return browser.execute_script(script)


def complaints(browser: Chrome) -> list[Any]:
    return list(browser.get_log("browser"))  # type: ignore[no-untyped-call]


OVERFLOW = """
return [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.right > innerWidth + 1 && !e.closest(".strip, .wide, .store, pre, svg");
}).map(e => e.outerHTML.slice(0, 120));
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_and_the_console_is_silent(browser: Chrome, page: str, width: int) -> None:
    show(browser, page, width)
    assert run_script(browser, "return innerWidth") == width
    assert run_script(browser, "return document.documentElement.scrollWidth") <= width
    assert run_script(browser, OVERFLOW) == []
    assert complaints(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_marks_lie_where_the_log_says(browser: Chrome, page: str, width: int) -> None:
    show(browser, page, width)
    share = run_script(
        browser,
        """
        const shot = document.querySelector('#step-3 .before .shot').getBoundingClientRect();
        const part = e => {
            const box = e.getBoundingClientRect();
            return [(box.left - shot.left) / shot.width, (box.top - shot.top) / shot.height,
                    (box.right - shot.left) / shot.width, (box.bottom - shot.top) / shot.height];
        };
        const find = name => part(document.querySelector('#step-3 .before ' + name));
        const svg = document.querySelector('#step-3 .before .shot svg');
        return {click: find('.click'), roi: find('.roi'), picture: part(svg)};
        """,
    )
    left, top, right, bottom = share["click"]
    assert (left + right) / 2 == pytest.approx(277 / 1280, abs=0.004)
    assert (top + bottom) / 2 == pytest.approx(277 / 720, abs=0.004)
    expected = [90 / 1280, 264 / 720, 340 / 1280, 290 / 720]
    assert share["roi"] == pytest.approx(expected, abs=0.004)
    assert share["picture"] == pytest.approx([0, 0, 1, 1], abs=0.004)


def test_the_view_after_is_one_click_away_even_without_scripts(browser: Chrome, page: str) -> None:
    show(browser, page, scripts=False)
    card = browser.find_element(By.ID, "step-1")
    before = card.find_element(By.CSS_SELECTOR, ".view.before")
    after = card.find_element(By.CSS_SELECTOR, ".view.after")
    assert (before.is_displayed(), after.is_displayed()) == (True, False)
    card.find_element(By.CSS_SELECTOR, ".to-after + label").click()
    assert (before.is_displayed(), after.is_displayed()) == (False, True)
    show(browser, page)


def test_keys_and_clicks_enlarge_a_picture(browser: Chrome, page: str) -> None:
    show(browser, page)
    browser.find_element(By.CSS_SELECTOR, "#step-1 .before .shot").click()
    zoom = browser.find_element(By.ID, "zoom")
    assert zoom.is_displayed()
    assert "Step 1, before" in zoom.text
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.ARROW_RIGHT)
    assert "Step 1, before" not in zoom.text
    fits = "const b = document.querySelector('#zoom .shot').getBoundingClientRect();"
    assert run_script(browser, fits + "return b.bottom <= innerHeight && b.right <= innerWidth")
    body.send_keys(Keys.ESCAPE)
    assert not zoom.is_displayed()
    assert complaints(browser) == []


def hostile_run(root: Path) -> Path:
    task = Task(HOSTILE, HOSTILE, domain=HOSTILE)
    with RunLog.create(root, task, models={HOSTILE: HOSTILE}, environment=HOSTILE) as log:
        use = PatternUse(id=HOSTILE, kind=HOSTILE, lesson=HOSTILE, score=0.9, source_run=HOSTILE)
        log.emit(Guidance(patterns=(use,), sops=(HOSTILE,), advice=HOSTILE))
        look(log, HOSTILE)
        log.step = 1
        called = ModelCalled(role=HOSTILE, model=HOSTILE, tokens_in=1, tokens_out=1)
        place = PlaceFound(description=HOSTILE, x=9, y=9, source=HOSTILE, label=HOSTILE)
        tried = GroundingTried(
            description=HOSTILE,
            by=HOSTILE,
            verdict="doubted",
            x=1,
            y=1,
            label=HOSTILE,
            detail=HOSTILE,
        )
        failed = ModelFailed(role=HOSTILE, model=HOSTILE, kind="server", message=HOSTILE)
        for event in (
            called,
            failed,
            PlanRejected(attempt=1, error=HOSTILE, reply=HOSTILE),
            Planned(thought=HOSTILE, tool=HOSTILE, input=HOSTILE, description=HOSTILE),
            GroundingFailed(description=HOSTILE, reason=HOSTILE, candidates=(HOSTILE,)),
            tried,
            tried,
            Grounded(places=(place,), input=HOSTILE),
            Confirmed(what=HOSTILE, allowed=False),
            Acted(
                tool=HOSTILE,
                input=HOSTILE,
                points=((9, 9), (-5, 9), (1e9, 1)),
                ok=False,
                output=HOSTILE,
                error=HOSTILE,
            ),
            Abstracted(line=HOSTILE, result=HOSTILE, roi=(0, 0, 5, 5)),
            Failed(where=HOSTILE, kind=HOSTILE, message=HOSTILE, traceback=HOSTILE),
            Refined(text=HOSTILE, first=1, last=1),
            StepFinished(seconds={HOSTILE: 1.0, "plan": 1.0}),
            Induced(pattern=HOSTILE, kind=HOSTILE, lesson=HOSTILE, superseded=HOSTILE),
            RunFinished(exit_status="model_error", message=HOSTILE, score_detail=HOSTILE),
        ):
            log.emit(event)
    return log.folder


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_texts_are_shown_and_not_run(browser: Chrome, tmp_path: Path, width: int) -> None:
    path = write_report(load_run(hostile_run(tmp_path)), tmp_path)
    show(browser, path.as_uri(), width)
    run_script(browser, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert run_script(browser, "return document.title") != "owned"
    assert run_script(browser, "return document.scripts.length") == 1
    assert complaints(browser) == []
    assert "onerror" not in run_script(
        browser, "return [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    )
    shown = run_script(browser, "return document.body.textContent")
    assert shown.count("<script>document.title='owned'</script>") >= 25
    assert "{{ 7*7 }}" in shown
    assert run_script(browser, "return document.documentElement.scrollWidth") <= width
    assert run_script(browser, OVERFLOW) == []
