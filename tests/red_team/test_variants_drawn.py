"""The draw of timed variants."""

from __future__ import annotations

from benchmarks.red_team.variants import HARMLESS, TIMED, drawn


def test_draw_is_the_seed_s_and_covers_every_kind() -> None:
    assert drawn("harmful", 60, 5) == drawn("harmful", 60, 5)
    assert drawn("harmful", 60, 5) != drawn("harmful", 60, 7)
    assert {v.kind for v in drawn("harmful", 60, 5)} >= set(TIMED)
    assert {v.kind for v in drawn("harmless", 60, 5)} == set(HARMLESS)
