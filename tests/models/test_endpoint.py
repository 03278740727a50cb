from __future__ import annotations

import pytest

from hisa.config import ModelSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.models.endpoint import PUBLIC_URL, Endpoint, resolve


def test_setting_then_variable_then_public_address() -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1/", "OPENAI_API_KEY": "k"}
    own = ModelSettings(model="m", base_url="http://localhost:8000/v1")
    assert resolve(own, environ).url == "http://localhost:8000/v1"
    assert resolve(ModelSettings(model="m"), environ).url == "http://127.0.0.1:9/v1"
    assert resolve(ModelSettings(model="m"), {"OPENAI_API_KEY": "k"}).url == PUBLIC_URL


def test_the_key_comes_from_the_named_variable() -> None:
    settings = ModelSettings(model="m", api_key_env="HOUSE_KEY")
    environ = {"HOUSE_KEY": " abc \n", "OPENAI_API_KEY": "other"}
    assert resolve(settings, environ).api_key == "abc"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/v1",
        "http://localhost/v1",
        "http://vllm:8000/v1",
        "http://[::1]:1/v1",
        "http://192.168.1.2/v1",
        "http://box.local/v1",
    ],
)
def test_a_server_next_door_may_go_without_a_key(url: str) -> None:
    endpoint = resolve(ModelSettings(model="m", base_url=url), {})
    assert endpoint.local
    assert endpoint.api_key == "none"


@pytest.mark.parametrize("url", ["", "https://api.example.com/v1", "http://8.8.8.8/v1"])
def test_a_public_server_wants_a_key(url: str) -> None:
    settings = ModelSettings(model="big", base_url=url, api_key_env="BIG_KEY")
    with pytest.raises(ModelUnavailable, match=r"'big'.*BIG_KEY") as caught:
        resolve(settings, {"OPENAI_API_KEY": "not this one"})
    assert "export BIG_KEY=" in caught.value.fix


def test_a_key_with_a_line_break_is_not_sent() -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        resolve(ModelSettings(model="m"), {"OPENAI_API_KEY": "sk-a\nX-Evil: 1"})


@pytest.mark.parametrize("url", ["ftp://h/v1", "127.0.0.1:80", "http://", "http://h:99999/v1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        resolve(ModelSettings(model="m", base_url=url), {"OPENAI_API_KEY": "k"})


def test_the_key_is_not_shown() -> None:
    assert "hidden-key" not in repr(Endpoint("http://h/v1", "hidden-key"))
