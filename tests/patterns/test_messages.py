"""Whole texts: what people are told of their patterns and rules, word for word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hisa.cli.pattern_files import written
from hisa.errors import StoreError, UsageError
from hisa.patterns.stores.base import RESTORE, check_vectors, dense, from_payload
from hisa.patterns.vectors import unit

TEXTS = {
    "lesson": "Press Ctrl+S.",
    "domain": "calc",
    "kind": "failure",
    "condition": "Save a sheet",
    "actions": "press Ctrl+S",
    "expected": "The title has no star.",
    "scope": "page",
}


FREE = ("lesson", "condition", "actions", "expected")
RULES_BELONG = "put rules into a file of the folder patterns.sops"


@pytest.mark.parametrize(
    ("name", "text", "said", "fix"),
    [
        *((name, "x" * 501, f"{name}: 501 characters; at most 500", "") for name in FREE),
        *(
            (
                name,
                "MUST: go",
                f'{name}: "MUST" marks rules, and a lesson never binds',
                RULES_BELONG,
            )
            for name in FREE
        ),
        ("lesson", " \n", "lesson: empty; say what to do or what to avoid", ""),
        ("domain", "Calc", "domain 'Calc': want lower-case letters, digits and _", ""),
        ("kind", "maybe", "kind 'maybe': choose one of success, failure", ""),
        ("scope", "world", "scope 'world': choose one of application, family, page", ""),
    ],
)
def test_what_a_person_may_not_write_is_named(name: str, text: str, said: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        written(**{**TEXTS, name: text})
    assert (str(caught.value), caught.value.fix) == (said, fix)


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
