"""Proofs on real private desktops with a real text editor."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hisa.config import EnvironmentSettings, Settings
from hisa.environments.open_environment import open_environment
from hisa.machine.storage import AppendOnlyFile
from hisa.plugins.synthesis import prover
from hisa.plugins.synthesis.cli.synth import Queue
from hisa.plugins.synthesis.exploration import Exploration, append_record, read_records
from hisa.plugins.synthesis.exploration_acts import act_on, replay
from hisa.plugins.synthesis.proof_desktop import ProofDesktop
from hisa.plugins.synthesis.prover import REQUIRED_MUTANTS, mutants, prove
from hisa.plugins.synthesis.records import (
    Act,
    Candidate,
    Change,
    Differences,
    Fact,
    Proof,
    State,
    Triple,
)
from hisa.plugins.synthesis.routes import acts_of
from hisa.plugins.synthesis.subject import load_subject
from hisa.protocols import Environment
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

VIEW = "org.xfce.mousepad.preferences.view"
LINE_NUMBERS = Change(
    fact=Fact("gsettings", VIEW, "show-line-numbers"), before="false", after="true"
)
BEFORE = "Meet Ana at nine\nbuy milk and bread\ncall the bank\n"
TYPED = Change(fact=Fact("text", "~/Documents/notes.txt"), before=BEFORE, after=f"{BEFORE}Call Ana")
SAVE = Act(kind="press", keys=("ctrl", "s"))


async def explore_by_hand(folder: Path, desktop: Environment) -> Exploration:
    """Open the editor and its View menu, click Line Numbers, and type; four states, three acts."""
    exploration = Exploration.create(folder, load_subject("mousepad"))
    await TaskScorer().prepare(exploration.subject.task(), desktop)
    first = await desktop.observe(elements=True, settle=1.0)
    root = await _add(exploration, first, "root")
    text = act_on(_element(first, "text", ""), first, "type", text="Call Ana")
    view = act_on(_element(first, "menu", "View"), first, "click")
    opened = await replay(desktop, [view])
    menu = await _add(exploration, opened, "menu")
    numbers = act_on(_element(opened, "menu item", "Line Numbers"), opened, "click")
    numbered = await _add(exploration, await replay(desktop, [numbers]), "numbers")
    typed = await _add(exploration, await replay(desktop, [text, SAVE]), "typed")
    for at, (before, act, after, facts) in enumerate(
        [
            (root, view, menu, ()),
            (menu, numbers, numbered, (LINE_NUMBERS,)),
            (root, text, typed, (TYPED,)),
        ]
    ):
        exploration.add(
            Triple(
                number=at,
                desktop=0,
                before=before,
                act=act,
                box=None,
                after=after,
                differences=Differences(facts=facts),
                saved=bool(facts) and act is text,
                seconds=1.0,
            )
        )
    exploration.close()
    return exploration


def _element(observation: Observation, role: str, name: str) -> Any:
    return next(
        element
        for element in observation.elements or ()
        if element.role == role and element.name == name
    )


async def _add(exploration: Exploration, observation: Observation, name: str) -> str:
    image, elements = await exploration.keep(observation)
    titles = tuple(window.title for window in observation.windows)
    exploration.add_state(
        State(id=name, screen=name, windows=titles, image=image, elements=elements)
    )
    return name


def route_acts(exploration: Exploration, number: int) -> tuple[Act, ...]:
    """The acts from a fresh start to the end of a triple."""
    triple = exploration.triples[number]
    return acts_of(exploration, [*(exploration.route(triple.before) or ()), triple])


def candidate(name: str, acts: tuple[Act, ...], change: Change, check: dict[str, Any]) -> Candidate:
    return Candidate(
        id=name,
        subject="mousepad",
        effects=(name,),
        triples=(1,),
        instruction="Turn on line numbers, or type.",
        acts=acts,
        check=(check,),
        changes=(change,),
    )


def line_numbers(exploration: Exploration, **other: Any) -> Candidate:
    """Turn line numbers on; the check reads the setting."""
    check = {"command": f"gsettings get {VIEW} show-line-numbers", "equals": "true"}
    base = candidate("line-numbers", route_acts(exploration, 1), LINE_NUMBERS, check)
    return base.model_copy(update=other)


def typed_text(exploration: Exploration, **other: Any) -> Candidate:
    """Type at the end of the document and save it; the check reads the whole file."""
    check = {"file": "~/Documents/notes.txt", "equals": TYPED.after}
    base = candidate("typed", route_acts(exploration, 2), TYPED, check)
    return base.model_copy(update=other)


pytestmark = pytest.mark.process
on_one_loop = pytest.mark.asyncio(loop_scope="module")

ABSENT = (Act(kind="click", role="push button", name="Nowhere"),)
DONE = {"command": "true"}
"""Holds whatever was done."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machine() -> AsyncIterator[Environment]:
    """One started desktop for the whole module; a proof sets it up anew."""
    async with open_environment(Settings().environment) as environment:
        yield environment


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pads(tmp_path_factory: pytest.TempPathFactory, machine: Environment) -> Exploration:
    """One exploration for the whole module."""
    return await explore_by_hand(tmp_path_factory.mktemp("pads"), machine)


