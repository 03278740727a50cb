"""HiSA where fcntl, resource, pwd, grp, termios, Xlib and gi do not exist, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import find_kind
from hisa.errors import UsageError
from hisa.screen.geometry import Size
from tests.test_without_plugins import SCRIPT, TASK

ROOT = Path(__file__).parent.parent
BLOCKER = Path(__file__).parent / "without_posix"

pytestmark = pytest.mark.process

IMPORTS = """
import importlib, pkgutil
import hisa

ROOMS = ("cli", "models", "planner", "grounder", "patterns", "runs", "state", "tools", "wiring")
PLUGINS = ("live", "screen", "guard", "eyes", "matching", "reading", "computer_use", "offline")
OF_X = ("hisa.plugins.screen.x11_system", "hisa.plugins.screen.x_clipboard")
names = ["hisa.agent", "hisa.loop"]
for room in (*ROOMS, *(f"plugins.{name}" for name in PLUGINS)):
    package = importlib.import_module(f"hisa.{room}")
    names += [module.name for module in pkgutil.walk_packages(package.__path__, f"hisa.{room}.")]
for name in names:
    if not (name in OF_X or ".training" in name or name.endswith("__main__")):
        importlib.import_module(name)
from hisa.plugins.screen.screen_kind import SCREEN
from hisa.plugins.desktop.desktop_kinds import DESKTOP
from hisa.plugins.machines.machine_kinds import VM
print("imported", len(names) > 150, SCREEN.spellings)
"""


def without_posix(folder: Path, *words: str, **more: str) -> str:
    """What a Python prints that lacks them."""
    path = os.pathsep.join((str(BLOCKER), str(ROOT), os.environ.get("PYTHONPATH", "")))
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


def test_the_rooms_and_plugins_of_every_system_are_imported(tmp_path: Path) -> None:
    assert without_posix(tmp_path, "-c", IMPORTS) == "imported True ('screen', 'screen:N')\n"


def test_a_task_is_run_and_logged(tmp_path: Path) -> None:
    (tmp_path / "name.yaml").write_text(TASK, "utf-8")
    script = SCRIPT.replace('{"guards": False}', "{}")
    assert without_posix(tmp_path, "-c", script).split() == ["succeeded", "1.0"]
    assert "succeeded" in without_posix(tmp_path, "-m", "hisa", "runs", "ls")


def test_doctor_names_the_screen_and_what_needs_linux(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = without_posix(tmp_path, "-m", "hisa", "--help")
    assert "Run an agent on a task." in page
    for kind in ("desktop", "vm:minimal"):
        settings = EnvironmentSettings(kind=kind)
        _, environment_kind, value = find_kind(settings)
        monkeypatch.setattr(sys, "platform", "win32")
        with pytest.raises(UsageError, match="needs Linux, and this is win32") as caught:
            environment_kind.open(value, settings=settings, image_limit=Size(1280, 720), note=print)
        monkeypatch.undo()
        assert caught.value.fix == "--env screen"
