"""The policy in whole runs: refused, asked, resumed, and dry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hisa
from hisa.config import Settings, load
from hisa.environments.confirmation import Answer, Question
from hisa.events import Acted, Confirmed, Decided, SequenceStopped
from hisa.plugins.guard.policy.call_decider import open_policy
from hisa.protocols import CommandResult, Environment, Model, Role
from hisa.runs.report import render_report
from hisa.runs.resume import resume_point
from hisa.runs.run_reader import Run, load_run
from hisa.runs.terminal_view import step_text
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel, tool_call
from tests.bench import finish, state_words, together

FINE = CommandResult(0, "fine\n")


class OwnMachine(FakeEnvironment):
    """Somebody's own machine: not thrown away."""

    def __init__(self) -> None:
        super().__init__(commands={"rm a.txt": FINE, "rm b.txt": FINE, "ls": FINE})
        self.ran: list[str] = []

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities - {"throw_away"}

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        self.ran.append(str(command))
        return await super().execute(command, timeout=timeout, limit=limit)


class Person:
    """Answers in order, and keeps what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.questions: list[Question] = []
        self._answers = list(answers)

    async def __call__(self, question: Question) -> Answer:
        self.questions.append(question)
        return self._answers.pop(0)


def bash(line: str) -> str:
    return tool_call("bash_execution", line)


def settings(folder: Path, *assignments: str, rules: Sequence[dict[str, Any]] = ()) -> Settings:
    overrides: dict[str, Any] = {
        "patterns": {"enabled": False},
        "run": {"folder": folder, "confirm": "never"},
        "policy": {"rules": rules},
    }
    return load(None, assignments, overrides=overrides, environ={})


async def run_agent(
    chosen: Settings,
    replies: Sequence[str],
    machine: Environment,
    *,
    person: Person | None = None,
) -> Run:
    """A run of scripted replies, as read back from disk."""
    models: dict[Role, Model] = {
        "planner": ScriptedModel(replies),
        "state": FunctionModel(state_words),
    }
    result = await hisa.run(
        "Do it.", settings=chosen, model=models, environment=machine, ask=person
    )
    return load_run(result.folder)


def decisions(run: Run) -> list[Decided]:
    return [event for event in run.events if isinstance(event, Decided)]


def acts(run: Run) -> list[Acted]:
    return [event for event in run.events if isinstance(event, Acted)]


async def test_command_needing_approval_is_refused_without_a_person(tmp_path: Path) -> None:
    machine = OwnMachine()
    run = await run_agent(settings(tmp_path), [bash("rm a.txt"), bash("ls"), finish()], machine)
    assert "rm a.txt" not in machine.ran
    assert "ls" in machine.ran
    first, second = decisions(run)
    assert (first.verdict, first.allowed, first.answer) == ("ask", False, "nobody")
    assert (second.verdict, second.allowed, second.rule) == ("allow", True, "no rule applies")
    refused = acts(run)[0]
    assert not refused.ok
    assert "needs a person's word, and nobody can be asked: rm a.txt" in refused.error
    assert "default: ask before deleting. Nothing was done" in refused.error
    assert run.status == "succeeded"


async def test_act_needs_a_single_answer(tmp_path: Path) -> None:
    """Also where `run.confirm` asks about each command."""
    person = Person(Answer("once"), Answer("once"))
    machine = OwnMachine()
    chosen = settings(tmp_path, "run.confirm=always")
    chosen = chosen.model_copy(update={"run": chosen.run.model_copy(update={"confirm": "always"})})
    run = await run_agent(chosen, [bash("rm a.txt"), bash("ls"), finish()], machine, person=person)
    assert [question.action for question in person.questions] == ["policy", "commands"]
    assert "bash_execution: rm a.txt" in person.questions[0].subject
    assert "rm a.txt: default: ask before deleting" in person.questions[0].subject
    assert machine.ran[-2:] == ["rm a.txt", "ls"]
    assert decisions(run)[0].answer == "once"
    assert len([e for e in run.events if isinstance(e, Confirmed)]) == 2


async def test_rule_allowed_for_the_run_stays_allowed_after_a_resume(tmp_path: Path) -> None:
    person = Person(Answer("kind"))
    run = await run_agent(
        settings(tmp_path),
        [bash("rm a.txt"), bash("rm b.txt"), finish()],
        OwnMachine(),
        person=person,
    )
    assert [decision.answer for decision in decisions(run)] == ["kind", "earlier"]
    assert len(person.questions) == 1
    chosen, earlier = settings(tmp_path).policy, resume_point(run).decisions
    policy = await open_policy(chosen, OwnMachine(), earlier)
    assert policy.always == {"default: ask before deleting | bash_execution"}


async def test_the_word_of_a_person_reaches_the_agent(tmp_path: Path) -> None:
    person = Person(Answer("refuse", "keep that one"))
    machine = OwnMachine()
    run = await run_agent(settings(tmp_path), [bash("rm a.txt"), finish()], machine, person=person)
    assert "rm a.txt" not in machine.ran
    assert "keep that one" in acts(run)[0].error
    assert decisions(run)[0].answer == "refuse"
    stopped = await run_agent(
        settings(tmp_path), [bash("rm a.txt")], OwnMachine(), person=Person(Answer("stop"))
    )
    assert stopped.status == "stopped"
    assert decisions(stopped)[0].answer == "stop"


async def test_the_second_call_of_a_sequence_is_decided_by_itself(tmp_path: Path) -> None:
    chosen = settings(tmp_path, "planner.sequence=3", rules=[{"then": "deny", "command": "rm *"}])
    machine = FakeEnvironment(commands={"ls": FINE, "rm a.txt": FINE})
    reply = together(bash("ls"), bash("rm a.txt"), bash("ls"))
    run = await run_agent(chosen, [reply, finish()], machine)
    assert [(decision.what, decision.verdict) for decision in decisions(run)] == [
        ("ls", "allow"),
        ("rm a.txt", "deny"),
    ]
    (stopped,) = [event for event in run.events if isinstance(event, SequenceStopped)]
    assert (stopped.made, stopped.of) == (1, 3)
    assert "the policy refuses this: rm a.txt" in stopped.reason


async def test_throw_away_machine_has_no_default_rules_unless_configured(tmp_path: Path) -> None:
    machine = FakeEnvironment(commands={"rm a.txt": FINE})
    run = await run_agent(settings(tmp_path), [bash("rm a.txt"), finish()], machine)
    assert acts(run)[0].ok
    assert decisions(run) == []
    guarded = settings(tmp_path)
    guarded = guarded.model_copy(
        update={"policy": guarded.policy.model_copy(update={"defaults": "always"})}
    )
    run = await run_agent(guarded, [bash("rm a.txt"), finish()], machine)
    assert not decisions(run)[0].allowed


async def test_a_refused_command_is_not_replayed(tmp_path: Path) -> None:
    run = await run_agent(
        settings(tmp_path), [bash("rm a.txt"), bash("ls"), finish()], OwnMachine()
    )
    assert "rm a.txt" not in [act.input for act in resume_point(run).acts]


async def test_a_dry_run_does_nothing_and_says_what(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    dry = chosen.model_copy(update={"policy": chosen.policy.model_copy(update={"dry_run": True})})
    machine = OwnMachine()
    run = await run_agent(dry, [tool_call("wait", "0"), bash("rm a.txt")], machine)
    assert machine.ran == [] or "rm a.txt" not in machine.ran
    assert (run.status, run.score_state) == ("stopped", "unscored")
    assert "would make bash_execution: rm a.txt; the policy says: ask (default" in run.message
    (decided,) = decisions(run)
    assert decided.dry_run
    assert [act.tool for act in acts(run)] == ["wait"]
    source = "pyautogui.click(5, 5); pyautogui.click(9, 9)"
    clicked = await run_agent(dry, [tool_call("gui_action", source)], machine)
    assert not machine.acted
    assert f"gui_action: {source}" in clicked.message
    ended = await run_agent(dry, [finish()], machine)
    assert ended.status == "stopped"
    assert "would end the run" in ended.message


async def test_policy_decision_is_shown_in_text_and_report(tmp_path: Path) -> None:
    run = await run_agent(
        settings(tmp_path), [bash("rm a.txt"), bash("ls"), finish()], OwnMachine()
    )
    assert "policy: ask: default: ask before deleting (nobody could be asked)" in step_text(run, 1)
    assert "policy:" not in step_text(run, 2)
    page = render_report(run)
    assert "<b>Policy:</b> ask: default: ask before deleting" in page
    assert page.count("<b>Policy:</b>") == 1