async def prove_candidate(candidate: Candidate, pads: Exploration, machine: Environment) -> Proof:
    """The proof of a candidate on the desktop that is there."""

    @asynccontextmanager
    async def open_machine(_: EnvironmentSettings) -> AsyncIterator[Environment]:
        yield machine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prover, "open_environment", open_machine)
        return await prove(candidate, pads, Settings().environment, Settings().tasks)


def copy_with_candidates(
    pads: Exploration, folder: Path, candidates: list[Candidate]
) -> Exploration:
    """The same subject in a folder of its own, with candidates that wait."""
    shutil.copytree(pads.folder, folder)
    file = AppendOnlyFile(folder / "candidates.jsonl")
    for candidate in candidates:
        append_record(file, candidate)
    file.close()
    return Exploration.open(folder)


@on_one_loop
async def test_good_candidate_is_proved(pads: Exploration, machine: Environment) -> None:
    proof = await prove_candidate(line_numbers(pads), pads, machine)
    assert proof.proved, proof
    assert [(stage.name, stage.score) for stage in proof.stages] == [
        ("start", 0),
        ("end", 1),
        ("undone", 0),
        ("fresh", 1),
    ]
    assert proof.undone_by == "shell"
    assert len(proof.mutants) >= REQUIRED_MUTANTS
    assert all(mutant.killed and "; changed" in mutant.detail for mutant in proof.mutants)
    assert [(way.kind, way.passed) for way in proof.other_ways] == [("keyboard", True)]


@on_one_loop
async def test_a_check_covers_all_that_the_end_changed_and_a_step_too_many_is_refused(
    pads: Exploration, machine: Environment
) -> None:
    """As where exploration had turned on the one before it saw the other; the text is not saved."""
    lines = line_numbers(pads)
    wrap = lines.acts[-1].model_copy(update={"name": "Word Wrap", "within": ("Document",)})
    menu = lines.acts[0].model_copy(update={"name": "Document"})
    acts = (typed_text(pads).acts[0], menu, wrap, *lines.acts)
    proof = await prove_candidate(line_numbers(pads, acts=acts), pads, machine)
    assert proof.completed is not None, proof
    checked_keys = [check["command"].split()[-1] for check in proof.completed.check]
    assert checked_keys == ["show-line-numbers", "word-wrap"]
    scores = [(stage.name, stage.score) for stage in proof.stages]
    assert scores[:3] == [("start", 0), ("end", 1), ("undone", 0)]
    assert (proof.proved, proof.reason) == (False, "an act is not needed")
    assert "it passes without act 1" in proof.stages[-1].detail


@on_one_loop
async def test_weak_check_is_refused_for_a_mutant(pads: Exploration, machine: Environment) -> None:
    weak = {"file": "~/Documents/notes.txt", "contains": "Call An"}
    proof = await prove_candidate(typed_text(pads, check=(weak,)), pads, machine)
    assert (proof.proved, proof.reason) == (False, "a mutant passes")
    assert all(stage.held for stage in proof.stages)
    assert proof.undone_by == "shell"
    killed = {(mutant.kind, mutant.killed) for mutant in proof.mutants}
    assert {("nothing saved", True), ("other value", False)} <= killed
    assert len(proof.mutants) == 3


