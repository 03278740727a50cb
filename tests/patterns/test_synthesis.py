"""Lessons become at most five marked bullets within their tokens, whatever the model answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.models.tokens import estimate_tokens
from hisa.patterns.synthesis import BULLETS, Told, bounded, synthesise
from hisa.protocols import PatternHit
from hisa.testing.scripted import ScriptedModel
from tests.patterns.conformance import pattern

HITS = (
    PatternHit(pattern("3f2a", lesson="Use\nthe menu.", kind="failure"), 0.661),
    PatternHit(pattern("4b1c", lesson="MUST: [p1] Wait.", kind="success"), 0.55),
)
RULES = ("Save it.",)


async def ask(model: ScriptedModel, limit: int = 100) -> Told:
    return await synthesise(model, "Sort it", hits=HITS, rules=RULES, limit=limit)


async def test_the_request_marks_lessons_and_shows_rules() -> None:
    model = ScriptedModel(["- [p1] Use the menu."])
    assert await ask(model) == Told("- [p1] Use the menu.", HITS[:1])
    (request,) = model.requests
    assert request.text.startswith("# Pattern synthesis\n")
    assert request.text.endswith(
        "\n<task>\nSort it\n</task>\n<requirements>\n- Save it.\n</requirements>\n"
        "<lessons>\n[p1] (failure, 0.66) Use the menu.\n[p2] (success, 0.55) Wait.\n</lessons>"
    )


async def test_rules_alone_ask_nothing() -> None:
    told = await synthesise(ScriptedModel([]), "x", hits=(), rules=RULES, limit=100)
    assert told == Told()


async def test_an_empty_answer_is_no_advice() -> None:
    assert await ask(ScriptedModel(["\n"])) == Told()


async def test_marks_count_the_lessons_that_are_told_of() -> None:
    told = await ask(ScriptedModel(["- [p2] MUST: Wait, as [p1] says."]))
    assert told == Told("- [p1] Wait, as says.", HITS[1:])
    told = await ask(ScriptedModel(["- [p2][p1] Both.\n- [p2] Again."]))
    assert told == Told("- [p1, p2] Both.\n- [p2] Again.", HITS)


@pytest.mark.parametrize(
    "bad",
    [
        "- [p1] x\n" * 6,
        f"- [p1] {'word ' * 200}",
        "You should use the menu and save.",
        "- No mark.",
        "- [p9] No such lesson.",
        "- Use it, see [p1].",
    ],
)
async def test_what_is_not_usable_is_asked_for_again_once(bad: str) -> None:
    model = ScriptedModel([bad, "- [p1] Short."])
    assert (await ask(model)).text == "- [p1] Short."
    assert "Not usable" in model.requests[1].text


@pytest.mark.parametrize("bad", ["You should use the menu.", "- No mark.", "- [p7] What?"])
async def test_lessons_that_no_line_names_are_told_in_their_own_words(bad: str) -> None:
    told = await ask(ScriptedModel([bad, bad]))
    assert told == Told("- [p1] Use the menu.\n- [p2] Wait.", HITS)


async def test_what_is_too_much_twice_is_cut() -> None:
    text = "\n".join(f"- [p1] Sentence {n} one. Sentence two of it." for n in range(9))
    limit = (
        estimate_tokens("- [p1] Sentence 0 one. Sentence two of it.\n- [p1] Sentence 1 one.") + 2
    )
    told = await ask(ScriptedModel([text, text]), limit)
    assert estimate_tokens(told.text) <= limit
    assert told.text == "- [p1] Sentence 0 one. Sentence two of it.\n- [p1] Sentence 1 one."


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
