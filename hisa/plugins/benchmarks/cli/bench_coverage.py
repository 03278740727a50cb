"""``hisa bench coverage``: which tasks can be run now, and what keeps the others from it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say

if TYPE_CHECKING:
    from hisa.config import TaskSettings
    from hisa.plugins.benchmarks.tasks.coverage import LoadedFile
    from hisa.plugins.benchmarks.tasks.readiness import Lack, Lacking

__all__ = ["coverage"]

_Lines = Callable[[Mapping[str, Any]], Iterable[str]]
_SHOWN = 3
"""Reasons of a kind that are named: what most tasks lack; the rest is listed by `--why`."""
_WHY = click.Choice(
    ["any", "broken", "piece", "library", "account", "application", "file", "address", "expected"]
)


@click.command()
@click.argument("place", metavar="DIR", required=False)
@click.option("--public", metavar="NAME", help="The published tasks of osworld or spider2v.")
@click.option("--env", metavar="KIND", help="The machine that is looked at; as for hisa run.")
@click.option("--no-machine", is_flag=True, help="Start none; applications are not looked for.")
@click.option("--why", type=_WHY, help="List the files that are not ready for that reason.")
@click.option("--pieces", is_flag=True, help="List setup steps, getters and metrics instead.")
@json_option
@click.pass_context
def coverage(ctx: click.Context, /, place: str | None, public: str | None, **options: Any) -> None:
    """Count the tasks below DIR that can be run now, by domain and by what the others lack.

    The machine of --env (a private desktop) is started once, to look for what all tasks need of it.
    Data files, such as expected results, are no tasks. Columns: known, every setup step, getter and
    metric is here, with its libraries; application, the machine has what the task starts; files,
    those beside the task are there and those of the internet are downloaded; no account, none with
    an outside service and no outside address that the machine does not reach; ready, nothing that
    the file names is lacking (an agent may still be told to look something up on the web).

    --pieces says whose each setup step, getter and metric is: ours, nothing is needed; theirs, a
    metric that only OSWorld's package has, with the command that installs what it still lacks; NO,
    nobody's. So does --public, over the published lists, which hold no task files.

    \b
    hisa bench coverage DIR
    hisa bench coverage DIR --env vm:office --why application
    hisa bench coverage --public osworld
    """
    from hisa.errors import UsageError

    if (place is None) == (public is None):
        raise UsageError(
            "coverage counts a folder or a public list, one of the two",
            fix="hisa bench coverage DIR, or hisa bench coverage --public osworld",
        )
    if place is None:
        _show(_of_public(str(public)), _piece_lines, as_json=options["as_json"])
        return
    report = _of_folder(ctx.meta["hisa.settings"], _folder(place), options)
    shown = _piece_lines if options["pieces"] else _table
    _show(report, _listing if options["why"] else shown, as_json=options["as_json"])


def _show(report: dict[str, Any], lines: _Lines, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for line in lines(report):
        say(line)


def _folder(place: str) -> Path:
    """The folder of ``DIR`` or of a suite, ``KIND:DIR``."""
    kind, _, below = place.partition(":")
    known = kind in ("own", "spider2v", "osworld") and below and not Path(place).exists()
    return Path(below if known else place).expanduser()


def _of_folder(given: Any, folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    import asyncio

    from hisa.config import load
    from hisa.plugins.benchmarks.bench.ready_tasks import machine_lacks
    from hisa.plugins.benchmarks.tasks.coverage import coverage as count
    from hisa.plugins.benchmarks.tasks.coverage import load_folder

    overrides = {"environment": {"kind": options["env"]}} if options["env"] else {}
    settings = load(*given, overrides=overrides)
    files = load_folder(folder, settings.tasks)
    tasks = [file.task for file in files if file.task is not None]
    machine = None if options["no_machine"] else asyncio.run(machine_lacks(settings, tasks))
    found = [(file, _lacks(file, settings.tasks, machine)) for file in files]
    unusable = {str(file.path): file.reason for file in files if not file.usable}
    return {
        "title": f"{len(files)} task files, {len(files) - len(unusable)} can be run and scored "
        "where nothing else is lacking",
        "folder": str(folder),
        "machine": machine.machine if machine else None,
        "files": len(files),
        "ready": sum(not lacks for _, lacks in found),
        "domains": _domains(found),
        "reasons": list(_reasons(found)),
        "env": options["env"],
        "why": options["why"] or "any",
        "tasks": [_task(file, lacks) for file, lacks in found],
        "unusable": unusable,
        "rows": [asdict(row) for row in count(folder)],
    }


def _lacks(file: LoadedFile, settings: TaskSettings, machine: Lacking | None) -> list[Lack]:
    from hisa.plugins.benchmarks.tasks.cache import FileCache
    from hisa.plugins.benchmarks.tasks.readiness import Lack, lacks

    if file.task is None:
        return [Lack("broken", file.reason)]
    cache = FileCache.by(settings)
    return lacks(file.task, cache, machine, settings)


_COLUMNS: Mapping[str, frozenset[str]] = {
    "known": frozenset(("broken", "piece", "library")),
    "application": frozenset(("broken", "application")),
    "files": frozenset(("broken", "file", "expected")),
    "no account": frozenset(("broken", "account", "address")),
}
"""What a task of a column does not lack."""


def _domains(found: Iterable[tuple[LoadedFile, list[Lack]]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for file, lacks in found:
        row = counts.setdefault(file.domain, dict.fromkeys(("tasks", *_COLUMNS, "ready"), 0))
        kinds = {lack.kind for lack in lacks}
        row["tasks"] += 1
        row["ready"] += not kinds
        for name, none_of in _COLUMNS.items():
            row[name] += not kinds & none_of
    return dict(sorted(counts.items()))


def _reasons(found: Iterable[tuple[LoadedFile, list[Lack]]]) -> Iterator[dict[str, Any]]:
    """Each kind of reason with its number of tasks, and what most of these lack."""
    from hisa.plugins.benchmarks.tasks.readiness import LACKS

    listed = [lacks for _, lacks in found]
    for kind, words in LACKS.items():
        lacking = [lack for lacks in listed for lack in lacks if lack.kind == kind]
        if lacking:
            most = Counter((lack.what, lack.fix) for lack in lacking).most_common()
            yield {
                "kind": kind,
                "words": words,
                "tasks": sum(any(lack.kind == kind for lack in lacks) for lacks in listed),
                "what": [{"what": what, "fix": fix, "tasks": n} for (what, fix), n in most],
            }


def _task(file: LoadedFile, lacks: Iterable[Lack]) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "id": file.task.id if file.task else None,
        "domain": file.domain,
        "lacks": [asdict(lack) for lack in lacks],
    }


def _table(report: Mapping[str, Any]) -> Iterator[str]:
    machine = report["machine"] or "none looked at"
    yield f"{report['files']} tasks, {report['ready']} ready; machine: {machine}"
    domains = report["domains"]
    names = ("tasks", *_COLUMNS, "ready")
    width = max(10, *(len(name) for name in domains)) if domains else 10
    yield f"  {'':<{width}}" + "".join(f"{name:>13}" for name in names)
    total = {name: sum(row[name] for row in domains.values()) for name in names}
    for domain, row in [*domains.items(), ("all", total)]:
        yield f"  {domain:<{width}}" + "".join(
            f"{'-' if name == 'application' and not report['machine'] else row[name]:>13}"
            for name in names
        )
    yield from _reason_lines(report)


def _reason_lines(report: Mapping[str, Any]) -> Iterator[str]:
    folder = report["folder"]
    for reason in report["reasons"]:
        yield f"{reason['tasks']} not ready: {reason['words']}"
        for one in reason["what"][:_SHOWN]:
            yield f"  {one['tasks']:>5}  {_one_line(one['what'])}{_fix(one['fix'], folder)}"
        if (more := len(reason["what"]) - _SHOWN) > 0:
            yield f"         and {more} more"
        yield f"         list: {_list_command(report, reason['kind'])}"


def _list_command(report: Mapping[str, Any], kind: str) -> str:
    """The command that lists what is not ready for a reason, on the machine that was looked at."""
    words = ["hisa", "bench", "coverage", report["folder"]]
    if not report["machine"]:
        words.append("--no-machine")
    elif report["env"]:
        words += ["--env", report["env"]]
    return shlex.join([*words, "--why", kind])


def _one_line(text: str) -> str:
    first = text.partition("\n")[0]
    return first if len(first) <= 160 else f"{first[:159]}…"


def _fix(fix: str, folder: str) -> str:
    if fix == "prefetch":
        fix = shlex.join(["hisa", "bench", "prefetch", f"KIND:{folder}"])
    return f"; {fix}" if fix else ""


def _listing(report: Mapping[str, Any]) -> Iterator[str]:
    why = report["why"]
    for task in report["tasks"]:
        told = [lack["what"] for lack in task["lacks"] if why in ("any", lack["kind"])]
        if told:
            yield f"{task['path']}: {'; '.join(told)}"


_MARKS = {"ours": "ours  ", "theirs": "theirs", "missing": "NO    "}


def _of_public(name: str) -> dict[str, Any]:
    from hisa.plugins.benchmarks.tasks.coverage import counted
    from hisa.plugins.benchmarks.tasks.public import domains, public_tasks

    tasks = public_tasks(name)
    found = domains(tasks)
    ours, theirs, missing = (
        sum(counts[whose] for counts in found.values()) for whose in ("ours", "theirs", "missing")
    )
    return {
        "title": f"{len(tasks)} published tasks of {name}: {ours} need ours alone, {theirs} a "
        f"metric of OSWorld's package, {missing} something that is missing",
        "tasks": len(tasks),
        "domains": found,
        "rows": [asdict(row) for row in counted(task.pieces for task in tasks)],
    }


def _piece_lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield report["title"]
    for name, counts in report["domains"].items() if "folder" not in report else ():
        cells = "".join(f"{counts[whose]:>6} {whose}" for whose in _MARKS)
        yield f"  {name:<24}{cells}"
    for row in report["rows"]:
        name = f"{_MARKS[row['source']]} {row['kind']:<8}{row['name']:<46}"
        yield f"  {name}{row['tasks']:>5} tasks {row['uses']:>6} uses  {row['lacks']}".rstrip()
