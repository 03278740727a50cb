from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.text.safe_text import safe_json, safe_line, safe_name, safe_text

ANY = st.text(st.characters(exclude_categories=()))
"""Every code point, halves of pairs among them."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
        ("a\x9b31mb", r"a\x9b31mb"),
        ("ls\rrm", r"ls\x0drm"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("zero\u200bwidth \U000e0041", r"zero\u200bwidth \U000e0041"),
        ("half \ud83d", r"half \ud83d"),
        ("line\u2028break", r"line\u2028break"),
    ],
)
def test_control_character_is_shown_as_its_code(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    "text", ["plain", "two\nlines\tand a tab", "Zażółć 漢字 عربى ❤️ [bold]x[/bold]", "a\\b"]
)
def test_readable_text_stays(text: str) -> None:
    assert safe_text(text) == text


def test_line_ends_of_other_systems_are_line_ends() -> None:
    assert safe_text("a\r\nb") == "a\nb"


def test_safe_name_is_a_single_line_with_all_its_blanks() -> None:
    assert safe_name("two  blanks\n\tand\x1b[31m \udcff.txt") == (
        r"two  blanks\x0a\x09and\x1b[31m \udcff.txt"
    )
    assert safe_name("a\u00a0b 漢.txt") == "a\u00a0b 漢.txt"


def test_safe_line_is_cut_visibly() -> None:
    assert safe_line("a \n\n b\tc") == "a b c"
    assert safe_line("abcdef", 4) == "abc…"


@given(ANY)
def test_safe_text_contains_no_invisible_characters(text: str) -> None:
    shown = safe_text(text)
    shown.encode()
    assert all(
        letter in "\t\n" or unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp")
        for letter in shown
    )
    assert "\n" not in safe_line(text)


@given(ANY)
def test_json_keeps_its_meaning(text: str) -> None:
    document = safe_json(json.dumps({text: [text]}, ensure_ascii=False))
    document.encode()
    assert json.loads(document) == json.loads(json.dumps({text: [text]}))
    assert safe_text(document) == document
