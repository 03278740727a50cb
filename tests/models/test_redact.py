from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.events import Acted, Grounded, ModelFailed, PlaceFound
from hisa.models.redact import redact, redact_event


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-proj-abcdefghij0123456789 bad", "key [redacted] bad"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted]"),
        ("http://me:hunter2@host/v1", "http://me:[redacted]@host/v1"),
        ("http://h/v1?api_key=abc123&x=1", "http://h/v1?api_key=[redacted]&x=1"),
        ('{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'),
        ("x-api-key: abcdef123", "x-api-key: [redacted]"),
        ("ghp_abcdefghijklmnop0123", "[redacted]"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2ln", "[redacted]"),
    ],
)
def test_secrets_of_known_shape(text: str, clean: str) -> None:
    assert redact(text, {}) == clean


@pytest.mark.parametrize(
    "text",
    [
        "open the task-list-that-is-quite-long file",
        "http://127.0.0.1:8000/v1 answered 500",
        "see https://example.org/a:b@c",
        "press the key: Return",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text, {}) == text


def test_values_of_secret_variables() -> None:
    environ = {"MY_API_KEY": "correct horse", "DB_PASSWORD": "battery7", "HOME": "/home/someone"}
    said = "correct horse, battery7, /home/someone"
    assert redact(said, environ) == "[redacted], [redacted], /home/someone"


def test_a_secret_that_holds_another_leaves_no_rest() -> None:
    environ = {"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-ijkl"}
    assert redact("abcdefgh-ijkl", environ) == "[redacted]"


def test_short_values_are_words() -> None:
    assert redact("none of this", {"OPENAI_API_KEY": "none", "X_TOKEN": ""}) == "none of this"


@given(st.text(), st.text(min_size=8).filter(lambda value: len(value.strip()) >= 8), st.text())
def test_a_secret_never_comes_through(before: str, secret: str, after: str) -> None:
    # Text around it may make a secret of known shape that swallows the marker; never the value.
    marked = f"{secret.strip()}\x00unique"
    assert marked not in redact(before + marked + after, {"THE_SECRET": marked})


def test_every_text_of_an_event() -> None:
    environ = {"APP_SECRET": "open sesame"}
    place = PlaceFound(description="the open sesame field", x=1, y=2)
    event = Grounded(places=(place,), input="pyautogui.write('open sesame')", seconds=0.5)
    clean = redact_event(event, environ)
    assert isinstance(clean, Grounded)
    assert clean.places[0].description == "the [redacted] field"
    assert clean.input == "pyautogui.write('[redacted]')"
    assert (clean.at, clean.seconds) == (event.at, 0.5)


def test_nested_input_of_a_tool() -> None:
    event = Acted(tool="plug", input={"a": ["open sesame", 3]}, ok=True)
    clean = redact_event(event, {"APP_SECRET": "open sesame"})
    assert isinstance(clean, Acted)
    assert clean.input == {"a": ["[redacted]", 3]}


def test_an_event_without_secrets_is_itself() -> None:
    event = ModelFailed(role="planner", model="m", kind="server", message="down")
    assert redact_event(event, {}) is event
