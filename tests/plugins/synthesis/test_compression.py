"""Runs on a form in memory, compressed and played again there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.actions import Scroll
from hisa.config import Settings
from hisa.errors import EnvironmentFailed
from hisa.plugins.synthesis.data.atoms import atoms_of, check_pairs, merge
from hisa.plugins.synthesis.data.compression import CompressedRun, compress, summary
from hisa.plugins.synthesis.data.trajectories import Trajectory, trajectory_of
from hisa.protocols import Task
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel, tool_call

FIELD, AGREE, OK, SAVE = "(400, 136)", "(280, 184)", "(265, 237)", "(375, 237)"


class Form(FakeEnvironment):
    """The form, without a shell; "Agree" may push the buttons down, or have brought "Save"."""

    def __init__(self, *, pushes: bool = False, brings: bool = False) -> None:
        super().__init__()
        self._pushes, self._brings = pushes, brings

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities - {"execute"}

    async def reset(self) -> None:
        if self._pushes and self.agreed:
            self.move(("ok", "save"), -120)
        await super().reset()

    async def act(self, actions: Any, /) -> None:
        agreed = self.agreed
        await super().act(actions)
        if self._pushes and self.agreed != agreed:
            self.move(("ok", "save"), 120 if self.agreed else -120)

    def _elements(self) -> Any:
        listed = super()._elements()
        hidden = self._brings and not self.agreed
        return tuple(element for element in listed if not (hidden and element.name == "Save"))


async def run_on_form(folder: Path, form: Form, *sources: str) -> Trajectory:
    """A run of one step for each source, on a form."""
    replies = [tool_call("gui_action", source, thought="Go on.") for source in sources]
    model = ScriptedModel([*replies, tool_call("termination", "done")])
    settings = Settings.model_validate(
        {"run": {"folder": str(folder)}, "state": {"steps": "raw", "roi": False}}
        | {"patterns": {"enabled": False}, "environment": {"settle": 0.01}}
    )
    task = Task(id="form", instruction="Enter Ann and save.", domain="general")
    result = await hisa.run(
        task, settings=settings, model={"planner": model, "state": model}, environment=form
    )
    await form.reset()
    return trajectory_of(load_run(result.folder))


def click(place: str) -> str:
    return f"pyautogui.click{place}"


async def test_a_form_is_filled_in_one_sequence_that_ends_the_same(tmp_path: Path) -> None:
    form = Form()
    both = f"{click(FIELD)}\npyautogui.write('Ann')"
    trajectory = await run_on_form(tmp_path / "runs", form, both, click(AGREE), click(SAVE))
    run = await compress(trajectory, tmp_path, environment=form)
    (sequence,) = run.sequences
    assert (sequence.count, sequence.replayed, sequence.detail) == (4, "same", "")
    assert (sequence.first_step, sequence.last_step, sequence.is_learnable) == (1, 3, True)
    assert sequence.thought == "Go on. Go on. Go on."
    assert list(sequence.kinds) == ["click", "write", "click", "click"]
    assert run.plays == 2, "alone for the look between click and write, and merged"
    assert len(list((tmp_path / "looks").glob("*.png"))) >= 1
    numbers = summary([run])
    assert (numbers["steps"], numbers["actions"], numbers["compressed_steps"]) == (3, 4, 1)


async def test_a_target_that_the_first_action_moves_is_not_merged(tmp_path: Path) -> None:
    form = Form(pushes=True)
    trajectory = await run_on_form(tmp_path / "runs", form, click(AGREE), click("(375, 357)"))
    run = await compress(trajectory, tmp_path, environment=form)
    assert [sequence.count for sequence in run.sequences] == [1, 1]
    assert [pair.refusals for pair in run.pairs] == [("region",)]
    loose = await compress(trajectory, tmp_path, environment=form, without=["region"])
    (sequence,) = loose.sequences
    assert sequence.replayed == "other", "the click goes to where the button was"
    assert not sequence.is_learnable
    assert sequence.detail
    assert summary([loose])["lengths"] == {1: 2}


async def test_a_bad_sequence_does_not_drop_the_others(tmp_path: Path) -> None:
    form = Form(pushes=True)
    typed = f"{click(FIELD)}\npyautogui.write('Ann')"
    trajectory = await run_on_form(
        tmp_path / "runs", form, typed, click(AGREE), click("(375, 357)")
    )
    run = await compress(trajectory, tmp_path, environment=form, without=["region"], most=2)
    assert [(sequence.count, sequence.replayed) for sequence in run.sequences] == [
        (2, "same"),
        (2, "other"),
    ]
    assert run.plays == 4, "atom by atom, both merged, and each of them"
    assert summary([run])["lengths"] == {1: 2, 2: 1}


async def test_a_target_that_the_first_look_lacks_halts(tmp_path: Path) -> None:
    form = Form(brings=True)
    trajectory = await run_on_form(tmp_path / "runs", form, click(AGREE), click(SAVE))
    loose = await compress(trajectory, tmp_path, environment=form, without=["region"])
    (sequence,) = loose.sequences
    assert sequence.replayed == "halted"
    assert "'Save' is not on the screen" in sequence.detail


async def test_scrolling_and_other_tools_end_a_sequence(tmp_path: Path) -> None:
    form = Form()
    trajectory = await run_on_form(
        tmp_path / "runs", form, click(FIELD), "pyautogui.scroll(-3, 400, 136)", click(OK)
    )
    atoms = atoms_of(trajectory, load_run(trajectory.folder))
    pairs = check_pairs(atoms[:3])
    assert [pair.refusals for pair in pairs] == [(), ("rule",)]
    assert isinstance(atoms[1].actions[0], Scroll)
    assert [len(part) for part in merge(atoms, pairs, 5)] == [2, 1]
    assert [len(part) for part in merge(atoms, pairs, 5, {"rule"})] == [3]


async def test_a_run_that_cannot_be_played_again_is_left_out(tmp_path: Path) -> None:
    form = Form()
    trajectory = await run_on_form(tmp_path / "runs", form, click(FIELD), click(OK))
    manifest = json.loads((trajectory.folder / "run.json").read_text())
    manifest["settings"]["environment"]["kind"] = "display=:1"
    (trajectory.folder / "run.json").write_text(json.dumps(manifest))
    run = await compress(trajectory, tmp_path)
    assert run.left_out == "its environment keeps what is done to it"
    assert not run.sequences
    assert summary([run])["left_out"] == {run.left_out: 1}


@pytest.mark.parametrize("machine_answers", [True, False])
async def test_an_act_that_cannot_be_repeated_leaves_its_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, machine_answers: bool
) -> None:
    form = Form()
    trajectory = await run_on_form(tmp_path / "runs", form, click(FIELD), click(OK))

    async def fails(*_: object, **__: object) -> None:
        if not machine_answers:
            monkeypatch.setattr(form, "observe", fails)
        raise EnvironmentFailed("step 1 cannot be replayed")

    monkeypatch.setattr(form, "act", fails)
    if machine_answers:
        run = await compress(trajectory, tmp_path, environment=form)
        assert run.left_out == "step 1 cannot be replayed"
    else:
        with pytest.raises(EnvironmentFailed):
            await compress(trajectory, tmp_path, environment=form)


@pytest.mark.process
async def test_stopped_compression_continues_at_its_last_run(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    for place in (AGREE, OK):  # single actions: nothing has to be played
        await run_on_form(runs, Form(), click(place))
    assert "left: 1" in _run_compress(runs, out, "--limit", "1")
    with (out / "compressed.jsonl").open("a") as file:
        file.write('{"run": "torn')  # kill -9 in the middle of a line
    second = _run_compress(runs, out)
    assert {"trajectories: 2", "left: 0", "plays: 0"} <= {*second.splitlines()}
    lines = (out / "compressed.jsonl").read_text().splitlines()
    assert len({CompressedRun.model_validate_json(line).run for line in lines}) == 2


def _run_compress(runs: Path, out: Path, *more: str) -> str:
    command = [sys.executable, "-m", "hisa", "data", "compress", str(runs), "-o", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
