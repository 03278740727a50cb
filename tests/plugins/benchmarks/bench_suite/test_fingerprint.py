"""The fingerprint of a start: what it holds, what it costs, and what it never does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.config import Settings, load
from hisa.environments.confirm import Answer, Question
from hisa.events import Event, Fingerprinted, Observed, Planned, StartFile
from hisa.plugins.benchmarks.bench import inventory
from hisa.plugins.benchmarks.bench.fingerprint import named_paths, take_fingerprint
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import CommandResult, Task
from hisa.runs.log import RunLog
from hisa.runs.read import Run, load_run
from hisa.runs.terminal_view import run_json, summary
from hisa.testing.form import FakeEnvironment
from tests.plugins.benchmarks.tasks.machine import Machine

TASK = Task("t", 'Click the "Save" button.', setup=({"write": {"path": "~/a.txt", "text": "hi"}},))
ANSWER = {
    "files": [{"path": "/home/user/a.txt", "size": 2, "sha256": "ab" * 32}],
    "more": False,
    "versions": {"system": "Debian", "mousepad": "0.5"},
}


def answering(output: str, exit_code: int = 0, error: str = "") -> Machine:
    return Machine({"inventory": CommandResult(exit_code, output, error)})


def looked_at(home: Path, *given: str) -> dict[str, Any]:
    """The inventory as a machine makes it: another Python, another home."""
    line = [sys.executable, "-I", "-S", str(inventory.__file__), json.dumps(given)]
    done = subprocess.run(
        line, env={**os.environ, "HOME": str(home)}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def by_name(found: Mapping[str, Any], home: Path) -> dict[str, tuple[int, str]]:
    return {
        os.path.relpath(file["path"], home): (file["size"], file["sha256"])
        for file in found["files"]
    }


@pytest.mark.process
def test_the_home_folder_and_what_the_set_up_names_are_looked_at(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in ("a.txt", "Documents/b.txt", ".cache/noise", ".config/named", "Documents/.hidden"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    os.mkfifo(home / "pipe")
    (home / "link").symlink_to("/etc/passwd")
    found = looked_at(home, "~/.config/named", str(tmp_path / "gone"), "~/Documents", "\0")
    expected = {
        name: (len(name), hashlib.sha256(name.encode()).hexdigest())
        for name in ("a.txt", "Documents/b.txt", ".config/named")
    }
    assert by_name(found, home) == expected
    assert found["more"] is False


@pytest.mark.process
def test_its_work_is_bounded_and_in_a_fixed_order(tmp_path: Path) -> None:
    for number in range(inventory.MAX_FILES + 5):
        (tmp_path / f"f{number:04}").write_text("x")
    with (tmp_path / "a-large").open("wb") as file:
        file.truncate(inventory.MAX_BYTES + 1)
    (tmp_path / os.fsdecode(b"b\xff\n")).write_text("odd")
    found = looked_at(tmp_path)
    names = [os.path.basename(file["path"]) for file in found["files"]]
    assert names[:3] == ["a-large", "b\\xff\n", "f0000"]
    assert len(names) == inventory.MAX_FILES
    assert found["more"] is True
    assert found["files"][0] == {
        "path": str(tmp_path / "a-large"),
        "size": inventory.MAX_BYTES + 1,
        "sha256": "",
    }
    assert found == looked_at(tmp_path)


def test_every_path_of_a_set_up_is_named_once() -> None:
    task = Task(
        "t",
        "x",
        setup=(
            {"write": {"path": "~/a", "text": "/not/this"}},
            {"copy": {"source": "/host/file", "path": "~/b"}},
            {"type": "download", "parameters": {"files": [{"url": "u", "path": "/c"}]}},
            {"type": "copyfile_from_host_to_guest", "parameters": {"src": "/s", "dest": "/d"}},
            {"type": "open", "parameters": {"path": "/c"}},
            {"type": "open", "parameters": {"path": "beside"}},
        ),
    )
    assert named_paths(task) == ["~/a", "~/b", "/c", "/d"]


async def test_the_machine_answers_once_and_the_same_start_has_the_same_digest() -> None:
    machine = answering(json.dumps(ANSWER))
    first, second = await take_fingerprint(TASK, machine), await take_fingerprint(TASK, machine)
    assert len(machine.lines) == 2
    assert machine.lines[0].endswith('["~/a.txt"]')
    assert first.files == (StartFile(path="/home/user/a.txt", size=2, sha256="ab" * 32),)
    assert first.versions["mousepad"] == "0.5"
    assert (first.environment, first.unknown) == ("fake", "")
    assert first.digest == second.digest
    other = await take_fingerprint(TASK, answering(json.dumps({**ANSWER, "more": True})))
    assert other.digest != first.digest


@pytest.mark.parametrize(
    "machine",
    [
        FakeEnvironment(),
        FakeEnvironment(fail_after=0),
        answering("", 127, "python3: not found"),
        answering("no JSON"),
        answering('{"files": 3}'),
        answering(json.dumps({**ANSWER, "files": [ANSWER["files"]] * 5000})),
    ],
)
async def test_what_a_machine_cannot_tell_is_unknown(machine: FakeEnvironment) -> None:
    found = await take_fingerprint(TASK, machine)
    assert found.files is None
    assert found.unknown
    assert "hisa" in found.versions


class Imaged(FakeEnvironment):
    """Knows its image, and has an address."""

    @property
    def name(self) -> str:
        return "http://10.0.0.7:5000"

    @property
    def component_versions(self) -> Mapping[str, str]:
        return {"vm image": "office-12ab"}


async def test_an_image_is_a_version_and_an_address_is_none() -> None:
    found = await take_fingerprint(TASK, Imaged())
    assert found.versions["vm image"] == "office-12ab"
    assert found.environment == "guest"


def settings(**run: Any) -> Settings:
    return load(environ={}, overrides={"patterns": {"enabled": False}, "run": run})


async def ran(folder: Path, wanted: Settings, *, resumed: bool = False) -> Run:
    """The offline model on a form."""
    asked: list[str] = []

    async def ask(question: Question) -> Answer:
        asked.append(question.what)
        return Answer("once")

    machine = answering(json.dumps(ANSWER))
    agent = hisa.Agent(environment=machine, settings=wanted, ask=ask)
    with RunLog.create(folder, TASK) as log:
        log.step = int(resumed)
        async with agent.open(TASK, log) as loop:
            await loop.run(TASK)
    assert not any("inventory" in what for what in asked), "a person is not asked for this"
    return load_run(log.folder)


def at(run: Run, kind: type[Event]) -> list[int]:
    return [number for number, event in enumerate(run.events) if isinstance(event, kind)]


async def test_it_is_taken_after_the_set_up_and_before_the_first_plan(tmp_path: Path) -> None:
    run = await ran(tmp_path, settings(fingerprint=True, confirm="always"))
    (taken,) = at(run, Fingerprinted)
    assert at(run, Observed)[0] < taken < at(run, Planned)[0]
    assert run.start is not None
    lines = [line.plain for line in summary(run, 100)]
    assert any(line.startswith(f"start {run.start.digest[:12]} · files: 1") for line in lines)
    assert run_json(run)["start"]["versions"]["system"] == "Debian"


async def test_it_is_off_by_default_and_not_taken_again_on_resuming(tmp_path: Path) -> None:
    assert (await ran(tmp_path / "off", settings())).start is None
    resumed = await ran(tmp_path / "resumed", settings(fingerprint=True), resumed=True)
    assert resumed.start is None
    assert at(resumed, Observed)


@pytest.mark.desktop
async def test_on_a_desktop_it_opens_nothing_and_is_the_same_twice() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("~/a.txt", b"hi")
        before = await desktop.observe(settle=1.0)
        first, second = await take_fingerprint(TASK, desktop), await take_fingerprint(TASK, desktop)
        after = await desktop.observe(settle=1.0)
    assert before.screenshot.sha256 == after.screenshot.sha256
    assert (first.digest, first.unknown) == (second.digest, "")
    digest = hashlib.sha256(b"hi").hexdigest()
    assert StartFile(path="/home/user/a.txt", size=2, sha256=digest) in (first.files or ())
    assert first.versions["system"]
