"""What a run learns, the next run of its kind is told; real store, real or word embedder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.config import Settings, load
from hisa.errors import BudgetExceeded, LogFailed, ModelUnavailable
from hisa.events import Event, Failed, Guidance, Induced
from hisa.models.tokens import estimate_tokens
from hisa.patterns.dedup import remember
from hisa.patterns.memory import PatternMemory, open_memory
from hisa.patterns.sops import Sop
from hisa.patterns.stores.edge import EdgeStore
from hisa.protocols import Embedder, Model, ModelReply, ModelRequest, StepSummary, Task
from hisa.testing.scripted import FunctionModel, ScriptedModel
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import pattern

LINES = ("Step 1: gui_action | Result: Succeeded.",)
NONE = StepSummary("Next.", LINES[0])
CITING = StepSummary("As [p1] says.", LINES[0])
TASK = Task("t", "save the note as a file", domain="text_editor")
FAMILIES = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))


EVERY = "- [p1, p2, p3, p4, p5] x"


def lessons(*texts: str, condition: str = "save the note as a file") -> str:
    items = [
        {"type": "success", "lesson": text, "condition": condition, "steps": [1]} for text in texts
    ]
    return json.dumps({"patterns": items})


class Room:
    """A memory with its events."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        *,
        embedder: Embedder | None = None,
        sops: Sequence[Sop] = (),
        settings: Settings | None = None,
    ) -> None:
        self.events: list[Event] = []
        chosen = embedder or WordEmbedder()
        self.store = EdgeStore(folder, chosen)
        self.memory = PatternMemory(
            self.store,
            chosen,
            model=model,
            settings=(settings or Settings()).patterns,
            state=(settings or Settings()).state,
            emit=self.events.append,
            sops=sops,
        )


async def test_a_lesson_of_one_run_is_advice_for_the_next(tmp_path: Path) -> None:
    first = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S.")]))
    (learned,) = await first.memory.induct(TASK, "run-1", lines=LINES)
    assert first.events == [
        Induced(pattern=learned.id, kind="success", lesson="Press Ctrl+S.", at=first.events[0].at)
    ]
    second = Room(tmp_path, ScriptedModel(["- [p1] Press Ctrl+S."]))
    advice = await second.memory.recall(TASK)
    assert advice.text == "- [p1] Press Ctrl+S."
    assert [hit.pattern.id for hit in advice.patterns] == [learned.id]
    (guidance,) = second.events
    assert isinstance(guidance, Guidance)
    (use,) = guidance.patterns
    assert (use.id, use.source_run, use.lesson) == (learned.id, "run-1", "Press Ctrl+S.")
    assert use.score == pytest.approx(1.0)
    assert guidance.advice == advice.text


async def test_recall_from_an_empty_store_uses_no_model_and_no_disk(tmp_path: Path) -> None:
    room = Room(tmp_path / "store", ScriptedModel([]))
    advice = await room.memory.recall(TASK)
    assert (advice.text, advice.patterns, advice.sops) == ("", (), ())
    assert isinstance(room.events[0], Guidance)
    assert not (tmp_path / "store").exists()


async def test_learning_ends_at_its_limit_and_says_so(tmp_path: Path) -> None:
    class Silent(ScriptedModel):
        async def complete(self, request: ModelRequest, /) -> ModelReply:
            return await asyncio.Future()

    settings = Settings.model_validate({"patterns": {"learning_seconds": 0.01}})
    room = Room(tmp_path, Silent([]), settings=settings)
    assert await room.memory.induct(TASK, "run-1", lines=LINES) == ()
    (failed,) = room.events
    assert isinstance(failed, Failed)
    assert "patterns.learning_seconds" in failed.message


