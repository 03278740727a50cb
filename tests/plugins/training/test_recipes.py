"""Recipes of papers as defaults of the commands that train, and their GPU hours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from hisa.cli import main
from hisa.errors import UsageError
from hisa.plugins.training import recipes
from hisa.plugins.training.cli import train
from hisa.plugins.training.command_parts import is_stated
from hisa.plugins.training.recipes import load_recipe
from hisa.plugins.training.vlm_command import fill_defaults

NAMES = sorted(path.stem for path in Path(recipes.__file__).parent.glob("*.toml"))
SIZE = "weights = 1e9\nturns = 3_000_000\ntokens = 600\nscored = 2\ngenerated = true\n"
OWN = f"""
command = "grpo"
source = "a table"
lacking = ["dropout"]
silent = ["the schedule"]
[settings]
group-size = 5
[cost]
{SIZE}gpu = "h100"
gpus = 2
hours = 12.134
"""


def parse(command: str, *words: str) -> click.Context:
    """Returns the context of a command of ``hisa train`` once its options are read."""
    return train.commands[command].make_context(command, ["-o", "out", *words])


def write(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_sets_the_options_of_its_command(name: str) -> None:
    recipe = load_recipe(name)
    assert name in next(
        option.help or ""
        for option in train.commands[recipe.command].params
        if isinstance(option, click.Option) and option.name == "recipe"
    )
    values = parse(recipe.command, "--recipe", name).params
    values["objective"] = list(values.get("objectives", ()))
    assert {key: values[key.replace("-", "_")] for key in recipe.settings} == recipe.settings


def test_stated_options_go_before_a_recipe_and_a_recipe_before_defaults(tmp_path: Path) -> None:
    recipe = ("--recipe", write(tmp_path, OWN))
    for words in (("--group-size", "3", *recipe), (*recipe, "--group-size", "3")):
        assert parse("grpo", *words).params["group_size"] == 3
    values = parse("grpo", *recipe).params
    assert (values["group_size"], values["groups"]) == (5, parse("grpo").params["groups"])
    context = parse("grpo", "--recipe", "computerrl-grpo")
    assert is_stated(context, "lr"), "that of a language model does not replace it"
    assert not is_stated(context, "rank")


def test_a_grounders_reply_has_the_tokens_of_the_recipe_and_of_its_arm() -> None:
    def filled(*words: str) -> dict[str, Any]:
        context = parse("grounder", "--model", "hf:x", *words)
        fill_defaults(context, context.params)
        return context.params

    column = filled("--recipe", "gta1-32b", "--reward", "all")
    assert (column["lr"], column["max_reply"], column["updates"]) == (1e-5, 128 + 512, 250)
    plain = filled("--targets", "2")
    assert (plain["lr"], plain["max_reply"], plain["updates"], plain["targets"]) == (
        *(1e-6, 32, 250, 2),
    )
    assert filled("--recipe", "gta1-32b", "--max-reply", "9", "--reward", "all")["max_reply"] == 9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("group-size", "groupsize"), "unknown setting 'groupsize'; allowed are .*group-size"),
        (("group-size = 5", "resume = true"), "unknown setting 'resume'"),
        (('"grpo"', '"lora"'), "is for another command"),
        (('"grpo"', '"sft"'), "command: Input should be 'lora', 'grpo' or 'grounder'"),
        (("silent", "quiet"), "silent: Field required; a recipe has command, source"),
        (("weights = 1e9", "weights = 0"), "cost.weights: Input should be greater than 0"),
        (("[settings]", "[settings"), "not a recipe: "),
        (("a table", "a" * 70_000), "more than 65536 bytes"),
    ],
)
def test_a_wrong_recipe_is_refused_by_the_wrong_key(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        parse("grpo", "--recipe", write(tmp_path, OWN.replace(*change)))


def test_a_value_out_of_range_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match=r"1 is not in the range x>=2"):
        parse("grpo", "--recipe", write(tmp_path, OWN.replace("= 5", "= 1")))
    with pytest.raises(UsageError, match="recipe 'gta2': there are computerrl-cloning, "):
        parse("grpo", "--recipe", "gta2")
    with pytest.raises(UsageError, match="there are"):
        parse("grpo", "--recipe", str(tmp_path / "none.toml"))


def cost(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["train", "cost", *words])
    printed = capsys.readouterr()
    return printed.err if ended.value.code else printed.out


def test_gpu_hours_are_those_computed_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 6 to train, 2 x 2 to score, 2 to generate: 12 x 1e9 x 3e6 x 600 = 2.16e19 operations; at half
    # of 989e12 a second these are 43,680 seconds, 12.13 hours, and 2 GPUs for 12.134 hours 2 times
    # that. With an adapter it is 10 x 1.8e18, and an A100 has 312e12: 32.05 hours.
    own = write(tmp_path, OWN)
    printed = cost(capsys, own, "--use", "0.5")
    assert "12 x 3,000,000 turns x 600 tokens x 1e+09 weights = 2.16e+19 FLOPs" in printed
    assert "at 50% of the 989 TFLOPS of h100: 12.1 GPU hours" in printed
    assert "24 GPU hours\n  which is 2 times the formula's" in printed
    assert "HiSA lacks: dropout" in printed
    printed = cost(capsys, own, "--use", "0.5", "--trained", "adapter", "--gpu", "a100")
    assert "at 50% of the 312 TFLOPS of a100: 32.1 GPU hours" in printed
    assert "times the formula's" not in printed


def test_a_number_that_no_paper_has_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the paper does not say the tokens" in cost(capsys, "os-genesis")
    printed = cost(capsys, "os-genesis", "--tokens", "3000")
    assert "6 x 12,800 turns x 3,000 tokens x 7e+09 weights" in printed
    assert "the paper does not say what it took" in printed
