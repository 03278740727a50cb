"""How runs end, on real parts: score first, learn after, one end in the log, whatever breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hisa.cli.episode import exit_code, score_line
from hisa.config import StateSettings
from hisa.environments.transport.base import NoResponse
from hisa.errors import (
    BudgetExceeded,
    CheckFailed,
    EnvironmentFailed,
    LogFailed,
    ModelUnavailable,
    StoreError,
    UsageError,
)
from hisa.events import (
    Abstracted,
    Evaluated,
    Failed,
    Noted,
    Observed,
    Refined,
    RunFinished,
    StepFinished,
)
from hisa.outcomes.endings import ExitStatus, Result, is_success
from hisa.plugins.benchmarks.tasks.judge import judged_by
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import (
    Advice,
    Environment,
    Outcome,
    Pattern,
    PatternHit,
    Scoring,
    StepSummary,
    Task,
)
from hisa.runs.log import RunLog
from hisa.runs.report import render_report
from hisa.runs.resume import resume_point
from hisa.runs.run_reader import Run, load_run
from hisa.runs.terminal_view import step_text
from hisa.screen.observation import Observation
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import Bench, click, finish, say

ADA = [click("the field labelled Name", "pyautogui.write('Ada')"), click("Save"), finish()]
CHECK = {"all": [{"file": "/home/user/form.txt", "contains": ("Ada",)}]}
WON = Task("t", "x", check=CHECK)
LOST = Task("t", "x", check={"all": [{"file": "/home/user/form.txt", "contains": ("Bob",)}]})
LESSON = Pattern(id="p1", domain="general", kind="success", lesson="Look twice.")


class Lessons:
    """A memory that keeps what it is asked, and can break or take long."""

    def __init__(self, error: Exception | None = None, *, slow: bool = False) -> None:
        self.error = error
        self.slow = slow
        self.begun = asyncio.Event()
        self.credited: list[bool | None] = []
        self.induced: list[tuple[str, ...]] = []
        self.log: Path | None = None
        self.loaded_run: Run | None = None
        self.tasks: list[Task] = []

    async def recall(self, task: Task) -> Advice:
        self.tasks.append(task)
        return Advice("Look twice.", (PatternHit(LESSON, 0.9),))

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        self.induced.append(lines)
        self.tasks.append(task)
        if self.log is not None:
            self.loaded_run = load_run(self.log)
        self.begun.set()
        if self.slow:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return ()

    async def credit(
        self, ids: Sequence[str], *, steps: Sequence[StepSummary], won: bool | None
    ) -> None:
        assert tuple(ids) == ("p1",)
        self.credited.append(won)


def only_event(run: Run, kind: type[Any]) -> Any:
    (event,) = [event for event in run.events if isinstance(event, kind)]
    return event


def ends(run: Run) -> list[str]:
    return [event.exit_status for event in run.events if isinstance(event, RunFinished)]


def tail(run: Run) -> Sequence[str]:
    """The types of the events after the last step."""
    types = [event.type for event in run.events]
    return types[len(types) - types[::-1].index("step_finished") :]


# ---------------------------------------------------------------- score first, learn after


@pytest.mark.parametrize(
    "error",
    [
        StoreError("the store is locked"),
        BudgetExceeded("spent"),
        KeyError("a defect"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_won_run_keeps_its_score_when_learning_fails(
    tmp_path: Path, error: Exception
) -> None:
    memory = Lessons(error)
    bench = Bench(tmp_path, ScriptedModel(ADA), memory=memory)
    bench.task = WON
    result, run = await bench.run()
    assert (result.status, result.score, result.score_state) == ("succeeded", 1.0, "scored")
    assert (run.status, run.score, exit_code(result)) == ("succeeded", 1.0, 0)
    failed = only_event(run, Failed)
    assert (failed.where, failed.kind) == ("learning", type(error).__name__)
    assert tail(run) == ["evaluated", "run_finished", "failed", "learned"]
    assert memory.credited == [True], "one lesson that fails does not cost the other"


@pytest.mark.process
async def test_judge_is_recorded_and_reported(tmp_path: Path) -> None:
    words = {"type": "rule", "rules": "yes"}
    check = {
        "func": "exact_match",
        "result": words,
        "expected": {**words, "rules": {"expected": "yes"}},
    }
    bench = Bench(tmp_path, ScriptedModel(ADA))
    bench.task = Task("t", "x", check=check, format="osworld")
    result, run = await bench.run()
    assert result.score == 1.0
    assert only_event(run, Evaluated).judged_by == result.judged_by == judged_by(bench.task) != ""


async def test_end_is_on_disk_and_reported_before_anything_is_learned(tmp_path: Path) -> None:
    memory = Lessons()
    bench = Bench(tmp_path, ScriptedModel(ADA), memory=memory)
    memory.log = bench.log.folder
    reports: list[tuple[Result, int]] = []
    result = await bench.agent.run(
        WON, on_result=lambda result: reports.append((result, len(memory.induced)))
    )
    assert reports == [(result, 0)]
    assert memory.loaded_run is not None
    assert (memory.loaded_run.status, memory.loaded_run.score) == ("succeeded", 1.0)
    assert memory.loaded_run.manifest.exit_status == "succeeded"
    assert tail(load_run(bench.log.folder)) == ["evaluated", "run_finished", "learned"]


async def test_result_survives_a_stop_during_learning(tmp_path: Path) -> None:
    memory = Lessons(slow=True)
    bench = Bench(tmp_path, ScriptedModel(ADA), memory=memory)
    bench.task = WON
    work = asyncio.create_task(bench.run())
    await memory.begun.wait()
    work.cancel()
    result, run = await work
    assert (result.status, result.score, run.status) == ("succeeded", 1.0, "succeeded")
    noted = only_event(run, Noted)
    assert (noted.where, noted.text) == ("learning", "stopped by a person")
    assert memory.credited == []


async def test_a_run_killed_while_it_is_learned_from_is_finished(tmp_path: Path) -> None:
    memory = Lessons(slow=True)
    bench = Bench(tmp_path, ScriptedModel(ADA), memory=memory)
    work = asyncio.create_task(bench.agent.run(WON))
    await memory.begun.wait()
    run = load_run(bench.log.folder)  # what kill -9 would leave
    assert (run.status, run.score_state, run.ended) == ("succeeded", "scored", True)
    assert run.steps[-1].finished is not None
    point = resume_point(run)
    assert point.step == 3
    work.cancel()
    await work


@pytest.mark.parametrize(
    ("task", "credited"), [(WON, [True]), (LOST, [False]), (Task("t", "x"), [None])]
)
async def test_patterns_are_credited_by_the_score_and_by_nothing_else(
    tmp_path: Path, task: Task, credited: list[bool | None]
) -> None:
    memory = Lessons()
    bench = Bench(tmp_path, ScriptedModel(ADA), memory=memory)
    bench.task = task
    await bench.run()
    assert memory.credited == credited
    assert len(memory.induced) == 1, "induction does not depend on the score"
    assert not any("score" in line for line in memory.induced[0])


async def test_a_run_at_its_limit_is_credited_and_teaches_nothing(tmp_path: Path) -> None:
    memory = Lessons()
    planner = FunctionModel(lambda _: click("OK"))
    bench = Bench(tmp_path, planner, memory=memory, max_steps=2)
    bench.task = WON
    result, run = await bench.run()
    assert (result.status, result.score) == ("max_steps", 0.0)
    assert result.message == "2 steps without termination"
    assert (memory.induced, memory.credited) == ([], [False])
    assert tail(run) == ["evaluated", "run_finished", "learned"]


# ---------------------------------------------------------------- what a score is


class Judge:
    """A scorer with a prepared answer; it keeps who asked."""

    def __init__(self, answer: Scoring | Exception, *, over: str = "") -> None:
        self.answer = answer
        self.ends = over
        self.statuses: list[ExitStatus] = []
        self.words = ""

    async def prepare(self, task: Task, environment: Environment) -> Task:
        return replace(task, instruction=f"{task.instruction} Found by the setup.")

    async def over(self, task: Task, environment: Environment) -> str:
        return self.ends

    async def score(self, task: Task, environment: Environment, status: ExitStatus) -> Scoring:
        self.statuses.append(status)
        self.words = task.instruction
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def run_with_judge(
    folder: Path, answer: Scoring | Exception, **more: Any
) -> tuple[Result, Run]:
    bench = Bench(folder, ScriptedModel([finish()]), **more)
    bench.agent.scorer = Judge(answer)
    return await bench.run()


async def test_a_task_that_is_over_by_itself_ends_the_run_and_is_scored(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel([click("the button"), finish()]))
    judge = Judge(Scoring("scored", 0.0, "wrong button"), over="the page's episode is over")
    bench.agent.scorer = judge
    result, run = await bench.run()
    assert (result.status, result.score, result.steps) == ("ended", 0.0, 1)
    assert (judge.statuses, run.manifest.exit_status) == (["ended"], "ended")
    assert exit_code(result) == 1


async def test_the_words_that_the_setup_found_are_those_of_every_part(tmp_path: Path) -> None:
    memory, planner = Lessons(), ScriptedModel([finish()])
    bench = Bench(tmp_path, planner, memory=memory)
    judge = bench.agent.scorer = Judge(Scoring("scored", 1.0))
    await bench.run()
    assert "Found by the setup." in planner.requests[0].text
    assert judge.words.endswith("Found by the setup.")
    assert [task.instruction for task in memory.tasks] == [judge.words] * 2


@pytest.mark.parametrize(
    ("answer", "state", "success", "code"),
    [
        (Scoring("scored", 1.0, "all"), "scored", True, 0),
        (Scoring("scored", 0.5, "half"), "scored", False, 1),
        (Scoring("no_check", detail="the task has no check"), "no_check", True, 0),
        (Scoring("score_failed", detail="no library"), "score_failed", False, 3),
        (CheckFailed("the check ended with 1"), "score_failed", False, 3),
        (KeyError("A1"), "score_failed", False, 3),
        (NoResponse("the machine is gone"), "unscored", False, 3),
    ],
    ids=repr,
)
async def test_kinds_of_no_score_are_distinct_wherever_they_are_reported(
    tmp_path: Path, answer: Scoring | Exception, state: str, success: bool, code: int
) -> None:
    memory = Lessons()
    result, run = await run_with_judge(tmp_path, answer, memory=memory)
    assert (result.score_state, result.success, exit_code(result)) == (state, success, code)
    assert (run.score_state, run.manifest.score_state) == (state, state)
    assert (run.success, run.score) == (success, result.score)
    assert only_event(run, RunFinished).score_state == state
    assert run.scoring.detail == result.score_detail != ""
    uses: dict[str, list[bool | None]] = {"scored": [success], "unscored": []}
    assert memory.credited == uses.get(state, [None])
    expected = (result.score, result.score_state, result.score_detail)
    evaluated = [event for event in run.events if isinstance(event, Evaluated)]
    assert [(event.score, event.score_state, event.detail) for event in evaluated] == (
        [] if state == "unscored" else [expected]
    )
    end = only_event(run, RunFinished)
    assert (end.score, end.score_state, end.score_detail) == expected


async def test_partial_score_is_reported_and_decides_no_success(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, ScriptedModel(ADA))
    form = "/home/user/form.txt"
    checks = [
        {"file": form, "contains": ("Ada",), "weight": 3},
        {"file": form, "contains": ("Bob",), "weight": 1},
    ]
    bench.task = Task("t", "x", check={"all": checks})
    result, run = await bench.run()
    assert (result.score, result.partial, result.success) == (0.0, 0.75, False)
    partial_scores = [
        event.partial for event in run.events if isinstance(event, Evaluated | RunFinished)
    ]
    assert partial_scores == [0.75, 0.75]
    assert (run.scoring.partial, run.manifest.partial) == (0.75, 0.75)
    assert "score 0.00, partial score 0.75" in render_report(run)
    assert score_line(result).startswith("0, partial score 0.75: ")


async def test_run_killed_after_its_check_shows_its_partial_score(tmp_path: Path) -> None:
    with RunLog.create(tmp_path, Task("t", "x")) as log:
        log.emit(Evaluated(score=0.0, score_state="scored", partial=0.6))
        run = load_run(log.folder)
        assert (run.ended, run.scoring.partial, run.manifest.partial) == (False, 0.6, 0.6)
    with RunLog.reopen(run.folder) as log:
        assert log.manifest.partial is None, "it is scored again"


async def test_a_machine_that_dies_while_it_is_scored_ends_the_run_and_scores_nothing(
    tmp_path: Path,
) -> None:
    lost = NoResponse("no answer")
    result, run = await run_with_judge(tmp_path, lost)
    assert (result.status, result.score, run.status) == ("environment_error", None, result.status)
    assert result.message == result.score_detail == f"could not be scored (succeeded): {lost}"
    assert ends(run) == ["environment_error"]
    failed = only_event(run, Failed)
    assert (failed.where, failed.kind) == ("scoring", type(lost).__name__)
    assert failed.message == str(lost)
    end = only_event(run, RunFinished)
    assert (end.message, end.score_detail, end.score) == (result.message, result.message, None)


def test_success_is_a_full_score_or_where_nothing_checks_a_claim() -> None:
    assert is_success("max_steps", "scored", 1.0)
    assert not is_success("succeeded", "scored", 0.999)
    assert not is_success("succeeded", "scored", None)
    assert is_success("succeeded", "no_check", None)
    assert not is_success("infeasible", "no_check", None)
    assert not is_success("succeeded", "score_failed", None)
    assert not is_success("succeeded", "unscored", None)
    assert not is_success("succeeded", "unscored", 1.0)


class Slow(FakeEnvironment):
    """A form whose files are never read to their end; it keeps the order of its calls."""

    def __init__(self, *, stuck: bool = True) -> None:
        super().__init__()
        self.calls: list[tuple[str, float]] = []
        self.reading = asyncio.Event()
        self._stuck = stuck

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        self.calls.append(("observe", settle))
        return await super().observe(elements=elements, settle=settle)

    async def act(self, actions: Any, /) -> None:
        self.calls.append(("act", 0.0))
        await super().act(actions)

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        self.calls.append(("read_file", 0.0))
        self.reading.set()
        if self._stuck:
            await asyncio.Event().wait()
        return await super().read_file(path, limit=limit)


async def test_stop_during_scoring_leaves_no_score(tmp_path: Path) -> None:
    environment, memory = Slow(), Lessons()
    bench = Bench(tmp_path, ScriptedModel(ADA), environment=environment, memory=memory)
    bench.task = WON
    work = asyncio.create_task(bench.run())
    await environment.reading.wait()
    work.cancel()
    result, run = await work
    assert (result.status, result.score_state) == ("stopped", "unscored")
    message = "stopped by a person while it was scored (succeeded)"
    assert (result.message, result.score_detail) == (message, message)
    assert (run.status, run.score_state, ends(run)) == ("stopped", "unscored", ["stopped"])
    assert (memory.induced, memory.credited) == ([], [])


async def test_a_run_that_was_stopped_at_its_score_is_only_scored_when_it_goes_on(
    tmp_path: Path,
) -> None:
    environment = Slow()
    bench = Bench(tmp_path, ScriptedModel(ADA), environment=environment)
    bench.task = WON
    work = asyncio.create_task(bench.run())
    await environment.reading.wait()
    work.cancel()
    _, run = await work
    point = resume_point(run)
    assert (point.step, point.end_outcome) == (
        3,
        Outcome(ok=True, output="All done.", ends="succeeded"),
    )
    environment._stuck = False
    looked = len(environment.looked)
    with RunLog.reopen(run.folder) as bench.agent.log:
        result = await bench.agent.run(bench.task, end_outcome=point.end_outcome)
    assert (result.status, result.message, result.score) == ("succeeded", "All done.", 1.0)
    assert result.steps == 3
    assert len(environment.looked) == looked, "nothing is looked at for a planner"
    again = load_run(run.folder)
    assert [record.number for record in again.steps] == [1, 2, 3]
    assert (again.status, again.score) == ("succeeded", 1.0)


async def test_the_desktop_is_settled_after_the_last_act_and_before_it_is_scored(
    tmp_path: Path,
) -> None:
    environment = Slow(stuck=False)
    bench = Bench(tmp_path, ScriptedModel(ADA), environment=environment)
    bench.task = WON
    bench.agent.settle = 7.5
    result, _ = await bench.run()
    assert result.score == 1.0
    *before, read = environment.calls
    acts = [place for place, (name, _) in enumerate(before) if name == "act"]
    assert read[0] == "read_file"
    assert before[acts[-1] + 1 :] == [("observe", 7.5)]


class Restless(Slow):
    """Says when it is to rest."""

    async def conclude(self, status: ExitStatus, message: str) -> None:
        self.calls.append((f"conclude {status}: {message}", 0.0))


async def test_scoring_waits_for_pending_work(tmp_path: Path) -> None:
    environment = Restless(stuck=False)
    bench = Bench(tmp_path, ScriptedModel(ADA), environment=environment)
    bench.task = WON
    await bench.run()
    assert [name for name, _ in environment.calls[-2:]] == [
        "conclude succeeded: All done.",
        "read_file",
    ]


@pytest.mark.desktop
async def test_a_file_that_comes_after_the_last_command_counts(tmp_path: Path) -> None:
    late = "setsid -f sh -c 'sleep 0.6; echo Ada > ~/form.txt' >/dev/null 2>&1"
    model = ScriptedModel([say("bash_execution", late), finish()])
    async with DesktopEnvironment() as desktop:
        bench = Bench(tmp_path, model, environment=desktop)
        bench.task = WON
        bench.agent.settle = 0.1
        result, _ = await bench.run()
    assert (result.status, result.score) == ("succeeded", 1.0)


# ---------------------------------------------------------------- every end


def ended_by(error: Exception) -> list[str | Exception]:
    return [click("OK"), error]


@pytest.mark.parametrize(
    ("replies", "status", "is_scored"),
    [
        ([finish()], "succeeded", True),
        ([say("infeasible", "no such thing")], "infeasible", True),
        ([click("OK")] * 3, "max_steps", True),
        (ended_by(BudgetExceeded("spent")), "budget", True),
        (ended_by(ModelUnavailable("down")), "model_error", True),
        (["nonsense"] * 9, "model_error", True),
        (ended_by(EnvironmentFailed("gone")), "environment_error", False),
        (ended_by(NoResponse("gone")), "environment_error", False),
    ],
)
async def test_every_end_is_scored_unless_the_machine_broke(
    tmp_path: Path, replies: list[str | Exception], status: str, is_scored: bool
) -> None:
    bench = Bench(tmp_path, ScriptedModel(replies), max_steps=3)
    judge = bench.agent.scorer = Judge(Scoring("scored", 1.0, "done"))
    result, run = await bench.run()
    assert result.status == status
    assert ends(run) == [status]
    assert judge.statuses == ([status] if is_scored else [])
    assert result.score_state == ("scored" if is_scored else "unscored")
    assert result.success is is_scored, "the score says whether the task is done, not how it ended"
    assert run.manifest.exit_status == status


class Hold:
    """A part whose one method begins and never ends; everything else is the part's own."""

    def __init__(self, part: Any, method: str) -> None:
        self._part, self._method = part, method
        self.reached = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return self._hang if name == self._method else getattr(self._part, name)

    async def _hang(self, *_: Any, **__: Any) -> None:
        self.reached.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("part", "method", "steps"),
    [
        ("environment", "reset", 0),
        ("scorer", "prepare", 0),
        ("state", "recall", 0),
        ("environment", "observe", 0),
        ("planner", "plan", 0),
        ("grounder", "resolve", 0),
        ("tools", "execute", 0),
        ("state", "abstract", 0),
        ("state", "refine_if_due", 0),
    ],
)
async def test_a_person_can_stop_a_run_in_every_phase(
    tmp_path: Path, part: str, method: str, steps: int
) -> None:
    bench = Bench(tmp_path, ScriptedModel([click("OK"), finish()]))
    judge = bench.agent.scorer = Judge(Scoring("scored", 1.0))
    held: Any = Hold(getattr(bench.agent, part), method)
    setattr(bench.agent, part, held)
    work = asyncio.create_task(bench.run())
    await held.reached.wait()
    work.cancel()
    result, run = await work
    assert (result.status, result.score_state, judge.statuses) == ("stopped", "unscored", [])
    assert result.message == result.score_detail == "stopped by a person"
    assert (ends(run), run.last_step) == (["stopped"], steps)
    assert not [event for event in run.events if isinstance(event, Failed)]


