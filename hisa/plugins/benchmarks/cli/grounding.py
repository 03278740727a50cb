"""``hisa bench grounding``: measures how often a grounder finds the described target."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import say
from hisa.text.safe_text import safe_json

if TYPE_CHECKING:
    from hisa.config import Settings
    from hisa.plugins.benchmarks.bench.grounding.grounding_report import GroundingReport
    from hisa.plugins.benchmarks.bench.grounding.runner import Answer, Shown
    from hisa.plugins.benchmarks.bench.grounding.targets import Target
    from hisa.plugins.benchmarks.bench.tables import Table

__all__ = ["grounding"]

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("suite", type=_PATH)
@click.option("--grounder", default="elements", metavar="WAY", help="What to measure; see below.")
@click.option("--split", type=click.Choice(["train", "held", "all"]), default="all")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind; repeatable.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N targets.")
@click.option(
    "--without-elements",
    is_flag=True,
    help="Hide the accessibility tree, as on a machine that has none.",
)
@click.option("--full-size", is_flag=True, help="Do not scale pictures down as in runs.")
@click.option(
    "--json", "json_file", type=_PATH, metavar="FILE", help="Write answers and totals to FILE."
)
@click.option("--set", "assignments", multiple=True, metavar="A.B=C", help="Change one setting.")
@click.pass_context
def grounding(
    ctx: click.Context, /, suite: Path, grounder: str, json_file: Path | None, **options: Any
) -> None:
    """Ask a grounder for every target described in SUITE, and print how often it is right.

    \b
    hisa bench grounding benchmarks/grounding
    hisa bench grounding benchmarks/grounding --grounder ocr --kind icon --kind spin
    hisa bench grounding benchmarks/grounding --split held --without-elements
    hisa bench grounding ScreenSpot-Pro --grounder vision --full-size --json pro.json
    hisa bench grounding OSWorld-G/benchmark/OSWorld-G_refined.json --grounder ocr

    SUITE is a folder with screens/ and targets.jsonl, or ScreenSpot, ScreenSpot-V2, ScreenSpot-Pro
    or OSWorld-G as their authors publish it, or one of their annotation files. The published ones
    have no elements, so measure ocr or vision there.

    \b
    Ways:
      elements       what runs without a model: accessibility, shapes and OCR (the default)
      ocr            OCR alone: elements are hidden, no shapes
      vision         the model of models.grounder, as in a run
      cascade        elements, and the model of models.grounder if they are not sure
      choice         elements, and the planner's model picks from a list if they are not sure
      settings       as the setting grounder.kind says
      choice:P       choice with a stand-in for the model that knows the answers and picks
                     correctly with probability P

    A click on the target is right. A click anywhere else, or any click for a target that is not on
    the screen, is wrong; a refusal is neither. Tune on --split train only.
    """
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.grounding.published_suites import open_grounding_suite
    from hisa.plugins.benchmarks.bench.grounding.runner import Shown

    file, before = ctx.meta["hisa.settings"]
    settings = load(file, [*before, *options["assignments"]])
    opened_suite = open_grounding_suite(suite)
    targets = _choose_targets(
        opened_suite.targets, options["split"], options["kinds"], options["limit"]
    )
    answers: list[Answer] = []
    try:
        shown = Shown(
            None if options["full_size"] else settings.run.image_limit,
            elements=not options["without_elements"],
        )
        asyncio.run(_ask(targets, grounder, settings, answers, shown))
    finally:  # answers so far are kept if the model breaks or Ctrl-C is pressed
        if answers:
            _keep(opened_suite.name, grounder, targets, answers, json_file=json_file)


def _keep(
    suite: str,
    grounder: str,
    targets: Sequence[Target],
    answers: Sequence[Answer],
    *,
    json_file: Path | None,
) -> None:
    """Print the totals of the answers, and write the file if one is wanted."""
    from hisa.plugins.benchmarks.bench.grounding.grounding_report import build_grounding_report

    report = build_grounding_report(suite, grounder, answers)
    _print_tables(report)
    if len(answers) < len(targets):
        say(f"stopped: {len(answers)} of {len(targets)} descriptions", err=True)
    if json_file:
        rows = [answer.model_dump() for answer in answers]
        tree = {**report.model_dump(), "asked": len(targets), "answers": rows}
        _write(json_file, safe_json(json.dumps(tree, indent=1, ensure_ascii=False)) + "\n")


def _choose_targets(
    targets: Sequence[Target], split: str, kinds: Sequence[str], limit: int | None
) -> list[Target]:
    """Returns the targets that the options select.

    Raises:
        UsageError: none matches; the error lists the known kinds and splits.
    """
    from hisa.errors import UsageError

    matching = [
        target
        for target in targets
        if split in ("all", target.screen.split) and (not kinds or target.kind in kinds)
    ]
    if not matching:
        known_kinds = ", ".join(sorted({target.kind for target in targets}))
        splits = ", ".join(sorted({target.screen.split for target in targets} - {""}))
        raise UsageError(
            f"no target fits --split {split}{''.join(f' --kind {kind}' for kind in kinds)}; "
            f"kinds are {known_kinds}; splits are {splits or 'none'}",
            fix="--split all",
        )
    return matching[:limit]


async def _ask(
    targets: Sequence[Target],
    name: str,
    settings: Settings,
    answer_list: list[Answer],
    shown: Shown,
) -> None:
    """Append an answer for each target to ``answer_list``."""
    from rich.console import Console
    from rich.progress import Progress

    from hisa.plugins.benchmarks.bench.grounding.grounding_methods import open_way
    from hisa.plugins.benchmarks.bench.grounding.runner import answers

    async with open_way(name, settings) as way:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("descriptions", total=len(targets))
            async for answer in answers(targets, way, shown):
                answer_list.append(answer)
                progress.advance(bar)


def _print_tables(report: GroundingReport) -> None:
    from hisa.plugins.benchmarks.bench.grounding.grounding_report import grounding_tables

    for table in grounding_tables(report):
        say(table.title)
        for line in _align_rows(table):
            say(line)
        say("")


def _align_rows(table: Table) -> list[str]:
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _write(path: Path, text: str) -> None:
    from hisa.errors import UsageError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error
    say(path)
