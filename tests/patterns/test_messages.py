"""Whole texts: what people are told of their patterns and rules, word for word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hisa.errors import StoreError
from hisa.patterns.stores.base import RESTORE, check_vectors, dense, from_payload
from hisa.patterns.vectors import unit


def test_damaged_or_missing_vectors_are_named_with_what_helps() -> None:
    assert dense([[1], [2]]) == [[1.0], [2.0]]
    check_vectors([[1.0, 2.0]], 2)
    said: dict[str, Callable[[], object]] = {
        "a pattern without a vector could never be found": lambda: check_vectors([], 2),
        "a vector of 1 numbers; this store holds 2": lambda: check_vectors([[1.0, 2.0], [1.0]], 2),
        "a vector of 2 numbers has length 0.0, wanted above 0": lambda: unit([0.0, 0.0]),
    }
    for words, call in said.items():
        with pytest.raises(StoreError) as caught:
            call()
        assert str(caught.value) == words
    with pytest.raises(StoreError) as caught:
        dense([1, 2.5])
    assert str(caught.value) == "a stored vector is damaged: list, wanted lists of numbers"
    assert caught.value.fix == RESTORE
    with pytest.raises(StoreError) as caught:
        from_payload(None)
    assert str(caught.value) == "a stored pattern is damaged: Field required"
    assert caught.value.fix == RESTORE
