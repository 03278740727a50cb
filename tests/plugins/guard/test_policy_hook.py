"""The policy as a hook: where it takes part, and what it lets be done."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.errors import ActionRefused
from hisa.events import Decided
from hisa.testing.form import FakeEnvironment
from hisa.wiring.hook_list import may_need, needed_hooks
from tests.plugins.guard.steps import HandMade, hook_names, settings_of, start_run
from tests.plugins.guard.test_acts_on_things import Screen, thing
from tests.plugins.guard.test_runs import OwnMachine

NEVER = {"confirm": "never"}
NO_REMOVAL = {"rules": [{"then": "deny", "command": "rm *"}]}


def decisions(run: HandMade) -> list[Decided]:
    return [event for event in run.events if isinstance(event, Decided)]


@pytest.mark.parametrize(
    ("policy", "machine", "takes_part"),
    [
        ({}, FakeEnvironment(), False),
        ({}, OwnMachine(), True),
        ({"defaults": "never"}, OwnMachine(), False),
        ({"defaults": "always"}, FakeEnvironment(), True),
        (NO_REMOVAL, FakeEnvironment(), True),
        ({"sites": ["example.org"]}, FakeEnvironment(), True),
        ({"folders": ["~/a"]}, FakeEnvironment(), True),
        ({"dry_run": True}, FakeEnvironment(), True),
        ({"unknown": "deny"}, FakeEnvironment(), True),
    ],
)
async def test_the_policy_takes_part_where_something_is_to_be_decided(
    policy: dict[str, object], machine: FakeEnvironment, takes_part: bool, tmp_path: Path
) -> None:
    run = await start_run(tmp_path, machine, policy=policy, run=NEVER)
    assert hook_names(run.hooks) == ["held_acts", *["policy"] * takes_part]


def test_servers_of_tools_are_judged_also_beside_a_machine_that_is_thrown_away() -> None:
    served = {"tools": {"mcp": {"mail": {"command": ["true"]}}}}
    assert "policy" in needed_hooks(settings_of(**served), FakeEnvironment())
    off = settings_of(**served, policy={"defaults": "never"})
    assert "policy" not in needed_hooks(off, FakeEnvironment())
    assert not may_need("policy", off)


_RUN = """
import asyncio, sys
import hisa
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import ScriptedModel, tool_call

settings = {"patterns": {"enabled": False}, "state": {"steps": "raw"}, "run": {"folder": %r}}
result = asyncio.run(hisa.run(
    "Click.",
    settings=hisa.Settings.model_validate(settings),
    model=ScriptedModel(
        [tool_call("gui_action", "pyautogui.click(5, 5)"), tool_call("termination", "Done.")]
    ),
    environment=FakeEnvironment(),
))
assert result.status == "succeeded", result
print([name for name in sys.modules if name.startswith("hisa.") and ".policy." in name])
"""


@pytest.mark.process
def test_without_rules_a_run_on_a_thrown_away_machine_imports_no_policy(tmp_path: Path) -> None:
    program = _RUN % str(tmp_path / "runs")
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"


DELETE = thing("push button", "Delete user", (135, 497))
NAME = thing("entry", "Name", (135, 300), "editable", "single-line")


async def test_press_of_a_call_is_decided_separately(tmp_path: Path) -> None:
    run = await start_run(tmp_path, Screen(NAME, DELETE), run=NEVER, policy={"defaults": "always"})
    source = "pyautogui.click(135, 300); pyautogui.click(135, 497)"
    (refusal,) = await run.call("gui_action", source)
    assert "Delete user" in refusal
    assert [event.allowed for event in decisions(run)] == [True, False]


async def test_a_press_is_decided_with_those_before_it_where_their_effect_does_not_show(
    tmp_path: Path,
) -> None:
    source = "pyautogui.click(135, 300); pyautogui.click(635, 300)"
    for comes_up in (False, True):
        machine = Screen(NAME, thing("push button", "Close", (635, 300)))
        machine.comes_up = comes_up
        run = await start_run(tmp_path, machine, run=NEVER, policy={"defaults": "always"})
        await run.call("gui_action", source)
        last = decisions(run)[-1].what.replace("\n", "; ")
        assert last == (source if comes_up else "pyautogui.click(635, 300)")


async def test_another_try_is_decided_on_its_own_look(tmp_path: Path) -> None:
    """Where the screen changed before the act, what lies there by then is what counts."""
    machine = Screen(NAME)
    run = await start_run(tmp_path, machine, run=NEVER, policy={"defaults": "always"})
    await run.call("gui_action", "pyautogui.click(135, 300)")
    action, step = run.step_made.actions[0], run.step_made
    machine._things = (machine._things[0], replace(DELETE, box=NAME.box))
    action.changed = "the screen changed"
    action.look = await machine.observe(elements=True)
    with pytest.raises(ActionRefused, match="Delete user"):
        await run.hooks.call("before_action", step, action, again=True)
