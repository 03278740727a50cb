"""Secrets in the texts that a run writes down: taken out however they are wrapped, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.events import ModelAsked
from hisa.text.redact import Redactor, holds_redacted, redact
from tests.red_team.drawing import draw_cases
from tests.red_team.secret_texts import HARMLESS, SECRETS, WRAPPINGS

PROMPTS = Path(__file__).parent.parent.parent / "prompts"


@pytest.mark.parametrize(
    ("name", "wrapping"),
    draw_cases([(name, wrapping) for name in SECRETS for wrapping in WRAPPINGS]),
)
def test_no_piece_of_a_secret_is_left(name: str, wrapping: str) -> None:
    text, pieces = SECRETS[name]
    shown = redact(WRAPPINGS[wrapping](text), {})
    assert pieces
    assert [piece for piece in pieces if piece in shown] == []


@pytest.mark.parametrize("wrapping", draw_cases(list(WRAPPINGS)))
def test_harmless_text_stays(wrapping: str) -> None:
    texts = [WRAPPINGS[wrapping](text) for text in HARMLESS]
    assert [text for text in texts if redact(text, {}) != text] == []


@pytest.mark.parametrize(
    "text",
    [
        r'{"output": "ok\nmysql -uroot -pHx7Kq2mZ db"}',
        r"run('ls\nmysql -uroot -pHx7Kq2mZ db')",
        r'{"output": "HTTP/1.1 200\r\nCookie: session=Hx7Kq2mZ1234"}',
        r'{"script": "#!/bin/sh\napp --token Hx7Kq2mZ"}',
        r'"{\"line\": \"curl --user \\\"bob:Hx7Kq2mZ\\\" http://x\"}"',
        "key-3axHx7Kq2mZ".lower() + "29jd6fds4gc373sgvjxteol0"[:21],
    ],
)
def test_secret_after_an_escaped_line_break_is_taken_out(text: str) -> None:
    assert "hx7kq2mz" not in redact(text, {}).lower()


@pytest.mark.parametrize("prompt", sorted(PROMPTS.glob("*.md")), ids=lambda path: path.stem)
def test_own_prompts_hold_no_secret(prompt: Path) -> None:
    """Else each log reads so, and each resumed run is said to lack something."""
    event = ModelAsked(role="planner", model="m", texts={"x": prompt.read_text("utf-8")})
    logged = Redactor({}).data(event)
    assert logged.texts == event.texts
    assert not holds_redacted(logged.model_dump())
