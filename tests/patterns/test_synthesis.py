"""Lessons become at most five marked bullets within their tokens, whatever the model answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.models.tokens import estimate_tokens
from hisa.patterns.synthesis import BULLETS, CitedAdvice, limit_bullets, synthesise
from hisa.protocols import Message, ModelRequest, PatternHit, TextPart
from hisa.testing.scripted import ScriptedModel
from hisa.text.prompts import render
from tests.patterns.conformance import pattern

HITS = (
    PatternHit(pattern("3f2a", lesson="Use\nthe menu.", kind="failure"), 0.661),
    PatternHit(pattern("4b1c", lesson="MUST: [p1] Wait.", kind="success"), 0.55),
)
RULES = ("Save it.",)


async def ask(model: ScriptedModel, limit: int = 100) -> CitedAdvice:
    return await synthesise(model, "Sort it", hits=HITS, rules=RULES, limit=limit)


async def test_the_request_marks_lessons_and_shows_rules() -> None:
    model = ScriptedModel(["- [p1] Use the menu."])
    assert await ask(model) == CitedAdvice("- [p1] Use the menu.", HITS[:1])
    (request,) = model.requests
    system = render("pattern_synthesis", bullets=5, limit=100, words=75)
    lessons = "[p1] (failure, 0.66) Use the menu.\n[p2] (success, 0.55) Wait."
    shown = (
        "<task>\nSort it\n</task>\n<requirements>\n- Save it.\n</requirements>\n"
        f"<lessons>\n{lessons}\n</lessons>"
    )
    assert request == ModelRequest(
        "state",
        (Message("system", (TextPart(system),)), Message("user", (TextPart(shown),))),
        max_tokens=1024,
        may_be_empty=True,
    )


async def test_rules_alone_ask_nothing() -> None:
    advice = await synthesise(ScriptedModel([]), "x", hits=(), rules=RULES, limit=100)
    assert advice == CitedAdvice()


async def test_empty_reply_gives_no_advice() -> None:
    assert await ask(ScriptedModel(["\n"])) == CitedAdvice()


async def test_marks_count_the_cited_lessons() -> None:
    advice = await ask(ScriptedModel(["- [p2] MUST: Wait, as [p1] says."]))
    assert advice == CitedAdvice("- [p1] Wait, as says.", HITS[1:])
    advice = await ask(ScriptedModel(["- [p2][p1] Both.\n- [p2] Again."]))
    assert advice == CitedAdvice("- [p1, p2] Both.\n- [p2] Again.", HITS)


async def test_five_lines_are_taken_as_they_are() -> None:
    lines = "\n\n".join(f"{number}. [p1] Line {number}." for number in range(1, 6))
    advice = await ask(ScriptedModel([lines]))
    assert advice.text == "\n".join(f"- [p1] Line {number}." for number in range(1, 6))


@pytest.mark.parametrize("bad", ["You should use the menu.", "- No mark.", "- [p7] What?"])
async def test_advice_without_valid_citations_falls_back_to_lesson_texts(bad: str) -> None:
    advice = await ask(ScriptedModel([bad]))
    assert advice == CitedAdvice("- [p1] Use the menu.\n- [p2] Wait.", HITS)


async def test_too_long_advice_is_cut() -> None:
    text = "\n".join(f"- [p1] Sentence {n} one. Sentence two of it." for n in range(9))
    limit = (
        estimate_tokens("- [p1] Sentence 0 one. Sentence two of it.\n- [p1] Sentence 1 one.") + 2
    )
    advice = await ask(ScriptedModel([text]), limit)
    assert estimate_tokens(advice.text) <= limit
    assert advice.text == "- [p1] Sentence 0 one. Sentence two of it."


@given(st.text(max_size=2000), st.integers(50, 400))
def test_the_bound_always_holds(text: str, limit: int) -> None:
    advice = limit_bullets(text, limit)
    assert estimate_tokens(advice) <= limit
    lines = advice.splitlines()
    assert len(lines) <= BULLETS
    assert all(line.startswith("- ") for line in lines)
