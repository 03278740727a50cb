"""What `hisa synth show` prints of an exploration and of its tasks; hostile texts stay texts."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from PIL import Image

from hisa.plugins.synthesis.cli.synth import show
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import (
    Act,
    Candidate,
    Change,
    Differences,
    ElementChange,
    Fact,
    Mutant,
    OtherWay,
    Proof,
    Stage,
    State,
    Triple,
)
from hisa.plugins.synthesis.subject import Subject

EVIL = '\x1b[31m">alert(1)\n'


def create_hostile_exploration(folder: Path) -> Exploration:
    """A chain of states with a branch; every text of it is hostile."""
    subject = Subject(name="pad", title=EVIL, setup=(), main=EVIL)
    exploration = Exploration.create(folder, subject)
    (exploration.folder / "elements" / "e.json").write_text("[]")
    Image.new("RGB", (64, 36), "white").save(exploration.folder / "images" / "i.png")
    change = Change(fact=Fact("gsettings", EVIL, EVIL), before=EVIL, after=EVIL + "2")
    for number in range(3):
        exploration.add_state(
            State(
                id=f"s{number}",
                screen=str(number),
                windows=(f"{EVIL}{number % 3}",),
                image="i",
                elements="e",
                changed=(change,) if number else (),
            )
        )
        act = Act(kind="click", role=EVIL, name=EVIL, within=(EVIL,), window=EVIL)
        element = ElementChange(what="value", role=EVIL, name=EVIL, before=EVIL, after=EVIL)
        if number:
            exploration.add(
                Triple(
                    number=number,
                    desktop=1,
                    before=f"s{(number - 1) // 2}",
                    act=act,
                    box=(10, 10, 20, 20),
                    after=f"s{number}",
                    seconds=1.0,
                    differences=Differences(facts=(change,), elements=(element,)),
                )
            )
    exploration.add(
        Triple(
            number=3,
            desktop=1,
            before="s0",
            act=Act(kind="press", keys=("f5",)),
            box=None,
            after="",
            differences=Differences(),
            seconds=1.0,
            failed=EVIL,
        )
    )
    exploration.close()
    return exploration


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    exploration = create_hostile_exploration(tmp_path / "x")
    triple = exploration.triples[0]
    keys = {"subject": EVIL, "effects": (EVIL,), "triples": (1,), "writer": EVIL}
    with (tmp_path / "x" / "candidates.jsonl").open("w") as file:
        for name in ("good", "bad", "waits"):
            candidate = Candidate.model_validate(
                keys
                | {"id": name, "instruction": EVIL, "acts": (triple.act,)}
                | {"check": ({"command": EVIL, "equals": EVIL},)}
            )
            file.write(candidate.model_dump_json() + "\n")
    with (tmp_path / "x" / "proofs.jsonl").open("w") as file:
        for name, proved in (("good", True), ("bad", False)):
            proof = Proof(
                candidate=name,
                proved=proved,
                reason=EVIL,
                undone_by=EVIL,
                stages=(Stage(name="end", held=False, score=None, detail=EVIL),),
                mutants=(Mutant(kind=EVIL, acts=(), killed=True, detail=EVIL),),
                other_ways=(OtherWay(kind=EVIL, passed=True, detail=EVIL),),
                equivalent=1,
                not_done=2,
            )
            file.write(proof.model_dump_json() + "\n")
    ran = CliRunner().invoke(show, [str(tmp_path / "x")], catch_exceptions=False)
    assert "1 of 2 proved" in ran.output
    assert "1 of 2 refused" in ran.output
    assert "1 of 3 not tried yet" in ran.output
    assert "\x1b" not in ran.output
    for words in ("1 more reached the right end, 2 could not be done", "good: proved: ", "/i.png"):
        assert words in ran.output


def test_show_works_with_an_exploration_alone(tmp_path: Path) -> None:
    create_hostile_exploration(tmp_path)
    ran = CliRunner().invoke(show, [str(tmp_path)], catch_exceptions=False)
    assert "states 3" in ran.output
    assert "0 of 0 proved" in ran.output
