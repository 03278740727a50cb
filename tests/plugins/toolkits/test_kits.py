"""What holds for every toolkit: more tools than the paper's table, and examples that fit."""

from __future__ import annotations

import pytest

from benchmarks.tool_table import PAPER
from hisa.plugins.toolkits.browser import BROWSER
from hisa.plugins.toolkits.calc import CALC
from hisa.plugins.toolkits.code_editor import CODE
from hisa.plugins.toolkits.files import FILES
from hisa.plugins.toolkits.impress import IMPRESS
from hisa.plugins.toolkits.vlc import VLC
from hisa.plugins.toolkits.writer import WRITER
from hisa.tools.offer import SUMMARY_CHARACTERS
from hisa.tools.toolkit import Toolkit

KITS = (BROWSER, CALC, CODE, FILES, IMPRESS, VLC, WRITER)


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
def test_a_toolkit_is_documented_as_it_is(kit: Toolkit) -> None:
    tools = kit.tools()
    assert len({tool.name for tool in tools}) == len(tools) > PAPER.get(kit.name, 0)
    assert not [tool.name for tool in tools if len(tool.summary) > SUMMARY_CHARACTERS]
    for tool in tools:
        assert tool.examples, tool.name
        for example in tool.examples:
            arguments = tool.arguments(example)
            if not example.startswith("{") and tool.takes_text:
                assert list(map(str, arguments.values())) in ([example], [example.capitalize()])


def test_tool_traits_state_deleting_and_reading() -> None:
    tools = CALC.tools()
    deleting = {tool.name for tool in tools if "delete" in tool.traits.effects}
    assert {"calc_sheet_delete", "calc_delete", "calc_clear"} <= deleting
    reading = {tool.name for tool in tools if tool.traits.reads}
    assert reading == {"calc_overview", "calc_read", "calc_find"}
