"""The server of a random model: its key, who shares it, what it keeps, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest
from PIL import Image

from hisa.config import ModelSettings, Settings
from hisa.errors import ConfigError, LibraryLacking, ModelUnavailable
from hisa.events import Event, ModelCalled
from hisa.machine.patience import Deadline
from hisa.models.budget import Budget
from hisa.models.open_models import Models, open_models, require_models
from hisa.models.spending import Ledger
from hisa.plugins.gguf import llama_server
from hisa.plugins.gguf.gguf_model import GgufModel, build_spec
from hisa.plugins.gguf.model_names import find_files
from hisa.protocols import ImagePart, Message, ModelRequest, Role, TextPart
from hisa.screen.observation import Screenshot

ROOT = Path(__file__).parents[3]
SCHEMA = {
    "type": "object",
    "properties": {"tool": {"enum": ["click", "type"]}, "sure": {"type": "boolean"}},
    "required": ["tool", "sure"],
    "additionalProperties": False,
}

pytestmark = pytest.mark.process


def request(role: Role, words: str = "Click the button.", **more: object) -> ModelRequest:
    rules = TextPart("You operate a computer through its screen. " * 10)
    messages = (Message("system", (rules,)), Message("user", (TextPart(words),)))
    return ModelRequest(role, messages, **{"max_tokens": 60, **more})  # type: ignore[arg-type]


@asynccontextmanager
async def open_local_models(
    model: Path, events: list[Event] | None = None, **roles: dict[str, object]
) -> AsyncIterator[Models]:
    named = {
        role: {"model": f"gguf:{model}", "max_retries": 1, **more}
        for role, more in {"planner": {}, **roles}.items()
    }
    settings = Settings.model_validate({"models": named})
    emit = (events if events is not None else []).append
    async with open_models(
        settings.models, settings.planner, emit, Budget(None, None), Ledger(), environ={}
    ) as models:
        yield models
    for server in list(llama_server._servers.values()):
        llama_server.release(server, linger=0.0)
        await asyncio.to_thread(server.stop)


def open_to_others(pid: int) -> bytes:
    """A process's command line and environment."""
    return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))


def servers() -> list[llama_server.LlamaServer]:
    return [server for server in llama_server._servers.values() if server.pid]


async def test_two_roles_share_a_server_that_wants_its_key(random_model: Path) -> None:
    async with open_local_models(random_model, grounder={"max_tokens": 50}) as models:
        assert not servers(), "it starts with the first request"
        await asyncio.gather(
            models["planner"].complete(request("planner")),
            models["grounder"].complete(request("grounder")),
        )
        (server,) = servers()
        endpoint = server.ready().result()
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}
        async with httpx.AsyncClient(base_url=endpoint.url) as client:
            for key in ({}, {"Authorization": "Bearer guess"}):
                answer = await client.post("/chat/completions", json=body, headers=key)
                assert answer.status_code == 401
        assert len(endpoint.api_key) >= 40
        assert server.pid is not None
        assert endpoint.api_key.encode() not in open_to_others(server.pid)
    assert not servers()


async def test_a_model_is_loaded_and_the_beginning_of_a_prompt_read_once(
    random_model: Path,
) -> None:
    events: list[Event] = []
    lines: list[tuple[str, str]] = []
    async with open_local_models(random_model, events) as models:
        for words in ("Click the button.", "Type a name.", "Click the button."):
            model_request = request("planner", words, progress=lambda *line: lines.append(line))
            await models["planner"].complete(model_request)
        model_request = request("planner", schema=SCHEMA, max_tokens=200, temperature=1.0)
        answer = json.loads((await models["planner"].complete(model_request)).text)
    calls = [event for event in events if isinstance(event, ModelCalled)][:3]
    assert [call.cached_in > 300 for call in calls] == [False, True, True]
    assert all(call.usd == 0 for call in calls)
    assert [line for line in lines if "token" not in line[1]] == [("planner", "loading the model")]
    jsonschema.validate(answer, SCHEMA)


async def test_a_server_that_died_is_started_anew(random_model: Path) -> None:
    async with open_local_models(random_model) as models:
        await models["planner"].complete(request("planner"))
        (server,) = servers()
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_for_end(first)
        await models["planner"].complete(request("planner"))
        assert server.pid not in (None, first)


def test_a_late_end_of_an_old_server_leaves_a_newer_one_alone(random_model: Path) -> None:
    settings = ModelSettings(model=f"gguf:{random_model}")
    spec = build_spec(settings, find_files(settings.model))
    old = llama_server.use(spec)
    llama_server.release(old, linger=1000.0)
    llama_server._end_unused(old)
    newer = llama_server.use(spec)
    llama_server._end_unused(old)
    assert llama_server.use(spec) is newer
    for _ in range(2):
        llama_server.release(newer, linger=0.0)


