"""How hard models are asked to think: by role, each in its own way."""

from __future__ import annotations

from typing import Any

import pytest

from hisa.config import ModelSettings, Settings
from hisa.errors import ConfigError
from hisa.models.budget import Budget
from hisa.models.open_models import open_models, require_models
from hisa.models.profiles import BUILT_IN, Profile, find
from hisa.models.request_body import check_effort, encode
from hisa.models.spending import Ledger
from hisa.plugins.computer_use.responses_body import encode_responses
from tests.models.support import Events, ask, picture

_PARAMETERS = {
    "reasoning_effort", "reasoning", "thinking", "chat_template_kwargs",
}  # fmt: skip


def _encode_fields(model: str, **settings: Any) -> dict[str, Any]:
    """What a request says about thinking."""
    model_settings = ModelSettings(model=model, **settings)
    body = encode(ask(), find(model), model_settings)
    return {name: body[name] for name in _PARAMETERS & body.keys()}


@pytest.mark.parametrize("profile", BUILT_IN, ids=lambda profile: profile.name)
def test_request_has_no_effort_fields_by_default(profile: Profile) -> None:
    for encoded in (encode, encode_responses):
        body = encoded(ask(), profile, ModelSettings(model="m"))
        assert not _PARAMETERS & body.keys()


@pytest.mark.parametrize(
    ("model", "settings", "fields"),
    [
        ("gpt-5", {"effort": "minimal"}, {"reasoning_effort": "minimal"}),
        ("gpt-5.1", {"effort": "none"}, {"reasoning_effort": "none"}),
        ("gemini-2.5-pro", {"effort": "high"}, {"reasoning_effort": "high"}),
        (
            "Qwen/Qwen3-8B",
            {"effort": "high"},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ),
        (
            "Qwen/Qwen3.5-9B",
            {"effort": "none"},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_effort_is_sent_in_the_fields_of_the_model_family(
    model: str, settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    check_effort("planner", ModelSettings(model=model, **settings), find(model))
    assert _encode_fields(model, **settings) == fields


def test_the_responses_api_has_it_beside_the_summary() -> None:
    settings = ModelSettings(model="gpt-5.4", effort="low")
    plain = encode_responses(ask(), find("gpt-5.4"), settings)
    assert plain["reasoning"] == {"effort": "low"}
    tools = ({"type": "computer"},)
    request = ask(tools=tools, image=picture())
    body = encode_responses(request, find("gpt-5.4"), settings)
    assert body["reasoning"] == {"summary": "concise", "effort": "low"}


@pytest.mark.parametrize(
    ("model", "settings", "reason", "fix"),
    [
        (
            "gpt-4o",
            {"effort": "low"},
            "models.state.effort = 'low': 'gpt-4o' (profile gpt-4o) takes no effort",
            "models.state.profile=FILE.toml",
        ),
        (
            "o3",
            {"effort": "minimal"},
            "takes low, medium, high",
            "models.state.profile=FILE.toml",
        ),
        ("anything", {"effort": "high"}, "(profile default)", "FILE.toml"),
        ("offline", {"effort": "low"}, "takes no effort", "omit it"),
    ],
)
def test_unsupported_effort_is_refused(
    model: str, settings: dict[str, Any], reason: str, fix: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_effort("state", ModelSettings(model=model, **settings), find(model))
    assert reason in str(caught.value)
    assert fix in (caught.value.fix or "")


def _settings(**planner: object) -> Settings:
    return Settings.model_validate(
        {"models": {"planner": {"api_key_env": "HISA_NO_KEY", **planner}}}
    )


def test_a_run_is_refused_before_anything_is_opened() -> None:
    wrong = _settings(model="gpt-4.1", base_url="http://127.0.0.1:9/v1", effort="low")
    with pytest.raises(ConfigError, match=r"models\.planner\.effort = 'low': 'gpt-4\.1'"):
        require_models(wrong.models, wrong.planner, {})
    with pytest.raises(ConfigError, match="takes no effort"):
        open_models(wrong.models, wrong.planner, Events(), Budget(), Ledger(), environ={})


def test_the_responses_api_has_no_switch_of_thinking() -> None:
    tree = _settings(model="qwen3-8b", base_url="http://127.0.0.1:9/v1", effort="none")
    require_models(tree.models, tree.planner, {})
    kind = {"kind": "computer"}
    over = Settings.model_validate({**tree.model_dump(), "planner": kind})
    with pytest.raises(ConfigError, match=r"models\.planner\.effort = 'none'"):
        require_models(over.models, over.planner, {})
