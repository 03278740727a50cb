"""The benchmark of a small model: its split of pages, what it records and the table it prints."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.small_model import pages
from benchmarks.small_model.__main__ import Episode, read_episodes, table


def _episode(seed: int, score: float | None) -> Episode:
    return Episode("click-test", seed, score, "succeeded", 2, 900, 100)


def test_page_split_follows_from_rule_and_seed() -> None:
    working, reported = pages.draw(pages.kinds())
    assert set(working) < set(pages.WORKING)
    assert reported == pages.REPORTED
    assert (len(pages.WORKING), len(pages.REPORTED)) == (20, 20)
    assert not set(pages.WORKING) & set(pages.REPORTED)


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    full_line = json.dumps(asdict(_episode(1, 1.0)))
    path.write_text(f"\n{full_line}\n\n{full_line[:30]}", "utf-8")
    assert read_episodes(path) == [_episode(1, 1.0)]
    assert read_episodes(tmp_path / "none.jsonl") == []


def test_an_episode_without_a_score_is_in_no_share() -> None:
    printed = table([_episode(1, 1.0), _episode(2, 0.0), _episode(3, None)])
    assert "solved 1 of 2" in printed
    assert "1 without a score" in printed
