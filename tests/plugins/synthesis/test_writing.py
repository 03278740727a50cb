"""Instructions and candidates from real looks at a text editor, and by a model over loopback."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hisa.config import Settings, load
from hisa.errors import UsageError
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.records import Candidate, Instruction, Refusal, Triple
from hisa.plugins.synthesis.routes import acts_of, ways_to
from hisa.plugins.synthesis.rule_instructions import rule_instruction
from hisa.plugins.synthesis.task_writing import Wish, make_candidates, write_all
from hisa.protocols import Task
from hisa.tasks.taskfile import load_task
from hisa.testing import FakeServer
from hisa.testing.model_server import ReceivedRequest

LOOKS = Path(__file__).parent / "looks"
GOAL = "Make a shopping list of three things and keep the notes readable."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An exploration's folder: 8 triples of two desktops with mousepad."""
    return unpack_exploration(LOOKS / "text_editor.json", tmp_path / "explored")


def unpack_exploration(file: Path, folder: Path) -> Path:
    """Write out a folder whose elements are those that were seen; pictures are plain grey."""
    packed = json.loads(file.read_text("utf-8"))
    for name in ("images", "elements"):
        (folder / name).mkdir(parents=True)
    (folder / "subject.json").write_text(json.dumps(packed["subject"]))
    for name in ("states", "triples"):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in packed[name])
        )
    for name, elements in packed["elements"].items():
        (folder / "elements" / f"{name}.json").write_text(json.dumps(elements))
    for state in packed["states"]:
        Image.new("RGB", (1280, 720), "#777").save(folder / "images" / f"{state['image']}.png")
    return folder


def triple(exploration: Exploration, number: int) -> Triple:
    return next(step for step in exploration.triples if step.number == number)


def high(exploration: Exploration, step: Triple) -> str:
    result = rule_instruction(exploration, ways_to(exploration, step)[0])
    return result if isinstance(result, str) else result.high


def test_rules_name_every_value_and_the_way_there(folder: Path) -> None:
    explored = Exploration.open(folder)
    assert {number: high(explored, triple(explored, number)) for number in (7, 10, 19, 24, 25)} == {
        7: "Choose Find in the Search menu of the text editor.",
        10: "Choose Word Wrap in the Document menu of the text editor.",
        19: 'In the text editor, choose Find in the Search menu, then turn on "Match case".',
        24: 'In the text editor, type "Berlin" at the end of the text on a new line and save the '
        "file notes.txt.",
        25: 'In the text editor, choose Find in the Search menu, then type "Berlin" into the only '
        "input field and press Enter.",
    }


def test_rules_name_the_cell_that_is_selected(tmp_path: Path) -> None:
    """Real looks at a spreadsheet, of which cells, the name box and a button were kept."""
    explored = Exploration.open(
        unpack_exploration(LOOKS / "spreadsheet.json", tmp_path / "explored")
    )
    written = [rule_instruction(explored, [triple(explored, number)]) for number in (1, 3, 9)]
    assert [result if isinstance(result, str) else result.high for result in written] == [
        "In the spreadsheet, make cell B3 hold 42 and save the file sales.ods.",
        "In the spreadsheet, with cell B2 selected, press Ctrl+B and save the file sales.ods.",
        "In the spreadsheet, with cell A1 selected, turn on Bold and save the file sales.ods.",
    ]


def test_way_omits_unrelated_acts_and_saves_changed_documents(
    folder: Path,
) -> None:
    """Word Wrap, Match case and Regular expression were set before Berlin was typed."""
    explored = Exploration.open(folder)
    way = ways_to(explored, triple(explored, 24))[0]
    assert [act.text or act.keys for act in acts_of(explored, way)] == ["Berlin", ("ctrl", "s")]
    assert triple(explored, 19).saved
    way = ways_to(explored, triple(explored, 19))[0]
    assert [step.act.name for step in way] == ["Search", "Find", "Match case"]
    assert not any(step.saved for step in way)


def test_act_without_a_description_is_refused_with_a_reason(folder: Path) -> None:
    explored = Exploration.open(folder)
    typed, checked = triple(explored, 24), triple(explored, 19)

    def reason(step: Triple, **act: Any) -> object:
        return rule_instruction(
            explored, [step.model_copy(update={"act": step.act.model_copy(update=act)})]
        )

    assert reason(typed, text="Oslo") == "the place of the new text cannot be described"
    assert reason(typed, text="two\nlines").__class__ is str
    assert reason(checked, name="Gone") == "the control is not on the look before"
    still = checked.model_copy(update={"after": checked.before})
    assert rule_instruction(explored, [still]) == "the act left the control as it was"


async def test_the_rules_write_candidates_with_checks_made_apart(folder: Path) -> None:
    written = await write_all(None, folder, Wish(), print)
    candidates = read_records(folder / "candidates.jsonl", Candidate)
    assert candidates == written.candidates
    wrap = next(candidate for candidate in candidates if candidate.triples == (10,))
    assert "word-wrap" in json.dumps(wrap.check)
    assert "word-wrap" not in wrap.instruction
    assert [act.name for act in wrap.acts] == ["Document", "Word Wrap"]
    again = await write_all(None, folder, Wish(), print)
    assert again.instructions == written.instructions
    assert [candidate.id for candidate in again.candidates] == [
        candidate.id for candidate in candidates
    ]
    assert len(read_records(folder / "refused.jsonl", Refusal)) == len(again.refusals)


