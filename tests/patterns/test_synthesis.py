"""Advice is at most five bullets within its tokens, whatever the model answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.models.fakes import ScriptedModel
from hisa.models.tokens import estimate_tokens
from hisa.patterns.synthesis import BULLETS, bounded, synthesise
from hisa.protocols import PatternHit
from tests.patterns.conformance import pattern

HITS = (PatternHit(pattern("3f2a", lesson="Use\nthe menu.", kind="failure"), 0.661),)
RULES = ("Save it.",)


async def ask(model: ScriptedModel, limit: int = 100) -> str:
    return await synthesise(model, "Sort it", hits=HITS, rules=RULES, limit=limit)


async def test_the_request_marks_rules_and_lessons() -> None:
    model = ScriptedModel(["- MUST: Save it.\n- Use the menu."])
    assert await ask(model) == "- MUST: Save it.\n- Use the menu."
    (request,) = model.requests
    assert request.text.startswith("# Pattern synthesis\n")
    assert request.text.endswith(
        "\n<task>\nSort it\n</task>\n<requirements>\n- Save it.\n</requirements>\n"
        "<lessons>\n[3f2a] (failure, 0.66) Use the menu.\n</lessons>"
    )


async def test_nothing_to_say_asks_nothing() -> None:
    assert await synthesise(ScriptedModel([]), "x", hits=(), rules=(), limit=100) == ""


async def test_an_empty_answer_is_no_advice() -> None:
    assert await ask(ScriptedModel(["\n"])) == ""


@pytest.mark.parametrize(
    "bad", ["- x\n" * 6, f"- {'word ' * 200}", "You should use the menu and save."]
)
async def test_too_much_is_asked_for_again_once(bad: str) -> None:
    model = ScriptedModel([bad, "- Short."])
    assert await ask(model) == "- Short."
    assert "Not usable" in model.requests[1].text


async def test_what_is_too_much_twice_is_cut() -> None:
    text = "\n".join(f"- Sentence {n} one. Sentence two of it." for n in range(9))
    model = ScriptedModel([text, text])
    advice = await ask(model, 17)
    assert estimate_tokens(advice) <= 17
    assert advice == "- Sentence 0 one. Sentence two of it.\n- Sentence 1 one."


def test_prose_around_bullets_is_dropped_and_numbers_are_bullets() -> None:
    assert bounded("Sure:\n\n1. One\n   goes on.\n2) Two", 100) == "- One goes on.\n- Two"


def test_an_answer_without_bullets_is_one() -> None:
    assert bounded("Use the\nmenu.", 100) == "- Use the menu."


def test_one_long_sentence_is_cut_at_a_word() -> None:
    advice = bounded("- " + "alpha " * 500, 50)
    assert advice.endswith("alpha …")
    assert 40 < estimate_tokens(advice) <= 50


@given(st.text(max_size=2000), st.integers(50, 400))
def test_the_bound_always_holds(text: str, limit: int) -> None:
    advice = bounded(text, limit)
    assert estimate_tokens(advice) <= limit
    lines = advice.splitlines()
    assert len(lines) <= BULLETS
    assert all(line.startswith("- ") for line in lines)