async def test_a_next_run_finds_the_server_of_the_last(random_model: Path) -> None:
    settings = Settings.model_validate({"models": {"planner": {"model": f"gguf:{random_model}"}}})
    first, second = (GgufModel(settings.models.planner) for _ in range(2))
    await first.complete(request("planner"))
    (server,) = servers()
    pid = server.pid
    await first.aclose()
    reply = await second.complete(request("planner"))
    assert server.pid == pid
    assert reply.usage.cached_in > 300
    await second.aclose()
    llama_server._end_unused(server)
    assert not servers()


async def test_a_prompt_beyond_the_context_names_the_setting(random_model: Path) -> None:
    async with open_local_models(random_model, planner={"context": 512}) as models:
        with pytest.raises(ModelUnavailable, match="context size") as caught:
            await models["planner"].complete(request("planner", "word " * 900))
        assert caught.value.fix == "--set models.planner.context=1024"


async def test_pictures_are_refused_where_they_decide_and_left_out_elsewhere(
    random_model: Path,
) -> None:
    async with open_local_models(random_model) as models:
        shown = (TextPart("What changed?"), ImagePart(Screenshot(Image.new("RGB", (4, 4), "red"))))
        with_picture = ModelRequest("state", (Message("user", shown),), max_tokens=30)
        assert (await models["state"].complete(with_picture)).usage.tokens_out
        blind = ModelRequest("planner", with_picture.messages, max_tokens=30)
        with pytest.raises(ConfigError, match="sees no pictures") as caught:
            await models["planner"].complete(blind)
        assert caught.value.fix == "--set planner.sees=elements"


@pytest.fixture
def broken_model(random_model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "broken.gguf"
    path.write_bytes(random_model.read_bytes()[:300_000])
    return path


async def test_a_file_without_its_end_is_an_error_in_words(broken_model: Path) -> None:
    async with open_local_models(broken_model) as models:
        with pytest.raises(ModelUnavailable, match=r"cannot load .*broken\.gguf: .*"):
            await models["planner"].complete(request("planner"))


async def test_a_model_that_has_no_room_is_not_loaded(random_model: Path) -> None:
    async with open_local_models(random_model, planner={"context": 2_000_000_000}) as models:
        with pytest.raises(ModelUnavailable, match="of memory") as caught:
            await models["planner"].complete(request("planner"))
        assert (
            caught.value.fix
            == "--set models.planner.context=1000000000, or a smaller model: hisa models ls"
        )
        assert not servers()


def test_without_llama_the_error_says_how_to_get_it(
    random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    settings = Settings.model_validate({"models": {"planner": {"model": f"gguf:{random_model}"}}})
    require_models(settings.models, settings.planner, {})
    with pytest.raises(LibraryLacking) as caught:
        GgufModel(settings.models.planner)
    assert caught.value.fix == "hisa install gguf"


PARENT = """
import asyncio, os, signal, sys
from hisa.config import ModelSettings
from hisa.plugins.gguf import llama_server
from hisa.plugins.gguf.gguf_model import GgufModel
from hisa.models.retry import TryFailed
from hisa.protocols import Message, ModelRequest, TextPart

request = ModelRequest("planner", (Message("user", (TextPart("hello"),)),), max_tokens=8)

async def main():
    model = GgufModel(ModelSettings(model=sys.argv[1]))
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    await model.complete(request)
    (server,) = llama_server._servers.values()
    if sys.argv[2] == "fork" and not os.fork():
        signal.pause()
    print(server.pid, flush=True)
    await stopped.wait()
    try:
        reply = await model.complete(request)
    except TryFailed:  # a kept connection that ended meanwhile, which a run asks again after
        reply = await model.complete(request)
    print(reply.usage.tokens_out, server.pid, flush=True)
    await model.aclose()

asyncio.run(main())
"""


def parent(model: Path, mode: str) -> tuple[subprocess.Popen[str], int]:
    """A process with a server, and the server's number."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, f"gguf:{model}", mode],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def wait_for_end(pid: int) -> None:
    deadline = Deadline(20.0)
    while is_alive(pid):
        assert not deadline.passed, f"process {pid} goes on"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state[0] != "Z"


@pytest.mark.parametrize("mode", ["alone", "fork"])
def test_kill_9_of_the_parent_leaves_no_server(random_model: Path, mode: str) -> None:
    """Also where a fork of the parent lives on, and with it the other end of the pipe."""
    process, server = parent(random_model, mode)
    try:
        assert is_alive(server)
        process.kill()
        process.wait()
        wait_for_end(server)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_ctrl_c_leaves_the_server_to_the_run_until_its_end(random_model: Path) -> None:
    process, server = parent(random_model, "alone")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to all of its group
    output, _ = process.communicate()
    assert process.returncode == 0
    tokens, same = output.split()
    assert int(tokens) > 0
    assert int(same) == server
    wait_for_end(server)