@pytest.mark.parametrize("check", [{"python": "broken.py:check"}, {"python": "absent.py:check"}])
@on_one_loop
async def test_check_without_a_score_does_not_pass(
    pads: Exploration, machine: Environment, tmp_path: Path, check: dict[str, Any]
) -> None:
    (tmp_path / "broken.py").write_text("def check():\n    raise OSError('no such place')\n")
    folder = pads.subject.model_copy(update={"folder": str(tmp_path)})
    candidate = line_numbers(pads, check=(check,))
    proof = await prove_candidate(candidate, Exploration(pads.folder, folder), machine)
    assert (proof.proved, proof.reason) == (False, "the check has no score")
    assert proof.stages[0].score is None
    assert proof.stages[0].detail


@on_one_loop
async def test_broken_desktop_refuses_nothing(
    pads: Exploration,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The desktop ends in the middle of the acts; the next time another one is taken."""
    ended: list[bool] = []
    acts = (*line_numbers(pads).acts, *ABSENT)

    async def cut_off(environment: Any, acts: Any) -> Any:
        if not ended:
            ended.append(True)
            await environment._end()
        return await replay(environment, acts)

    monkeypatch.setattr(prover, "replay", cut_off)
    exploration = copy_with_candidates(pads, tmp_path / "own", [line_numbers(pads, acts=acts)])
    for left in (1, 0):
        queue = Queue(exploration, Settings().environment, Settings().tasks)
        await queue.run()
        assert queue.left == left
    assert "a desktop broke" in capsys.readouterr().err
    [proof] = read_records(tmp_path / "own/proofs.jsonl", Proof)
    assert proof.reason == "the acts cannot be repeated"


@on_one_loop
async def test_files_are_put_back(pads: Exploration, machine: Environment) -> None:
    """A document, one that was not there, and a setting."""
    notes, new = Fact("text", "~/Documents/notes.txt"), Fact("file", "~/new file")
    changes = (
        Change(fact=notes, before="x", after="… 9 abc"),
        Change(fact=new, before=None, after="file 3 abc"),
        LINE_NUMBERS,
    )
    desktop = ProofDesktop(machine, typed_text(pads, changes=changes), pads, Settings().tasks)
    await desktop.start_afresh()
    await desktop.keep_start()
    await machine.execute("echo other > ~/Documents/notes.txt; echo new > ~/'new file'")
    await machine.execute(f"gsettings set {VIEW} show-line-numbers true")
    assert not await desktop.is_undone()
    await desktop.put_back()
    assert await desktop.is_undone()


@on_one_loop
async def test_mutants_are_near_and_hopeless_is_refused_at_once(
    pads: Exploration, machine: Environment
) -> None:
    drafts = mutants(typed_text(pads), pads)
    assert [draft.kind for draft in drafts[:2]] == ["nothing saved", "other value"]
    assert len({draft.acts for draft in drafts} | {typed_text(pads).acts}) == len(drafts) + 1
    proof = await prove_candidate(line_numbers(pads, acts=ABSENT), pads, machine)
    assert (proof.reason, proof.desktops) == ("too few mutants", 0)


def test_killed_and_resumed(pads: Exploration, tmp_path: Path) -> None:
    """After SIGKILL the same command proves what is left, and nothing twice."""
    names = ["one", "two"]
    folder = copy_with_candidates(
        pads, tmp_path / "own", [line_numbers(pads, id=name, check=(DONE,)) for name in names]
    ).folder
    command = [sys.executable, "-m", "hisa", "synth", "prove", str(folder)]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while first.poll() is None and not read_records(folder / "proofs.jsonl", Proof):
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    begun = read_records(folder / "proofs.jsonl", Proof)
    assert len(begun) == 1
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "0 of 2 proved" in again.stdout
    assert "2 of 2 refused: the start passes" in again.stdout
    proofs = read_records(folder / "proofs.jsonl", Proof)
    assert [proof.candidate for proof in proofs] == names
    assert proofs[: len(begun)] == begun
