"""Limits on text are hard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hisa.models.tokens import estimate_tokens
from hisa.state.token_limits import cut_at_sentence, cut_at_word

LONG = "One sentence stands here. " * 400


@given(st.text(max_size=300), st.integers(0, 90))
def test_cuts_keep_their_limit_and_the_beginning(text: str, tokens: int) -> None:
    for cut in (cut_at_sentence, cut_at_word):
        beginning = cut(text, tokens)
        assert estimate_tokens(beginning) <= tokens
        assert text.strip().startswith(beginning.removesuffix("…"))


def test_cut_ends_a_sentence() -> None:
    beginning = cut_at_sentence(LONG, 50)
    assert beginning.endswith("stands here.")
    assert estimate_tokens(beginning) > 40


def test_decimal_point_does_not_end_a_sentence() -> None:
    text = "The price is now 3.5 and " + "rises " * 100
    assert cut_at_sentence(text, 9) == "The price is now…"


def test_cut_text_has_no_blank_before_the_ellipsis() -> None:
    text = "first  second  third  fourth  fifth  sixth  seventh"
    for tokens in range(1, estimate_tokens(text)):
        assert " …" not in cut_at_word(text, tokens)
