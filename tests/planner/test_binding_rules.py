"""The rules that HiSA's prompts mark as binding stand in our own, as docs/papers.md says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from hisa.actions import Click, Write, parse
from hisa.protocols import StateView, Task
from tests.planner.test_planner import GOOD, Bench, observation

ROOT = Path(__file__).parents[2]
HEADING = "### What its prompts mark as binding"
PLANNER = ("prompts/planner.md", "hisa/tools/builtin.py")


@dataclass(frozen=True)
class Rule:
    """A row of the table; ``file`` and ``words`` are empty where nothing holds the rule."""

    part: str
    rule: str
    file: str
    words: str
    remark: str


def rules() -> list[Rule]:
    page = (ROOT / "docs" / "papers.md").read_text("utf-8").partition(HEADING)[2]
    lines = page.partition("\n## ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    rows = [row for row in cells if re.fullmatch(r"A\.\d", row[0])]
    return [Rule(row[0], row[1], row[2].strip("`"), row[3].strip("`"), row[4]) for row in rows]


async def default_prompt() -> str:
    """What the planner sends with the default settings."""
    bench = Bench(GOOD)
    await bench.planner.plan(Task("t", "Enter the name."), observation(), StateView())
    return bench.model.requests[0].text


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: f"{rule.part} {rule.rule}")
async def test_binding_rule_is_in_the_file_that_the_table_names(rule: Rule) -> None:
    if rule.file == "none":
        assert rule.remark, "a rule that is left out says why"
        return
    assert rule.words in (ROOT / rule.file).read_text("utf-8")
    if rule.file in PLANNER:
        assert rule.words in await default_prompt(), "the words are in a branch that is not sent"


def test_the_table_has_rules_of_every_prompt_of_the_appendix() -> None:
    parts = [rule.part for rule in rules()]
    assert set(parts) == {f"A.{number}" for number in range(1, 8)}
    assert len({rule.rule for rule in rules()}) == len(parts)


async def test_the_default_prompt_shows_a_click_and_its_typing_as_one_action() -> None:
    """HiSA, A.1: its rule and an example that runs as it stands."""
    text = await default_prompt()
    assert "type into it in ONE action" in text
    (example,) = re.findall(r"^ *(pyautogui\.click\(X_COORD.*write\(.*\))$", text, re.M)
    assert [type(action) for action in parse(example)] == [Click, Write]
