"""Built systems: recipes, builds that fail or are cut off, and desktops that show one."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.desktop.guest import skeleton
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import DesktopRuntime, boot, bubblewrap, namespaces
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.recipe import PROFILES, Recipe, recipe
from hisa.plugins.machines.profiles.wheels import fetch_wheels
from hisa.plugins.machines.qemu.build import image_folder
from hisa.plugins.machines.tree import (
    build_tree,
    built_tree,
    find_tree,
    pack_files,
    tree_folder,
)
from hisa.screen.geometry import Size
from tests.cli.command import Command

BUILD = "hisa machine build osworld"
built = pytest.mark.skipif(find_tree(recipe("osworld")) is None, reason=f"not built: {BUILD}")


class TestRecipe:
    def test_recipe_version_changes_with_its_inputs(self) -> None:
        versions = {recipe(profile).version for profile in PROFILES}
        assert len(versions) == len(PROFILES)
        plain = recipe("minimal")
        more = Recipe("minimal", (*plain.packages, "hello"))
        assert plain.version == recipe("minimal").version
        assert plain.version != more.version
        assert plain.disk_version != more.disk_version

    def test_unknown_profile_is_named_with_the_known_ones(self) -> None:
        with pytest.raises(UsageError, match=r"'nosuch'.*minimal, office, browser, osworld"):
            recipe("nosuch")

    @pytest.mark.parametrize("profile", PROFILES)
    def test_every_file_of_ours_is_there(self, profile: str) -> None:
        assert all(file.is_file() for file in recipe(profile).files.values())

    def test_commands_are_programs_and_settings_are_not(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        places = {"./usr/local/bin/x": tmp_path / "x", "./etc/x": tmp_path / "x"}
        with tarfile.open(fileobj=io.BytesIO(pack_files(places))) as archive:
            modes = {member.name: member.mode for member in archive}
        assert modes == {"./usr/local/bin/x": 0o755, "./etc/x": 0o644}


def lay_builder(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A builder of that behaviour, before all other programs."""
    path = folder / "mmdebstrap"
    path.write_text(f"#!/bin/sh\nfor out; do :; done\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")


