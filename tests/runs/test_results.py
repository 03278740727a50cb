"""What a run made on a real desktop comes home, whatever its names, sizes and endings."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from hisa.events import StepFinished
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import Task
from hisa.runs import results
from hisa.runs.log import RunLog
from hisa.runs.manifest import ResultsRecord
from hisa.runs.results import Results
from tests.cli.command import Command

pytestmark = pytest.mark.desktop
TASK = 'Open the text editor. Type "hello". Save the file as "hi.txt".'


in_module = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    """One for all, which the last test kills."""
    async with DesktopEnvironment() as environment:
        yield environment


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    with RunLog.create(tmp_path / "runs", Task(id="t", instruction="x")) as log:
        yield log


async def fetch_after(
    desktop: DesktopEnvironment, log: RunLog, command: str, *patterns: str
) -> ResultsRecord:
    """What is written down after a run that did nothing but one command."""
    task = Task(id="t", instruction="x", results=patterns)
    hook = Results(task, desktop, log)
    await desktop.execute("echo before >~/before.txt")
    await hook.mark()
    await asyncio.sleep(0.05)  # a file system's clock ticks every 4 to 10 ms
    result = await desktop.execute(command)
    assert result.exit_code == 0, result.error
    log.emit(StepFinished())
    await hook.fetch_results()
    written = json.loads((log.folder / "run.json").read_text("utf-8"))["results"]
    return ResultsRecord.model_validate(written)


@in_module
async def test_files_folders_and_patterns_come_home(
    desktop: DesktopEnvironment, log: RunLog
) -> None:
    record = await fetch_after(
        desktop,
        log,
        "mkdir -p ~/out/sub ~/.cache/x; echo a >~/out/a.txt; echo b >~/out/sub/b.txt; "
        "echo c >~/c.csv; echo hidden >~/.cache/x/y; echo again >>~/before.txt",
        "~/out",
        "*.csv",
        "/etc/hostname",
        "~/none.txt",
    )
    home = "/home/user"
    paths = [f"{home}/before.txt", f"{home}/c.csv", f"{home}/out/a.txt", f"{home}/out/sub/b.txt"]
    assert record.made == paths
    places = {file.place: (log.folder / file.place).read_text("utf-8") for file in record.fetched}
    assert places == {
        "files/out/a.txt": "a\n",
        "files/out/sub/b.txt": "b\n",
        "files/c.csv": "c\n",
        "files/outside-home/etc/hostname": "desktop\n",
    }
    assert record.missed == ["~/none.txt: not there"]
    for file in record.fetched:
        assert stat.S_IMODE((log.folder / file.place).stat().st_mode) == 0o600


@in_module
async def test_hostile_names_stay_inside_and_can_be_printed(
    desktop: DesktopEnvironment, log: RunLog, tmp_path: Path
) -> None:
    script = r"""
import os
import re
os.makedirs(os.path.expanduser("~/evil"))
os.chdir(os.path.expanduser("~/evil"))
for name in (b"a\x1b[31mred", b"new\nline", b"..hidden", b"back\\slash", b"x" * 250, b"\xff\xfe"):
    open(name, "w").write("x")
os.symlink("/etc", "etc")
os.symlink("/etc/passwd", "link")
os.mkfifo("pipe")
"""
    record = await fetch_after(
        desktop, log, f"python3 -c '{script}'", "~/evil", "~/evil/*", "../../etc/hostname"
    )
    folder = (log.folder / results.FILES).resolve()
    for file in record.fetched:
        path = log.folder / file.place
        assert path.resolve().is_relative_to(folder)
        assert path.is_file()
        assert not path.is_symlink()
    printed = json.dumps([record.made, [f.path for f in record.fetched], record.missed])
    assert "\\u001b" not in printed
    assert os.listdir(tmp_path) == ["runs"]
    names = {Path(file.place).name for file in record.fetched}
    assert {"..hidden", "link"} <= names
    assert any(name.startswith("a_x1b[31mred-") for name in names)
    assert [line for line in record.missed if "is no text" in line]
    assert not any("pipe" in name for name in names)


@in_module
async def test_sizes_are_limited_and_left_files_are_reported(
    desktop: DesktopEnvironment, log: RunLog
) -> None:
    record = await fetch_after(desktop, log, "truncate -s 100G ~/big; echo x >~/x", "big", "x")
    assert [file.place for file in record.fetched] == ["files/x"]
    (missed,) = record.missed
    assert missed.startswith("/home/user/big: 107374182400 bytes")


def test_a_run_reports_new_files_and_fetches_requested_ones(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    output = hisa.run("run", TASK)
    assert re.search(r"made +/home/user/hi.txt\n", output)
    assert "--fetch /home/user/hi.txt" in output
    report = hisa.json("run", TASK, "--fetch", "~/*.txt", "--fetch", "~/gone", code=1)
    (place,) = report["fetched"]
    assert Path(place).read_text("utf-8") == "hello"
    assert Path(place).is_relative_to(report["folder"])
    assert report["made"] == ["/home/user/hi.txt"]
    assert report["missed"] == ["~/gone: not there"]


def test_the_results_of_a_task_file_come_home(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    task = tmp_path / "my task.yaml"
    task.write_text(f"instruction: {json.dumps(TASK)}\nresults: [~/hi.txt]\n", "utf-8")
    report = hisa.json("run", str(task))
    assert [Path(place).name for place in report["fetched"]] == ["hi.txt"]


@in_module
async def test_a_dead_machine_is_reported_and_ends_nothing(
    desktop: DesktopEnvironment, log: RunLog
) -> None:
    task = Task(id="t", instruction="x", results=("~/a.txt", "~/b.txt"))
    hook = Results(task, desktop, log)
    await hook.mark()
    os.kill(desktop.handle["pid"], 9)
    await hook.fetch_results()
    missed = log.manifest.results.missed
    assert [line.partition(":")[0] for line in missed] == ["~/a.txt", "~/b.txt"]
