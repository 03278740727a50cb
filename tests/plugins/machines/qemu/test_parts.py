"""The parts that need no machine: recipes, folders that appear whole, programs that end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.config import EnvironmentSettings, Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.desktop.runtime.state import process_start
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.process import end_all, start
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu.build import Image, build, find_image, image_folder
from hisa.plugins.machines.qemu.gc import collect
from hisa.plugins.machines.qemu.machine import Machine, Shape
from hisa.plugins.machines.qemu.runtime import list_machines, reap_machines, start_machine
from hisa.plugins.machines.qemu.template import ready
from hisa.plugins.machines.vm import vm
from hisa.plugins.machines.vm_clone import VmEnvironment
from hisa.screen.geometry import Size


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hisa" / "vm"


class TestStore:
    def test_a_failed_block_leaves_nothing(self, cache: Path) -> None:
        target = store.folder("images") / "one"
        with pytest.raises(FileNotFoundError), store.place_atomically(target) as draft:
            (draft / "no folder" / "half").write_bytes(b"x")
        assert list((cache / "images").iterdir()) == []

    @pytest.mark.process
    def test_killed_process_leaves_only_a_draft(self, cache: Path) -> None:
        code = (
            "import os; from hisa.plugins.machines.profiles import store\n"
            "with store.place_atomically(store.folder('images') / 'one') as draft:\n"
            "    (draft / 'half').write_bytes(b'x'); os.kill(os.getpid(), 9)"
        )
        result = subprocess.run([sys.executable, "-c", code], check=False)
        assert result.returncode == -signal.SIGKILL
        assert not (cache / "images" / "one").exists()
        assert store.entries("images") == []
        assert collect() == ["unfinished builds: 1"]
        assert list((cache / "images").iterdir()) == []

    def test_drafts_of_the_living_stay(self, cache: Path) -> None:
        with store.place_atomically(store.folder("images") / "one") as draft:
            assert store.sweep(store.folder("images")) == 0
            store.write_manifest(draft, {"a": 1})
        assert [known for _, known in store.entries("images")] == [{"a": 1}]

    def test_existing_target_is_not_replaced(self, cache: Path) -> None:
        target = store.folder("images") / "one"
        with store.place_atomically(target) as draft:
            store.write_manifest(draft, {"number": 1})
        with pytest.raises(OSError, match="not empty"), store.place_atomically(target) as draft:
            store.write_manifest(draft, {"number": 2})
        assert [known for _, known in store.entries("images")] == [{"number": 1}]


class TestBuild:
    @pytest.mark.process
    def test_missing_program_is_named_and_nothing_is_left(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        _lay_programs(tmp_path, mmdebstrap="echo no mirror answers; exit 25")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with pytest.raises(EnvironmentFailed, match=r"mmdebstrap ended with 25[\s\S]*no mirror"):
            build(recipe("minimal"), lambda line: None)
        assert find_image(recipe("minimal")) is None
        assert _folders(cache / "images") == _folders(cache / "trees") == []

    @pytest.mark.process
    def test_build_killed_in_the_middle_leaves_only_a_draft(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        half = 'for out; do :; done; mkdir "$out"; echo Setting up hello; exec sleep 600'
        _lay_programs(tmp_path, mmdebstrap=half)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        line = [sys.executable, "-m", "hisa", "vm", "build", "minimal"]
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        while "Setting up hello" not in (message := process.stderr.readline()):
            assert message
        process.kill()
        process.communicate()
        (draft,) = _folders(cache / "trees")
        assert store.entries("images") == store.entries("trees") == []
        assert _folders(cache / "images") == []
        while _is_at_home_in(draft / "work"):
            time.sleep(0.01)

        _lay_programs(tmp_path, mmdebstrap="exit 25")
        with pytest.raises(EnvironmentFailed):
            build(recipe("minimal"), lambda line: None)
        assert _folders(cache / "trees") == []

    @pytest.mark.process
    def test_ready_desktop_of_a_removed_image_is_collected(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        stale = store.folder("ready") / f"{image_folder(recipe('minimal')).name}-1-2"
        stale.mkdir()
        _lay_programs(tmp_path, mmdebstrap="exit 25")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with pytest.raises(EnvironmentFailed):
            build(recipe("minimal"), lambda line: None)
        assert not stale.exists()

    def test_built_image_is_not_built_again(self, cache: Path) -> None:
        folder = image_folder(recipe("minimal"))
        folder.mkdir(parents=True)
        store.write_manifest(folder, {"created": 0})
        messages: list[str] = []
        assert build(recipe("minimal"), messages.append).folder == folder
        assert messages == [f"{folder.name} is built"]


def _folders(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.is_dir()]


def _is_at_home_in(folder: Path) -> bool:
    """Whether a process runs there."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").samefile(folder):
                return True
    return False


