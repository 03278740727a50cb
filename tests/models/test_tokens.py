from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.tokens_texts import fixed_texts
from hisa.models.tokens import estimate_input, estimate_tokens, prefix_within
from tests.models.support import ask, picture

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "token_counts.json").read_text("utf-8"))
"""What the worst of the vocabularies counts; written by ``python -m benchmarks.tokens``."""


def test_known_sizes() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a b c d e f") == 6
    assert estimate_tokens("The menu is open.") == 5
    assert estimate_tokens("菜单") == 5
    assert estimate_tokens("1234567890") == 10


@given(st.text(), st.integers(0, 50))
def test_a_prefix_is_never_larger(text: str, cut: int) -> None:
    assert estimate_tokens(text[:cut]) <= estimate_tokens(text)


def test_lone_surrogates_are_counted() -> None:
    assert estimate_tokens("\ud800") == 3


def test_pictures_and_messages_are_counted() -> None:
    bare = estimate_input(ask(), image_tokens=1000)
    assert bare == estimate_tokens(ask().text) + 8
    assert estimate_input(ask(image=picture()), image_tokens=1000) == bare + 1000


@pytest.mark.parametrize("name", RECORDED["counts"])
def test_the_estimate_is_above_every_vocabulary(name: str) -> None:
    recorded, text = RECORDED["counts"][name], fixed_texts()[name]
    assert hashlib.sha256(text.encode()).hexdigest() == recorded["sha256"]
    # SentencePiece puts a mark before each text; a message's own tokens are counted apart.
    assert estimate_tokens(text) + 1 >= recorded["worst"]


def test_nine_vocabularies_and_every_text_are_recorded() -> None:
    assert len(RECORDED["vocabularies"]) == 9
    assert set(RECORDED["counts"]) == set(fixed_texts())


def test_english_prose_is_not_estimated_at_more_than_half_above() -> None:
    text = fixed_texts()["english"]
    assert estimate_tokens(text) < 1.5 * RECORDED["counts"]["english"]["worst"]


@given(st.integers(0, 10**40), st.booleans())
def test_a_digit_is_a_token(number: int, blanks: bool) -> None:
    text = str(number) if not blanks else " ".join(str(number))
    assert estimate_tokens(text) >= len(str(number))


@given(st.text(max_size=60))
def test_never_more_than_its_bytes_and_blanks(text: str) -> None:
    blanks = text.count(" ")
    assert estimate_tokens(text) <= len(text.encode("utf-8", "surrogatepass")) + 2 * blanks


@given(st.text(max_size=200), st.integers(0, 60))
def test_a_beginning_is_the_longest_that_fits(text: str, tokens: int) -> None:
    prefix = prefix_within(text, tokens, end="…")
    assert text.startswith(prefix)
    assert not prefix or estimate_tokens(prefix + "…") <= tokens
    if prefix != text:
        assert estimate_tokens(text[: len(prefix) + 1] + "…") > tokens
