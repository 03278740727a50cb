"""Scrolls, names in instructions, and where exploring ends."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from hisa.actions import Scroll
from hisa.config import Settings
from hisa.machine.storage import AppendOnlyFile
from hisa.plugins.synthesis import task_writing
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.exploration_acts import actions_of, find
from hisa.plugins.synthesis.explorer import Session
from hisa.plugins.synthesis.offers import offers
from hisa.plugins.synthesis.records import Act, Candidate, Proof
from hisa.plugins.synthesis.subject import Subject
from hisa.plugins.synthesis.task_writing import Wish, no_task, write_all
from tests.plugins.synthesis.test_frontier import BAR, FRAME, PAD, element, look
from tests.plugins.synthesis.test_writing import LOOKS, unpack_exploration


def test_a_scrollable_area_under_a_text_is_scrolled() -> None:
    pane = element("scroll pane", "", 5, 0)
    shown = look(FRAME, BAR, pane, element("text", "", 5, 2, "editable", "multi-line"))
    scrolls = [act for act in offers(shown, PAD) if act.kind == "scroll"]
    assert [act.text for act in scrolls] == ["down", "up"]
    assert len({act.key for act in scrolls}) == 1, "they take turns"
    (action,) = actions_of(scrolls[0], find(scrolls[0], shown))
    assert isinstance(action, Scroll)
    assert action.dy < 0


@pytest.mark.parametrize("name", ["todo.html", "score.html", "explore.html", "xx.html"])
def test_the_words_of_a_name_are_not_those_of_the_instruction(name: str, tmp_path: Path) -> None:
    subject = Subject(name="page", title=f"the page {name}", setup=(), main="Chromium")
    exploration = Exploration.create(tmp_path / "explored", subject)
    exploration.close()
    text = f"In {subject.title}, turn on Dark."
    assert no_task(text, task_writing.names_of(exploration, ())) == []
    assert no_task("Write TODO into the notes."), "a marker of a gap"
    score = Act(kind="click", role="push button", name="Score")
    assert no_task("In the game, click the push button Score.")
    assert not no_task(
        "In the game, click the push button Score.", task_writing.names_of(exploration, [score])
    )
    assert no_task("In the game, click Cancel.", task_writing.names_of(exploration, [score]))


def test_exploring_ends_where_nothing_new_is_left(tmp_path: Path) -> None:
    folder = unpack_exploration(LOOKS / "text_editor.json", tmp_path / "explored")
    subject = Exploration.open(folder).subject
    exploration = Exploration.create(folder, subject)
    session = Session(exploration, Settings().environment, Settings().tasks, minutes=60)
    acts = 0
    while not session.over and acts < 500:
        session.add(exploration.triples[acts % len(exploration.triples)])
        acts += 1
    exploration.close()
    assert session.over
    assert acts < 100
    assert session.numbers()["nothing_left"]
    assert session.transitions == 0


async def test_the_next_longer_way_is_written_after_a_proof_that_one_ends_elsewhere(
    tmp_path: Path,
) -> None:
    folder = unpack_exploration(LOOKS / "text_editor.json", tmp_path / "explored")
    written = await write_all(None, folder, Wish(), print)
    with closing(AppendOnlyFile(folder / "proofs.jsonl")) as file:
        for candidate in written.candidates:
            reason = "the acts cannot be repeated"
            append_record(file, Proof(candidate=candidate.id, proved=False, reason=reason))
    again = await write_all(None, folder, Wish(), print)
    assert again.candidates
    short = {candidate.effects: candidate.acts for candidate in written.candidates}
    for longer in again.candidates:
        acts = short.get(longer.effects, ())
        assert longer.acts != acts
        assert len(longer.acts) >= len(acts)
    stored_ids = {
        candidate.id for candidate in read_records(folder / "candidates.jsonl", Candidate)
    }
    assert {candidate.id for candidate in written.candidates} <= stored_ids, (
        "what a proof speaks of stays"
    )
