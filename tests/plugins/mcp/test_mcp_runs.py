"""Runs whose settings name servers of tools."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.errors import ConfigError
from hisa.events import Acted, Noted
from hisa.protocols import ModelRequest
from hisa.runs.run_reader import Run
from hisa.testing import FakeEnvironment, FunctionModel, ScriptedModel, tool_call
from tests.plugins.mcp.mcp_servers.hostile import KEY

pytestmark = pytest.mark.process

HOSTILE = Path(__file__).parent / "mcp_servers" / "hostile.py"
DONE = tool_call("termination", "done")


def settings(folder: Path, servers: dict[str, Any]) -> hisa.Settings:
    tree = {
        "patterns": {"enabled": False},
        "run": {"folder": folder},
        "tools": {"mcp": servers, "allow": [f"{name}_*" for name in servers]},
    }
    return hisa.Settings.model_validate(tree)


def hostile(kind: str) -> dict[str, Any]:
    return {"command": [sys.executable, str(HOSTILE), kind], "reads": ["*"]}


async def test_a_tool_of_which_nothing_is_stated_needs_a_persons_word(tmp_path: Path) -> None:
    """The machine of the run is thrown away; what a server does is not."""
    time = {"command": [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]}
    now = tool_call("time_get_current_time", {"timezone": "UTC"})
    run, _ = await run_agent(tmp_path, {"time": time}, [now, DONE])
    refused = next(event for event in run.events if isinstance(event, Acted))
    assert "nobody can be asked" in refused.error
    assert "tools.mcp states neither that it only reads nor its effects" in refused.error


async def run_agent(
    folder: Path, servers: dict[str, Any], replies: Iterable[str]
) -> tuple[Run, Any]:
    planner = ScriptedModel(replies)
    result = await hisa.run(
        "Tell the time in Tokyo.",
        settings=settings(folder, servers),
        model={"planner": planner, "state": FunctionModel(lambda _: "Succeeded. It did.")},
        environment=FakeEnvironment(),
    )
    return hisa.load_run(result.folder), planner.requests


async def test_a_run_calls_a_tool_of_a_server_that_nobody_here_wrote(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"]
    time = {"command": command, "reads": ["*"]}
    seven = {"source_timezone": "UTC", "time": "07:00", "target_timezone": "Asia/Tokyo"}
    replies = [
        tool_call("time_convert_time", seven),
        tool_call("time_get_current_time", "Mars"),
        DONE,
    ]
    run, requests = await run_agent(tmp_path, {"time": time}, replies)
    assert run.status == "succeeded"
    assert "time_convert_time(source_timezone, time, target_timezone)" in requests[0].text
    assert "(its server's words) Convert time between timezones" in requests[0].text
    first, second, _ = [event for event in run.events if isinstance(event, Acted)]
    assert first.ok
    assert "T16:00:00+09:00" in first.output
    assert "T16:00:00+09:00" in requests[1].text, "the planner reads what came of it"
    assert not second.ok
    assert "the server 'time' says:" in requests[2].text
    assert run.manifest.settings["tools"]["mcp"]["time"]["command"] == time["command"]


async def test_a_server_that_dies_and_one_that_gives_orders_change_no_run(tmp_path: Path) -> None:
    replies = [
        tool_call("bad_secret", {}),
        tool_call("bad_crash", {}),
        tool_call("bad_echo", "x"),
        DONE,
    ]
    run, requests = await run_agent(
        tmp_path, {"bad": hostile("tools"), "worse": hostile("orders")}, replies
    )
    assert run.status == "succeeded"
    acts = [event for event in run.events if isinstance(event, Acted)]
    assert [act.ok for act in acts] == [True, False, False, True]
    assert "has ended" in acts[2].error
    notes = [event.text for event in run.events if isinstance(event, Noted)]
    assert any("ended during the run" in note for note in notes)
    assert any("'forged_name'" in note for note in notes)
    for request in requests:
        assert_sections(request)
        assert "evil.example" not in request.text, "only the first line of a description is shown"
    assert KEY.encode() not in everything_in(tmp_path)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def assert_sections(request: ModelRequest) -> None:
    """Each section of a prompt is opened and closed once, and none is forged."""
    lines = [line.strip() for line in request.text.splitlines()]
    assert "<notice>" not in lines
    for tag in ("task", "tools", "last_output"):
        assert lines.count(f"</{tag}>") <= 1


@pytest.mark.parametrize("kind", ["dead", "absent"])
async def test_a_server_that_is_not_there_ends_it_before_it_begins(
    kind: str, tmp_path: Path
) -> None:
    server = hostile("dead") if kind == "dead" else {"command": ["no-such-program-here"]}
    with pytest.raises(ConfigError, match="the server of tools 'bad'"):
        await run_agent(tmp_path / "runs", {"bad": server}, [])
    assert not (tmp_path / "runs").exists(), "no folder is left of it"


async def test_server_tools_obey_the_allow_setting(
    tmp_path: Path,
) -> None:
    chosen = settings(tmp_path, {"bad": hostile("tools")})
    tools = chosen.tools.model_copy(update={"allow": ("bad_e*",)})
    planner = ScriptedModel([DONE])
    await hisa.run(
        "Do nothing.",
        settings=chosen.model_copy(update={"tools": tools}),
        model={"planner": planner, "state": FunctionModel(lambda _: "Succeeded. It did.")},
        environment=FakeEnvironment(),
    )
    assert "bad_echo(" in planner.requests[0].text
    assert "bad_crash" not in planner.requests[0].text
