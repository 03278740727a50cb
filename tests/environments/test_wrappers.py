"""Settings to environments, asking a person, and what the machine lacks."""

from __future__ import annotations

import pytest

from hisa.actions import Click, Move, Write
from hisa.config import EnvironmentSettings
from hisa.environments.confirm import Answer, ConfirmedEnvironment, Question
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, UsageError
from hisa.events import Confirmed, Event
from hisa.plugins.desktop.runtime.probe import probe
from hisa.protocols import CommandResult
from hisa.screen.geometry import Point
from hisa.testing.form import FakeEnvironment


class Person:
    """Answers as told and remembers the questions."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answers.pop(0)


NO, YES = Answer("refuse"), Answer("once")


async def test_refusal_stops_the_act_and_is_recorded() -> None:
    events: list[Event] = []
    inner = FakeEnvironment(commands={"ls": CommandResult(0, "a")})
    person = Person(NO, YES, NO, YES, NO)
    async with ConfirmedEnvironment(inner, ask=person, emit=events.append) as asked:
        with pytest.raises(ActionRefused, match="refused"):
            await asked.act([Click(Point(5, 6, "screen"))])
        await asked.act([Move(Point(5, 6, "screen")), Write("x")])
        with pytest.raises(ActionRefused):
            await asked.execute(["ls", "-l"])
        assert (await asked.execute("ls")).output == "a"
        with pytest.raises(ActionRefused):
            await asked.write_file("/tmp/x", b"123")
        await asked.observe()
    assert inner.acted == [Move(Point(5, 6, "screen")), Write("x")]
    assert [e.allowed for e in events if isinstance(e, Confirmed)] == [False, True] * 2 + [False]
    assert person.asked[0] == Question("acts", "pyautogui.click(5, 6)")
    asked_for = [(question.action, question.what) for question in person.asked[2:]]
    assert asked_for == [
        ("commands", "$ ls -l"),
        ("commands", "$ ls"),
        ("files", "write 3 bytes to /tmp/x"),
    ]


async def test_always_holds_for_one_kind_alone() -> None:
    inner = FakeEnvironment(commands={"ls": CommandResult(0, "a")})
    person = Person(Answer("kind"), NO)
    async with ConfirmedEnvironment(inner, ask=person, emit=lambda _: None) as asked:
        for _ in range(3):
            assert (await asked.execute("ls")).output == "a"
        with pytest.raises(ActionRefused):
            await asked.act([Write("x")])
    assert [question.action for question in person.asked] == ["commands", "acts"]


async def test_word_to_the_agent_is_what_it_reads() -> None:
    person = Person(Answer("refuse", "use the menu instead"))
    asked = ConfirmedEnvironment(FakeEnvironment(), ask=person, emit=lambda _: None)
    with pytest.raises(ActionRefused, match="says “use the menu instead”: "):
        await asked.act([Write("x")])


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("desktop", "desktop"),
        ("display=:7", "display :7"),
        ("guest=http://10.0.0.2:5000/", "http://10.0.0.2:5000"),
    ],
)
def test_kind_decides(kind: str, name: str) -> None:
    assert open_environment(EnvironmentSettings(kind=kind)).name == name


@pytest.mark.parametrize(
    "kind", ["", "desk", "display", "display=", "guest=", "guest=a b", "desktop=2"]
)
def test_unknown_kind_is_told_what_is_allowed(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_environment(EnvironmentSettings(kind=kind))
    assert caught.value.fix.startswith("--env")


@pytest.mark.process
def test_probe_names_a_fix_for_whatever_is_missing() -> None:
    found = probe()
    assert {"X server", "isolation", "guest's python"} <= {one.name for one in found}
    assert all(one.ok or one.fix for one in found)
    assert all(one.detail for one in found)
