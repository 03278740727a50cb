"""Failed runs of a bench: classified by hand and by a model, kept beside the run, counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hisa.cli import cli
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.bench_report import build_report
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.runs.failure_class import failure_of
from hisa.runs.report import render_report
from hisa.runs.run_reader import load_run
from hisa.testing.model_server import FakeServer
from tests.plugins.benchmarks.attempt_logs import judgement
from tests.plugins.benchmarks.bench_suite.sample import plan
from tests.plugins.benchmarks.bench_suite.test_efficiency import CLICK, attempt

WHY = "B2 is empty"


@pytest.fixture
def failed_folders(tmp_path: Path) -> list[Path]:
    """Run folders of a bench: three failures, and one success that is no part of them."""
    book = AttemptLedger(tmp_path / "bench", plan(tasks=4, repeat=1))
    folders = [attempt(book, f"task-0{n}", [([CLICK], {})], score_detail=WHY) for n in range(3)]
    attempt(book, "task-03", [([CLICK], {})], score=1.0)
    book.close()
    return sorted(folders)


def run(folder: Path, *options: str, url: str = "") -> Result:
    environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "x"}
    words = ["bench", "failures", str(folder), *options]
    return CliRunner(env=environ).invoke(cli, words, standalone_mode=False)


def test_a_class_set_by_hand_is_stored_listed_shown_and_counted(failed_folders: list[Path]) -> None:
    bench, first = failed_folders[0].parent.parent, failed_folders[0]
    mark = f"bench failures {first.parent} --mark {first.name}=CLASS"
    assert mark in render_report(load_run(first))
    result = run(bench, "--mark", f"{first.name}=illusion")
    assert result.return_value == 0, result.output
    assert [line.split()[1] for line in result.output.splitlines()[:1]] == ["illusion"]
    *rows, counts = result.output.splitlines()
    assert "\n".join(rows).count("no class") == 2
    assert counts.endswith("illusion: 1 of 3, other: 0 of 3, no class: 2 of 3")
    assert failure_of(first).by == "hand"
    assert "illusion" in render_report(load_run(first))
    (group,) = build_report(bench).variants
    assert group.failures == {"illusion": 1, "": 2}
    table = CliRunner().invoke(cli, ["bench", "report", str(bench), "--print", "Failures by class"])
    assert "| illusion | 1 (33.3%) |" in table.output
    assert "| no class | 2 (66.7%) |" in table.output


@pytest.mark.parametrize("mark", ["nobody=other", "RUN=slow", "RUN"])
def test_invalid_mark_is_refused_and_not_saved(failed_folders: list[Path], mark: str) -> None:
    result = run(failed_folders[0].parent, "--mark", mark.replace("RUN", failed_folders[0].name))
    assert isinstance(result.exception, UsageError)
    assert not failure_of(failed_folders[0]).kind


def test_a_model_classifies_runs_without_a_class_and_reads_why_they_failed(
    failed_folders: list[Path],
) -> None:
    bench = failed_folders[0].parent.parent
    run(bench, "--mark", f"{failed_folders[0].name}=applications")
    answers = [
        judgement(1, "Step 1 clicked beside it."),
        judgement(None, "Nobody knows."),
    ]
    with FakeServer(answers) as server:
        result = run(bench, "--model", "gpt-4.1", url=server.url)
    assert result.return_value == 3, "one has no class still"
    assert ": Nobody knows." in result.output
    assert [failure_of(folder).kind for folder in failed_folders] == [
        "applications",
        "perception",
        "",
    ]
    assert failure_of(failed_folders[1]).reason == "Step 1 clicked beside it."
    first, _ = (request.text for request in server.requests)
    assert "1. perception: it misread the screen" in first
    assert WHY in first


def test_sequences_that_failed_are_listed_by_the_three_classes_of_os_catalyst(
    failed_folders: list[Path],
) -> None:
    """Appendix C.2 and figures 7 to 9: too long, too short, at a wrong place."""
    bench = failed_folders[0].parent.parent
    run(bench, "--mark", f"{failed_folders[0].name}=illusion")
    run(bench, "--sequences", "--mark", f"{failed_folders[0].name}=under-compression")
    answers = [judgement(1, "Step 2 went on after a page had opened."), judgement(3, "Beside it.")]
    with FakeServer(answers) as server:
        result = run(bench, "--sequences", "--model", "gpt-4.1", url=server.url)
    assert result.return_value == 0, result.output
    kinds = [line.split()[1] for line in result.output.splitlines()[:3]]
    assert kinds == ["under-compression", "over-compression", "wrong-location"]
    assert result.output.splitlines()[-1] == (
        "over-compression: 1 of 3, under-compression: 1 of 3, wrong-location: 1 of 3, "
        "no class: 0 of 3"
    )
    assert failure_of(failed_folders[0]).kind == "illusion", "ComputerRL's class stays beside it"
    assert "1. over-compression: " in server.requests[0].text
    assert "perception" not in server.requests[0].text