FINISHED = """
echo "Need to get 500 kB/2 MB of archives."
mkdir -p "$out/etc"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="run as root: without, a tar is made and unpacked")
class TestBuild:
    @pytest.mark.process
    def test_build_reports_downloads_and_contents(
        self, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lay_builder(tmp_path, FINISHED, monkeypatch)
        messages: list[str] = []
        tree = build_tree(recipe("minimal"), messages.append)
        assert any("Need to get 500 kB/2 MB" in line for line in messages)
        again: list[str] = []
        assert build_tree(recipe("minimal"), again.append).folder == tree.folder
        assert again == [f"tree {tree.name} is built"]
        (row,) = [
            row for row in Command(tmp_path).json("machine", "ls") if row["profile"] == "minimal"
        ]
        assert row["applications"] == ["Mousepad"]
        assert (row["built"], row["desktop"], row["vm"]) == (True, True, False)
        image_folder(recipe("minimal")).mkdir()
        assert "no disk yet" in Command(tmp_path).run("machine", "ls"), "it is not finished"
        manifest = {"bytes": 2_000_000_000, "seconds": 41.7}
        store.write_manifest(image_folder(recipe("minimal")), manifest)
        assert "its disk 2000 MB, made in 42 s" in Command(tmp_path).run("machine", "ls")

    @pytest.mark.process
    def test_a_killed_build_leaves_nothing_that_looks_finished(
        self, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lay_builder(tmp_path, f"{FINISHED}\nexec sleep 600", monkeypatch)
        line = [sys.executable, "-m", "hisa", "machine", "build", "minimal"]
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        while "Need to get 500 kB" not in (message := process.stderr.readline()):
            assert message
        process.kill()
        process.communicate()
        assert find_tree(recipe("minimal")) is None
        assert "not built" in Command(tmp_path).run("machine", "ls")

        lay_builder(tmp_path, FINISHED, monkeypatch)
        tree = build_tree(recipe("minimal"), lambda line: None)
        assert [path for path in tree.folder.parent.iterdir() if path.is_dir()] == [tree.folder]

    @pytest.mark.process
    async def test_a_second_build_waits_for_the_folder_of_packages(
        self, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = f"mkdir {tmp_path}/held || exit 25\nsleep 1\nrmdir {tmp_path}/held"
        lay_builder(tmp_path, f"{FINISHED}\n{alone}", monkeypatch)
        messages: list[str] = []
        builds = [
            asyncio.to_thread(build_tree, recipe(profile), messages.append)
            for profile in ("minimal", "office")
        ]
        trees = await asyncio.gather(*builds)
        assert [tree.manifest["profile"] for tree in trees] == ["minimal", "office"]
        assert any(
            line.endswith("another process, which is working on archives") for line in messages
        )


def test_without_the_builder_its_package_and_the_command_are_named(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hisa.plugins.machines.tree.on_path", lambda name: False)
    with pytest.raises(EnvironmentFailed, match="package mmdebstrap") as caught:
        build_tree(recipe("minimal"), lambda line: None)
    assert caught.value.fix == "hisa install vm"


@pytest.mark.process
def test_python_packages_that_are_not_to_be_had_leave_nothing(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "wanted.txt").write_text("no-such-package==1\n")
    with pytest.raises(EnvironmentFailed, match="no-such-package"):
        fetch_wheels([tmp_path / "wanted.txt"], lambda line: None)
    assert store.entries("wheels") == []


class TestAddress:
    @pytest.mark.parametrize(
        ("kind", "message", "fix"),
        [
            ("desktop:nosuch", r"no profile 'nosuch'; there are minimal, office", "machine ls"),
            ("desktop:minimal", "profile 'minimal' is not built", "hisa machine build minimal"),
        ],
    )
    async def test_missing_profile_is_refused(
        self, own_cache: Path, kind: str, message: str, fix: str
    ) -> None:
        environment = open_environment(EnvironmentSettings(kind=kind))
        assert environment.name == kind
        with pytest.raises(UsageError, match=message) as caught:
            await environment.__aenter__()
        assert fix in caught.value.fix


def test_a_prepared_home_is_copied_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, home = tmp_path / "skel", tmp_path / "home"
    prepared.mkdir()
    (prepared / ".profile").write_text("x")
    (prepared / "link").symlink_to("/nowhere")
    monkeypatch.setattr(skeleton, "_BUILT", str(prepared))
    monkeypatch.setattr(skeleton, "_PREPARED", str(prepared))
    home.mkdir()
    for _ in range(2):  # a virtual machine's guest may be started again
        skeleton.create_home(home)
    assert os.readlink(home / "link") == "/nowhere"
    assert (home / ".config/openbox/rc.xml").exists()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A system of one shell, a few tools, and a mark."""
    root = tmp_path / "root"
    for tool in ("sh", "cat", "ls"):
        path = shutil.which(tool)
        assert path
        lay(path, root, f"usr/bin/{tool}")
        output = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", output):
            lay(library, root, f"usr{library}")
    for name in ("bin", "lib", "lib64"):
        if (root / "usr" / name).is_dir():
            (root / name).symlink_to(f"usr/{name}")
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/mark").write_text("of the tree\n")
    (root / "etc/mark").chmod(0o666)
    tmp_path.chmod(0o755)
    return root


def lay(source: str, root: Path, place: str) -> None:
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, root / place)


LOOK = "cat /etc/mark; ls /usr/bin; cat /etc/passwd; echo changed >/etc/mark; cat /etc/mark"


@pytest.mark.desktop
@pytest.mark.skipif(namespaces.available_isolation() not in ("root", "user"), reason="bubblewrap")
def test_profile_tree_replaces_the_host_system_and_stays_unchanged(
    small: Path, tmp_path: Path
) -> None:
    isolation = namespaces.available_isolation()
    (tmp_path / "base").mkdir()
    spec = {
        "base": str(tmp_path / "base"),
        "uid": 1000,
        "disk_mb": 64,
        "covered": [],
        "copies": {},
        "system": str(small),
        "command": ["/bin/sh", "-c", LOOK],
        "environment": {"PATH": "/bin"},
        "fds": [],
    }
    line = [*namespaces.command(isolation), "/usr/bin/python3", "-I", "-S", boot.__file__]
    result = subprocess.run(
        line, input=json.dumps(spec) + "\n", capture_output=True, text=True, check=False
    )
    _check_small(result.stdout + result.stderr)
    assert (small / "etc/mark").read_text() == "of the tree\n"


