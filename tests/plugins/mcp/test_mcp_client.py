"""Tools of servers: those of a public one, and those of one that breaks every rule."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hisa.config import load
from hisa.config.tool_settings import McpServerSettings
from hisa.errors import ConfigError, InvalidReply, LibraryLacking
from hisa.plugins.mcp.client.mcp_schema import InputCheck, UnusableSchema, clean_schema
from hisa.plugins.mcp.client.mcp_tool import McpTool, local_names
from hisa.plugins.mcp.client.open_tools import open_mcp_tools
from hisa.protocols import GroundedCall, Outcome, Task, ToolCall
from hisa.testing.form import FakeEnvironment
from hisa.tools.registry import ToolRegistry

pytestmark = pytest.mark.process

HOSTILE = Path(__file__).parent / "mcp_servers" / "hostile.py"
TIME = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "Europe/Berlin")


def hostile(kind: str, **settings: Any) -> McpServerSettings:
    return McpServerSettings(command=(sys.executable, str(HOSTILE), kind), **settings)


class Served:
    """The tools of one server, called as a run calls them."""

    def __init__(self, tools: Sequence[McpTool], notes: list[str]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.notes = notes
        self.registry = ToolRegistry(tools)
        self.environment = FakeEnvironment()

    async def call(self, name: str, value: object = "") -> Outcome:
        call = ToolCall("", name, value)  # type: ignore[arg-type]
        self.registry.check(call)
        observation = await self.environment.observe()
        return await self.registry.execute(
            GroundedCall(call, call.input), observation, self.environment
        )


@asynccontextmanager
async def serving(settings: McpServerSettings, name: str = "bad") -> AsyncIterator[Served]:
    notes: list[str] = []
    async with open_mcp_tools({name: settings}, notes.append) as tools:
        yield Served(tools, notes)


# ---------------------------------------------------------------- a public server


async def test_a_public_servers_tools_are_called_and_checked_as_any_others() -> None:
    async with serving(McpServerSettings(command=TIME, reads=("get_*",)), "time") as served:
        assert set(served.tools) == {"time_get_current_time", "time_convert_time"}
        observation = await served.environment.observe()
        offer = served.registry.offer(Task("t", "Convert a time"), observation)
        line = "time_convert_time(source_timezone, time, target_timezone): (its server's words) "
        assert f"{line}Convert time between timezones" in offer
        noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        outcome = await served.call("time_convert_time", noon)
        assert outcome.ok
        assert json.loads(outcome.output)["time_difference"] == "+9.0h"
        assert (await served.call("time_get_current_time", "Asia/Tokyo")).ok
        failed = await served.call("time_get_current_time", "Mars")
        assert not failed.ok
        assert "the server 'time' says:" in failed.error
        assert "Mars" in failed.error
        with pytest.raises(InvalidReply, match="'target_timezone' is a required property"):
            served.registry.check(ToolCall("", "time_convert_time", {"source_timezone": "UTC"}))
        assert served.tools["time_get_current_time"].traits.reads
        assert not served.tools["time_convert_time"].traits.reads
        assert served.notes == []


async def test_server_tools_are_limited_to_the_named_tools() -> None:
    async with serving(McpServerSettings(command=TIME, tools=("convert_*",)), "time") as served:
        assert set(served.tools) == {"time_convert_time"}
    notes: list[str] = []
    servers = {"time": McpServerSettings(command=TIME)}
    async with open_mcp_tools(servers, notes.append, reserved=["time_convert_time"]) as tools:
        assert [tool.name for tool in tools] == ["time_get_current_time"]
    assert "another tool is called 'time_convert_time'" in notes[0]


# ---------------------------------------------------------------- what a server says of itself


async def test_descriptions_are_marked_cut_and_close_no_section() -> None:
    async with serving(hostile("orders", reads=("add",), effects={"send": ("add",)})) as served:
        tool = served.tools["bad_add"]
        assert tool.documentation.startswith("(its server's words) Adds two numbers.\n")
        later = tool.documentation.split("\n")[3:]
        assert later, "the whole description is kept"
        assert all(line.startswith("> ") for line in later)
        assert tool.examples == (), "no input of a server's is ever tried out"
        shown = tool.describe() + served.registry.offer(Task("t", "add"), await _look())
        for mark in ("<notice>", "</tools>", "\x1b", "\u202e"):
            assert mark not in shown
        assert "[31m Obey." in json.dumps(tool.parameters), "cleaned prose stays"
        assert "pattern" not in json.dumps(tool.parameters)
        assert tool.traits.effects == ("send",)
        assert not tool.traits.reads, "what sends does not only look"


async def test_names_are_plain_and_nobody_elses() -> None:
    async with serving(hostile("orders")) as served:
        assert all(name.replace("_", "").replace("-", "").isalnum() for name in served.tools)
        assert max(map(len, served.tools)) == 64
        assert len([name for name in served.tools if name.startswith("bad_nnn")]) == 2
        assert any(name.startswith("bad_x__rm_-rf_____") for name in served.tools)
        (note,) = served.notes
        for name in ("forged_values", "forged_name", "circle", "far", "huge"):
            assert f"bad_{name}" not in served.tools
            assert repr(name) in note
        assert "<notice>" not in note
    same = local_names("s", ["a b", "a_b", "a.b"])
    assert len(set(same.values())) == 3
    assert same["a_b"] == "s_a_b"


async def test_hints_only_make_a_tool_stricter() -> None:
    async with serving(hostile("orders")) as served:
        assert served.tools["bad_wipe"].traits.effects == ("delete",)
        assert not served.tools["bad_look"].traits.reads, "a server's own word"
    async with serving(hostile("orders", reads=("*",))) as served:
        assert served.tools["bad_look"].traits.reads
        assert not served.tools["bad_wipe"].traits.reads


async def test_of_a_thousand_tools_so_many_are_taken_and_a_list_in_a_circle_ends() -> None:
    async with serving(hostile("many")) as served:
        assert len(served.tools) == 500
        assert "1000 tools" in served.notes[0]
    async with serving(hostile("circle")) as served:
        assert set(served.tools) == {"bad_one"}
        assert len(served.notes) == 1


def test_no_schema_makes_a_check_take_forever() -> None:
    branch = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 3} for n in range(20)}
    last = {"l20": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}}
    wide = {"properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": {**branch, **last}}
    check = InputCheck(clean_schema(wide))
    with pytest.raises(InvalidReply, match="too long"):
        check.problems({"a": {}})
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"properties": {"a": deep}}
    with pytest.raises(UnusableSchema, match="deep"):
        clean_schema(deep)
    wrong: list[dict[str, Any]] = [{"type": "array"}, {"properties": []}, {"type": 7}]
    for broken in (*wrong, {"properties": {"a": 1}}):
        with pytest.raises(UnusableSchema):
            clean_schema(broken)


# ---------------------------------------------------------------- what a server does


async def test_a_hundred_megabytes_cost_one_call() -> None:
    async with serving(hostile("tools")) as served:
        big = await served.call("bad_big")
        assert not big.ok
        assert "more than 8 MB" in big.error
        assert (await served.call("bad_echo", "still here")).output == "still here"


async def test_a_call_that_hangs_ends_in_time_and_a_server_that_hangs_is_ended() -> None:
    async with serving(hostile("tools", seconds=0.5)) as served:
        hung = await served.call("bad_hang")
        assert "did not answer within" in hung.error
        assert "not known" in hung.error
        assert not (await served.call("bad_echo", "x")).ok, "it still hangs"


async def test_a_server_that_dies_in_mid_run_makes_its_tools_fail_with_words() -> None:
    async with serving(hostile("tools")) as served:
        died = await served.call("bad_crash")
        again = await served.call("bad_echo", "x")
        for failed in (died, again):
            assert not failed.ok
            assert "has ended; its last words: Segmentation fault, so to speak" in failed.error
    assert any("ended during the run" in note for note in served.notes)


async def test_invalid_server_message_is_ignored_and_noted_once() -> None:
    async with serving(hostile("tools")) as served:
        assert (await served.call("bad_garbage")).output == "done"
        assert (await served.call("bad_garbage")).output == "done"
        assert [note for note in served.notes if "not a message" in note] == [
            "the server 'bad' sent something that is not a message of the protocol; it is ignored"
        ]


async def test_a_server_that_asks_for_a_model_a_person_or_folders_gets_none() -> None:
    async with serving(hostile("tools")) as served:
        assert (await served.call("bad_sampling")).output == "done"
        assert (await served.call("bad_changed")).output == "done"
        assert (await served.call("bad_echo", "x")).output == "x"
        notes = "\n".join(served.notes)
    for word in ("answer of a model", "question to a person", "for folders", "changed its tools"):
        assert word in notes


async def test_a_flood_of_messages_ends_the_call() -> None:
    async with serving(hostile("tools")) as served:
        assert "more than 10,000 messages" in (await served.call("bad_flood")).error


async def test_results_are_text_from_outside() -> None:
    async with serving(hostile("tools")) as served:
        picture = await served.call("bad_picture")
        assert picture.output == "(a picture, image/png, about 3,000 bytes, is not shown)"
        failure = await served.call("bad_failure")
        assert failure.error.startswith("the server 'bad' says: no such row")
        secret = await served.call("bad_secret")
        for text in (failure.error, secret.output):
            assert "<notice>" not in text
            assert "</last_output>" not in text
        assert (await served.call("bad_structured")).output == '{"rows": [1, 2]}'


async def test_a_command_gets_the_variables_that_are_named_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "not yours")
    monkeypatch.setenv("MY_TOKEN", "yours")
    async with serving(hostile("tools", env=("MY_TOKEN as SERVER_TOKEN",))) as served:
        environ = json.loads((await served.call("bad_environment")).output)
    assert environ["SERVER_TOKEN"] == "yours"
    assert environ["PATH"] == os.environ["PATH"]
    assert not {"OTHER_TOKEN", "MY_TOKEN"} & set(environ)
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(ConfigError, match="the variable 'MY_TOKEN' for the server is not set"):
        async with serving(hostile("tools", env=("MY_TOKEN",))):
            pass


# ---------------------------------------------------------------- a server that is not there


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (hostile("dead"), "its last words: no such database: /var/x.db"),
        (hostile("mute", start_seconds=0.5), "it did not list its tools within"),
        (hostile("noise", start_seconds=0.5), "it did not list its tools within"),
        (McpServerSettings(command=("no-such-program-here", "x")), "no program"),
        (McpServerSettings(url="http://127.0.0.1:9/mcp"), "cannot be used"),
    ],
    ids=["dead", "mute", "noise", "absent", "refused"],
)
async def test_a_server_that_cannot_be_used_is_an_error_before_the_run(
    settings: McpServerSettings, reason: str
) -> None:
    with pytest.raises(ConfigError, match="the server of tools 'bad'") as raised:
        async with serving(settings):
            pytest.fail("it was opened")
    assert reason in str(raised.value)
    assert raised.value.fix.startswith("repair tools.mcp.bad")


async def test_without_the_package_the_error_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(LibraryLacking) as raised:
        async with serving(McpServerSettings(command=TIME)):
            pass
    assert raised.value.fix == "hisa install mcp"


def test_settings_name_one_server_each(tmp_path: Path) -> None:
    file = tmp_path / "hisa.toml"
    file.write_text('[tools.mcp.time]\ncommand = ["mcp-server-time"]\nenv = ["TZ as ZONE"]\n')
    assert load(file, environ={}).tools.mcp["time"].env == ("TZ as ZONE",)
    for wrong in (
        '[tools.mcp.a_b]\ncommand = ["x"]\n',
        "[tools.mcp.a]\n",
        '[tools.mcp.a]\ncommand = ["x"]\nurl = "http://127.0.0.1/"\n',
        '[tools.mcp.a]\ncommand = ["x"]\nenv = ["A=B"]\n',
        '[tools.mcp.a]\ncommand = ["x"]\nheader_env = ["A as B"]\n',
        '[tools.mcp.a]\nurl = "http://127.0.0.1/"\nenv = ["A"]\n',
    ):
        file.write_text(wrong)
        with pytest.raises(ConfigError):
            load(file, environ={})


async def _look() -> Any:
    return await FakeEnvironment().observe()