def test_two_tasks_with_one_check_are_one(folder: Path) -> None:
    explored = Exploration.open(folder)
    way = tuple(step.number for step in ways_to(explored, triple(explored, 24))[0])
    twice = [
        Instruction(triples=(24,), sub="x", high=words, steps=way)
        for words in ("Do task number 24.", "Do the task of number 24.")
    ]
    remaining, refusals = make_candidates(explored, distinct_effects(explored), twice)
    assert len(remaining) == 1
    assert [refusal.reason for refusal in refusals] == ["another task has the same check"]


def answer(_: ReceivedRequest) -> str:
    """A goal for an act."""
    texts = {"sub_instruction": "Click the menu.", "analysis": "x", "high_level_instruction": GOAL}
    return json.dumps(texts)


def settings(server: FakeServer, budget: int = 10_000_000, **more: Any) -> Settings:
    planner = {"model": "gpt-4o", "base_url": server.url, "max_retries": 0} | more
    tree = {"models": {"planner": planner}, "run": {"budget_tokens": budget}}
    return load(overrides=tree, environ={"OPENAI_API_KEY": "x"})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")


async def test_explored_act_becomes_an_instruction_and_a_broader_goal(folder: Path) -> None:
    """With both pictures and a red box, and nothing of the facts."""
    with FakeServer(then=answer) as server:
        written = await write_all(settings(server), folder, Wish(limit=3), print)
        assert len(server.requests) == 3 == len(written.instructions)
        more = await write_all(settings(server), folder, Wish(), print)
    assert all(len(request.images) == 2 for request in server.requests)
    assert not any(
        word in request.text for request in server.requests for word in ("gsettings", "org.")
    )
    png = base64.b64decode(server.requests[0].images[0]["url"].partition(",")[2])
    colours = Image.open(io.BytesIO(png)).convert("RGB").getcolors()
    assert {colour for _, colour in colours or ()} == {(119, 119, 119), (255, 0, 0)}
    goals = read_records(folder / "instructions.jsonl", Instruction)
    assert [(goal.way, goal.writer) for goal in goals] == [("broad", "gpt-4o")] * len(
        more.instructions
    )
    assert len({goal.triples for goal in goals}) == len(goals) == len(server.requests) > 3
    assert all(goal.sub for goal in goals)
    turns = {json.loads(line)["turn"] for line in (folder / "calls.jsonl").read_text().splitlines()}
    assert {goal.turn for goal in goals} <= turns
    assert not (folder / "candidates.jsonl").exists(), "a goal is never proved"
    (task,) = goals_of(folder)
    assert (task.instruction, task.check) == (GOAL, None)
    assert task.setup


def goals_of(folder: Path) -> list[Task]:
    return [load_task(file) for file in folder.glob("goals/*/task.yaml")]


async def test_after_a_second_unusable_reply_the_goal_counts_as_refused(folder: Path) -> None:
    of_a_user = answer_with(high_level_instruction="The user wants a list of three things.")
    with FakeServer(then=of_a_user) as server:
        written = await write_all(settings(server), folder, Wish(limit=2), print)
        assert len(server.requests) == 4
        await write_all(settings(server), folder, Wish(limit=0), print)
        assert len(server.requests) == 4, "it is counted once and for all"
    assert "write it as an order" in written.refusals[0].reason
    rules = await write_all(None, folder, Wish(), print)
    assert rules.candidates
    assert len(read_records(folder / "goals_refused.jsonl", Refusal)) == 2


def answer_with(**texts: str) -> Any:
    return lambda received: json.dumps(json.loads(answer(received)) | texts)


async def test_a_model_without_eyes_gets_the_elements_and_their_changes_in_words(
    folder: Path,
) -> None:
    with FakeServer(then=lambda _: "{}") as server:
        await write_all(settings(server, profile="small"), folder, Wish(limit=1), print)
        request = server.requests[0]
    assert not request.images
    assert "<- the control" in request.text
    assert "went: menu item 'Word Wrap'" in request.text


async def test_budget_limit_ends_the_writing_and_keeps_its_results(folder: Path) -> None:
    with FakeServer(then=answer) as server:
        written = await write_all(settings(server, budget=5_000), folder, Wish(), print)
        assert "token limit" in written.stopped
        stored_instructions = read_records(folder / "instructions.jsonl", Instruction)
        more = await write_all(settings(server), folder, Wish(), print)
    assert 0 < len(stored_instructions) < len(more.instructions)
    assert more.instructions[: len(stored_instructions)] == stored_instructions


async def test_references_take_a_model(folder: Path) -> None:
    with pytest.raises(UsageError, match="needs a model"):
        await write_all(None, folder, Wish(references=1), print)


async def test_references_see_first_screens_and_three_drawn_examples(folder: Path) -> None:
    number = iter(range(100))

    def ideas(_: ReceivedRequest) -> str:
        lines = [f"Write the number {next(number)} down." for _ in range(5)]
        return json.dumps({"instructions": lines})

    with FakeServer(then=ideas) as server:
        written = await write_all(settings(server), folder, Wish(limit=0, references=7), print)
        last = server.requests[-1]
    ways = [instruction.way for instruction in written.instructions if not instruction.triples]
    assert ways == ["task_driven"] * 7 + ["self_instruct"] * 7
    assert last.text.count("Write the number") == 3
    assert len(last.images) >= 1
