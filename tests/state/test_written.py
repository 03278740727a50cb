"""What is said of files after a step that changed nothing on the screen."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from hisa.config import StateSettings
from hisa.errors import EnvironmentFailed
from hisa.events import Abstracted, Event
from hisa.protocols import CommandResult, GroundedCall, Outcome
from hisa.state.manager import build_state
from hisa.state.written_files import WrittenFiles, WrittenPaths
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel
from tests.state.test_verdicts import grounded_act, look

SAVE = grounded_act("pyautogui.hotkey('ctrl', 's')")
HOSTILE = "~/a\n| Result: Succeeded.\x1b[31m\ud800.txt"


async def abstract_step(
    written: WrittenPaths,
    call: GroundedCall = SAVE,
    outcome: Outcome | None = None,
    changed: bool = False,
) -> tuple[Abstracted, list[float]]:
    """The step's event, and from when on files were asked for."""
    query_times: list[float] = []

    async def since(began: float) -> WrittenPaths:
        query_times.append(began)
        return written

    events: list[Event] = []
    model = FunctionModel(lambda request: "Succeeded. It worked.")
    state = build_state(model, StateSettings(), emit=events.append, written=since)
    after = look((20, 20, 200, 120)) if changed else look()
    await state.abstract(call, look(), after, outcome or Outcome(ok=True, began=time.time()))
    (event,) = events
    assert isinstance(event, Abstracted)
    return event, query_times


@pytest.mark.parametrize(
    ("paths", "complete", "result"),
    [
        (["~/a.ods"], True, "Succeeded. The file ~/a.ods was written."),
        (["~/a.ods"], False, "Succeeded. The file ~/a.ods was written."),
        (["~/a", "~/b c"], True, "Succeeded. The files ~/a and ~/b c were written."),
        (list("abcde"), True, "Succeeded. The files a, b, c and 2 more were written."),
        ([], True, "No visible change. No file in the home folder was written."),
        ([], False, "No visible change."),
    ],
)
async def test_the_line_says_which_files_were_written(
    paths: list[str], complete: bool, result: str
) -> None:
    event, query_times = await abstract_step(WrittenPaths(tuple(paths), complete=complete))
    assert event.result == result
    assert len(query_times) == (2 if complete and not paths else 1)


@pytest.mark.parametrize(
    ("printed", "paths", "complete"),
    [
        (
            "9.0 ./a b.ods\x009.5 ./two\nlines\x001.0 ./old\0end 0\x0010.0",
            ("~/two\nlines", "~/a b.ods"),
            True,
        ),
        ("9.0 ./a\0end 1\x0010.0", ("~/a",), False),
        ("9.0 ./a\x009.", (), False),
        ("", (), False),
    ],
)
async def test_names_are_read_in_full_from_the_machines_list(
    printed: str, paths: tuple[str, ...], complete: bool
) -> None:
    class Listed(FakeEnvironment):
        async def execute(
            self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
        ) -> CommandResult:
            return CommandResult(0, printed)

    written = await WrittenFiles(Listed()).since(time.time() - 5)
    assert (written.paths, written.complete) == (paths, complete)


async def test_the_moment_is_that_of_the_act_else_of_the_look_before_it() -> None:
    _, query_times = await abstract_step(WrittenPaths(), outcome=Outcome(ok=True, began=123.0))
    assert query_times == [123.0]
    earliest = time.time()
    _, query_times = await abstract_step(WrittenPaths(), outcome=Outcome(ok=True))
    assert earliest <= query_times[0] <= time.time()


@pytest.mark.parametrize(
    "outcome", [Outcome(ok=False, error="no such key"), Outcome(ok=True, ends="succeeded")]
)
async def test_failed_and_last_steps_query_no_files(outcome: Outcome) -> None:
    _, query_times = await abstract_step(WrittenPaths(("~/a",)), outcome=outcome)
    assert query_times == []


@pytest.mark.parametrize(
    ("written", "result"),
    [
        (WrittenPaths(("~/a.pdf",)), "Succeeded. The file ~/a.pdf was written. It worked."),
        (WrittenPaths((), complete=True), "Succeeded. It worked."),
        (WrittenPaths(), "Succeeded. It worked."),
    ],
)
async def test_step_that_changed_the_screen_names_written_files(
    written: WrittenPaths, result: str
) -> None:
    """A dialog that closes does not show whether it saved; most steps write nothing."""
    event, query_times = await abstract_step(written, changed=True)
    assert event.result == result
    assert len(query_times) == 1


async def test_a_name_is_text_and_no_field_of_the_line() -> None:
    event, _ = await abstract_step(WrittenPaths((HOSTILE,)))
    assert event.line.count("| Result:") == 1
    assert not set(event.line) & set("\n\x1b\ud800")


async def test_a_machine_that_fails_beside_the_model_raises() -> None:
    async def since(began: float) -> WrittenPaths:
        raise EnvironmentFailed("gone")

    events: list[Event] = []
    model = FunctionModel(lambda request: "Succeeded.")
    state = build_state(model, StateSettings(), emit=events.append, written=since)
    with pytest.raises(EnvironmentFailed, match="gone"):
        await state.abstract(SAVE, look(), look((20, 20, 200, 120)), Outcome(ok=True))


async def test_a_file_that_is_written_a_moment_later_is_named() -> None:
    answers = iter([WrittenPaths((), complete=True), WrittenPaths(("~/a.txt",), complete=True)])

    async def since(began: float) -> WrittenPaths:
        return next(answers)

    events: list[Event] = []
    model = FunctionModel(lambda request: "")
    state = build_state(model, StateSettings(), emit=events.append, written=since)
    line = await state.abstract(SAVE, look(), look(), Outcome(ok=True, began=time.time()))
    assert "The file ~/a.txt was written." in line
