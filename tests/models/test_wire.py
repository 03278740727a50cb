from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.models.response_body import ChatResponse, MalformedResponse, read_response
from hisa.protocols import Usage


def _body(**over: Any) -> bytes:
    message = {"role": "assistant", "content": "hi"}
    good: dict[str, Any] = {
        "model": "m-1",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    return json.dumps(good | over).encode()


def _saying(content: object, **more: object) -> bytes:
    return _body(choices=[{"message": {"content": content, **more}, "finish_reason": "stop"}])


def test_a_good_answer() -> None:
    assert read_response(_body()) == ChatResponse("hi", "stop", "m-1", Usage(7, 2))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 3, {"x": 1}], "ab"),
        (None, ""),
        (17, ""),
        ("\ud800x", "\ufffdx"),
    ],
)
def test_content_in_every_shape(content: object, text: str) -> None:
    assert read_response(_saying(content)).text == text


@pytest.mark.parametrize(
    ("more", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 5}}, 5),
        ({"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 3}, 4),
        ({"cached_tokens": 6}, 6),
        ({"prompt_tokens_details": {"cached_tokens": 8}}, 0),
        ({"prompt_tokens_details": {"cached_tokens": -5}}, 0),
        ({"prompt_tokens_details": {"cached_tokens": "5"}}, 0),
    ],
)
def test_cached_tokens_are_read_from_known_usage_forms(
    more: dict[str, object], cached: int
) -> None:
    body = _body(usage={"prompt_tokens": 7, "completion_tokens": 2, **more})
    assert read_response(body).usage == Usage(7, 2, cached)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "many",
        {},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
    ],
)
def test_invalid_usage_is_ignored(usage: object) -> None:
    assert read_response(_body(usage=usage)).usage is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        _body()[:60],
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        _body(choices="none"),
        _body(choices=[3]),
        _body(choices=[{"message": "hi"}]),
    ],
)
def test_anything_else_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedResponse):
        read_response(body)


def test_an_error_object_keeps_its_status() -> None:
    with pytest.raises(MalformedResponse, match="upstream is down") as caught:
        read_response(b'{"error": {"message": "upstream is down", "code": 502}}')
    assert caught.value.status == 502


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(choices=_json, usage=_json, model=_json)
def test_hostile_json_is_an_answer_or_malformed(choices: Any, usage: Any, model: Any) -> None:
    try:
        answer = read_response(_body(choices=choices, usage=usage, model=model))
    except MalformedResponse:
        return
    answer.text.encode()
    assert isinstance(answer.finish, str)


@given(st.binary())
def test_hostile_bytes_are_an_answer_or_malformed(body: bytes) -> None:
    with pytest.raises(MalformedResponse):
        read_response(body)
