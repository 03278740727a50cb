"""Fetches npm packages that training pictures are rendered from; none of their files is shipped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hisa.errors import EnvironmentFailed

__all__ = ["fetch_package"]

_LICENCES = {"MIT", "ISC", "Apache-2.0", "OFL-1.1", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"}


def fetch_package(name: str, version: str, folder: Path) -> Path:
    """Fetch and unpack a package of npm, unless it is in the folder already.

    Args:
        name: the package's name, as "@scope/name" or "name".
        version: the exact version.
        folder: where packages are unpacked to, as "name@version".

    Returns:
        The package's folder, with its ``package.json``.

    Raises:
        EnvironmentFailed: its licence is not among those allowed.
        CalledProcessError: npm cannot fetch it.
    """
    package = folder / f"{name}@{version}"
    if not (package / "package.json").exists():
        package.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
            command = ["npm", "pack", f"{name}@{version}", "--silent"]
            subprocess.run(command, check=True, cwd=scratch)
            (archive,), unpacked = Path(scratch).glob("*.tgz"), Path(scratch) / "unpacked"
            shutil.unpack_archive(archive, unpacked, filter="data")
            next(unpacked.iterdir()).rename(package)  # most are "package", some have their own name
    licence = str(json.loads((package / "package.json").read_text("utf-8")).get("license"))
    if " AND " in licence or not _LICENCES & set(re.split(r" OR |[()]", licence)):
        raise EnvironmentFailed(f"the licence of {name}@{version} is {licence!r}")
    return package
