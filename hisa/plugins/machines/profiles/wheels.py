"""Downloads the Python packages of a profile for the Python of its system."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import time
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from hisa.errors import EnvironmentFailed
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.process import Progress, run

__all__ = ["fetch_wheels"]

_PYTHON = "3.11"
"""The Python version of Debian 12."""
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "linux")
"""Wheels that run with the C library of Debian 12."""


def fetch_wheels(
    requirement_files: Sequence[Path], tell: Progress, *, sources: Path | None = None
) -> Path:
    """Returns a folder of wheels that satisfy requirements files; downloads them once.

    Args:
        requirement_files: pip's requirements files, one requirement a line; each is for its own
            environment, so two may require different versions.
        tell: called with a line for each step of progress.
        sources: requirements file of packages without wheels, which are built here.

    Raises:
        EnvironmentFailed: there is no pip, or a package cannot be downloaded or built.
    """
    files = [*([sources] if sources else []), *requirement_files]
    key = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]
    target = store.folder("wheels") / key
    with store.hold_lock(target, tell):
        if store.read_manifest(target) is not None:
            tell(f"Python packages {key}: already downloaded")
            return target
        begun = time.monotonic()
        with store.place_atomically(target) as draft:
            if sources:
                _make(sources, draft, tell)
            for file in requirement_files:
                _download(file, draft, tell)
            wheels = list(draft.glob("*.whl"))
            size = sum(wheel.stat().st_size for wheel in wheels)
            store.write_manifest(draft, {"wheels": len(wheels), "bytes": size})
    tell(f"{len(wheels)} wheels, {size / 1e6:.0f} MB, {time.monotonic() - begun:.0f} s")
    return target


def _download(requirements: Path, draft: Path, tell: Progress) -> None:
    line = ["download", "--requirement", str(requirements), "--dest", str(draft)]
    line += [f"--find-links={draft}", "--only-binary=:all:", f"--python-version={_PYTHON}"]
    line += [f"--platform={name}_{platform.machine()}" for name in _PLATFORMS]
    _run(line, requirements, draft, tell)


def _make(sources: Path, draft: Path, tell: Progress) -> None:
    """Build wheels of pure Python packages, for any Python.

    Raises:
        EnvironmentFailed: one was compiled, so it would run only with the Python of this machine.
    """
    env = ["env", "DISABLE_LOGBOOK_CEXT=1"]  # its compiled half is optional
    line = ["wheel", "--no-deps", "--requirement", str(sources), "--wheel-dir", str(draft)]
    _run(line, sources, draft, tell, before=env)
    for wheel in draft.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            compiled = [name for name in archive.namelist() if name.endswith(".so")]
        if compiled:
            raise EnvironmentFailed(f"{wheel.name} has {compiled[0]}, compiled for this machine")
        name, version = wheel.name.split("-")[:2]
        wheel.rename(wheel.with_name(f"{name}-{version}-py3-none-any.whl"))


def _run(
    words: Sequence[str], file: Path, draft: Path, tell: Progress, *, before: Sequence[str] = ()
) -> None:
    program = _pip()
    tell(f"Python packages: {', '.join(file.read_text('ascii').split())}")
    line = [*before, *program, *words]
    run(line, draft / "log", tell, fix=f"check that pip can reach the package index: {program[0]}")
    (draft / "log").unlink()


def _pip() -> list[str]:
    """Returns the command line of a pip.

    Raises:
        EnvironmentFailed: there is none.
    """
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if program := shutil.which("pip3"):
        return [program]
    raise EnvironmentFailed("there is no pip", fix=f"{sys.executable} -m ensurepip")
