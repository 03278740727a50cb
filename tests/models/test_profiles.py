from __future__ import annotations

import re
from pathlib import Path

import pytest

from hisa.errors import ConfigError
from hisa.models.profiles import BUILT_IN, Price, find, load


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5.1-2025-11-13", "gpt-5.1"),
        ("openai/GPT-5", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-5.9", "reasoning"),
        ("o4-mini", "o4-mini"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4"),
        ("claude-opus-9", "claude"),
        ("gemini-9-ultra", "gemini"),
        ("computer-use-preview-2025-03-11", "computer-use-preview"),
        ("HelloKKMe/GTA1-7B", "gta1"),
        ("HelloKKMe/GTA1-32B", "gta1-32b"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl"),
        ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl"),
        ("Qwen/Qwen3.5-9B", "qwen3"),
        ("offline", "offline"),
        ("anything", "default"),
    ],
)
def test_chosen_by_the_models_name(model: str, profile: str) -> None:
    assert find(model).name == profile


def test_prices_of_the_papers_models() -> None:
    prices = [find(name).price for name in ("gpt-5", "gpt-5-mini", "computer-use-preview")]
    assert [(p.input, p.output) for p in prices if p] == [(1.25, 10.0), (0.25, 2.0), (3.0, 12.0)]
    assert all(price and price.date for price in prices)


def test_a_price_that_can_change_says_of_when_it_is() -> None:
    for profile in BUILT_IN:
        if profile.price and profile.price.output:
            assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", profile.price.date), profile.name
            assert profile.price.cached is not None, profile.name
            assert profile.price.cached <= profile.price.input, profile.name


def test_dollars_of_a_call_with_cached_input() -> None:
    price = Price(input=2, output=8, cached=0.5)
    assert price.usd(1_000_000, 0, 400_000) == pytest.approx(1.4)
    assert price.usd(1_000_000, 0, 9_000_000) == pytest.approx(0.5)
    assert Price(input=2, output=8).usd(1_000_000, 0, 400_000) == 2.0


@pytest.mark.parametrize("server", ["ollama", "lm-studio", "vllm", "llama.cpp"])
def test_server_profile_keeps_traits_derived_from_the_model_name(server: str) -> None:
    small, unknown = find("qwen2.5-coder:1.5b", server), find("mine", server)
    assert (small.small, small.constrains, small.structured) == (True, True, "json_schema")
    assert (unknown.small, unknown.structured) == (False, "json_schema")
    assert find("deepseek-v3", server).structured == "json_schema"
    assert {small.name, unknown.name} == {server}
    assert small.free_at_home
    assert unknown.free_at_home
    assert find(server).name == "default"


def _file(folder: Path, text: str) -> Path:
    path = folder / "profiles.toml"
    path.write_text(text, encoding="utf-8")
    return path


TWO = """
[[profile]]
name = "house"
match = ["house-*"]
structured = "json_object"
price = {input = 0.1, output = 0.2, date = "2026-01-01"}

[[profile]]
name = "mine"
match = ["gpt-5"]
"""


def test_profiles_of_a_file_come_first(tmp_path: Path) -> None:
    path = _file(tmp_path, TWO)
    assert find("gpt-5", str(path)).name == "mine"
    assert find("vendor/house-7b", str(path)).structured == "json_object"
    assert find("o3-pro", str(path)).name == "reasoning"
    assert find("house-1", str(path)).price == Price(input=0.1, output=0.2, date="2026-01-01")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[profile]]\nname = 'a'\ntemprature = false\n", r"profile\.0\.temprature"),
        ("[[profile]]\nname = 'a'\nstructured = 'xml'\n", r"profile\.0\.structured"),
        ("[[profile]]\nname = 'a'\nprice = {input = nan, output = 1}\n", "price"),
        ("[[profile]\n", "not valid TOML"),
        ("", "profile"),
    ],
)
def test_a_bad_file_says_where(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(_file(tmp_path, text))


def test_the_example_in_the_documentation(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "models.md"
    (example,) = re.findall(r"```toml\n(\[\[profile.*?)```", page.read_text(encoding="utf-8"), re.S)
    profile = find("house/planner-large", str(_file(tmp_path, example)))
    assert profile.name == "house"
    assert profile.price
    assert profile.price.usd(1_000_000, 0) == 0.4


def test_documentation_says_how_each_profile_is_made_to_think() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    section = page.partition("## How hard a model thinks")[2].partition("\n## ")[0]
    documented = {
        name: takes
        for names, takes in re.findall(r"^\| (`.+?`) \| (.+?) \|", section, re.M)
        for name in re.findall(r"`([\w.-]+)`", names)
    }
    takes = {p.name: f"effort: {', '.join(p.efforts)}" for p in BUILT_IN if p.efforts}
    assert documented == takes
