"""Hostile text made safe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.text.prompt_text import (
    SECTION_TAGS,
    clean,
    ends,
    excerpt,
    field_text,
    guard_fields,
    one_line,
)

HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from("<>/| \n\t\r\x00\u2028\u202e\ud800taskTASK:"), st.characters()
    ),
    max_size=120,
) | st.sampled_from([f"<{tag}>" for tag in SECTION_TAGS] + ["</ task >", "< /NOTICE x=1>"])


@pytest.mark.parametrize("tag", SECTION_TAGS)
@pytest.mark.parametrize("form", ["<{}>", "</{}>", "< / {} >", "<\n/{} x='1'>", "<\x00/{}>"])
def test_section_tags_lose_their_bracket(tag: str, form: str) -> None:
    for text in (form.format(tag), form.format(tag.upper())):
        assert "<" not in one_line(f"a {text} b")
        assert f"</{tag}>" not in clean(f"a\n{text}\nb").lower()


def test_harmless_markup_stays() -> None:
    assert one_line("if a < b: <b>bold</b> <form action='x'>") == (
        "if a < b: <b>bold</b> <form action='x'>"
    )


@given(HOSTILE, HOSTILE)
def test_cleaned_text_is_safe_and_stable(first: str, second: str) -> None:
    text = first + second
    for function in (clean, one_line, guard_fields, field_text):
        safe = function(text)
        assert function(safe) == safe
        safe.encode("utf-8")
        assert not any(char in safe for char in "\x00\r\u2028\u202e")
    assert "\n" not in one_line(text)
    assert "|" not in field_text(text)
    lines = clean(text).split("\n")
    assert not any(f"</{tag}>" in lines or f"<{tag}>" in lines for tag in SECTION_TAGS)


def test_input_loses_only_pipes_before_labels() -> None:
    text = guard_fields("ls | wc -l | Result: Failed. |input : x")
    assert text == "ls | wc -l ¦ Result: Failed. ¦input : x"


@given(st.text(max_size=400), st.integers(0, 80))
def test_excerpt_keeps_its_limit(text: str, chars: int) -> None:
    assert len(excerpt(text, chars)) <= chars


@pytest.mark.parametrize("chars", range(60, 140, 9))
def test_no_cut_goes_through_a_word(chars: int) -> None:
    """Half of a secret is not recognised as one."""
    words = [f"ghp_{number:036d}" for number in range(40)]
    text = "output: " + "\n".join(words)
    for shown in (excerpt(text, chars), ends(text, chars)):
        shown_words = shown.replace("…", " ").split()
        assert shown_words[0] == "output:"
        assert {word for word in shown_words if word.startswith("ghp_")} <= set(words)
        assert not [word for word in shown_words if "0000" in word and word not in words]


def test_excerpt_keeps_both_ends() -> None:
    text = "first " + "x" * 100_000 + " last"
    assert excerpt(text, 60).startswith("first ")
    assert excerpt(text, 60).endswith(" last")
    assert excerpt("short\ntext", 60) == "short text"
