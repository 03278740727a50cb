"""Which tools a run has."""

from __future__ import annotations

import pytest

from hisa.config import load
from hisa.wiring.tool_parts import allowed_tools

BUILT_IN = {"gui_action", "bash_execution", "wait", "termination", "infeasible"}


def names(*allow: str) -> set[str]:
    settings = load(overrides={"tools": {"allow": allow}}, environ={})
    return {tool.name for tool in allowed_tools(settings.tools)}


@pytest.mark.process
@pytest.mark.usefixtures("outside")
def test_the_settings_say_which_tools_there_are() -> None:
    assert names() == BUILT_IN
    assert names("person_*", "count_words") == BUILT_IN | {
        "person_ask",
        "person_hand_over",
        "count_words",
    }
    assert names("no_such_*") == BUILT_IN
    assert names("*") > names("person_*")