async def test_a_defect_ends_the_log_and_the_run_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel([click("OK"), ZeroDivisionError("ours"), finish()]))
    bench.task = WON
    with pytest.raises(ZeroDivisionError):
        await bench.agent.run(bench.task)
    run = load_run(bench.log.folder)
    assert (run.status, ends(run), run.score_state) == ("defect", ["defect"], "unscored")
    assert run.message == "ZeroDivisionError: ours"
    failed = only_event(run, Failed)
    assert (failed.where, failed.kind) == ("hisa", "ZeroDivisionError")
    assert "Traceback" in failed.traceback
    point = resume_point(run)
    assert point.step == 1
    bench.log.step = point.step
    result = await bench.agent.run(bench.task)
    assert (result.status, result.steps) == ("succeeded", 2)


async def test_error_of_the_caller_counts_as_refused_and_not_as_defect(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel([finish()]))
    bench.task = Task("t", "x", setup=({"type": "dance", "parameters": {}},))
    with pytest.raises(UsageError, match="dance"):
        await bench.agent.run(bench.task)
    run = load_run(bench.log.folder)
    assert (run.status, ends(run), run.steps) == ("refused", ["refused"], ())


@pytest.mark.parametrize("when", ["acting", "scored", "learned from"])
async def test_a_log_that_cannot_be_written_ends_all_and_is_nothing_else(
    tmp_path: Path, when: str
) -> None:
    full = LogFailed("cannot write events.jsonl: No space left on device")
    memory = Lessons(full if when == "learned from" else None)
    replies: list[str | Exception] = [full] if when == "acting" else [click("OK"), finish()]
    bench = Bench(tmp_path, ScriptedModel(replies), memory=memory)
    bench.agent.scorer = Judge(full if when == "scored" else Scoring("scored", 1.0))
    results: list[Result] = []
    with pytest.raises(LogFailed):
        await bench.agent.run(bench.task, on_result=results.append)
    run = load_run(bench.log.folder)
    through = when == "learned from"
    assert (len(results), ends(run)) == ((1, ["succeeded"]) if through else (0, []))
    assert not [event for event in run.events if isinstance(event, Failed)]


