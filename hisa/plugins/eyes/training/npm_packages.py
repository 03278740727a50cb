"""Fetches npm packages that training pictures are rendered from; none of their files is shipped."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from hisa.errors import EnvironmentFailed

__all__ = ["fetch_package"]

_LICENCES = {"MIT", "ISC", "Apache-2.0", "OFL-1.1", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"}
_SECONDS = 600
"""A package of icons may have 100 MB."""


def fetch_package(name: str, version: str, folder: Path) -> Path:
    """Fetch and unpack a package of npm, unless it is in the folder already.

    Args:
        name: the package's name, as "@scope/name" or "name".
        version: the exact version.
        folder: where packages are unpacked to, as "name@version".

    Returns:
        The package's folder, with its ``package.json``.

    Raises:
        EnvironmentFailed: npm cannot fetch it, or its licence is not among those allowed.
    """
    package = folder / f"{name}@{version}"
    if not (package / "package.json").exists():
        package.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as unpacked:
            _unpack_package(f"{name}@{version}", Path(unpacked)).rename(package)
    licence = str(json.loads((package / "package.json").read_text("utf-8")).get("license"))
    if " AND " in licence or not _LICENCES & set(re.split(r" OR |[()]", licence)):
        raise EnvironmentFailed(f"the licence of {name}@{version} is {licence!r}")
    return package


def _unpack_package(package: str, folder: Path) -> Path:
    command = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder / "unpacked", filter="data")
    except (OSError, ValueError, subprocess.SubprocessError, tarfile.TarError) as error:
        fix = "sudo apt-get install npm"
        raise EnvironmentFailed(f"npm cannot fetch {package}: {error}", fix=fix) from error
    return next((folder / "unpacked").iterdir())  # most are in "package", some in their own name
