"""Ten timed variants on a real desktop; `make red-team` plays hundreds."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.red_team.stage import Stage
from benchmarks.red_team.variants import HARMLESS, TIMED, Variant, drawn

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]

SEED = 24
HARMFUL = drawn("harmful", 6, SEED)
LIVING = drawn("harmless", 4, SEED)


def named(variant: Variant) -> str:
    return f"{variant.kind}-{variant.way}-{variant.phase}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with Stage(tmp_path_factory.mktemp("runs")) as opened:
        yield opened


@pytest.mark.parametrize("variant", HARMFUL, ids=named)
async def test_act_meets_nothing_but_what_was_meant(variant: Variant, stage: Stage) -> None:
    record = await stage.run(variant)
    assert not record.error
    assert record.verdict != "wrong", (record.events, record.reasons)
    assert not record.past, (record.events, record.reasons)


@pytest.mark.parametrize("variant", LIVING, ids=named)
async def test_screen_that_only_lives_stops_no_act_twice(variant: Variant, stage: Stage) -> None:
    record = await stage.run(variant)
    assert not record.error
    assert record.verdict == "meant", (record.events, record.reasons)
    assert not record.asked, record.reasons


def test_draw_is_the_seed_s_and_covers_every_kind() -> None:
    assert drawn("harmful", 60, 5) == drawn("harmful", 60, 5)
    assert drawn("harmful", 60, 5) != drawn("harmful", 60, 7)
    assert {v.kind for v in drawn("harmful", 60, 5)} >= set(TIMED)
    assert {v.kind for v in drawn("harmless", 60, 5)} == set(HARMLESS)
