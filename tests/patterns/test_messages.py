"""Whole texts: what people are told of their patterns and rules, word for word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.cli.pattern_files import written
from hisa.errors import StoreError, UsageError
from hisa.events import Failed, Guidance, Induced, PatternUse
from hisa.models.tokens import estimate_tokens
from hisa.patterns.briefing import RulesSection, render_rules
from hisa.patterns.sops import Sop
from hisa.patterns.stores.base import Meta, check_meta, check_vectors, dense, from_payload
from hisa.patterns.vectors import unit
from hisa.protocols import Pattern
from hisa.testing.scripted import ScriptedModel
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import pattern
from tests.patterns.test_memory import LINES, TASK, Room, lessons
from tests.undated import undated

TEXTS = {
    "lesson": "Press Ctrl+S.",
    "domain": "calc",
    "kind": "failure",
    "condition": "Save a sheet",
    "actions": "press Ctrl+S",
    "expected": "The title has no star.",
    "scope": "page",
}


def test_a_pattern_of_a_person_has_all_its_texts() -> None:
    made = written(**TEXTS)
    assert made == Pattern(id=made.id, created_at=made.created_at, **TEXTS)  # type: ignore[arg-type]
    spaced = written(**{**TEXTS, **{name: f" {TEXTS[name]}\n " for name in FREE}})
    assert spaced == replace(made, id=spaced.id, created_at=spaced.created_at)
    longest = written(**{**TEXTS, **dict.fromkeys(FREE, "x" * 500)})
    assert longest.expected == "x" * 500


FREE = ("lesson", "condition", "actions", "expected")
RULES_BELONG = "put rules into a file of the folder patterns.sops"


@pytest.mark.parametrize(
    ("name", "text", "said", "fix"),
    [
        *((name, "x" * 501, f"{name}: 501 characters; at most 500", "") for name in FREE),
        *(
            (
                name,
                "MUST: go",
                f'{name}: "MUST" marks rules, and a lesson never binds',
                RULES_BELONG,
            )
            for name in FREE
        ),
        ("lesson", " \n", "lesson: empty; say what to do or what to avoid", ""),
        ("domain", "Calc", "domain 'Calc': want lower-case letters, digits and _", ""),
        ("kind", "maybe", "kind 'maybe': choose one of success, failure", ""),
        ("scope", "world", "scope 'world': choose one of application, family, page", ""),
    ],
)
def test_what_a_person_may_not_write_is_named(name: str, text: str, said: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        written(**{**TEXTS, name: text})
    assert (str(caught.value), caught.value.fix) == (said, fix)


def test_rules_that_do_not_fit_are_counted() -> None:
    rules = ["Save it.", "MUST: Ask first.", f"Keep {'every word of it ' * 9}here.", "Close it."]
    told = ["- MUST: Save it.", "- MUST: Ask first.", f"- MUST: {rules[2]}", "- MUST: Close it."]
    assert render_rules(rules, domain="calc", limit=500) == RulesSection("\n".join(told))
    for limit, kept in ((60, 3), (32, 1)):
        found = render_rules(rules, domain="calc", limit=limit)
        assert estimate_tokens(found.text) <= limit
        assert len(rules) - len(found.left_out) == kept
        *shown, note = found.text.split("\n")
        pairs = zip(told, rules, strict=True)
        assert shown == [line for line, rule in pairs if rule not in found.left_out]
        more = len(found.left_out)
        words = "1 more rule does" if more == 1 else f"{more} more rules do"
        assert note == f"- {words} not fit here; to list them: hisa patterns rules calc"


def test_a_store_of_another_kind_is_refused_with_what_helps() -> None:
    embedder = WordEmbedder("words", 4)
    good = Meta(schema=1, embedder="words", dimension=4)
    check_meta(good, embedder, where="the store")
    with pytest.raises(StoreError) as caught:
        check_meta(replace(good, schema=99), embedder, where="the store")
    assert str(caught.value) == "the store has schema 99; this HiSA reads 1"
    assert caught.value.fix == (
        "use the HiSA that wrote it, or another folder: --set patterns.path=DIR"
    )
    with pytest.raises(StoreError) as caught:
        check_meta(replace(good, embedder="minilm"), embedder, where="the store")
    assert str(caught.value) == "the store was filled by the embedder 'minilm', not 'words'"
    assert caught.value.fix == "hisa patterns reembed --embedder words"


def test_damaged_or_missing_vectors_are_named_with_what_helps() -> None:
    assert dense([[1], [2]]) == [[1.0], [2.0]]
    check_vectors([[1.0, 2.0]], 2)
    said: dict[str, Callable[[], object]] = {
        "a pattern without a vector could never be found": lambda: check_vectors([], 2),
        "a vector of 1 numbers; this store holds 2": lambda: check_vectors([[1.0, 2.0], [1.0]], 2),
        "a vector of 2 numbers has length 0.0, wanted above 0": lambda: unit([0.0, 0.0]),
    }
    for words, call in said.items():
        with pytest.raises(StoreError) as caught:
            call()
        assert str(caught.value) == words
    with pytest.raises(StoreError) as caught:
        dense([1, 2.5])
    assert str(caught.value) == "a stored vector is damaged: list, wanted lists of numbers"
    assert caught.value.fix == "hisa patterns doctor --repair"
    with pytest.raises(StoreError) as caught:
        from_payload(None)
    assert str(caught.value) == "a stored pattern is damaged: Field required"
    assert caught.value.fix == "hisa patterns doctor --repair"


async def test_the_log_says_what_was_recalled_shown_and_left_out(tmp_path: Path) -> None:
    rules = ("Save it.", f"Keep {'every word of it ' * 200}here.")
    sop = Sop(Path("x.md"), ("text_editor",), rules)
    answers = [lessons("Press Ctrl+S.", "Wait for the dialog to close."), "- [p2] Wait."]
    room = Room(tmp_path, ScriptedModel(answers), sops=[sop])
    one, two = await room.memory.induct(TASK, "run-1", lines=LINES)
    induced = [Induced(pattern=p.id, kind="success", lesson=p.lesson) for p in (one, two)]
    assert undated(*room.events) == undated(*induced)
    room.events.clear()
    advice = await room.memory.recall(TASK)
    told, shown = advice.patterns, {hit.pattern.id for hit in advice.patterns}
    assert len(told) == 1
    note = "- 1 more rule does not fit here; to list them: hisa patterns rules text_editor"
    text = f"- MUST: Save it.\n{note}\n- [p1] Wait."
    assert (advice.text, advice.sops) == (text, ("Save it.",))
    (other,) = [made for made in (one, two) if made.id not in shown]
    uses = tuple(
        PatternUse(
            id=made.id,
            kind="success",
            lesson=made.lesson,
            score=1.0,
            source_run="run-1",
            shown=made.id in shown,
        )
        for made in (told[0].pattern, other)
    )
    left = (rules[1],)
    guidance = Guidance(patterns=uses, sops=("Save it.",), advice=text, left_out=left)
    assert undated(*room.events) == undated(guidance)


async def test_the_log_says_why_nothing_was_learned_and_what_was_superseded(tmp_path: Path) -> None:
    first, second = "press ctrl s and type the path", "type the path and press ctrl s"
    answers = ["no", "no", lessons(first), lessons(first), lessons(second)]
    room = Room(tmp_path, ScriptedModel(answers))
    assert await room.memory.induct(TASK, "run-0", lines=LINES) == ()
    (one,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    (same,) = await room.memory.induct(TASK, "run-2", lines=LINES)
    (new,) = await room.memory.induct(TASK, "run-3", lines=LINES)
    assert (one.id, one.confirmed, same.confirmed) == (same.id, 0, 1)
    said = "the answer: Invalid JSON: expected ident at line 1 column 2"
    assert undated(*room.events) == undated(
        Failed(where="pattern induction", kind="InvalidReply", message=said),
        Induced(pattern=one.id, kind="success", lesson=first),
        Induced(pattern=one.id, kind="success", lesson=first, confirmed=True),
        Induced(pattern=new.id, kind="success", lesson=second, superseded=one.id),
    )


async def test_a_close_lesson_of_the_other_kind_takes_nothing_over(tmp_path: Path) -> None:
    room = Room(tmp_path, ScriptedModel([lessons("press ctrl s and type the path")]))
    old = pattern(
        "old",
        domain="text_editor",
        kind="failure",
        lesson="type the path and press ctrl s",
        uses=4,
        scored=3,
        wins=2,
    )
    room.store.put(old, WordEmbedder().embed([old.lesson])[0])
    (new,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    kept = room.store.get("old")
    assert kept is not None
    assert (kept.status, kept.superseded_by) == ("active", "")
    assert (new.uses, new.scored, new.wins) == (0, 0, 0)
