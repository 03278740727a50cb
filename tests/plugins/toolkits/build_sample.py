"""A small build for LibreOffice Calc: what is asked, and replies as a model could give them.

The replies were written by hand, by somebody who wrote tests, and not by a model; none was asked.
The first program of ``show_rows`` counts rows from 0, so that a failure is fed back.
``python -m tests.plugins.toolkits.build_sample`` serves them over the OpenAI protocol, builds on a
real desktop, and records what was sent and answered in ``cassettes/calc_build.jsonl``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from hisa.config import ModelSettings
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import find
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.builder.build_records import Build
from hisa.plugins.toolkits.builder.stage_requests import BuildRequest
from hisa.plugins.toolkits.builder.tool_builder import ToolBuilder
from hisa.protocols import Environment, Task
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from hisa.testing.cassette import RecordingModel
from hisa.testing.model_server import FakeServer
from hisa.tools.base import Tool

CASSETTES = Path(__file__).parent / "cassettes"
CASSETTE = CASSETTES / "calc_build.jsonl"

ABOUT = """LibreOffice accepts UNO at
uno:socket,host=127.0.0.1,port=2002;urp;StarOffice.ComponentContext.
The module uno is there. The document in front is Desktop.getCurrentComponent()."""


def cell_read(cells: str) -> str:
    """Read the values of a range of cells."""
    return cells


REQUEST = BuildRequest(
    app="libreoffice-calc",
    about=ABOUT,
    examples=(
        "Hide the rows 2 to 4, they are only notes.",
        "Shade every second row of A1:C6 in light grey.",
        "Tell me what stands in B2.",
    ),
    existing=(Tool(cell_read),),
)

PLAN = {
    "needed": [
        {"functionality": "hide rows, and show them again", "covered_by": "show_rows"},
        {"functionality": "give rows a background", "covered_by": "shade_rows"},
        {"functionality": "read cells", "covered_by": "cell_read"},
    ],
    "functions": [
        {
            "name": "show_rows",
            "summary": "Hide rows of the sheet in front, or show them again",
            "details": "Rows are counted as the sheet shows them: the first one is 1.",
            "parameters": [
                {"name": "first", "type": "integer", "description": "number of the first row"},
                {"name": "last", "type": "integer", "description": "number of the last row"},
                {
                    "name": "visible",
                    "type": "boolean",
                    "description": "false hides them",
                    "required": False,
                    "default": True,
                },
            ],
            "returns": "the numbers of the rows of these that can be seen now",
            "reads": False,
            "effects": [],
        },
        {
            "name": "shade_rows",
            "summary": "Give every n-th row of a range a background colour",
            "details": "The first row of the range is the first that gets it.",
            "parameters": [
                {"name": "cells", "type": "string", "description": "a range, such as A1:C6"},
                {"name": "every", "type": "integer", "description": "2 for every second row"},
                {"name": "colour", "type": "string", "description": "as #rrggbb"},
            ],
            "returns": "the number of rows that have it now",
            "reads": False,
            "effects": [],
        },
    ],
}

DESK = """
import uno

URL = "uno:socket,host=127.0.0.1,port=2002;urp;StarOffice.ComponentContext"


def desk():
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext(
        "com.sun.star.bridge.UnoUrlResolver", local
    )
    context = resolver.resolve(URL)
    return context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
"""

SEEN = (
    DESK
    + """

def check(value):
    rows = desk().getCurrentComponent().Sheets.getByIndex(0).Rows
    found = [number for number in range(1, 7) if rows.getByIndex(number - 1).IsVisible]
    return "" if found == {wanted} else f"of the rows 1 to 6, {{found}} can be seen"
