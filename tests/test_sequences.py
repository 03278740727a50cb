"""Sequences through the real loop: what was made, what was not, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import hisa
from hisa.actions import Action
from hisa.config import Settings, load
from hisa.errors import ConfigError, ScreenChanged
from hisa.events import (
    Abstracted,
    Acted,
    Grounded,
    ModelCalled,
    Observed,
    Planned,
    PlanRejected,
    SequenceStopped,
)
from hisa.protocols import ScreenPrecondition
from hisa.runs.run_reader import Run
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation, Window
from hisa.state.manager import HierarchicalState
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.bench import Bench, click, finish, say, together

NAME = click("the field labelled Name", "pyautogui.write('Ada')")
AGREE = click("the check box Agree")
SAVE = click('button "Save"')


def lines(run: Run) -> list[str]:
    return [event.line for event in run.events if isinstance(event, Abstracted)]


def stops(run: Run) -> list[SequenceStopped]:
    return [event for event in run.events if isinstance(event, SequenceStopped)]


def acts_of(run: Run) -> list[Acted]:
    return [event for event in run.events if isinstance(event, Acted)]


class Shifting(FakeEnvironment):
    """A form whose parts move down once its text was typed; counts clicks that hit no control."""

    def __init__(self, by: float = 40.0) -> None:
        super().__init__()
        self.by = by

    async def act(self, actions: Sequence[Action], /) -> None:
        await super().act(actions)
        if self.text and self.by:
            self.move(("agree", "ok", "save"), self.by)
            self.by = 0


class Popping(FakeEnvironment):
    """A form over which another window comes once its text was typed."""

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        if not self.text:
            return observation
        (form,) = observation.windows
        return replace(
            observation,
            windows=(replace(form, active=False), Window("2", "Really?", "fake", active=True)),
        )


async def test_a_sequence_is_one_step_with_one_line_and_one_request(tmp_path: Path) -> None:
    state = FunctionModel(lambda _: 'Succeeded. 1) Name reads "Ada". 2) Agree is ticked. 3) Saved.')
    planner = ScriptedModel([together(NAME, AGREE, SAVE), finish()])
    bench = Bench(tmp_path, planner, sequence=5, state=state)
    result, run = await bench.run()
    assert isinstance(bench.environment, FakeEnvironment)
    assert (result.status, result.steps) == ("succeeded", 2)
    assert bench.environment.text == "Ada"
    assert await bench.environment.read_file("/home/user/form.txt") == b"Ada"
    assert [event.tool for event in acts_of(run)] == ["gui_action"] * 3 + ["termination"]
    assert len([event for event in run.events if isinstance(event, Grounded)]) == 3
    assert len(state.requests) == 1
    planned = next(event for event in run.events if isinstance(event, Planned))
    assert [call.description for call in planned.following] == [
        "the check box Agree",
        'button "Save"',
    ]
    (line, _) = lines(run)
    assert line.startswith(
        "Step 1: sequence of gui_action | Thought: Fill it in. | Description: 1)"
    )
    assert "Input: 1) pyautogui.click(400, 136); pyautogui.write('Ada') 2) pyautogui.click(" in line
    assert "Result: Succeeded. All 3 actions were made. 1) Name reads" in line
    assert not stops(run)


async def test_targets_are_found_on_one_look_before_anything_moves(tmp_path: Path) -> None:
    planner = ScriptedModel([together(NAME, AGREE, SAVE), finish()])
    _, run = await Bench(tmp_path, planner, sequence=3).run()
    kinds = [type(event) for event in run.events if isinstance(event, Grounded | Acted)]
    assert kinds == [Grounded, Grounded, Grounded, Acted, Acted, Acted, Acted]


@pytest.mark.parametrize("guards", [True, False])
async def test_moved_target_is_not_clicked(tmp_path: Path, guards: bool) -> None:
    environment = Shifting()
    planner = ScriptedModel([together(NAME, AGREE, SAVE), finish()])
    _, run = await Bench(
        tmp_path, planner, environment=environment, sequence=5, guards=guards
    ).run()
    if not guards:  # the same clicks, into the blue
        assert len(acts_of(run)) == 4
        assert not stops(run)
        return
    assert [event.tool for event in acts_of(run)] == ["gui_action", "termination"]
    (stop,) = stops(run)
    assert (stop.made, stop.of) == (1, 3)
    assert "(280, 184)" in stop.reason
    assert "Result: Unexpected. Only 1 of 3 actions were made; 2 to 3 not, because" in lines(run)[0]


async def test_a_window_that_came_up_ends_a_sequence(tmp_path: Path) -> None:
    planner = ScriptedModel([together(NAME, SAVE), finish()])
    _, run = await Bench(tmp_path, planner, environment=Popping(), sequence=5).run()
    assert [stop.reason for stop in stops(run)] == ["a window came up: “Really?”"]
    assert "2 not, because a window came up: “Really?”." in lines(run)[0]


async def test_scroll_ends_a_sequence(tmp_path: Path) -> None:
    planner = ScriptedModel(
        [together(say("gui_action", "pyautogui.scroll(-5, 400, 136)"), SAVE), finish()]
    )
    _, run = await Bench(tmp_path, planner, sequence=5).run()
    assert [stop.reason for stop in stops(run)] == [
        "action 1 scrolled, so that nothing is where it was"
    ]


async def test_failed_action_ends_a_sequence(tmp_path: Path) -> None:
    off = say("gui_action", "pyautogui.click(9000, 5)")
    planner = ScriptedModel([together(NAME, off, SAVE), finish()])
    bench = Bench(tmp_path, planner, sequence=5)
    _, run = await bench.run()
    assert [event.ok for event in acts_of(run)] == [True, False, True]
    (stop,) = stops(run)
    assert stop.reason == "action 2 failed: (9000, 5) is off the screen of 1280x720"
    assert "Result: Failed. 2) (9000, 5) is off the screen of 1280x720." in lines(run)[0]
    assert "Only 2 of 3 actions were made; 3 not, because" in lines(run)[0]


async def test_actions_before_a_missing_target_are_made(tmp_path: Path) -> None:
    planner = ScriptedModel([together(NAME, click("the slider Volume"), SAVE), finish()])
    bench = Bench(tmp_path, planner, sequence=5)
    _, run = await bench.run()
    assert isinstance(bench.environment, FakeEnvironment)
    assert bench.environment.text == "Ada"
    (stop,) = stops(run)
    assert stop.made == 1
    assert stop.reason.startswith("action 2: not found: 'the slider Volume'")


async def test_sequence_with_a_missing_first_target_makes_no_action(tmp_path: Path) -> None:
    planner = ScriptedModel([together(click("the slider Volume"), SAVE), finish()])
    bench = Bench(tmp_path, planner, sequence=5)
    _, run = await bench.run()
    assert [event.ok for event in acts_of(run)] == [False, True]
    assert "Result: Failed. not found: 'the slider Volume'" in lines(run)[0]
    assert "None of the 2 actions was made." in lines(run)[0]


async def test_an_action_without_effect_is_named(tmp_path: Path) -> None:
    nowhere = click('the text "Ready"')
    planner = ScriptedModel([together(nowhere, NAME, AGREE), finish()])
    state = FunctionModel(lambda _: "Succeeded. 2) Name reads Ada. 3) Agree is ticked.")
    _, run = await Bench(tmp_path, planner, sequence=5, state=state).run()
    assert (
        "Result: Unexpected. All 3 actions were made. Action 1 changed nothing that shows. 2)"
        in lines(run)[0]
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (together(NAME, finish()), "'termination' ends the run: give it alone"),
        (together(*[AGREE] * 4), "4 actions in one reply; at most 3"),
        (together(say("gui_action", "import os"), AGREE), "action 1: 'input' refused"),
        ('{"thought": "x", "actions": []}', "'actions': List should have at least 1 item"),
        ('{"thought": "x", "actions": [{"tool": "wait"}]}', "action 1: key 'input' is missing"),
        (
            '{"thought": "x", "actions": [{"tool": "wait", "input": "1", "why": ""}]}',
            "action 1: unknown key 'why'; allowed: tool, input, description, description_2",
        ),
        ('{"thought": "x", "actions": [3]}', "actions"),
        ('{"thought": "x", "actions": "all"}', "actions"),
    ],
)
async def test_unusable_list_is_refused_and_requested_again(
    tmp_path: Path, reply: str, reason: str
) -> None:
    _, run = await Bench(tmp_path, ScriptedModel([reply, finish()]), sequence=3).run()
    (rejected,) = [event for event in run.events if isinstance(event, PlanRejected)]
    assert reason in rejected.error
    assert not [event for event in acts_of(run) if event.tool == "gui_action"]


async def test_list_is_refused_where_sequences_are_off(tmp_path: Path) -> None:
    _, run = await Bench(tmp_path, ScriptedModel([together(NAME, AGREE), finish()])).run()
    (rejected,) = [event for event in run.events if isinstance(event, PlanRejected)]
    assert rejected.error == "one call a reply: give 'tool' and 'input', and no 'actions'"


async def test_single_call_is_accepted_in_either_form(tmp_path: Path) -> None:
    bench = Bench(tmp_path, ScriptedModel([together(NAME), AGREE, finish()]), sequence=5)
    result, run = await bench.run()
    assert result.steps == 3
    assert [line.split(" | ")[0] for line in lines(run)[:2]] == [
        "Step 1: gui_action",
        "Step 2: gui_action",
    ]


async def test_the_state_of_a_sequence_is_rebuilt_from_its_events(tmp_path: Path) -> None:
    sequence = together(NAME, say("bash_execution", "ls"), AGREE)
    bench = Bench(tmp_path, ScriptedModel([sequence, sequence, finish()]), sequence=5)
    _, run = await bench.run()
    assert isinstance(bench.state, HierarchicalState)
    before = bench.state.view()
    other = Bench(tmp_path, ScriptedModel([]))
    other.state.restore(run.events)
    assert other.state.view() == before
    other.log.close()


async def test_every_look_of_a_sequence_is_stored(tmp_path: Path) -> None:
    _, run = await Bench(
        tmp_path, ScriptedModel([together(NAME, AGREE, SAVE), finish()]), sequence=5
    ).run()
    looks = [event for event in run.events if isinstance(event, Observed) and event.step == 1]
    assert len({look.image for look in looks}) == 3  # after each action
    assert all(run.image(look.image) for look in looks)
    assert not [event for event in run.events if isinstance(event, ModelCalled)]


TASK = 'Enter "Ada" in the Name field. Tick the Agree check box. Click the Save button.'


def settings(folder: Path, **planner: object) -> Settings:
    overrides = {
        "run": {"folder": folder},
        "planner": {"sequence": 5, **planner},
        "patterns": {"enabled": False},
    }
    return load(overrides=overrides, environ={})


async def test_a_computer_tool_has_lists_of_its_own(tmp_path: Path) -> None:
    model = {"model": "computer-use-preview", "base_url": "http://127.0.0.1:9/v1"}
    tree = settings(tmp_path).model_dump() | {"models": {"planner": model}}
    chosen = Settings.model_validate(tree)
    with pytest.raises(ConfigError, match=r"planner\.sequence = 5: .* has a computer tool"):
        await hisa.run(TASK, settings=chosen, environment=FakeEnvironment())


class Late(FakeEnvironment):
    """A form that changes at the very moment of an act: the n-th that asks, and some after it."""

    def __init__(self, at: int, times: int = 1) -> None:
        super().__init__()
        self.held: list[ScreenPrecondition] = []
        self._changes = range(at, at + times)

    @property
    def capabilities(self) -> frozenset[str]:
        return super().capabilities | {"unchanged"}

    async def act_where_unchanged(
        self, actions: Sequence[Action], held: ScreenPrecondition, /
    ) -> None:
        self.held.append(held)
        if len(self.held) in self._changes:
            raise ScreenChanged("the screen changed between (1, 2) and (3, 4)")
        await self.act(actions)


async def test_target_changing_at_its_click_ends_a_sequence(tmp_path: Path) -> None:
    environment = Late(2, times=3)
    planner = ScriptedModel([together(NAME, AGREE, SAVE), finish()])
    _, run = await Bench(tmp_path, planner, environment=environment, sequence=5).run()
    assert environment.text == "Ada"
    assert not environment.agreed
    (stop,) = stops(run)
    assert (stop.made, stop.reason) == (1, "the screen changed between (1, 2) and (3, 4)")
    assert [event.tool for event in acts_of(run)] == ["gui_action", "termination"]
    first, second, *_ = environment.held
    assert first.look.elements is not None, "the look on which its target was found"
    assert second.look.at > first.look.at
    ((box, *_), (other, *_)) = (first.boxes, second.boxes)
    assert box.contains(Point(400, 136, "screen"))
    assert other.contains(Point(280, 184, "screen"))


@pytest.mark.parametrize("more", [(), (SAVE,)])
async def test_flickering_target_is_checked_again_and_clicked(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    environment = Late(1)
    planner = ScriptedModel([together(NAME, *more), finish()])
    _, run = await Bench(tmp_path, planner, environment=environment, sequence=5).run()
    assert environment.text == "Ada"
    first, again, *_ = environment.held
    assert again.look.at > first.look.at, "held to the look on which it was found to be the same"
    assert all(event.ok for event in acts_of(run))


@pytest.mark.parametrize("more", [(), (SAVE,)])
async def test_first_target_that_moves_away_is_reported_and_nothing_is_done(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    class Moving(Late):
        async def act_where_unchanged(
            self, actions: Sequence[Action], held: ScreenPrecondition, /
        ) -> None:
            if not self.held:
                self.move(("field",), 60)
            await super().act_where_unchanged(actions, held)

    environment = Moving(1)
    planner = ScriptedModel([together(NAME, *more), finish()])
    _, run = await Bench(tmp_path, planner, environment=environment, sequence=5).run()
    assert environment.acted == []
    assert [event.ok for event in acts_of(run)] == [False, True]
    assert (
        "Result: Failed. nothing was done: text “Name:” is no longer at (400, 136)" in lines(run)[0]
    )