@pytest.mark.parametrize("phase", ["acting", "scored", "learned from"])
async def test_stop_is_consumed_by_the_phase_that_it_ends(tmp_path: Path, phase: str) -> None:
    memory = Lessons(slow=phase == "learned from")
    bench = Bench(tmp_path, ScriptedModel([click("OK"), finish()]), memory=memory)
    held: Any = None
    if phase != "learned from":
        part, method = ("tools", "execute") if phase == "acting" else ("scorer", "score")
        held = Hold(getattr(bench.agent, part), method)
        setattr(bench.agent, part, held)

    async def run() -> int:
        await bench.agent.run(bench.task)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    work = asyncio.create_task(run())
    await (held.reached if held else memory.begun).wait()
    work.cancel()
    assert await work == 0


# ---------------------------------------------------------------- limits of the loop


@pytest.mark.parametrize(
    ("finished", "limit", "planned", "status"),
    [
        (0, 2, 2, "max_steps"),
        (1, 2, 1, "max_steps"),
        (2, 2, 0, "max_steps"),
        (0, 3, 3, "succeeded"),
    ],
)
async def test_steps_are_counted_from_those_that_are_done(
    tmp_path: Path, finished: int, limit: int, planned: int, status: str
) -> None:
    planner = ScriptedModel([click("OK"), click("OK"), finish()])
    environment = Slow(stuck=False)
    bench = Bench(tmp_path, planner, environment=environment, max_steps=limit)
    await environment.write_file("/home/user/left.txt", b"x")
    bench.log.step = finished
    result = await bench.agent.run(bench.task)
    assert (result.status, len(planner.requests)) == (status, planned)
    run = load_run(bench.log.folder)
    numbers = [event.step for event in run.events if isinstance(event, StepFinished)]
    assert numbers == list(range(finished + 1, limit + 1))
    left = "/home/user/left.txt" in environment._form.files
    assert left is bool(finished), "a run that goes on does not reset its machine"