"""
)

SHOW_CASES = {
    "cases": [
        {
            "why": "rows in the middle",
            "arguments": {"first": 2, "last": 4, "visible": False},
            "value": [],
            "check": SEEN.format(wanted=[1, 5, 6]),
        },
        {
            "why": "one of them again",
            "arguments": {"first": 3, "last": 3},
            "value": [3],
            "check": SEEN.format(wanted=[1, 3, 5, 6]),
        },
        {"why": "a row that is none", "arguments": {"first": 0, "last": 2}, "refused": True},
        {"why": "the wrong way round", "arguments": {"first": 5, "last": 4}, "refused": True},
    ]
}

SHOW = (
    DESK
    + """

def show_rows(first, last, visible=True):
    if not 1 <= first <= last:
        raise ValueError(f"rows {{first}} to {{last}}: wanted are 1 or more, the smaller first")
    rows = desk().getCurrentComponent().getCurrentController().getActiveSheet().Rows
    for number in range(first, last + 1):
        rows.getByIndex({index}).IsVisible = visible
    return [n for n in range(first, last + 1) if rows.getByIndex(n - 1).IsVisible]
"""
)

SHADED = (
    DESK
    + """

def check(value):
    sheet = desk().getCurrentComponent().Sheets.getByIndex(0)
    found = [sheet.getCellByPosition(0, row).CellBackColor for row in range(4)]
    return "" if found == {wanted} else f"backgrounds of A1 to A4: {{found}}"
"""
)

SHADE_CASES = {
    "cases": [
        {
            "why": "every second row",
            "arguments": {"cells": "A1:B4", "every": 2, "colour": "#d0d0d0"},
            "value": 2,
            "check": SHADED.format(wanted=[0xD0D0D0, -1, 0xD0D0D0, -1]),
        },
        {
            "why": "a colour that is none",
            "arguments": {"cells": "A1:B4", "every": 2, "colour": "grey-ish"},
            "refused": True,
        },
        {
            "why": "a range that is none",
            "arguments": {"cells": "nowhere", "every": 1, "colour": "#ffffff"},
            "refused": True,
        },
    ]
}

SHADE = (
    DESK
    + """

import re


def shade_rows(cells, every, colour):
    if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
        raise ValueError(f"colour {colour!r}: wanted is #rrggbb")
    if every < 1:
        raise ValueError(f"every {every}: wanted is 1 or more")
    sheet = desk().getCurrentComponent().getCurrentController().getActiveSheet()
    try:
        area = sheet.getCellRangeByName(cells)
    except Exception as error:
        raise ValueError(f"cells {cells!r}: wanted is a range such as A1:C6") from error
    number = int(colour[1:], 16)
    rows = range(0, area.Rows.Count, every)
    last = area.Columns.Count - 1
    for row in rows:
        area.getCellRangeByPosition(0, row, last, row).CellBackColor = number
    return sum(area.getCellByPosition(0, row).CellBackColor == number for row in rows)
"""
)

REPLIES = [
    json.dumps(PLAN),
    "Here are the tests.\n" + json.dumps(SHOW_CASES),
    json.dumps({"code": SHOW.format(index="number")}),
    json.dumps({"code": SHOW.format(index="number - 1")}),
    json.dumps(SHADE_CASES),
    json.dumps({"code": SHADE}),
]


async def prepare(environment: Environment) -> Task:
    """A new spreadsheet in LibreOffice, which takes calls of UNO."""
    return await TaskScorer().prepare(load_task(CASSETTES / "sheet.yaml"), environment)


async def record() -> Build:
    """Build with the replies above, and write the cassette."""
    with FakeServer(REPLIES) as server:
        settings = ModelSettings(model="written-by-hand")
        client = OpenAIModel(settings, Endpoint(server.url), profile=find("written-by-hand"))
        async with DesktopEnvironment() as environment:
            model = RecordingModel(client, CASSETTE)
            builder = ToolBuilder(model, environment, prepare=prepare, report=print)
            build = await builder.build(REQUEST)
        await client.aclose()
    return build


if __name__ == "__main__":
    made = asyncio.run(record())
    for built in made.functions:
        print(built.described.name, built.failures)
