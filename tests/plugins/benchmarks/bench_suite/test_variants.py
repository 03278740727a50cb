"""What each ablation leaves out, seen in what the models are sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.config import Settings, load
from hisa.environments.open_environment import open_environment
from hisa.errors import ConfigError, InvalidReply
from hisa.plugins.benchmarks.bench.variants import ABLATIONS, changes, expand
from hisa.protocols import ImagePart, ModelRequest, Outcome, ToolCall
from hisa.screen.geometry import Size
from hisa.screen.observation import Window
from hisa.state.manager import HierarchicalState, build_state
from hisa.testing.scripted import FunctionModel
from hisa.tools.registry import ToolRegistry
from hisa.wiring.tool_parts import allowed_tools, open_served_tools
from tests.state.scene import IMAGE, TASK, click, look, tool


def settings(variant: str) -> Settings:
    return load(environ={}, overrides=changes(variant, [variant]))


class Level:
    """A state manager with a variant's settings, and the requests of its model."""

    def __init__(self, variant: str) -> None:
        self.model = FunctionModel(self._answer)
        self.state: HierarchicalState = build_state(
            self.model, settings(variant).state, emit=lambda _: None
        )

    def _answer(self, request: ModelRequest) -> str:
        summary = "# Context refinement" in request.text
        return "Steps 1~5: on." if summary else "Succeeded. The dialog opened."

    async def step(self, number: int, outcome: Outcome | None = None) -> str:
        before, after = look(), look((number, 10, 60 + number, 60))
        line = await self.state.abstract(click(), before, after, outcome or Outcome(ok=True))
        await self.state.refine_if_due(TASK)
        return line


def sizes(request: ModelRequest) -> list[Size]:
    parts = [part for message in request.messages for part in message.parts]
    return [part.image.size for part in parts if isinstance(part, ImagePart)]


@pytest.mark.parametrize("name", sorted(ABLATIONS))
def test_every_ablation_changes_the_settings_or_names_the_default(name: str) -> None:
    assert (settings(name) != Settings()) is (name not in ("n5", "steps50"))


async def test_without_roi_the_model_sees_both_whole_pictures() -> None:
    level = Level("no-roi")
    line = await level.step(1)
    assert sizes(level.model.requests[0]) == [IMAGE, IMAGE]
    assert "The dialog opened." in line


@pytest.mark.process
async def test_by_the_gui_only_no_tool_beside_the_built_ins_is_there() -> None:
    calc = Window(id="1", title="a.ods", app="libreoffice-calc", active=True)
    seen = replace(look(), windows=(calc,))
    registries = {
        name: ToolRegistry(allowed_tools(settings(name).tools), capabilities=("execute",))
        for name in expand(["api-gui"])
    }
    assert "calc_" in registries["full"].offer(TASK, seen)
    assert registries["gui-only"].offer(TASK, seen) == ""
    assert registries["gui-only"].find("tool_help") is None
    with pytest.raises(InvalidReply, match="unknown tool 'calc_read'; known: bash_execution"):
        registries["gui-only"].check(ToolCall("", "calc_read", {"cells": "A1"}))
    mail = load(None, ["tools.mcp.mail.command=['no-such-mail-server']"], environ={})
    without = mail.model_copy(update={"tools": mail.tools.model_copy(update={"allow": ()})})
    async with open_served_tools(without.tools, lambda _: None) as served:
        assert served == ()
    with pytest.raises(ConfigError, match="mail"):
        async with open_served_tools(mail.tools, lambda _: None):
            pass


async def test_without_abstraction_the_line_is_the_log_and_no_model_is_asked() -> None:
    level = Level("no-abstraction")
    output = "row " * 400
    call = tool("bash_execution", "cat prices.csv", "Read it.")
    outcome = Outcome(ok=True, output=output, exit_code=0)
    line = await level.state.abstract(call, look(), look((1, 1, 9, 9)), outcome)
    assert level.model.requests == []
    assert line.startswith("Step 1: bash_execution | Thought: Read it. | Input: cat prices.csv | ")
    assert line.count("row") == 400
    failed = await level.step(2, Outcome(ok=False, error="nothing there"))
    assert failed.endswith("Result: Failed. nothing there")


def test_the_original_resolution_reaches_the_models_and_every_variant_has_that_screen() -> None:
    variants = expand(["table5"])
    trees = {name: load(environ={}, overrides=changes(name, variants)) for name in variants}
    assert trees["original-resolution"].run.image_limit == Size(1920, 1080)
    assert trees["full"].run.image_limit == Size(1280, 720)
    screens = {(tree.environment.width, tree.environment.height) for tree in trees.values()}
    assert screens == {(1920, 1080)}
    assert open_environment(trees["full"].environment, trees["full"].run.image_limit).name