@pytest.mark.desktop
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="not installed: bubblewrap")
def test_bubblewrap_shows_a_tree_read_only(small: Path, tmp_path: Path) -> None:
    identity: Mapping[str, str] = boot.identity(1000, str(small))
    for name in identity:
        (tmp_path / name).write_text(identity[name])
    line = bubblewrap.command(
        ["/bin/sh", "-c", LOOK],
        {"PATH": "/bin", "XDG_RUNTIME_DIR": "/run/user/1000"},
        copies={},
        covered=[],
        identity={name: str(tmp_path / name) for name in identity if name != "machine-id"},
        disk_mb=64,
        system=str(small),
    )
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    assert "of the tree" in output
    assert "Read-only" in output
    assert "python3" not in output
    assert "user:x:1000:1000" in output


def _check_small(output: str) -> None:
    assert "of the tree\n" in output
    assert "changed\n" in output
    assert "python3" not in output, "a program of the host"
    assert "user:x:1000:1000" in output


@pytest.mark.desktop
@built
@pytest.mark.parametrize("isolation", ["namespaces", "bubblewrap"])
async def test_an_application_that_the_host_lacks_opens_from_the_tree(isolation: str) -> None:
    if isolation == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("not installed: bubblewrap")
    tree = built_tree("osworld")
    environment = DesktopEnvironment(profile="osworld")
    if isolation == "bubblewrap":
        environment._runtime = DesktopRuntime(
            Size(1280, 720), isolation="bubblewrap", system=tree.root
        )
    async with environment as desktop:
        result = await desktop.execute("command -v eog && ! test -e /usr/bin/mmdebstrap")
        assert result.output == "/usr/bin/eog\n"
        assert result.exit_code == 0, "a program of the host is inside"
        await desktop.execute("eog >/dev/null 2>&1 &")
        for _ in range(40):
            look = await desktop.observe(elements=True, settle=3.0)
            if any(window.title == "Image Viewer" for window in look.windows):
                break
            await asyncio.sleep(0.2)
        names = [element.name for element in look.elements or () if element.app == "eog"]
        assert "Image Viewer" in [window.title for window in look.windows]
        assert len(names) > 5


CONDA = """
. ~/.bashrc 2>/dev/null
. /home/user/anaconda3/etc/profile.d/conda.sh
conda create -y -n airflow python=3.8 >/dev/null 2>said && cat said
conda activate airflow && which python
python -c 'import pandas; print(pandas.Series([6, 7]).prod())'
conda deactivate && conda env remove -n airflow
conda create -y -n dbt 2>said >/dev/null && cat said
conda activate dbt && python -c 'import duckdb; print(duckdb.__version__)'
conda activate dagster && python -c 'import dagster, pandas; print(dagster.__version__)'
conda deactivate
conda activate airflow
"""


@pytest.mark.desktop
@pytest.mark.skipif(
    find_tree(recipe("spider2v")) is None, reason="not built: hisa machine build spider2v"
)
async def test_conda_makes_activates_and_removes_real_environments() -> None:
    async with DesktopEnvironment(profile="spider2v") as desktop:
        result = await desktop.execute(CONDA)
        assert result.output.splitlines() == [
            "conda: this machine has Python 3.11.2 alone",
            "/home/user/anaconda3/envs/airflow/bin/python",
            "42",
            "conda: environment dbt is there already, and stays as it is",
            "0.10.2",
            "1.7.2",
        ]
        assert result.exit_code == 1
        assert "conda: no environment airflow" in result.error


@pytest.mark.desktop
@built
async def test_reset_discards_files_written_over_the_tree() -> None:
    async with DesktopEnvironment(profile="osworld") as desktop:
        await desktop.execute("echo mine >~/note; touch /var/tmp/left")
        await desktop.reset()
        result = await desktop.execute("ls ~/note /var/tmp/left; echo $LANG")
        assert result.output.splitlines()[-1] == "en_US.UTF-8"
        assert "No such file" in result.error
    tree = tree_folder(recipe("osworld"))
    assert store.read_manifest(tree) is not None