async def test_a_good_reply_starts_the_count_of_unusable_ones_anew(tmp_path: Path) -> None:
    replies = [*["nonsense"] * 6, click("OK"), *["nonsense"] * 6, finish()]
    result, _ = await Bench(tmp_path, ScriptedModel(replies)).run()
    assert (result.status, result.steps) == ("succeeded", 6)


async def test_no_refinement_is_requested_after_the_end(tmp_path: Path) -> None:
    settings = StateSettings(refine_every=1)
    bench = Bench(tmp_path, ScriptedModel([click("OK"), finish()]), settings=settings)
    _, run = await bench.run()
    assert [event.last for event in run.events if isinstance(event, Refined)] == [1]


async def test_a_budget_that_ends_in_the_last_step_does_not_take_the_success(
    tmp_path: Path,
) -> None:
    def state(request: Any) -> str:
        if request.text.startswith("# Context refinement"):
            raise BudgetExceeded("spent")
        return "Succeeded. The form changed."

    bench = Bench(
        tmp_path,
        ScriptedModel([finish()]),
        state=FunctionModel(state),
        settings=StateSettings(refine_every=1),
    )
    result, _ = await bench.run()
    assert result.status == "succeeded"


# ---------------------------------------------------------------- a look is of now


@pytest.mark.parametrize(("stale", "looks"), [(-1.0, 2), (3600.0, 1)])
async def test_a_look_that_became_old_is_taken_again_before_the_planner_gets_it(
    tmp_path: Path, stale: float, looks: int
) -> None:
    environment = FakeEnvironment()
    moved: list[str] = []

    async def state(request: Any) -> str:
        environment._form.status = "Done meanwhile"  # while the model took its time
        moved.append((await environment.observe()).screenshot.sha256)
        return "Succeeded. The form changed."

    planner = ScriptedModel([click("OK"), finish()])
    bench = Bench(
        tmp_path, planner, environment=environment, state=FunctionModel(state), stale=stale
    )
    _, run = await bench.run()
    second = run.steps[1]
    assert second.before is not None
    assert (second.before.image == moved[0]) is (looks == 2)
    observations = [event for event in run.events if isinstance(event, Observed)]
    assert len(observations) == (6 if looks == 2 else 2), (
        "with one before each act where a look is old"
    )
    (picture,) = [
        part.image
        for m in planner.requests[1].messages
        for part in m.parts
        if hasattr(part, "image")
    ]
    assert picture.sha256 == second.before.image
    after = run.steps[0].after
    assert after is not None
    assert after.image != moved[0], "what the step was abstracted from stays as it was"
    notice = "The form changed. After that was written, the screen changed: go by the screenshot."
    assert (notice in planner.requests[1].text) is (looks == 2)


