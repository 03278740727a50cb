"""Takes each application of a profile away in turn and asks whether its task is ever scored.

The built system is linked into a cache of its own, and the programs of one package are taken out of
it. ``hisa bench coverage`` must name that application for the task that needs it and for no other,
``hisa bench run --only ready`` and ``hisa run`` must refuse the task by that name, and a run during
which the program is removed must end without a score. Usage, as root:
``python -m benchmarks.standins.lacks [--profile osworld] [--only TITLE] [--json]``, after
``hisa machine build osworld``. A line an application; ends with 1 where one is not as it must be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hisa
from benchmarks.machine import machine
from hisa.errors import HisaError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime.state import Handle
from hisa.plugins.desktop.runtime.watchdog import children, first_inside
from hisa.plugins.machines.profiles.applications import Application, applications
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.profiles.store import folder as cache_folder
from hisa.plugins.machines.tree import built_tree
from hisa.protocols import ModelRequest
from hisa.testing import FunctionModel, tool_call

OFFICE = {"Calc": "scalc", "Writer": "swriter", "Impress": "simpress"}
PROGRAMS = ("/usr/bin/", "/usr/games/", "/usr/lib/libreoffice/program/")
COLUMNS = ("application", "coverage", "only ready", "run", "lost during a run", "seconds")


def title(application: Application) -> str:
    """What readiness calls it."""
    known = {"Terminal": "a terminal", "Files": "a file manager", "gedit": "a text editor"}
    return known.get(application.title, application.title)


def task_of(application: Application, said: str = "x") -> dict[str, Any]:
    """A task that starts it, and that would be scored whatever is done."""
    return {
        "id": application.title.lower().replace(" ", "-"),
        "snapshot": "base_setup",
        "instruction": "Do nothing.",
        "config": [{"type": "launch", "parameters": {"command": application.command.split()}}],
        "related_apps": [],
        "evaluator": {
            "func": "exact_match",
            "result": {"type": "vm_command_line", "command": ["printf", said]},
            "expected": {"type": "rule", "rules": {"expected": "x"}},
        },
    }


@contextmanager
def linked(profile: str) -> Iterator[Path]:
    """The root of a profile's system, linked into a cache that this process uses from now on."""
    tree, before = built_tree(profile), os.environ.get("XDG_CACHE_HOME")
    beside = cache_folder("trees").parents[2]
    scratch = Path(tempfile.mkdtemp(prefix="hisa-lacks-", dir=beside))
    place = scratch / "hisa" / "vm" / "trees" / tree.name
    try:
        place.mkdir(parents=True)
        subprocess.run(["cp", "-al", str(tree.root), str(place / "root")], check=True)
        shutil.copy(tree.folder / "manifest.json", place)
        os.environ["XDG_CACHE_HOME"] = str(scratch)
        yield place / "root"
    finally:
        os.environ.pop("XDG_CACHE_HOME", None)
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before
        shutil.rmtree(scratch, ignore_errors=True)


def programs(root: Path, application: Application) -> list[str]:
    """The programs of its package, as paths inside."""
    if part := OFFICE.get(application.title):
        return [f"/usr/lib/libreoffice/program/{part}"]
    if application.package.startswith("npm/"):
        return ["/usr/share/code/visual_studio_code.py"]  # that to which `code` hands over
    listed = (root / f"var/lib/dpkg/info/{application.package}.list").read_text().splitlines()
    inside = (root / f"usr/bin/{application.package}", root / f"usr/bin/{application.title}")
    found = [path for path in listed if path.startswith(PROGRAMS) and (root / path[1:]).exists()]
    return found or [f"/{path.relative_to(root)}" for path in inside if os.path.lexists(path)]


@contextmanager
def without(root: Path, application: Application) -> Iterator[None]:
    """The system without the programs of an application."""
    places = [root / path[1:] for path in programs(root, application)]
    if application.title == "gedit":  # Mousepad stands in for it
        places += [root / "usr/bin/mousepad"]
    try:
        for place in places:
            place.rename(f"{place}.away")
        yield
    finally:
        for place in places:
            Path(f"{place}.away").rename(place)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """``hisa`` with these words, to its end."""
    line = [sys.executable, "-m", "hisa", *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)


def covered(suite: Path, env: str, application: Application) -> str:
    """What ``hisa bench coverage`` says of the suite's tasks."""
    ran = command("bench", "coverage", str(suite), "--env", env, "--json")
    tasks = json.loads(ran.stdout)["tasks"] if ran.returncode == 0 else []
    lacking = {task["id"]: [lack["what"] for lack in task["lacks"]] for task in tasks}
    mine = lacking.pop(task_of(application)["id"], [])
    named = any(what.startswith(f"{title(application)} (package") for what in mine)
    others = [name for name, lacks in lacking.items() if lacks]
    if application.title == "gedit":
        others = [name for name in others if name != "mousepad"]
    return "named" if named and not others else f"WRONG: {mine} {others} {ran.stderr[-200:]}"


