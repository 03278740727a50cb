"""How a run ends, as the command line says it: on a stock guest without a desktop of its own."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from hisa.agent import Agent
from hisa.cli.episode import RunOutput, run_in_desktop, score_line
from hisa.cli.progress import Progress
from hisa.cli.run_desktop import RunDesktop
from hisa.errors import ConfigError, EnvironmentFailed, ModelUnavailable
from hisa.events import Failed, Planned, RunFinished
from hisa.outcomes.endings import Result
from hisa.runs.log import RunLog
from hisa.runs.resume import resume_point
from hisa.runs.run_reader import Run, list_runs, load_run
from hisa.screen.observation import Observation
from hisa.tasks.taskfile import load_task
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer, Fault, Line, ReceivedRequest
from tests.cli.command import Command, endless
from tests.plugins.benchmarks.bench_suite.forms import settings, write_task
from tests.plugins.benchmarks.bench_suite.test_guests import hisa, run_form
from tests.stock import stock_guest
from tests.stock.stock_guest import StockGuest
from tests.test_conclusion import ADA

pytestmark = pytest.mark.process

SETTLE = ("--set", "environment.settle=0.5")


def has_words_in_order(text: str, *words: str) -> bool:
    """Whether the words come one after the other."""
    return re.search(".*".join(map(re.escape, words)), text, re.DOTALL) is not None


def test_a_guest_that_dies_while_it_is_scored_is_scored_alone_when_the_run_goes_on(
    tmp_path: Path,
) -> None:
    faults = {"/file": [stock_guest.GuestFault("reset", stays=True)]}
    with StockGuest(faults) as guest:
        result, run = run_form(tmp_path, guest, code=3)
        assert (result["status"], result["score"]) == ("environment_error", None)
        assert (result["score_state"], result["success"]) == ("unscored", False)
        assert run.last_step == 4, "the agent was through"
        (failed,) = [event for event in run.events if isinstance(event, Failed)]
        assert failed.where == "scoring"
        guest._faults.clear()
        command = hisa(tmp_path)
        output = command.run("runs", "resume", run.id)
        assert "only scoring after step 4" in output
    again = load_run(run.folder)
    assert (again.status, again.score, again.last_step) == ("succeeded", 1.0, 4)
    planned = [event for event in again.events if isinstance(event, Planned)]
    assert len(planned) == 4


LEARNING = "# Pattern induction"


def learner(fault: Fault) -> Callable[[ReceivedRequest], str | Fault]:
    """A state model that answers all but induction."""

    def answer(received: ReceivedRequest) -> str | Fault:
        return fault if received.job == LEARNING else endless(received)

    return answer


@contextlib.contextmanager
def winning(folder: Path, fault: Fault) -> Iterator[tuple[Command, list[str]]]:
    """A command whose run is won, and whose model does this when it is to learn."""
    task = write_task(folder / "tasks", "Ada")
    script = [Line(reply, "planner") for reply in ADA]
    with StockGuest() as guest, FakeServer(script, then=learner(fault)) as server:
        command = hisa(folder)
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        yield command, ["run", str(task), "--env", f"guest={guest.url}", "--model", "m", *SETTLE]


def load_won_run(folder: Path) -> Run:
    (run_folder,) = list_runs(folder / "runs")
    run = load_run(run_folder)
    assert (run.status, run.score, run.manifest.score) == ("succeeded", 1.0, 1.0)
    return run


def test_a_model_that_fails_at_learning_costs_no_score_and_no_exit_code(tmp_path: Path) -> None:
    with winning(tmp_path, Fault("status", status=400)) as (command, words):
        text = command.run(*words)
    run = load_won_run(tmp_path)
    failed = [event for event in run.events if isinstance(event, Failed)]
    assert [event.where for event in failed] == ["learning"]
    order = ("succeeded:", "score", "1: ", run.id, "learning", "broken", "learning:", "report")
    assert has_words_in_order(text, *order), text
    assert text.count("  cost ") == 1, "learning cost nothing"


def test_cost_of_learning_is_printed_once_it_is_known(tmp_path: Path) -> None:
    command, task = hisa(tmp_path), write_task(tmp_path / "tasks", "Ada")
    script = [Line(reply, "planner") for reply in ADA]
    with StockGuest() as guest, FakeServer(script, then=endless) as server:
        command.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
        text = command.run("run", str(task), "--env", f"guest={guest.url}", "--model", "m", *SETTLE)
    before, after = re.findall(r"  cost +(\d+) tokens in.*", text)
    assert int(after) > int(before)
    assert has_words_in_order(
        text, "cost", "learning", "learned", "nothing new", "cost", ", learning included", "report"
    )


def test_a_refused_run_says_that_its_folder_is_gone(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "general.md").write_text("- MUST never do it. " + "Not at all. " * 20)
    command = hisa(tmp_path)
    words = ("--set", f"patterns.sops={rules}", "--set", "state.advice_tokens=50", "--no-report")
    with StockGuest() as guest:
        code, text, errors = command.run_to_end(
            "run", 'Click the "OK" button.', "--env", f"guest={guest.url}", *words, *SETTLE
        )
    assert code == 2, errors
    assert "the run was refused before its first step, and was not kept" in text
    assert re.findall(r"\d{8}-\d{6}", text + errors) == [], "no name that leads nowhere"
    assert not (tmp_path / "runs").exists()


def test_the_answer_comes_before_learning_and_ctrl_c_keeps_it(tmp_path: Path) -> None:
    with winning(tmp_path, Fault("hang")) as (command, words):
        process = command.start(*words)
        assert process.stdout is not None
        lines = list(itertools.takewhile(lambda line: "learning" not in line, process.stdout))
        assert has_words_in_order("".join(lines), "succeeded:", "score", "1: ", "run ")
        load_won_run(tmp_path)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "stopped by a person" in rest
    assert "report" in rest
    run = load_won_run(tmp_path)
    assert run.events[-1].type == "learned"
    refused = Command(tmp_path).run_refused("runs", "resume", run.id)
    assert "nothing to resume" in refused


def test_missing_score_is_reported_by_its_kind(tmp_path: Path) -> None:
    with StockGuest() as guest:
        words = ("--env", f"guest={guest.url}", "--no-report", *SETTLE)
        command = hisa(tmp_path)
        command.environ["HISA_PATTERNS__ENABLED"] = "false"
        text = command.run("run", 'Click the "OK" button.', *words)
    assert has_words_in_order(text, "score", "none: the task has no check", "the agent's claim")
    cut_off = Result("r", "max_steps", score_state="no_check", score_detail="it has none")
    assert score_line(cut_off) == "none: it has none", "the agent said nothing"
    assert "learning" not in text
    (row,) = command.json("runs", "ls")
    assert (row["score"], row["score_state"]) == (None, "no_check")
    assert "no check" in command.run("runs", "ls")
    assert "succeeded, no check" in command.run("runs", "show")
    shown = command.json("runs", "show")
    assert (shown["score_state"], shown["success"]) == ("no_check", True)
    page = Path(command.run("runs", "report").strip()).read_text("utf-8")
    assert ">no check<" in page


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=2m", "hisa-test", str(folder)]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def on_disk(folder: Path, disk: Path) -> Command:
    command = hisa(folder)
    command.environ |= {"HISA_RUN__FOLDER": str(disk / "runs"), "HISA_PATTERNS__ENABLED": "false"}
    return command


@pytest.mark.parametrize("room", [0, 70_000])
def test_full_disk_is_reported_and_the_run_goes_on_once_there_is_room(
    tmp_path: Path, room: int
) -> None:
    task = write_task(tmp_path / "tasks", "ada")
    with small_disk(tmp_path / "disk") as disk, StockGuest() as guest:
        filler = disk / "filler"
        filler.write_bytes(b"x" * (2 * 1024 * 1024 - room))
        command = on_disk(tmp_path, disk)
        words = ("run", str(task), "--env", f"guest={guest.url}", "--json", *SETTLE)
        errors = command.run_refused(*words, code=3)
        assert "cannot write" in errors
        assert str(disk / "runs") in errors
        assert "free some space" in errors
        assert "succeeded" not in errors
        runs = list_runs(disk / "runs")
        assert bool(runs) is bool(room), "what cannot be begun leaves no folder"
        if not runs:
            return
        run = load_run(runs[0])
        assert run.status == "unfinished"
        assert not [event for event in run.events if isinstance(event, RunFinished)]
        assert not list(run.folder.rglob(".*.tmp"))
        filler.unlink()
        result = json.loads(command.run("runs", "resume", run.id, "--json"))
        assert (result["status"], result["score"]) == ("succeeded", 1.0)


class Broken(FakeEnvironment):
    """A form whose first look is a defect."""

    def __init__(self, error: Exception, *, at_the_end: bool = False) -> None:
        super().__init__()
        self._error = error
        self._at_the_end = at_the_end

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        if not self._at_the_end:
            raise self._error
        return await super().observe(elements=elements, settle=settle)

    async def __aexit__(self, *exc: object) -> None:
        if self._at_the_end:
            raise self._error


async def at_a_desk(folder: Path, environment: FakeEnvironment) -> RunOutput:
    """A run from the terminal's side, on an environment of the test."""
    task = load_task(write_task(folder / "tasks", "ada"))
    console = Console(file=io.StringIO())

    async def open_desktop() -> FakeEnvironment:
        return environment

    desktop = RunDesktop(open_desktop)
    with RunLog.create(folder / "runs", task) as log:
        answer = RunOutput(log, console, Progress(console, 9), as_json=False, report=False)
        agent = Agent(environment=desktop.environment, settings=settings())
        await run_in_desktop(agent, task, desktop=desktop, output=answer)
    return answer


