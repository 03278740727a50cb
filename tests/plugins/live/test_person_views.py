"""What a person did, in every view of a run, in its exports and in data sets made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.cli.runs import runs
from hisa.config import RunSettings, Settings
from hisa.events import PersonActed
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.runs.report import render_report
from hisa.runs.run_reader import Run
from hisa.runs.turns import turns
from hisa.runs.wording import by_person
from tests.plugins.live.helped_run import ACTS, CHANGED, acts, build_helped_run, insert


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build_helped_run(tmp_path_factory.mktemp("runs"))


def call(run: Run, *args: str) -> str:
    settings = Settings(run=RunSettings(folder=run.folder.parent))
    result = CliRunner().invoke(runs, list(args), obj=settings, env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    return result.output


def test_step_lists_acts_of_a_person_before_its_own(run: Run) -> None:
    assert [[event.did for event in record.person] for record in run.steps] == [
        [],
        ["took_over", "acted", "gave_back"],
        [],
        [],
    ]
    took, acted, gave = by_person(run.steps[1])
    assert took == "between steps 1 and 2, a person took over"
    assert acted.endswith(f"a person acted: {ACTS}")
    assert gave == f"between steps 1 and 2, a person gave back after 12.0 s: {CHANGED}"


def test_the_terminal_the_report_and_the_audit_show_it(run: Run) -> None:
    assert f"gave back after 12.0 s: {CHANGED}" in call(run, "show")
    assert "between steps 1 and 2, a person took over" in call(run, "show", "--step", "2")
    rows = json.loads(call(run, "show", "--json"))["steps"]
    assert [len(row["person"]) for row in rows] == [0, 3, 0, 0]
    assert "step 2  a person gave back after 12.0 s" in call(run, "audit")
    assert len(json.loads(call(run, "audit", "--json"))["person"]) == 3
    page = render_report(run)
    assert page.count('class="note live person"') == 3
    assert "Entry &#34;Name&#34; now reads" in page


def test_acts_outside_any_step_belong_to_the_next_one_or_the_last(tmp_path: Path) -> None:
    run = insert(build_helped_run(tmp_path, plain=True), ("observed", 0), acts(0))
    assert [len(record.person) for record in run.steps] == [3, 0, 0, 0]
    assert by_person(run.steps[0])[0].startswith("before step 1, ")
    run = insert(run, ("model_asked", 3), acts(2))
    assert [len(record.person) for record in run.steps] == [3, 0, 3, 0]
    assert by_person(run.steps[2])[0].startswith("between steps 2 and 3, ")
    run = insert(run, ("run_finished", 4), acts(4, error="the policy forbids it"))
    assert by_person(run.steps[-1])[1].startswith("after step 4, ")
    assert by_person(run.steps[-1])[1].endswith("(refused: the policy forbids it)")


def test_its_words_are_inert_in_page_and_terminal(tmp_path: Path) -> None:
    bad = "\x1b]0;owned\x07<script>alert(1)</script>\u202e"
    act = PersonActed(did="acted", step=2, text=bad, error=bad)
    run = insert(build_helped_run(tmp_path, plain=True), ("planned", 2), [act])
    assert "<script>alert" not in render_report(run)
    printed = call(run, "show") + call(run, "show", "--step", "2") + call(run, "audit")
    assert "owned" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)


def test_exports_and_turns_pass_over_it(run: Run, tmp_path: Path) -> None:
    plain = build_helped_run(tmp_path / "plain", plain=True)
    assert len(list(turns(run))) == len(list(turns(plain)))
    for kind in ("jsonl", "atif"):
        place = tmp_path / kind
        call(run, "export", run.id, "--format", kind, "-o", str(place))
        assert place.exists(), kind


def test_data_sets_leave_the_step_out_and_count_it(run: Run, tmp_path: Path) -> None:
    (trajectory,), left_out = read_trajectories([run.folder])
    (plain_trajectory,), nothing = read_trajectories(
        [build_helped_run(tmp_path, plain=True).folder]
    )
    assert [step.number for step in plain_trajectory.steps] == [1, 2, 3, 4]
    assert [step.number for step in trajectory.steps] == [1, 3, 4]
    assert (left_out, nothing) == ({"a person acted in its step": 1}, {})
