"""A grounding bench on drawn screens, through the real grounders and the real command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.grounding.grounding_methods import open_way
from hisa.plugins.benchmarks.bench.grounding.grounding_report import build_grounding_report
from hisa.plugins.benchmarks.bench.grounding.published_suites import open_grounding_suite
from hisa.plugins.benchmarks.bench.grounding.runner import Answer, Shown, answers
from hisa.plugins.benchmarks.bench.grounding.targets import GroundingSuite
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.screen import ocr
from hisa.screen.geometry import Point, Size
from hisa.testing.model_server import FakeServer
from tests.cli.command import Command
from tests.plugins.benchmarks.bench_suite.grounding_suite import (
    HOSTILE,
    TARGETS,
    draw,
    write_published,
    write_suite,
)

needs_tesseract = pytest.mark.skipif(
    not ocr.available(), reason="needs the tesseract program: sudo apt-get install tesseract-ocr"
)
LIMIT = Size(1280, 720)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(tmp_path_factory.mktemp("suite"))


async def collect_answers(
    suite: GroundingSuite, way: str, settings: Settings | None = None
) -> dict[tuple[str, str], Answer]:
    async with open_way(way, settings or Settings()) as opened_way:
        answer_list = [answer async for answer in answers(suite.targets, opened_way, Shown(LIMIT))]
    assert len(answer_list) == len(suite.targets)
    return {(answer.screen, answer.description): answer for answer in answer_list}


async def outcomes(suite: GroundingSuite, way: str) -> list[str]:
    return [answer.outcome for answer in (await collect_answers(suite, way)).values()]


@needs_tesseract
async def test_right_wrong_refused_and_absent_are_distinguished(folder: Path) -> None:
    by_target = await collect_answers(open_grounding_suite(folder), "elements")
    right = by_target["form", "the Save button"]
    assert (right.outcome, right.point, right.source) == ("right", (85, 55), "accessibility")
    part = by_target["form", "push button 'Open'"]
    assert (part.outcome, part.point, part.inner) == ("wrong", (205, 55), (240, 40, 250, 70))
    refused = by_target["form", HOSTILE]
    assert (refused.outcome, refused.point, refused.missed) == ("refused", None, True)
    assert refused.reason
    assert not by_target["form", "the Zebra menu"].missed
    clicked = by_target["form", "the Cancel button"]
    assert (clicked.outcome, clicked.present, clicked.missed) == ("wrong", False, True)
    read = by_target["plain", "Archive"]
    assert (read.outcome, read.source) == ("right", "ocr")


@needs_tesseract
async def test_a_large_screen_is_shown_as_large_as_in_a_run_and_judged_in_its_own_pixels(
    folder: Path,
) -> None:
    by_target = await collect_answers(open_grounding_suite(folder), "elements")
    large = by_target["large", "the Save button"]
    assert (large.outcome, large.point, large.box) == ("right", (255, 165), (120, 120, 390, 210))


@needs_tesseract
async def test_grounding_way_uses_only_its_own_sources(folder: Path) -> None:
    suite = open_grounding_suite(folder)
    assert await outcomes(suite, "settings") == await outcomes(suite, "elements")
    read = await collect_answers(suite, "ocr")
    assert read["plain", "Archive"].outcome == "right"
    assert {answer.source for answer in read.values()} <= {"ocr", ""}


async def test_a_configured_model_is_called_and_its_tokens_counted(folder: Path) -> None:
    with FakeServer(then=lambda received: "(85,55)") as server:
        model = {"model": "gta1-7b", "base_url": server.url}
        settings = Settings.model_validate({"models": {"grounder": model}})
        by_target = await collect_answers(open_grounding_suite(folder), "vision", settings)
    assert by_target["form", "the Save button"].outcome == "right"
    assert by_target["form", "the Zebra menu"].outcome == "wrong"
    assert all(answer.calls == 1 and answer.tokens_in > 0 for answer in by_target.values())
    assert len(server.requests) == len(TARGETS)


async def test_fixed_choice_model_picks_from_the_offered_list(folder: Path) -> None:
    suite = open_grounding_suite(folder)
    by_target = await collect_answers(suite, "choice:1")
    sure = by_target["form", "the Save button"]
    assert (sure.outcome, sure.calls, sure.source) == ("right", 0, "accessibility")
    assert {answer.outcome for answer in by_target.values() if answer.calls} <= {"right", "refused"}
    assert {answer.calls for answer in by_target.values()} <= {0, 1}
    assert {e.outcome for e in by_target.values() if e.calls and not e.present} == {"refused"}
    wrong = await collect_answers(suite, "choice:0")
    model_answers = [answer for answer in wrong.values() if answer.calls]
    assert model_answers
    assert "right" not in {answer.outcome for answer in model_answers}


@pytest.mark.parametrize("way", ["eyes", "choice:2", "choice:", "elements:1"])
async def test_an_unknown_way_is_refused(way: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(way))):
        async with open_way(way, Settings()):
            pass


def answer(outcome: str, *, box: bool = True, split: str = "train", **more: Any) -> Answer:
    point = None if outcome == "refused" else (1.0, 1.0)
    return Answer.model_validate(
        {
            "target": "t:1",
            "screen": "form",
            "app": "forms",
            "split": split,
            "kind": "name",
            "description": "it",
            "box": (0, 0, 9, 9) if box else None,
            "outcome": outcome,
            "point": point,
            **more,
        }
    )


def test_the_numbers_by_hand() -> None:
    answer_list = [
        *(answer("right", source="ocr", seconds=n / 1000, tokens_in=7, calls=1) for n in range(6)),
        answer("wrong", source="accessibility", seconds=1.0),
        answer("refused", candidates=("button",)),
        answer("refused", box=False),
        answer("refused", box=False, candidates=("tab",)),
        answer("wrong", box=False, source="ocr"),
        answer("right", split="held"),
    ]
    report = build_grounding_report("suite", "elements", answer_list)
    train, held = report.parts
    assert (train.name, held.name, held.total.right.of) == ("train", "held", 1)
    right = train.total.right
    assert (right.count, right.of, right.rate) == (6, 8, 0.75)
    assert (right.low, right.high) == wilson(6, 8)
    assert (train.total.wrong.count, train.total.refused.count) == (1, 1)
    assert (train.total.absent_refused.count, train.total.absent_refused.of) == (2, 3)
    assert (train.ms_median, train.ms_p95) == (1, 1000)
    assert (train.calls, train.tokens_in) == (6, 42)


@pytest.mark.process
@needs_tesseract
def test_the_command_prints_the_sums_and_writes_the_answers(folder: Path, tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    data = tmp_path / "out" / "answers.json"
    printed = hisa.run("bench", "grounding", str(folder), "--json", str(data))
    assert re.search(r"train +3 +33\.3 \[.*\] +33\.3 \[.*\] +33\.3 +2 +50\.0", printed)
    assert re.search(r"held +2 +100\.0", printed)
    tree = json.loads(data.read_text())
    assert len(tree["answers"]) == len(TARGETS)
    assert [part["name"] for part in tree["parts"]] == ["train", "held"]
    misses = [row for row in tree["answers"] if Answer.model_validate(row).missed]
    assert len(misses) == 3


@pytest.mark.process
@needs_tesseract
def test_the_command_queries_only_the_chosen_targets(folder: Path, tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    output = hisa.run("bench", "grounding", str(folder), "--split", "held", "--limit", "1")
    assert re.search(r"held +1 +100\.0", output)
    assert "train" not in output
    errors = hisa.run_refused("bench", "grounding", str(folder), "--kind", "spin")
    assert "kinds are absent, icon, name, role; splits are held, train" in errors
    assert "not a grounding suite" in hisa.run_refused("bench", "grounding", str(tmp_path))


@pytest.mark.process
def test_a_model_that_breaks_does_not_take_the_answers_with_it(
    folder: Path, tmp_path: Path
) -> None:
    data = tmp_path / "answers.json"
    with FakeServer(["(85,55)", "(205,55)"]) as server:  # then it runs out of script
        errors = Command(tmp_path, url=server.url).run_refused(
            "--set",
            "models.grounder.model=gta1-7b",
            "bench",
            "grounding",
            str(folder),
            "--grounder",
            "vision",
            "--json",
            str(data),
            code=3,
        )
    assert f"stopped: 2 of {len(TARGETS)} descriptions" in errors
    assert len(json.loads(data.read_text())["answers"]) == 2


def write_changed_suite(folder: Path, target: Path, number: int, **fields: Any) -> Path:
    """A copy of the targets in a suite of its own, one line changed; returns its folder."""
    lines = [dict(row) for row in TARGETS]
    lines[number - 1] |= fields
    target.mkdir()
    (target / "screens").symlink_to(folder / "screens")
    (target / "targets.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return target


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "colour"}, "kind 'colour'; known are name, role"),
        ({"screen": "../screens/form"}, "no screen '../screens/form'"),
        ({"box": [600, 300, 100, 10]}, "not within the screen, 640x360"),
        ({"kind": "absent"}, "a target needs a box, or the kind 'absent'"),
        ({"point": [0, 0, 4, 4]}, "is not within the box"),
        ({"description": "the Save button"}, "targets.jsonl:1 already"),
    ],
)
def test_a_bad_line_is_named(
    folder: Path, tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    bad = write_changed_suite(folder, tmp_path / "bad", 2, **fields)
    with pytest.raises(UsageError, match=re.escape(f"{bad}/targets.jsonl:2: ") + ".*") as caught:
        open_grounding_suite(bad)
    assert message in str(caught.value)


def test_outlines_and_refusals_of_osworld_g(tmp_path: Path) -> None:
    suite = open_grounding_suite(
        write_published(tmp_path, "osworld-g") / "benchmark" / "OSWorld-G.json"
    )
    _, outline, refusal = suite.targets
    assert outline.region is not None
    assert outline.region.holds(Point(285, 192, "screen"))
    for outside in ((385, 194), (270, 192), (285, 180)):  # below the slope, left, above
        assert not outline.region.holds(Point(*outside, "screen"))
    assert (refusal.region, refusal.kind) == (None, "absent")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"bbox": [1, 2, 3]}, "row 1: bbox"),
        ({"img_filename": "gone.png"}, "picture 'gone.png' is not in"),
        ({"img_filename": "../../secret.png"}, "no picture '../../secret.png' in"),
        ({"instruction": ""}, "row 1: instruction"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    home = write_published(tmp_path / "suite", "screenspot-v2")
    draw(tmp_path / "secret.png", {}, (9, 9))
    path = home / "screenspot_desktop_v2.json"
    rows = json.loads(path.read_text())
    rows[0] |= row
    path.write_text(json.dumps(rows))
    with pytest.raises(UsageError, match=re.escape(message)):
        open_grounding_suite(home)
