"""Lessons become at most five marked bullets within their tokens, whatever the model answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.models.tokens import estimate_tokens
from hisa.patterns.synthesis import BULLETS, CitedAdvice, bounded, synthesise
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


async def test_a_reply_may_be_twice_as_long_as_what_is_passed_on() -> None:
    model = ScriptedModel(["- [p1] Use the menu."])
    await synthesise(model, "x", hits=HITS, rules=(), limit=513)
    (request,) = model.requests
    assert request.max_tokens == 1026
    assert "<requirements>\n" not in request.text


async def test_rules_alone_ask_nothing() -> None:
    told = await synthesise(ScriptedModel([]), "x", hits=(), rules=RULES, limit=100)
    assert told == CitedAdvice()


async def test_an_empty_answer_is_no_advice() -> None:
    assert await ask(ScriptedModel(["\n"])) == CitedAdvice()


async def test_marks_count_the_lessons_that_are_told_of() -> None:
    told = await ask(ScriptedModel(["- [p2] MUST: Wait, as [p1] says."]))
    assert told == CitedAdvice("- [p1] Wait, as says.", HITS[1:])
    told = await ask(ScriptedModel(["- [p2][p1] Both.\n- [p2] Again."]))
    assert told == CitedAdvice("- [p1, p2] Both.\n- [p2] Again.", HITS)


LONG = f"- [p1] {'word ' * 200}".strip()
UNMARKED = 'a line does not begin with the mark of its lesson, such as "- [p1] …"'


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("- [p1] x\n" * 6, "more than 5 lines"),
        (LONG, f"about {estimate_tokens(LONG)} tokens where 100 are allowed"),
        ("You should use the menu and save.", 'no line begins with "- "'),
        ("- No mark.", UNMARKED),
        ("- [p9] No such lesson.", UNMARKED),
        ("- Use it, see [p1].", UNMARKED),
    ],
)
async def test_what_is_not_usable_is_asked_for_again_once(bad: str, said: str) -> None:
    model = ScriptedModel([f"{bad}\n", "- [p1] Short."])
    assert (await ask(model)).text == "- [p1] Short."
    asked, again = model.requests
    assert again == replace(
        asked,
        messages=(
            *asked.messages,
            Message("assistant", (TextPart(bad.strip()),)),
            Message("user", (TextPart(f"Not usable: {said}. Write it again as instructed."),)),
        ),
    )


async def test_five_lines_are_taken_as_they_are() -> None:
    lines = "\n\n".join(f"{number}. [p1] Line {number}." for number in range(1, 6))
    told = await ask(ScriptedModel([lines]))
    assert told.text == "\n".join(f"- [p1] Line {number}." for number in range(1, 6))


async def test_a_long_answer_is_sent_back_by_its_beginning() -> None:
    model = ScriptedModel(["x" * 5000, "- [p1] Short."])
    await ask(model)
    assert model.requests[1].messages[2] == Message("assistant", (TextPart("x" * 4000),))


async def test_an_empty_second_answer_leaves_the_first() -> None:
    model = ScriptedModel(["- [p1] One.\n" * 6, " "])
    assert (await ask(model)).text == "\n".join(["- [p1] One."] * 5)


@pytest.mark.parametrize("bad", ["You should use the menu.", "- No mark.", "- [p7] What?"])
async def test_lessons_that_no_line_names_are_told_in_their_own_words(bad: str) -> None:
    told = await ask(ScriptedModel([bad, bad]))
    assert told == CitedAdvice("- [p1] Use the menu.\n- [p2] Wait.", HITS)


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
