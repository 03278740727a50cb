"""The short list of the screen: whether the wanted thing is on it."""

from __future__ import annotations

from benchmarks.short_list import shares


def test_the_wanted_thing_is_among_the_thirty_of_real_screens() -> None:
    measured = shares(every=23)
    assert measured["targets"] > 80
    assert measured["was_listed"] >= 0.9
