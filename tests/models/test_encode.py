from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from hisa.config import ModelSettings
from hisa.models.profiles import Profile, find
from hisa.models.request_body import encode
from hisa.protocols import ModelRequest
from tests.models.support import SCHEMA, ask, picture


def _encode(request: ModelRequest, profile: Profile, max_tokens: int = 4096) -> dict[str, Any]:
    return encode(request, profile, ModelSettings(model="m", max_tokens=max_tokens))


def test_a_plain_model_gets_the_plain_parameters() -> None:
    body = _encode(ask("hello"), find("anything"))
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "# Global planner\nYou act."},
            {"role": "user", "content": "hello"},
        ],
        "max_tokens": 4096,
        "temperature": 0.0,
    }


def test_the_picture_is_the_same_png() -> None:
    image = picture(9)
    content = _encode(ask("look", image=image), find("gpt-5"))["messages"][1]["content"]
    assert content[0] == {"type": "text", "text": "look"}
    assert content[1]["image_url"]["detail"] == "high"
    kind, _, data = content[1]["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == image.png
    assert len(content) == 2


@pytest.mark.parametrize(
    ("structured", "sent"),
    [
        ("json_schema", {"type": "json_schema"}),
        ("json_object", {"type": "json_object"}),
        ("none", None),
    ],
)
def test_structured_output_by_profile(structured: str, sent: dict[str, str] | None) -> None:
    profile = Profile.model_validate({"name": "p", "structured": structured})
    response_format = _encode(ask(schema=SCHEMA), profile).get("response_format")
    assert (response_format and {"type": response_format["type"]}) == sent
    if response_format and structured == "json_schema":
        assert response_format["json_schema"] == {"name": "answer", "schema": dict(SCHEMA)}
    assert "response_format" not in _encode(ask(), profile)


@pytest.mark.parametrize(
    ("requested", "setting", "sent"), [(4096, 9000, 9000), (32, 9000, 32), (5000, 100, 100)]
)
def test_the_answers_limit(requested: int, setting: int, sent: int) -> None:
    assert _encode(ask(max_tokens=requested), find("x"), setting)["max_tokens"] == sent


def test_answer_limit_fits_the_context() -> None:
    profile = Profile(name="small", context=3000, image_tokens=1000)
    body = _encode(ask("word " * 1000, image=picture()), profile)
    assert 900 < body["max_tokens"] < 1000
    assert _encode(ask("x" * 40_000), profile)["max_tokens"] == 16


def test_halves_of_characters_can_be_sent() -> None:
    body = _encode(ask("half \ud83d", image=picture()), find("gpt-4o"))
    assert "half \ufffd" in json.dumps(body, ensure_ascii=False).encode().decode()
