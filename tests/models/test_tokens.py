from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hisa.models.tokens import estimate_input, estimate_tokens
from tests.models.support import ask, picture


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
