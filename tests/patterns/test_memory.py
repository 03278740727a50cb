"""What a run learns, the next run of its kind is told; real store, real or word embedder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.config import Settings, load
from hisa.errors import ModelUnavailable
from hisa.events import Event, Failed, Guidance, Induced
from hisa.models.fakes import FunctionModel, ScriptedModel
from hisa.patterns.dedup import remember
from hisa.patterns.embedders.fake import WordEmbedder
from hisa.patterns.memory import PatternMemory
from hisa.patterns.open import open_memory
from hisa.patterns.sops import Sop
from hisa.patterns.stores.edge import EdgeStore
from hisa.protocols import Embedder, Model, ModelRequest, Task
from tests.patterns.conformance import pattern

LINES = ("Step 1: gui_action | Result: Succeeded.",)
TASK = Task("t", "save the note as a file", domain="text_editor")
FAMILIES = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))


def lessons(*texts: str, condition: str = "save the note as a file") -> str:
    made = [{"type": "success", "lesson": text, "condition": condition} for text in texts]
    return json.dumps({"patterns": made})


class Room:
    """A memory with its events."""

    def __init__(
        self,
        folder: Path,
        model: Model,
        *,
        embedder: Embedder | None = None,
        sops: Sequence[Sop] = (),
    ) -> None:
        self.events: list[Event] = []
        chosen = embedder or WordEmbedder()
        self.store = EdgeStore(folder, chosen)
        self.memory = PatternMemory(
            self.store,
            chosen,
            model=model,
            settings=Settings(),
            emit=self.events.append,
            sops=sops,
        )


async def test_what_one_run_learns_the_next_is_told(tmp_path: Path) -> None:
    first = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S.")]))
    (learned,) = await first.memory.induct(TASK, "run-1", lines=LINES)
    assert first.events == [
        Induced(pattern=learned.id, kind="success", lesson="Press Ctrl+S.", at=first.events[0].at)
    ]
    second = Room(tmp_path, ScriptedModel(["- Press Ctrl+S."]))
    advice = await second.memory.recall(TASK)
    assert advice.text == "- Press Ctrl+S."
    assert [hit.pattern.id for hit in advice.patterns] == [learned.id]
    (told,) = second.events
    assert isinstance(told, Guidance)
    (use,) = told.patterns
    assert (use.id, use.source_run, use.lesson) == (learned.id, "run-1", "Press Ctrl+S.")
    assert use.score == pytest.approx(1.0)
    assert told.advice == advice.text


async def test_nothing_known_asks_no_model_and_touches_no_disk(tmp_path: Path) -> None:
    room = Room(tmp_path / "store", ScriptedModel([]))
    advice = await room.memory.recall(TASK)
    assert (advice.text, advice.patterns, advice.sops) == ("", (), ())
    assert isinstance(room.events[0], Guidance)
    assert not (tmp_path / "store").exists()


async def test_rules_alone_become_advice(tmp_path: Path) -> None:
    sop = Sop(Path("x.md"), ("text_editor",), ("Save it.",))
    room = Room(tmp_path, ScriptedModel(["- MUST: Save it."]), sops=[sop])
    advice = await room.memory.recall(TASK)
    assert (advice.text, advice.sops) == ("- MUST: Save it.", ("Save it.",))


async def test_recall_keeps_to_the_domain_the_threshold_and_the_number(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    room = Room(tmp_path, FunctionModel(lambda request: "- x"), embedder=embedder)
    same = [pattern(f"s{n}", domain="text_editor", lesson=TASK.instruction) for n in range(7)]
    far = pattern("far", domain="text_editor", lesson="sort columns of numbers quickly")
    other = pattern("other", domain="calc", lesson=TASK.instruction)
    for one in (*same, far, other):
        room.store.put(one, embedder.embed([one.lesson])[0])
    hits = (await room.memory.recall(TASK)).patterns
    assert len(hits) == 5
    assert {hit.pattern.id for hit in hits} <= {one.id for one in same}


async def test_a_close_lesson_supersedes_the_older_one_and_keeps_it(tmp_path: Path) -> None:
    answers = [lessons("press ctrl s and type the path"), lessons("type the path and press ctrl s")]
    room = Room(tmp_path, ScriptedModel(answers))
    (old,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    (new,) = await room.memory.induct(TASK, "run-2", lines=LINES)
    assert [one.id for one in room.store.list()] == [new.id]
    kept = room.store.get(old.id)
    assert kept is not None
    assert (kept.status, kept.superseded_by, kept.source_run) == ("superseded", new.id, "run-1")
    last = room.events[-1]
    assert isinstance(last, Induced)
    assert last.superseded == old.id


async def test_other_lessons_of_the_same_kind_of_task_stay(tmp_path: Path) -> None:
    answers = [lessons("press ctrl s and type the path"), lessons("wait for the dialog to close")]
    room = Room(tmp_path, ScriptedModel(answers))
    for run in ("run-1", "run-2"):
        await room.memory.induct(TASK, run, lines=LINES)
    assert len(room.store.list()) == 2


async def test_lessons_of_one_run_do_not_supersede_each_other(tmp_path: Path) -> None:
    answer = lessons("press ctrl s and type the path", "type the path and press ctrl s")
    room = Room(tmp_path, ScriptedModel([answer]))
    await room.memory.induct(TASK, "run-1", lines=LINES)
    assert len(room.store.list()) == 2


def test_another_domain_is_never_superseded(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    store = EdgeStore(tmp_path, embedder)
    for name, domain in (("a1", "calc"), ("b1", "writer")):
        one = pattern(name, domain=domain, lesson="save it")
        remember(store, [one], embedder=embedder, threshold=0.7)
    assert len(store.list()) == 2
    assert {one.embedder for one in store.list()} == {"words"}


def test_several_older_ones_are_superseded_by_one(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    store = EdgeStore(tmp_path, embedder)
    both = [pattern("a1", lesson="save the file"), pattern("b1", lesson="the file save")]
    remember(store, both, embedder=embedder, threshold=0.7)
    new = pattern("c1", lesson="file the save")
    (stored,) = remember(store, [new], embedder=embedder, threshold=0.7)
    assert {old.id for old in stored.superseded} == {"a1", "b1"}
    assert [one.id for one in store.list()] == ["c1"]
    again = remember(store, [new], embedder=embedder, threshold=0.7)
    assert again[0].superseded == ()


async def test_no_usable_answer_is_an_event_and_no_pattern(tmp_path: Path) -> None:
    room = Room(tmp_path, ScriptedModel(["no", "no"]))
    assert await room.memory.induct(TASK, "run-1", lines=LINES) == ()
    (event,) = room.events
    assert isinstance(event, Failed)
    assert event.where == "pattern induction"


async def test_a_model_that_is_gone_is_not_hidden(tmp_path: Path) -> None:
    sop = Sop(Path("x.md"), ("general",), ("Save it.",))
    room = Room(tmp_path, ScriptedModel([ModelUnavailable("gone")]), sops=[sop])
    with pytest.raises(ModelUnavailable):
        await room.memory.recall(TASK)


async def test_uses_and_wins_are_counted(tmp_path: Path) -> None:
    room = Room(tmp_path, ScriptedModel([lessons("Press Ctrl+S."), "- x"]))
    (learned,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    hits = [hit.pattern.id for hit in (await room.memory.recall(TASK)).patterns]
    await room.memory.credit(hits, won=True)
    await room.memory.credit(hits, won=False)
    found = room.store.get(learned.id)
    assert found is not None
    assert (found.uses, found.wins) == (2, 1)
    room.store.delete(learned.id)
    await room.memory.credit(hits, won=True)
    assert room.store.list(status=None) == []


async def test_a_successor_inherits_what_was_counted_and_is_counted_on(tmp_path: Path) -> None:
    script = [lessons("Press Ctrl+S."), "- x", lessons("Press Ctrl+S.")]
    room = Room(tmp_path, ScriptedModel(script))
    (old,) = await room.memory.induct(TASK, "run-1", lines=LINES)
    ids = [hit.pattern.id for hit in (await room.memory.recall(TASK)).patterns]
    await room.memory.credit(ids, won=True)
    (new,) = await room.memory.induct(TASK, "run-2", lines=LINES)
    await room.memory.credit(ids, won=True)
    found, past = room.store.get(new.id), room.store.get(old.id)
    assert found is not None
    assert past is not None
    assert (found.uses, found.wins) == (2, 2)
    assert (past.status, past.uses) == ("superseded", 1)


# ---------------------------------------------------------------- with the packaged embedder


def answering(request: ModelRequest, condition: str, lesson: str) -> str:
    if request.text.startswith("# Pattern induction"):
        return lessons(lesson, condition=condition)
    return "- " + lesson


@pytest.mark.parametrize("condition", ["", "Always", "The File menu is open", "as the family says"])
@pytest.mark.parametrize("number", [0, 1])
async def test_the_next_task_of_a_family_finds_the_lesson_whatever_the_model_calls_it(
    tmp_path: Path, number: int, condition: str
) -> None:
    family = FAMILIES[number]
    said = family["condition"] if condition == "as the family says" else condition
    model = FunctionModel(lambda request: answering(request, said, family["lesson"]))
    settings = load(overrides={"patterns": {"path": tmp_path}}, environ={})
    memory = open_memory(settings, model, lambda event: None)
    first = Task("a", family["first"], domain="text_editor")
    (learned,) = await memory.induct(first, "run-1", lines=LINES)
    again = await memory.recall(first)
    assert [hit.pattern.id for hit in again.patterns] == [learned.id]
    if number == 0 or said == family["condition"]:
        second = await memory.recall(Task("b", family["second"], domain="text_editor"))
        assert [hit.pattern.id for hit in second.patterns] == [learned.id]
        assert second.sops


def test_conditions_are_the_text_that_families_are_found_by() -> None:
    from benchmarks.patterns import texts

    rows = texts()
    print(json.dumps(rows, indent=2))
    best = rows["condition"]
    assert best["same_retrieved"] == 1.0
    assert best["other_retrieved"] <= 0.02
    assert all(best["same_retrieved"] >= row["same_retrieved"] for row in rows.values())
