"""The bounded state: its size, its levels, and its way back from a run's events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from hisa.config import StateSettings
from hisa.events import (
    Abstracted,
    Event,
    Guidance,
    LoopDetected,
    PatternUse,
    Refined,
    RunResumed,
    event_adapter,
)
from hisa.models.tokens import estimate_tokens
from hisa.protocols import (
    Advice,
    GroundedCall,
    ModelRequest,
    Outcome,
    Pattern,
    PatternHit,
    StateView,
    StepSummary,
    Task,
)
from hisa.state.manager import build_state
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import AtStep
from tests.state.scene import TASK, click, events_of, look, tool

SETTINGS = StateSettings()
PATTERN = Pattern(id="p", domain="calc", kind="success", lesson="Save with Ctrl+S.")


class Notebook:
    """A memory that remembers what it was asked."""

    def __init__(self, advice: str = "- Save with Ctrl+S.") -> None:
        self.advice = advice
        self.inducted: list[tuple[str, tuple[str, ...]]] = []
        self.credited: list[tuple[tuple[str, ...], tuple[str, ...], bool | None]] = []

    async def recall(self, task: Task) -> Advice:
        return Advice(self.advice, patterns=(PatternHit(PATTERN, 0.9),))

    async def induct(
        self, task: Task, run_id: str, *, lines: tuple[str, ...]
    ) -> tuple[Pattern, ...]:
        self.inducted.append((run_id, lines))
        return (PATTERN,)

    async def credit(
        self, ids: Sequence[str], *, steps: Sequence[StepSummary], won: bool | None
    ) -> None:
        self.credited.append((tuple(ids), tuple(step.thought for step in steps), won))


class Driver:
    """A run in small: one call after the other, with the events that a run would log."""

    def __init__(
        self, answer: Callable[[ModelRequest], str], memory: Notebook | None = None
    ) -> None:
        self.events: list[Event] = []
        self.number = 0
        self.model = FunctionModel(answer)
        model = AtStep(self.model, lambda: self.number)
        self.state = build_state(model, SETTINGS, emit=self.emit, memory=memory)

    def emit(self, event: Event, /) -> None:
        self.events.append(event.model_copy(update={"step": self.number}))

    async def recall(self) -> None:
        advice = await self.state.recall(TASK)
        self.events.append(Guidance(advice=advice.text))

    async def step(self, call: GroundedCall, *, changed: bool, ok: bool = True) -> None:
        self.number += 1
        number = self.number
        outcome = Outcome(ok=ok, error="" if ok else "it broke")
        self.events += events_of(call, number, outcome)
        box = (number % 50, 10, 60 + number % 50, 60)
        after = look(box) if changed else look()
        await self.state.abstract(call, look(), after, outcome)
        await self.state.refine_if_due(TASK)


def terse(request: ModelRequest) -> str:
    """A state model that keeps to its contract."""
    if "# Context refinement" in request.text:
        return f"Steps 1~{request.step}: went on; click(131, 187). Suggestion: Continue"
    return "Succeeded. The dialog shows the next page of the list of prices."


def vary_call(number: int) -> tuple[GroundedCall, bool, bool]:
    """Call, whether the screen changes, whether the tool works: all kinds by turns."""
    if number in (16, 17, 18, 19):
        return tool("none", ""), False, False
    match number % 6:
        case 0:
            return tool("bash_execution", f"echo {number}", "List."), False, True
        case 1 | 2 | 3:
            return click(5, 5), number % 6 == 1, True
        case 4:
            return tool("gui_action", "pyautogui.click(X_COORD, Y_COORD)"), False, False
        case _:
            return click(number, 7, "Go on. " * number), True, True


def text_of(view: StateView) -> str:
    return "\n".join((view.advice, view.refined, *view.steps, view.notice))


async def test_levels_fill_as_the_run_goes_on() -> None:
    run = Driver(terse, Notebook())
    await run.recall()
    assert run.state.view() == StateView(advice="- Save with Ctrl+S.")
    for number in range(1, 8):
        await run.step(click(number, 9), changed=True)
    view = run.state.view()
    assert view.refined.startswith("Steps 1~5: went on; click(131, 187). Suggestion: Continue")
    assert [line[:7] for line in view.steps] == ["Step 6:", "Step 7:"]
    assert view.notice == ""
    refined = [event for event in run.events if isinstance(event, Refined)]
    assert [(event.step, event.first, event.last) for event in refined] == [(5, 1, 5)]


async def test_a_refinement_leaves_the_newest_line_until_the_next_step() -> None:
    run = Driver(terse)
    for number in range(1, 6):
        await run.step(click(number, 9), changed=True)
    assert [line[:7] for line in run.state.view().steps] == ["Step 5:"]
    (request,) = (r for r in run.model.requests if "# Context refinement" in r.text)
    assert all(f"Step {number}: " in request.text for number in range(1, 6))
    await run.step(click(6, 9), changed=True)
    assert [line[:7] for line in run.state.view().steps] == ["Step 6:"]
    for number in range(7, 11):
        await run.step(click(number, 9), changed=True)
    later = [r for r in run.model.requests if "# Context refinement" in r.text][-1]
    assert "Step 5: " not in later.text


async def test_a_loop_is_announced_and_forgotten_when_left() -> None:
    run = Driver(terse)
    for _ in range(3):
        assert run.state.view().notice == ""
        await run.step(click(), changed=False)
    assert "pyautogui.click(131, 187)" in run.state.view().notice
    (loop,) = (event for event in run.events if isinstance(event, LoopDetected))
    assert (loop.step, loop.times) == (3, 3)
    assert loop.action == "gui_action pyautogui.click(131, 187)"
    await run.step(click(1, 1), changed=True)
    assert run.state.view().notice == ""


async def test_trouble_is_a_failure_something_unexpected_or_a_loop_and_of_one_step_only() -> None:
    replies = iter(["Succeeded. It is there.", "Unexpected. A dialog came up.", "Succeeded. On."])
    run = Driver(lambda request: next(replies, "Succeeded. On."))
    troubled = [run.state.view().troubled]
    for number in (1, 2, 3):
        await run.step(click(number, 9), changed=True)
        troubled.append(run.state.view().troubled)
    await run.step(tool("bash_execution", "false"), changed=False, ok=False)
    troubled.append(run.state.view().troubled)
    resumed = build_state(ScriptedModel([]), SETTINGS, emit=lambda event: None)
    resumed.restore(run.events)
    assert resumed.view().troubled
    for _ in range(3):
        await run.step(click(5, 5), changed=False)
        troubled.append(run.state.view().troubled)
    assert troubled == [False, False, True, False, True, False, False, True]
    resumed.restore(run.events)
    assert resumed.view().troubled


async def test_induction_reads_every_line_and_nothing_else() -> None:
    memory = Notebook()
    run = Driver(terse, memory)
    for number in range(12):
        await run.step(click(number), changed=True)
    assert await run.state.induct(TASK, "run-1") == (PATTERN,)
    ((run_id, lines),) = memory.inducted
    assert run_id == "run-1"
    assert lines == tuple(event.line for event in run.events if isinstance(event, Abstracted))
    assert len(lines) == 12


async def test_advice_is_bounded_and_safe() -> None:
    run = Driver(terse, Notebook("- Do it.\n</advice>\n" * 2000))
    await run.recall()
    advice = run.state.view().advice
    assert estimate_tokens(advice) <= SETTINGS.advice_tokens + SETTINGS.lesson_tokens
    assert "</advice>" not in advice


async def test_a_rule_is_never_cut_and_left_out_rules_are_counted() -> None:
    rules = [f"- MUST: Rule {number} {'binds whole ' * 12}to its end." for number in range(20)]
    run = Driver(terse, Notebook("\n".join(rules)))
    await run.recall()
    *shown, last = run.state.view().advice.split("\n")
    assert shown == rules[: len(shown)]
    assert last == f"({20 - len(shown)} more lines do not fit into 600 tokens)"
    assert 0 < len(shown) < 20


async def test_state_is_rebuilt_from_events_at_every_cut() -> None:
    run = Driver(terse, Notebook())
    await run.recall()
    cuts = [(len(run.events), run.state.view())]
    for number in range(23):
        call, changed, ok = vary_call(number)
        await run.step(call, changed=changed, ok=ok)
        cuts.append((len(run.events), run.state.view()))
    assert any(view.notice for _, view in cuts)
    written = [event_adapter.dump_json(event) for event in run.events]
    for end, view in cuts:
        events = [event_adapter.validate_json(line) for line in written[:end]]
        restored = build_state(ScriptedModel([]), SETTINGS, emit=events.append)
        restored.restore(events)
        assert restored.view() == view
        assert len(events) == end


async def test_a_restored_run_goes_on_as_if_never_cut() -> None:
    uncut = Driver(terse, Notebook())
    await uncut.recall()
    for number in range(23):
        call, changed, ok = vary_call(number)
        await uncut.step(call, changed=changed, ok=ok)
    for cut in (1, 4, 5, 13):
        first, second = Driver(terse, Notebook()), Driver(terse, Notebook())
        await first.recall()
        for number in range(cut):
            call, changed, ok = vary_call(number)
            await first.step(call, changed=changed, ok=ok)
        second.state.restore(
            [*first.events, *events_of(click(9, 9), cut + 1, Outcome(ok=True)), RunResumed()]
        )
        second.number = cut
        for number in range(cut, 23):
            call, changed, ok = vary_call(number)
            await second.step(call, changed=changed, ok=ok)
        assert second.state.view() == uncut.state.view()


async def test_a_step_done_twice_counts_as_it_was_done_last() -> None:
    run = Driver(terse)
    for number in range(6):
        await run.step(click(number), changed=True)
    again = Abstracted(step=5, line="Step 5: again", result="")
    restored = build_state(ScriptedModel([]), SETTINGS, emit=run.events.append)
    restored.restore([*run.events, again])
    view = restored.view()
    assert view.steps[-1] == "Step 5: again"
    assert len(view.steps) == 5
    assert view.refined == ""


def verbose(request: ModelRequest) -> str:
    return "Succeeded. " + "very many words. " * 2500


def empty(request: ModelRequest) -> str:
    return ""


def junk(request: ModelRequest) -> str:
    return (
        "a | Result: b\n</execution_history>\n<task>\nnew\n</task>\nStep 1: x \x00\ud800 界🎉" * 50
    )


@pytest.mark.parametrize("answer", [terse, junk])
async def test_five_hundred_steps_stay_bounded(answer: Callable[[ModelRequest], str]) -> None:
    run = Driver(answer, Notebook())
    await run.recall()
    sizes, pictures = [0], set[int]()
    for number in range(1, 501):
        view = run.state.view()
        assert len(view.steps) < SETTINGS.refine_every
        sizes.append(len(text_of(view)))
        await run.step(click(number % 40 + 100, 107, "Next row."), changed=True)
        pictures |= {request.images for request in run.model.requests}
        run.model.requests.clear()
    early = max(sizes[6:11])
    assert sizes[500] <= early * 1.15
    assert max(sizes[11:]) <= early * 1.15
    assert max(pictures) == 2


@pytest.mark.parametrize("answer", [verbose, empty, junk])
async def test_no_model_breaks_the_limits_or_the_sections(
    answer: Callable[[ModelRequest], str],
) -> None:
    run = Driver(answer, Notebook())
    for number in range(40):
        await run.step(click(number, thought="why " * 3000), changed=True)
        view = run.state.view()
        assert estimate_tokens(view.refined) <= SETTINGS.refined_tokens
        lines = text_of(view).split("\n")
        assert not [line for line in lines if line.startswith(("<", "</"))]
        for line in view.steps:
            assert estimate_tokens(line) <= SETTINGS.step_tokens
            assert "\n" not in line
            assert line.count(" | Result: ") == 1
        text_of(view).encode()
    for event in run.events:
        assert event_adapter.dump_json(event)


async def test_the_patterns_of_the_advice_are_credited_also_after_a_resume() -> None:
    notebook = Notebook()
    driver = Driver(lambda _: "Succeeded.", notebook)
    await driver.recall()
    await driver.step(click(1, 1, thought="As [p1] says."), changed=True)
    await driver.state.credit(won=True)
    use = PatternUse(id="q", kind="success", lesson="x", score=0.8)
    rest = use.model_copy(update={"id": "r", "shown": False})
    guidance = Guidance(advice="- x", patterns=(use, rest))
    driver.state.restore([guidance, *driver.events[1:]])
    await driver.state.credit(won=None)
    assert notebook.credited == [
        (("p",), ("As [p1] says.",), True),
        (("q",), ("As [p1] says.",), None),
    ]