def refused(file: Path, env: str, application: Application) -> tuple[str, str]:
    """What a bench of ready tasks and a run say of the one task."""
    alone = file.parents[2] / "alone" / application.title
    (alone / "examples" / "os").mkdir(parents=True, exist_ok=True)
    shutil.copy(file, alone / "examples" / "os")
    out = alone / "bench"
    words = ["bench", "run", f"osworld:{alone}", "--only", "ready", "--env", env, "--out", str(out)]
    ready = command(*words)
    bench = ready.returncode != 0 and "no task is ready" in ready.stderr and not out.exists()
    ran = command("--set", f"run.folder={alone / 'runs'}", "run", str(file), "--env", env, "--json")
    said = ran.stdout + ran.stderr
    scored = [
        event["score"]
        for log in (alone / "runs").glob("*/events.jsonl")
        for event in map(json.loads, log.read_text().splitlines())
        if event.get("score") is not None
    ]
    run = ran.returncode != 0 and f"needs {title(application)}" in said and not scored
    return (
        "refused" if bench else f"WRONG: {ready.stderr[-300:]}",
        "refused" if run else f"WRONG: {scored} {said[-300:]}",
    )


async def lost(application: Application, profile: str, paths: list[str], folder: Path) -> str:
    """How a run ends in which the program is removed before the planner says that it is done."""
    name = folder / "examples" / "os" / "lost.json"
    name.parent.mkdir(parents=True, exist_ok=True)
    name.write_text(json.dumps(task_of(application, said="y")))
    async with DesktopEnvironment(profile=profile) as desktop:
        result = await hisa.run(
            name,
            settings=hisa.Settings.model_validate(
                {"patterns": {"enabled": False}, "run": {"folder": folder / "runs"}}
            ),
            model=_remover(desktop, paths),
            environment=desktop,
        )
    right = result.score is None and f"needs {title(application)}" in result.message
    return "no score" if right else f"WRONG: {result.score} {result.message} {result.score_detail}"


def _remove(desktop: DesktopEnvironment, paths: list[str]) -> None:
    """Remove files of a running desktop from outside: nobody inside can become root."""
    handle = Handle.from_json(desktop.handle)
    inside = first_inside(next(iter(children(handle.pid)), 0))
    enter = ["nsenter", "--target", str(inside), "--mount", "--root", "--wdns=/"]
    subprocess.run([*enter, "rm", "-f", *paths], check=True)


def _remover(desktop: DesktopEnvironment, paths: list[str]) -> FunctionModel:
    async def answer(request: ModelRequest) -> str:
        if request.role != "planner":
            return "Succeeded. It did."
        _remove(desktop, paths)
        return tool_call("termination", "It is done.")

    return FunctionModel(answer)


def measure(profile: str, only: str, scratch: Path) -> list[dict[str, Any]]:
    """A row for each application."""
    env, rows, listed = f"desktop:{profile}", [], applications(recipe(profile))
    suite = scratch / "suite" / "examples" / "os"
    suite.mkdir(parents=True)
    for each in listed:
        (suite / f"{task_of(each)['id']}.json").write_text(json.dumps(task_of(each)))
    with linked(profile) as root:
        for each in listed:
            if only not in ("", each.title):
                continue
            begun, row = time.monotonic(), {"application": each.title}
            gone = programs(root, each) + (["/usr/bin/mousepad"] if each.title == "gedit" else [])
            with without(root, each):
                row["coverage"] = covered(scratch / "suite", env, each)
                file = suite / f"{task_of(each)['id']}.json"
                row["only ready"], row["run"] = refused(file, env, each)
            during = lost(each, profile, gone, scratch / "lost" / each.title)
            row["lost during a run"] = asyncio.run(during)
            row["seconds"] = str(round(time.monotonic() - begun))
            print(line(row), file=sys.stderr, flush=True)
            rows.append(row)
    return rows


def line(row: dict[str, Any]) -> str:
    """The row as a line of a table."""
    return f"| {' | '.join(str(row[name]) for name in COLUMNS)} |"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--profile", default="osworld")
    parser.add_argument("--only", default="", help="title of one application")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            rows = measure(given.profile, given.only, Path(scratch))
    except HisaError as error:
        print(f"lacks: {error}", file=sys.stderr)
        return 3
    if given.json:
        print(json.dumps({"machine": machine(), "rows": rows}, indent=2))
    else:
        print(f"desktop:{given.profile} ({machine()})")
        print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
        print("\n".join(map(line, rows)))
    wrong = [row["application"] for row in rows if "WRONG" in line(row)]
    print(f"wrong: {', '.join(wrong) or 'none'}, of {len(rows)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