async def test_recall_keeps_to_the_domain_the_threshold_and_the_number(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    room = Room(tmp_path, FunctionModel(lambda request: EVERY), embedder=embedder)
    same = [pattern(f"s{n}", domain="text_editor", lesson=TASK.instruction) for n in range(7)]
    far = pattern("far", domain="text_editor", lesson="sort columns of numbers quickly")
    other = pattern("other", domain="calc", lesson=TASK.instruction)
    for entry in (*same, far, other):
        room.store.put(entry, embedder.embed([entry.lesson])[0])
    hits = (await room.memory.recall(TASK)).patterns
    assert len(hits) == 5
    assert {hit.pattern.id for hit in hits} <= {entry.id for entry in same}


async def test_a_close_lesson_supersedes_the_older_one_and_keeps_it(tmp_path: Path) -> None:
    answers = [lessons("press ctrl s and type the path"), lessons("type the path and press ctrl s")]
    room = Room(tmp_path, ScriptedModel(answers))
    (old,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    (new,) = await room.memory.induct(TASK, "run-2", lines=LINES)
    assert [entry.id for entry in room.store.list()] == [new.id]
    old_entry = room.store.get(old.id)
    assert old_entry is not None
    assert (old_entry.status, old_entry.superseded_by, old_entry.source_run) == (
        "superseded",
        new.id,
        "run-1",
    )
    last = room.events[-1]
    assert isinstance(last, Induced)
    assert last.superseded == old.id


async def test_lessons_of_one_run_do_not_supersede_each_other(tmp_path: Path) -> None:
    answer = lessons("press ctrl s and type the path", "type the path and press ctrl s")
    room = Room(tmp_path, ScriptedModel([answer]))
    await room.memory.induct(TASK, "run-1", lines=LINES)
    assert len(room.store.list()) == 2


async def test_no_usable_answer_is_an_event_and_no_pattern(tmp_path: Path) -> None:
    room = Room(tmp_path, ScriptedModel(["no", "no"]))
    assert await room.memory.induct(TASK, "run-1", lines=LINES) == ()
    (event,) = room.events
    assert isinstance(event, Failed)
    assert event.where == "pattern induction"


@pytest.mark.parametrize("error", [ModelUnavailable("gone"), BudgetExceeded("spent")])
async def test_a_failed_recall_is_an_event_and_the_rules_stay(
    error: Exception, tmp_path: Path
) -> None:
    sop = Sop(Path("x.md"), ("text_editor",), ("Save it.",))
    room = Room(tmp_path, ScriptedModel([lessons("Save it."), error]), sops=[sop])
    await room.memory.induct(TASK, "run-1", lines=LINES)
    advice = await room.memory.recall(TASK)
    assert (advice.text, advice.patterns) == ("- MUST: Save it.", ())
    *_, failed, guidance = room.events
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.message) == (type(error).__name__, str(error))
    assert isinstance(guidance, Guidance)


async def test_a_log_that_cannot_be_written_is_not_taken_for_a_failed_recall(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, ScriptedModel([lessons("Save it."), LogFailed("full")]))
    await room.memory.induct(TASK, "run-1", lines=LINES)
    with pytest.raises(LogFailed):
        await room.memory.recall(TASK)


async def test_credit_counts_cited_patterns_and_wins_only_with_a_score(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S."), EVERY]))
    (learned,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    hits = [hit.pattern.id for hit in (await room.memory.recall(TASK)).patterns]

    async def counts(*steps: StepSummary, won: bool | None) -> tuple[int, int, int]:
        await room.memory.credit(hits, steps=steps, won=won)
        entry = room.store.get(learned.id)
        assert entry is not None
        return entry.uses, entry.scored, entry.wins

    assert await counts(NONE, won=True) == (0, 0, 0)
    assert await counts(NONE, CITING, CITING, won=True) == (1, 1, 1)
    assert await counts(CITING, won=False) == (2, 2, 1)
    assert await counts(CITING, won=None) == (3, 2, 1)
    assert await counts(StepSummary("As [p2] says.", LINES[0]), won=True) == (3, 2, 1)
    room.store.delete(learned.id)
    await room.memory.credit(hits, steps=[CITING], won=True)
    assert room.store.list(status=None) == []


async def test_a_family_is_still_found_after_its_pattern_was_superseded(tmp_path: Path) -> None:
    answers = [
        lessons("press ctrl s and type the path", condition="save the note as a file"),
        lessons("type the path and press ctrl s", condition="export a drawing"),
    ]
    room = Room(tmp_path, ScriptedModel([*answers, "- [p1] x", "- [p1] x"]))
    for run in ("run-1", "run-2"):
        await room.memory.induct(Task("t", "any", domain="text_editor"), run, lines=LINES)
    (entry,) = room.store.list()
    assert {"save the note as a file", "export a drawing"} <= set(entry.conditions)
    for instruction in ("save the note as a file", "export a drawing"):
        hits = (await room.memory.recall(Task("t", instruction, domain="text_editor"))).patterns
        assert [hit.pattern.id for hit in hits] == [entry.id]


def test_a_pattern_keeps_its_first_kind_of_task_and_the_newest(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    store = EdgeStore(tmp_path, embedder)
    for number in range(12):
        new_pattern = pattern(
            f"p{number}", lesson="save it", condition=f"kind {number}", source_run="r"
        )
        remember(store, [new_pattern], embedder=embedder, threshold=0.7)
    (entry,) = store.list(status=None)
    assert entry.conditions == ("kind 0", *(f"kind {number}" for number in range(5, 12)))
    assert entry.confirmed == 0


async def test_retrieval_goes_by_scope(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    room = Room(tmp_path, FunctionModel(lambda request: EVERY), embedder=embedder)
    rows = [
        pattern("wide", scope="application", condition="draw something"),
        pattern("page", scope="page", condition="Export dialog"),
        pattern("family", condition="sort a list"),
    ]
    for row in rows:
        text = row.condition or row.lesson
        room.store.put(replace(row, domain="calc"), embedder.embed([text])[0])

    async def recall_ids(instruction: str, domain: str = "calc") -> set[str]:
        hits = (await room.memory.recall(Task("t", instruction, domain=domain))).patterns
        return {hit.pattern.id for hit in hits}

    assert await recall_ids("Draw something else entirely") == {"wide"}
    assert await recall_ids("sort a list") == {"family"}
    assert await recall_ids("Use the Export dialog") == {"page"}
    assert await recall_ids("sort a list", domain="writer") == set()


async def test_unadvised_lessons_are_logged_and_not_shown(tmp_path: Path) -> None:
    room = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S.", "Wait a little."), "- [p2] x"]))
    await room.memory.induct(TASK, "run-1", lines=LINES)
    advice = await room.memory.recall(TASK)
    guidance = room.events[-1]
    assert isinstance(guidance, Guidance)
    assert advice.text == "- [p1] x"
    assert [use.shown for use in guidance.patterns] == [True, False]
    assert [hit.pattern.id for hit in advice.patterns] == [guidance.patterns[0].id]


# ---------------------------------------------------------------- rules


RULES = tuple(f"Rule {number} binds, in the very words of its author." for number in range(13))


async def test_every_rule_is_a_line_of_the_advice_and_the_users_come_first(
    tmp_path: Path,
) -> None:
    own = ("My house wants two spaces.", "Say when it is done.")
    sops = [
        Sop(Path("general.md"), ("general",), RULES[:6]),
        Sop(Path("calc.md"), ("text_editor",), RULES[6:11]),
        Sop(Path("mine.md"), ("general",), own, own=True),
    ]
    room = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S."), "- [p1] x"]), sops=sops)
    await room.memory.induct(TASK, "run-1", lines=LINES)
    advice = await room.memory.recall(TASK)
    rules = [*own, *RULES[6:11], *RULES[:6]]
    assert advice.text.split("\n") == [*(f"- MUST: {rule}" for rule in rules), "- [p1] x"]
    assert advice.sops == tuple(rules)


async def test_rules_that_do_not_fit_are_counted_and_the_limit_holds(tmp_path: Path) -> None:
    long = tuple(f"{rule} {'And more of it. ' * 9}".strip() for rule in RULES)
    sops = [Sop(Path("m.md"), ("general",), long, own=True)]
    room = Room(tmp_path, ScriptedModel([]), sops=sops)
    text = (await room.memory.recall(TASK)).text
    (guidance,) = room.events
    assert isinstance(guidance, Guidance)
    *shown, note = text.split("\n")
    assert [f"- MUST: {rule}" for rule in long[: len(shown)]] == shown
    assert guidance.left_out == long[len(shown) :]
    assert note == (
        f"- {len(guidance.left_out)} more rules do not fit here; "
        "to list them: hisa patterns rules text_editor"
    )
    assert estimate_tokens(text) <= Settings().state.advice_tokens
    assert len(shown) >= 4


# ---------------------------------------------------------------- with the packaged embedder


def answer_request(request: ModelRequest, condition: str, lesson: str) -> str:
    if request.text.startswith("# Pattern induction"):
        return lessons(lesson, condition=condition)
    return "- [p1] " + lesson


@pytest.mark.parametrize("condition", ["", "Always", "The File menu is open", "as the family says"])
@pytest.mark.parametrize("number", [0, 1])
async def test_the_next_task_of_a_family_finds_the_lesson_whatever_the_model_calls_it(
    tmp_path: Path, number: int, condition: str
) -> None:
    family = FAMILIES[number]
    model_condition = family["condition"] if condition == "as the family says" else condition
    model = FunctionModel(
        lambda request: answer_request(request, model_condition, family["lesson"])
    )
    settings = load(overrides={"patterns": {"path": tmp_path}}, environ={})
    memory = open_memory(settings.patterns, settings.state, model, lambda event: None)
    first = Task("a", family["first"], domain="text_editor")
    (learned,) = await memory.induct(first, "run-1", lines=LINES)
    again = await memory.recall(first)
    assert [hit.pattern.id for hit in again.patterns] == [learned.id]
    if number == 0 or model_condition == family["condition"]:
        second = await memory.recall(Task("b", family["second"], domain="text_editor"))
        assert [hit.pattern.id for hit in second.patterns] == [learned.id]
        assert second.sops
