"""A person is asked in the middle of a run: the answer, the default, nobody."""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hisa
from hisa.cli import ask as terminal
from hisa.config import load
from hisa.errors import InvalidReply
from hisa.events import Event, PersonAsked
from hisa.protocols import GroundedCall, Outcome, ToolCall
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel, tool_call
from hisa.tools.person import Inquiry, Person
from hisa.tools.person_tools import PERSON
from hisa.tools.registry import ToolRegistry


async def ask_tool(
    answer: str | None, tool: str, **arguments: object
) -> tuple[Outcome, list[Event]]:
    events: list[Event] = []

    async def inquire(_: Inquiry) -> str | None:
        return answer

    registry = ToolRegistry(PERSON.tools("hisa"), person=Person(inquire, emit=events.append))
    environment = FakeEnvironment()
    call = GroundedCall(ToolCall("", tool, arguments), arguments)
    outcome = await registry.execute(call, await environment.observe(), environment)
    return outcome, [event for event in events if isinstance(event, PersonAsked)]


async def test_answer_is_returned_and_logged() -> None:
    outcome, (event,) = await ask_tool("April", "person_ask", question="Which?", choices=["March"])
    assert (outcome.ok, outcome.output) == (True, "The person answers: April")
    assert isinstance(event, PersonAsked)
    assert (event.text, event.answer, event.by) == ("Which?", "April", "person")


async def test_without_an_answer_and_a_default_it_failed() -> None:
    outcome, _ = await ask_tool(None, "person_ask", question="?", seconds=5)
    assert (outcome.ok, outcome.error) == (False, "nobody answered within 5 s")
    outcome, _ = await ask_tool(None, "person_hand_over", what="Solve the captcha.", seconds=5)
    assert (outcome.ok, outcome.error) == (False, "nobody took over within 5 s")


async def test_machine_is_handed_over_and_back() -> None:
    outcome, (event,) = await ask_tool("used the other account", "person_hand_over", what="Log in.")
    assert outcome.output == "The person gave the machine back, and says: used the other account"
    assert isinstance(event, PersonAsked)
    assert event.kind == "hand_over"


@pytest.mark.parametrize(
    "arguments",
    [{"question": ""}, {"question": "?", "seconds": 1e9}, {"question": "?", "choice": "x"}],
)
def test_wrong_input_is_refused(arguments: dict[str, object]) -> None:
    (tool, _) = PERSON.tools("hisa")
    with pytest.raises(InvalidReply):
        tool.arguments(arguments)


async def test_default_outside_the_choices_is_refused_before_the_question() -> None:
    outcome, events = await ask_tool("x", "person_ask", question="?", choices=["a"], default="b")
    assert "'b' is none of the choices a" in outcome.error
    assert events == []


def test_person_tools_are_not_offered_without_a_person() -> None:
    registry = ToolRegistry(PERSON.tools("hisa"))
    with pytest.raises(InvalidReply, match="cannot be used here: the machine lacks person"):
        registry.check(ToolCall("", "person_ask", {"question": "?"}))


async def test_a_run_asks_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            tool_call("person_ask", {"question": "Which month?"}),
            tool_call("termination", "It is April."),
        ]
    )

    async def inquire(inquiry: Inquiry) -> str:
        return f"{inquiry.text} April"

    result = await hisa.run(
        "Ask which month it is.",
        settings=load(overrides={"run": {"folder": tmp_path}, "patterns": {"enabled": False}}),
        model={"planner": model, "state": ScriptedModel([])},
        environment=FakeEnvironment(),
        inquire=inquire,
    )
    assert result.status == "succeeded"
    assert "The person answers: Which month? April" in model.requests[1].text
    kinds = [event.type for event in load_run(result.folder).events]
    assert "person_asked" in kinds


@contextmanager
def at_a_terminal(typed: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard input is a terminal at which that is typed once the question stands there."""
    parent_end, child_end = pty.openpty()
    with os.fdopen(child_end, "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        typing = threading.Timer(0.3, os.write, (parent_end, typed))
        typing.start()
        yield
        typing.join()
    os.close(parent_end)


def test_a_person_types_a_number_after_a_wrong_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with at_a_terminal(b"perhaps\n2\n", monkeypatch):
        answer = terminal.ask_in_words(Inquiry("question", "Which\x1b[2J?", ("a", "b"), seconds=60))
    assert answer == "b"
    shown = capsys.readouterr().err
    assert "\x1b[2J" not in shown
    assert "  1) a\n  2) b\n" in shown
    assert "a number from 1 to 2" in shown


def test_question_without_an_answer_in_time_gives_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with at_a_terminal(b"", monkeypatch):
        assert terminal.ask_in_words(Inquiry("question", "?", seconds=0.05)) is None
    assert "nobody answered in time" in capsys.readouterr().err