@pytest.mark.process
def test_kernel_gets_options_for_emulated_clock_and_panic(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lay_program(tmp_path, "qemu-system-x86_64", f'echo "$@" >{tmp_path}/said; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    machine = Machine(Shape(str(tmp_path), 640, 480), tmp_path)
    with pytest.raises(EnvironmentFailed):
        machine.launch(tmp_path / "memory", shared=False)
    machine.kill()
    words = (tmp_path / "said").read_text().split()
    assert {"no_timer_check", "panic=-1"} <= set(words)


def _lay_programs(folder: Path, *, mmdebstrap: str) -> None:
    """A builder that does so, and others that do nothing."""
    _lay_program(folder, "mmdebstrap", mmdebstrap)
    for name in ("qemu-img", "qemu-system-x86_64", "mkfs.ext4"):
        _lay_program(folder, name, "exit 0")


def _lay_program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


class TestBoot:
    @pytest.mark.process
    def test_machine_that_does_not_come_up_is_booted_once_more(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        _lay_program(tmp_path, "qemu-img", 'for last; do :; done; : >"$last"')
        _lay_program(tmp_path, "qemu-system-x86_64", "echo no such machine; [ $# = 1 ]")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        messages: list[str] = []
        image = tmp_path / "image"
        for name in ("vmlinuz", "initrd.img"):
            (image / name).parent.mkdir(exist_ok=True)
            (image / name).write_bytes(b"")
        with pytest.raises(EnvironmentFailed, match="no such machine"):
            ready(Image(image), Size(640, 480), messages.append)
        assert messages[1:] == ["booting again: QEMU did not start"]
        assert store.entries("ready") == []


class TestProcess:
    @pytest.mark.process
    def test_program_and_its_children_end_with_their_owner(self, tmp_path: Path) -> None:
        code = (
            "import sys, time; from pathlib import Path\n"
            "from hisa.plugins.machines.profiles.process import start\n"
            "line = ['sh', '-c', 'sleep 600 & echo $! $$ >pids.new; mv pids.new pids; wait']\n"
            f"here = Path({str(tmp_path)!r})\n"
            "p = start(line, open(here / 'log', 'wb'), here, signal='TERM')\n"
            "time.sleep(600)"
        )
        owner = subprocess.Popen([sys.executable, "-c", code])
        pids = tmp_path / "pids"
        while not pids.exists():
            assert owner.poll() is None
            time.sleep(0.01)
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
        for pid in pids.read_text().split():
            while process_start(int(pid)) is not None:
                time.sleep(0.01)

    @pytest.mark.process
    def test_ended_program_leaves_no_watcher(self, tmp_path: Path) -> None:
        with (tmp_path / "log").open("wb") as log:
            process = start(["true"], log, tmp_path, signal="KILL")
        assert process.wait() == 0
        end_all(process)
        while _group_lives(process.pid):
            time.sleep(0.01)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class TestNames:
    def test_environment_of_the_settings(self) -> None:
        environment = open_environment(EnvironmentSettings(kind="vm:minimal"))
        assert isinstance(environment, VmEnvironment)
        assert environment.name == "vm:minimal"

    async def test_unbuilt_profile_says_how_to_build_it(self) -> None:
        with pytest.raises(EnvironmentFailed, match="is not built") as caught:
            await VmEnvironment("minimal").__aenter__()
        assert caught.value.fix == "hisa vm build minimal"

    def test_unknown_name_says_which_there_are(self) -> None:
        with pytest.raises(UsageError, match="minimal, office, browser"):
            start_machine("nosuch", Size(640, 480))

    def test_machine_of_a_dead_process_is_litter(self, cache: Path) -> None:
        folder = store.folder("machines") / "12345678"
        folder.mkdir()
        store.write_manifest(folder, {"pid": os.getpid(), "started": 1, "name": "minimal"})
        assert list_machines() == []
        assert reap_machines() == 1
        assert not folder.exists()


class TestCommand:
    def test_list_of_nothing(self) -> None:
        result = CliRunner().invoke(vm, ["ls", "--json"], obj=Settings(), catch_exceptions=False)
        assert result.output == '{\n  "images": [],\n  "ready": [],\n  "machines": []\n}\n'