async def test_defect_of_ours_is_called_one_and_the_run_is_saved(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        await at_a_desk(tmp_path, Broken(ZeroDivisionError("ours")))
    (run,) = map(load_run, list_runs(tmp_path / "runs"))
    (note,) = caught.value.__notes__
    assert "a defect of HiSA" in note
    assert f"hisa --set run.folder={tmp_path / 'runs'} runs resume {run.id}" in note
    assert (run.status, run.score_state) == ("defect", "unscored")
    assert resume_point(run).step == 0


async def test_a_desktop_that_cannot_be_ended_does_not_take_the_result(tmp_path: Path) -> None:
    lost = EnvironmentFailed("cannot be ended")
    answer = await at_a_desk(tmp_path, Broken(lost, at_the_end=True))
    (run,) = map(load_run, list_runs(tmp_path / "runs"))
    assert (run.status, run.score, answer.close()) == ("succeeded", 1.0, 0)


async def test_an_error_before_the_first_step_is_the_end_in_the_log(tmp_path: Path) -> None:
    for error, status in (
        (EnvironmentFailed("no desktop"), "environment_error"),
        (ModelUnavailable("no key"), "model_error"),
        (ConfigError("no such format"), "refused"),
    ):
        folder = tmp_path / status

        async def fails(error: Exception = error) -> FakeEnvironment:
            raise error

        task = load_task(write_task(folder / "tasks", "ada"))
        with RunLog.create(folder / "runs", task) as log:
            with pytest.raises(type(error)):
                async with Agent(environment=fails, settings=settings()).open(task, log):
                    raise AssertionError("it opened")
            run = load_run(log.folder)
        ended = [event.exit_status for event in run.events if isinstance(event, RunFinished)]
        assert ended == [status]
        assert run.manifest.exit_status == status