@pytest.mark.parametrize(("stale", "verdict"), [(-1.0, "no_change"), (3600.0, "succeeded")])
async def test_change_during_planning_is_not_credited_to_the_step(
    tmp_path: Path, stale: float, verdict: str
) -> None:
    environment = FakeEnvironment()
    replies = iter([say("wait", "0"), finish()])

    requests: list[str] = []

    def planner(request: Any) -> str:
        requests.append(request.text)
        environment._form.status = "Loaded at last"
        return next(replies)

    bench = Bench(tmp_path, FunctionModel(planner), environment=environment, stale=stale)
    _, run = await bench.run()
    first, _ = (event for event in run.events if isinstance(event, Abstracted))
    assert first.verdict == verdict
    notice = (
        "No visible change. While it was planned, the screen had changed. Label “Ready” now reads"
    )
    assert (notice in requests[1]) is (verdict == "no_change"), "its planner saw another screen"
    looks = [event for event in run.events if isinstance(event, Observed)]
    assert len(looks) == (7 if stale < 0 else 2), "each is written down"
    before, acted_on = run.steps[0].before, run.steps[0].acted_on
    if stale > 0:
        assert acted_on is None
        return
    assert before is not None
    assert acted_on is not None
    assert acted_on.image != before.image
    page, shown = render_report(run), step_text(run, 1)
    assert "The screen changed before the action" in page
    assert f"just before acting: {run.image(acted_on.image)}" in shown
