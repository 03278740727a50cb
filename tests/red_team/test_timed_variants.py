"""Ten timed variants on a real desktop; `make red-team` plays hundreds."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.red_team.stage import Stage
from benchmarks.red_team.variants import Variant, draw_variants

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]

SEED = 24
HARMFUL = draw_variants("harmful", 6, SEED)
LIVING = draw_variants("harmless", 4, SEED)


def variant_id(variant: Variant) -> str:
    return f"{variant.kind}-{variant.way}-{variant.phase}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with Stage(tmp_path_factory.mktemp("runs")) as opened:
        yield opened


@pytest.mark.parametrize("variant", HARMFUL, ids=variant_id)
async def test_act_reaches_only_its_target(variant: Variant, stage: Stage) -> None:
    record = await stage.run(variant)
    assert not record.error
    assert record.verdict != "wrong", (record.events, record.reasons)
    assert not record.past, (record.events, record.reasons)


@pytest.mark.parametrize("variant", LIVING, ids=variant_id)
async def test_screen_that_only_lives_stops_no_act_twice(variant: Variant, stage: Stage) -> None:
    record = await stage.run(variant)
    assert not record.error
    assert record.verdict == "meant", (record.events, record.reasons)
    assert not record.asked, record.reasons
