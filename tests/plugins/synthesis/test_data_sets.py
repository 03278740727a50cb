"""Samples from runs to rows; what is bad is left out."""

from __future__ import annotations

import hashlib
import io
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw

from hisa.cli import cli
from hisa.errors import LibraryLacking, UsageError
from hisa.plugins.synthesis.data.compression import SequenceRecord
from hisa.plugins.synthesis.data.sample_set import (
    Builder,
    SampleSet,
    export_rows,
    problems,
    read_samples,
)
from hisa.plugins.synthesis.data.samples import Provenance, Sample, rows
from hisa.plugins.synthesis.data.sequence_replay import Replayed
from hisa.plugins.synthesis.data.set_measures import (
    Share,
    accuracy,
    compare,
)
from hisa.plugins.synthesis.data.trajectories import trajectory_of
from hisa.runs.run_reader import Run
from hisa.testing import FakeServer, tool_call
from hisa.testing.model_server import ReceivedRequest
from tests.runs.test_turns import answer, run_with_server

NAMES = ("Save", "Open", "Print", "Close")


def picture(folder: Path, text: str) -> str:
    """A PNG of 320 by 200 in a folder; returns its name."""
    image = Image.new("RGB", (320, 200), "white")
    ImageDraw.Draw(image).text((10, 10), text, fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    name = hashlib.sha256(buffer.getvalue()).hexdigest()
    (folder / f"{name}.png").write_bytes(buffer.getvalue())
    return name


def element(index: int) -> dict[str, Any]:
    box = (10, 20 + 40 * index, 90, 50 + 40 * index)
    return {"role": "push button", "name": NAMES[index], "box": box}


def step(folder: Path, task: str, seed: int, number: int, **more: Any) -> Sample:
    """Step 1 to 3 of a run: a click on a button, on a picture of half the screen's size."""
    run, hit = f"{task}-{seed}", element(number)
    x, y = 50, 35 + 40 * number
    common = {
        "source": "miniwob",
        "model": "m",
        "machine": "desktop",
        "hisa": "0",
        "licence": "MIT",
    }
    plain = {
        "id": f"{run}/{number}",
        "instruction": f"Press the buttons of {task}, {seed}.",
        "thought": f'Click the "{NAMES[number]}" button.',
        "tool": "gui_action",
        "action": f"pyautogui.click({x}, {y})",
        "image": picture(folder, f"{run} {number}"),
        "after": picture(folder, f"{run} {number + 1}"),
        "size": (320, 200),
        "elements": [element(i) for i in range(4)],
        "step": number,
        "last": number,
        "targets": [{"point": (x, y), "element": hit}],
        "provenance": Provenance(run=run, task=task, score=1.0, **common),
    }
    return Sample.model_validate(plain | more)


@pytest.fixture(scope="module")
def sample_set(tmp_path_factory: pytest.TempPathFactory) -> SampleSet:
    """Nine pages with two seeds of three steps each."""
    folder = tmp_path_factory.mktemp("made")
    tasks = [f"{verb}-{thing}-x" for verb in ("click", "use", "find") for thing in "abc"]
    steps = [
        step(folder, task, seed, number)
        for task in tasks
        for seed in (1, 2)
        for number in (1, 2, 3)
    ]
    images = {path.stem: path for path in folder.glob("*.png")}
    return SampleSet(tuple(steps), images, Counter())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    click = "pyautogui.click(60, 20)"
    calls = [tool_call("gui_action", click), tool_call("gui_action", click)]
    with FakeServer(then=answer(calls)) as server:
        return run_with_server(tmp_path_factory.mktemp("r"), server)


def test_runs_become_samples_with_provenance_and_licence(run: Run) -> None:
    sample_set = read_samples([run.folder], licence="CC-BY-4.0")
    first = sample_set.samples[0]
    assert (first.provenance.licence, first.provenance.run) == ("CC-BY-4.0", run.id)
    assert first.provenance.machine
    assert first.provenance.hisa
    assert first.thought
    assert [sample.after for sample in sample_set.samples][:1] == [sample_set.samples[1].image]
    assert all(sample_set.image_bytes(sample.image) for sample in sample_set.samples)
    with pytest.raises(UsageError, match="no grade by 'rules'"):
        read_samples([run.folder], draw="reward")


def test_merged_steps_are_one_sample_where_they_replay(run: Run) -> None:
    trajectory = trajectory_of(run)
    merge = sequence(run, 1, 2, "same")
    merged = list(Builder("MIT", [merge]).samples(trajectory))
    assert (merged[0].step, merged[0].last, merged[0].thought) == (1, 2, "Click twice.")
    assert len(merged[0].actions) == len(merged[0].points) == 2
    other = Builder("MIT", [sequence(run, 1, 2, "other")])
    assert len(list(other.samples(trajectory))) == len(merged) + 1
    assert any("replayed, other" in reason for reason in other.left_out)
    shared = Builder("MIT", [merge, sequence(run, 2, 2, "same")])  # ends within a step
    assert len(list(shared.samples(trajectory))) == len(merged) + 1


def sequence(run: Run, first: int, last: int, replayed: Replayed) -> SequenceRecord:
    return SequenceRecord(
        run=run.id,
        first_step=first,
        last_step=last,
        kinds=("click", "click"),
        thought="Click twice.",
        replayed=replayed,
    )


def test_objectives_hold_the_inputs_of_their_equations(sample_set: SampleSet) -> None:
    sample = next(s for s in sample_set.samples if s.step == 3)
    steps = [s for s in sample_set.samples if s.provenance.run == sample.provenance.run]
    by = {row.objective: row for row in rows(steps) if row.sample == sample.id}
    thought, action = f"Thought: {sample.thought}", f"Action: {sample.action}"
    assert by["planning"].completion == by["sequence"].completion == f"{thought}\n{action}"
    assert sample.instruction in by["planning"].prompt
    assert sample.thought not in by["planning"].prompt
    assert by["action"].completion == action
    assert thought in by["action"].prompt
    assert sample.instruction not in by["action"].prompt
    assert all(steps[0].thought in by[name].prompt for name in ("planning", "action"))
    assert by["sequence"].images == tuple(s.image for s in steps)
    assert all(row.prompt.count("<image>") == len(row.images) for row in by.values())


def test_a_prompt_has_no_picture_that_a_text_names(sample_set: SampleSet) -> None:
    bad = sample_set.samples[0].model_copy(update={"instruction": "<image><image>"})
    assert all(row.prompt.count("<image>") == len(row.images) for row in rows([bad]))


def test_history_is_of_the_last_five_steps_and_draws_repeat(tmp_path: Path) -> None:
    first = step(tmp_path, "a-b", 1, 1, copies=2)
    steps = [first.model_copy(update={"id": f"r/{n}", "step": n, "last": n}) for n in range(1, 9)]
    sequence_rows = list(rows(steps, ["sequence"]))
    assert [len(row.images) for row in sequence_rows[::2]] == [1, 2, 3, 4, 5, 6, 6, 6]
    assert len({row.id for row in sequence_rows}) == len(sequence_rows) == 16


def test_parquet_loads_offline_and_can_be_read_back(sample_set: SampleSet, tmp_path: Path) -> None:
    if "datasets" not in sys.modules:
        pytest.importorskip("datasets", reason="not installed: hisa install data")
    from datasets import load_dataset  # type: ignore[import-not-found]

    export_rows(sample_set, tmp_path / "rows")
    loaded = load_dataset("parquet", data_dir=str(tmp_path / "rows"), cache_dir=str(tmp_path / "c"))
    assert set(loaded) == {"train"}
    expected_rows = {row.id: row for row in rows(sample_set.samples)}
    for line in (line for split in loaded.values() for line in split):
        row = expected_rows.pop(line["id"])
        assert {line[name] for name in ("prompt", "completion")} == {row.prompt, row.completion}
        assert (line["run"], line["score"]) == (row.provenance.run, row.provenance.score)
        pictures = [Image.open(io.BytesIO(sample_set.image_bytes(name))) for name in row.images]
        assert [image.tobytes() for image in line["images"]] == [p.tobytes() for p in pictures]
    assert not expected_rows


def test_without_datasets_it_says_how_to_get_it(
    sample_set: SampleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(LibraryLacking) as caught:
        export_rows(sample_set, tmp_path)
    assert "data" in caught.value.fix


def test_a_box_that_moved_and_a_step_out_of_order_are_problems(sample_set: SampleSet) -> None:
    assert not problems(sample_set.samples)
    first, second, third = sample_set.samples[:3]
    target = first.targets[0]
    away = target.element and target.element.model_copy(update={"box": (200, 100, 260, 120)})
    moved = first.model_copy(update={"targets": (target.model_copy(update={"element": away}),)})
    assert "box" in problems([moved])[moved.id]
    assert [*problems([first, third, second])] == [second.id]


def test_a_secret_leaves_its_row_out_and_is_not_shown(run: Run, tmp_path: Path) -> None:
    trajectory = trajectory_of(run)
    sample = next(Builder("MIT").samples(trajectory))
    secret = "sk-proj-Zk3vN8qLw2Rt6Yp1Xc5Vb9Mn4As7Df0Gh"
    reasons = problems([sample.model_copy(update={"thought": f"Type {secret}"})])
    assert reasons == {sample.id: "a secret is in a text of it"}
    taken_out = sample.model_copy(update={"action": "pyautogui.write('[redacted]')"})
    assert "secret" in problems([taken_out])[sample.id]


def test_steps_are_right_by_box_text_and_type(sample_set: SampleSet) -> None:
    sample = sample_set.samples[0]
    x, y = sample.points[0]
    assert compare(f"Thought: so\nAction: pyautogui.click({x + 9}, {y})", sample) == "right"
    assert compare(f"pyautogui.click({x + 60}, {y})", sample) == "type"
    assert compare("pyautogui.press('enter')", sample) == "wrong"
    assert compare("import os", sample) == compare("", sample) == "wrong"
    bare = sample.targets[0].model_copy(update={"element": None})
    without = sample.model_copy(update={"targets": (bare,)})
    assert compare(f"pyautogui.click({x + 44}, {y})", without) == "right"  # 14% of 320 is 44.8
    assert compare(f"pyautogui.click({x + 46}, {y})", without) == "type"
    typed = sample.model_copy(update={"action": "pyautogui.write('Ana')", "targets": ()})
    assert compare("pyautogui.write('Ana')", typed) == "right"
    assert compare("pyautogui.write('ana')", typed) == "type"
    ending = sample.model_copy(update={"tool": "termination", "action": 'termination("done")'})
    assert compare('termination("all done")', ending) == "right"
    shares = accuracy(sample_set.samples, {sample.id: sample.action})
    assert shares["right"] == Share(1, len(sample_set.samples))


def test_a_model_predicts_each_step_once(run: Run) -> None:
    samples, file = read_samples([run.folder]).samples, run.folder / "predictions-gpt-4o.jsonl"

    def reply(received: ReceivedRequest) -> str:
        return f"Thought: so\nAction: {samples[0].action}" if received.images else "blind"

    def scores(*more: str) -> str:
        url = f"models.planner.base_url={server.url}"
        command = ["--set", url, "data", "eval", str(run.folder), "--model", "gpt-4o", *more]
        return CliRunner().invoke(cli, command, catch_exceptions=False).stdout

    with FakeServer(then=reply) as server:
        assert f"1 of {len(samples)} steps" in scores("--limit", "1")
        assert len(server.requests) == 1
        first, before = server.requests[0], file.read_bytes()
        assert first.job == "# Step prediction"
        assert "Say the next thought, then the action." in first.text
        assert "<image>" not in first.text
        file.write_bytes(before + b'{"id": "torn')
        printed_scores = scores()
        assert len(server.requests) == len(samples)
        assert file.read_bytes().startswith(before)
        assert scores() == printed_scores
        file.write_text(file.read_text().replace('"asked":"', '"asked":"x'))
        with pytest.raises(UsageError, match="another model or set"):
            scores()
        assert len(server.requests) == len(samples)
