"""What each ablation leaves out, seen in what the models are sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.config import Settings, load
from hisa.environments.open_environment import open_environment
from hisa.errors import ConfigError, InvalidReply
from hisa.plugins.benchmarks.bench.variants import ABLATIONS, changes, expand
from hisa.protocols import ToolCall
from hisa.screen.geometry import Size
from hisa.screen.observation import Window
from hisa.tools.registry import ToolRegistry
from hisa.wiring.tool_parts import allowed_tools, open_served_tools
from tests.state.scene import TASK, look


def settings(variant: str) -> Settings:
    return load(environ={}, overrides=changes(variant, [variant]))


@pytest.mark.parametrize("name", sorted(ABLATIONS))
def test_every_ablation_changes_the_settings_or_names_the_default(name: str) -> None:
    assert (settings(name) != Settings()) is (name not in ("n5", "steps50"))


@pytest.mark.process
async def test_by_the_gui_only_no_tool_beside_the_built_ins_is_there() -> None:
    calc = Window(id="1", title="a.ods", app="libreoffice-calc", active=True)
    observation = replace(look(), windows=(calc,))
    registries = {
        name: ToolRegistry(allowed_tools(settings(name).tools), capabilities=("execute",))
        for name in expand(["api-gui"])
    }
    assert "calc_" in registries["full"].offer(TASK, observation)
    assert registries["gui-only"].offer(TASK, observation) == ""
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


def test_the_original_resolution_reaches_the_models_and_every_variant_has_that_screen() -> None:
    variants = expand(["table5"])
    trees = {name: load(environ={}, overrides=changes(name, variants)) for name in variants}
    assert trees["original-resolution"].run.image_limit == Size(1920, 1080)
    assert trees["full"].run.image_limit == Size(1280, 720)
    screens = {(tree.environment.width, tree.environment.height) for tree in trees.values()}
    assert screens == {(1920, 1080)}
    assert open_environment(trees["full"].environment, trees["full"].run.image_limit).name
