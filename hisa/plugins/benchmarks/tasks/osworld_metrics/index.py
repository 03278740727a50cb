"""The metrics that OSWorld's package has, and what must be installed for each.

``known.tsv`` lists those of one release; any other release counts as not installed.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.machine.parts import OSWORLD, as_root

__all__ = [
    "PACKAGE",
    "Installation",
    "OSWorldMetric",
    "find_installation",
    "find_osworld_metric",
    "has_bubblewrap",
    "install_commands",
    "known",
    "missing_packages",
    "python",
]

PACKAGE = OSWORLD
"""The release that `known` lists."""
_VARIABLE = "HISA_OSWORLD_PYTHON"
_DISTRIBUTIONS: Mapping[str, str] = {
    "PIL": "pillow", "PyPDF2": "PyPDF2", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless",
    "docx": "python-docx", "fitz": "pymupdf", "imagehash": "ImageHash", "odf": "odfpy",
    "pptx": "python-pptx", "skimage": "scikit-image", "yaml": "pyyaml",
}  # fmt: skip
"""Distributions by import name, if the two differ."""
_RUNS_CODE = "(runs code)"


@dataclass(frozen=True)
class OSWorldMetric:
    """A metric of OSWorld's package."""

    file: str
    """The file that defines it, without its ending."""
    needs: tuple[str, ...] = ()
    """Libraries that it imports, by the names they are imported under."""
    runs_code: bool = False
    """It evaluates or runs what the agent left, so it may only run inside bubblewrap."""


@dataclass(frozen=True)
class Installation:
    """The package as one Python has it; ``folder`` is empty if the release is not installed."""

    folder: str
    roots: tuple[str, ...]
    """Folders of that Python and its libraries."""
    absent: tuple[str, ...]
    """Libraries that the package imports and that are not installed."""
    version: str = ""


def python() -> str:
    """Returns the Python that runs the package: ``HISA_OSWORLD_PYTHON``, else this one."""
    return os.environ.get(_VARIABLE) or sys.executable


def find_installation() -> Installation:
    """Returns OSWorld's package as installed for `python`, which is asked only once.

    Raises:
        UsageError: it is not a Python that can be run.
    """
    return _inspect_python(python())


@functools.cache
def _inspect_python(interpreter: str) -> Installation:
    script = str(Path(__file__).with_name("package_report.py"))
    libraries = sorted({library for metric in known().values() for library in metric.needs})
    line = [interpreter, "-I", "-X", "utf8", script, *libraries]
    try:
        process = subprocess.run(line, capture_output=True, timeout=120, check=True, text=True)
        about: dict[str, Any] = json.loads(process.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        words = getattr(error, "stderr", "") or str(error)
        raise UsageError(
            f"{interpreter}: cannot say which of OSWorld's metrics it has: {words[-300:].strip()}",
            fix=f"unset {_VARIABLE}, or set it to a Python of version 3.10 or later",
        ) from error
    version = str(about["version"])
    folder = about["folder"] if version == PACKAGE.partition("==")[2] else ""
    return Installation(folder, tuple(about["roots"]), tuple(about["absent"]), version)


@functools.cache
def known() -> Mapping[str, OSWorldMetric]:
    """The metrics of the release `PACKAGE`."""
    text = Path(__file__).with_name("known.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {
        name: OSWorldMetric(
            file, tuple(needs.split(",")) if needs != "-" else (), code == _RUNS_CODE
        )
        for name, file, needs, code in rows
    }


def find_osworld_metric(name: str) -> OSWorldMetric | None:
    """Returns the package's metric of that name, whether or not it can be used here."""
    return known().get(name)


def install_commands(name: str) -> str:
    """Returns the commands that install what a metric of OSWorld lacks here; empty for nothing.

    If OSWorld's package has no metric of that name, the text says so instead.
    """
    metric, here = find_osworld_metric(name), find_installation()
    if metric is None:
        return "it is not in OSWorld's package"
    commands = []
    if not here.folder:
        commands.append(f"--no-deps {PACKAGE}")
    if libraries := _libraries(metric, here):
        commands.append(
            " ".join(f"'{library}'" if "<" in library else library for library in libraries)
        )
    command_lines = [f"{python()} -m pip install {command}" for command in commands]
    if metric.runs_code and not has_bubblewrap():
        command_lines.append(as_root("apt-get install bubblewrap"))
    return " && ".join(command_lines)


def missing_packages(name: str) -> list[str]:
    """Returns the packages that an installed metric needs and that are missing here."""
    metric, here = find_osworld_metric(name), find_installation()
    if metric is None:
        return []
    return _libraries(metric, here) + ["bubblewrap"] * (metric.runs_code and not has_bubblewrap())


def _libraries(metric: OSWorldMetric, here: Installation) -> list[str]:
    return [_DISTRIBUTIONS.get(name, name) for name in metric.needs if name in here.absent]


@functools.cache
def has_bubblewrap() -> bool:
    """Whether bubblewrap works here; tested only once."""
    if not shutil.which("bwrap"):
        return False
    line = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        return subprocess.run(line, capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
