"""How hard models are asked to think: by role, raised after a failure, each in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import ModelSettings, Settings, load
from hisa.errors import ConfigError
from hisa.events import ModelAsked
from hisa.models.budget import Budget
from hisa.models.open_models import open_models, require_models
from hisa.models.profiles import BUILT_IN, Profile, find
from hisa.models.reasoning import check_reasoning
from hisa.models.request_body import encode, not_sent
from hisa.models.spending import Ledger
from hisa.plugins.computer_use.responses_body import encode_responses
from hisa.runs.terminal_view import step_text
from hisa.testing import FakeEnvironment, FakeServer, Received, tool_call
from tests.models.support import Events, ask, picture

_PARAMETERS = {
    "reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "thinking_token_budget",
}  # fmt: skip


def _sent(model: str, *, harder: bool = False, **settings: Any) -> dict[str, Any]:
    """What a request says about thinking."""
    wanted = ModelSettings(model=model, **settings)
    body = encode(ask(harder=harder), find(model), wanted)
    return {name: body[name] for name in _PARAMETERS & body.keys()}


@pytest.mark.parametrize("profile", BUILT_IN, ids=lambda profile: profile.name)
def test_nothing_is_sent_unasked(profile: Profile) -> None:
    for harder in (False, True):
        body = encode(ask(harder=harder), profile, ModelSettings(model="m"))
        assert not _PARAMETERS & body.keys()
        body = encode_responses(ask(harder=harder), profile, ModelSettings(model="m"))
        assert not _PARAMETERS & body.keys()


@pytest.mark.parametrize(
    ("model", "settings", "fields"),
    [
        ("gpt-5", {"effort": "minimal"}, {"reasoning_effort": "minimal"}),
        ("gpt-5.1", {"effort": "none"}, {"reasoning_effort": "none"}),
        ("gemini-2.5-pro", {"effort": "high"}, {"reasoning_effort": "high"}),
        (
            "claude-haiku-4-5",
            {"thinking_tokens": 2000},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        ("claude-sonnet-4-5", {"thinking_tokens": 0}, {"thinking": {"type": "disabled"}}),
        (
            "Qwen/Qwen3-8B",
            {"thinking_tokens": 500},
            {"chat_template_kwargs": {"enable_thinking": True}, "thinking_token_budget": 500},
        ),
        (
            "Qwen/Qwen3.5-9B",
            {"thinking_tokens": 0},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
    ],
)
def test_each_family_is_asked_in_its_own_way(
    model: str, settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    check_reasoning("planner", ModelSettings(model=model, **settings), find(model))
    assert _sent(model, **settings) == fields


def test_only_a_harder_request_is_raised() -> None:
    efforts: dict[str, Any] = {"effort": "low", "raised_effort": "high"}
    assert _sent("gpt-5", **efforts) == {"reasoning_effort": "low"}
    assert _sent("gpt-5", harder=True, **efforts) == {"reasoning_effort": "high"}
    assert _sent("gpt-5", harder=True, effort="low") == {"reasoning_effort": "low"}
    assert _sent("gpt-5", raised_effort="high") == {}
    numbers: dict[str, Any] = {"thinking_tokens": 0, "raised_thinking_tokens": 900}
    assert _sent("qwen3-8b", **numbers)["chat_template_kwargs"] == {"enable_thinking": False}
    assert _sent("qwen3-8b", harder=True, **numbers)["thinking_token_budget"] == 900


def test_the_responses_api_has_it_beside_the_summary() -> None:
    settings = ModelSettings(model="gpt-5.4", effort="low", raised_effort="xhigh")
    plain = encode_responses(ask(), find("gpt-5.4"), settings)
    assert plain["reasoning"] == {"effort": "low"}
    tools = ({"type": "computer"},)
    asked = ask(harder=True, tools=tools, image=picture())
    body = encode_responses(asked, find("gpt-5.4"), settings)
    assert body["reasoning"] == {"summary": "concise", "effort": "xhigh"}


def test_anthropic_gets_no_temperature_beside_thinking() -> None:
    model, profile = "claude-haiku-4-5", find("claude-haiku-4-5")
    thinking = ModelSettings(model=model, thinking_tokens=2000, temperature=0.5)
    assert "temperature" not in encode(ask(), profile, thinking)
    assert not_sent(profile, thinking) == ["temperature"]
    silent = ModelSettings(model=model, thinking_tokens=0, temperature=0.5)
    assert encode(ask(), profile, silent)["temperature"] == 0.5
    assert not_sent(profile, silent) == []


@pytest.mark.parametrize(
    ("model", "settings", "said", "fix"),
    [
        (
            "gpt-4o",
            {"effort": "low"},
            "models.state.effort = 'low': 'gpt-4o' (profile gpt-4o) takes neither effort nor "
            "thinking_tokens",
            "models.state.profile=FILE.toml",
        ),
        (
            "o3",
            {"effort": "minimal"},
            "takes effort (low, medium, high)",
            "--set models.state.effort=high",
        ),
        (
            "gpt-5.1",
            {"raised_effort": "xhigh"},
            "models.state.raised_effort = 'xhigh'",
            "--set models.state.raised_effort=high",
        ),
        (
            "gpt-5",
            {"thinking_tokens": 0},
            "models.state.thinking_tokens = 0: 'gpt-5' (profile gpt-5) takes effort (minimal,",
            "--set models.state.effort=high",
        ),
        (
            "claude-opus-4-5",
            {"raised_effort": "high"},
            "takes thinking_tokens",
            "--set models.state.raised_thinking_tokens=1024",
        ),
        (
            "claude-opus-4-5",
            {"thinking_tokens": 1023},
            "takes 1024 or more",
            "thinking_tokens=1024",
        ),
        (
            "qwen3-8b",
            {"raised_thinking_tokens": 4096},
            "models.state.max_tokens = 4096",
            "--set models.state.max_tokens=8192",
        ),
        ("anything", {"raised_thinking_tokens": 9}, "(profile default)", "FILE.toml"),
        ("offline", {"effort": "low"}, "takes neither", "leave it out"),
    ],
)
def test_what_a_model_does_not_take_is_refused(
    model: str, settings: dict[str, Any], said: str, fix: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_reasoning("state", ModelSettings(model=model, **settings), find(model))
    assert said in str(caught.value)
    assert fix in (caught.value.fix or "")


@pytest.mark.parametrize(
    ("assignments", "said"),
    [
        (["models.planner.effort=hard"], "models.planner.effort = 'hard'"),
        (["models.planner.thinking_tokens=-1"], "must be greater than or equal to 0"),
        (
            ["models.state.model=o3", "models.state.raised_effort=high"],
            "only the planner's requests are raised: set raised_effort and raised_thinking_tokens "
            "in models.planner, not in models.state",
        ),
        (
            ["models.judge.model=m", "models.judge.raised_thinking_tokens=0"],
            "in models.planner, not in models.judge",
        ),
        (
            ["models.planner.effort=high", "models.planner.raised_effort=low"],
            "models.planner.raised_effort = 'low' is less than models.planner.effort = 'high'",
        ),
        (
            ["models.planner.thinking_tokens=9", "models.planner.raised_thinking_tokens=8"],
            "raised_thinking_tokens = 8 is less than models.planner.thinking_tokens = 9",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(assignments: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, assignments, environ={})
    assert said in str(caught.value)


def _settings(**planner: object) -> Settings:
    return Settings.model_validate(
        {"models": {"planner": {"api_key_env": "HISA_NO_KEY", **planner}}}
    )


def test_a_run_is_refused_before_anything_is_opened() -> None:
    wrong = _settings(model="gpt-4.1", base_url="http://127.0.0.1:9/v1", effort="low")
    with pytest.raises(ConfigError, match=r"models\.planner\.effort = 'low': 'gpt-4\.1'"):
        require_models(wrong.models, wrong.planner, {})
    with pytest.raises(ConfigError, match="neither"):
        open_models(wrong.models, wrong.planner, Events(), Budget(), Ledger(), environ={})


def test_the_responses_api_takes_no_number_of_thinking_tokens() -> None:
    tree = _settings(model="qwen3-8b", base_url="http://127.0.0.1:9/v1", thinking_tokens=5)
    require_models(tree.models, tree.planner, {})
    kind = {"kind": "computer"}
    over = Settings.model_validate({**tree.model_dump(), "planner": kind})
    with pytest.raises(ConfigError, match=r"models\.planner\.thinking_tokens = 5"):
        require_models(over.models, over.planner, {})


def _answer(request: Received) -> str:
    """A planner whose first click finds nothing, and the state's model."""
    if request.role != "planner":
        return "Succeeded. It did."
    match request.text.count("| Result: "):
        case 0:
            return tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "the green moose")
        case 1:
            source = "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')"
            return tool_call("gui_action", source, "Name")
        case _:
            return tool_call("termination", "Done.")


async def test_the_planner_thinks_harder_after_a_failure_and_no_longer(tmp_path: Path) -> None:
    with FakeServer(then=_answer) as server:
        planner = {
            "model": "gpt-5",
            "base_url": server.url,
            "effort": "low",
            "raised_effort": "high",
        }
        settings = hisa.Settings.model_validate(
            {
                "models": {"planner": planner},
                "patterns": {"enabled": False},
                "run": {"folder": tmp_path},
            }
        )
        result = await hisa.run("Look.", settings=settings, environment=FakeEnvironment())
    assert (result.status, result.steps) == ("succeeded", 3)
    efforts = [(r.role, r.body["reasoning_effort"]) for r in server.requests]
    assert [effort for role, effort in efforts if role == "planner"] == ["low", "high", "low"]
    assert {effort for role, effort in efforts if role != "planner"} <= {"low"}
    run = hisa.load_run(result.folder)
    asked = [e.effort for e in run.events if isinstance(e, ModelAsked) and e.role == "planner"]
    called = [c.effort for step in run.steps for c in step.calls if c.role == "planner"]
    assert asked == called == ["low", "high", "low"]
    assert "model: planner gpt-5 (effort: high): " in step_text(run, 2)
