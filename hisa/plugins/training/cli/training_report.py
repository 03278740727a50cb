"""``hisa train report``: a page of the curves of runs, and their last numbers."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import json_option, print_json, say
from hisa.plugins.benchmarks.bench.stats import Estimate
from hisa.text.safe_text import safe_line

__all__ = ["report"]

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=_PATH)
@click.option("-o", "out", metavar="FILE", type=_PATH, help="The page. [default: DIR/curves.html]")
@json_option
def report(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Write a page of the curves of runs, over each other, and print their last numbers.

    For each page or task it prints the share of sampled episodes solved, over all updates, and how
    many of its groups had a spread of rewards: the others give no gradient.

    A DIR is one run, or holds several seeds of it, a folder each.

    \b
    hisa train report pulse control -o curves.html
    """
    from hisa.errors import UsageError
    from hisa.machine.storage import replace_file
    from hisa.plugins.training.curves import read_runs
    from hisa.plugins.training.curves_page import page

    runs, path = read_runs(folders), out or folders[0] / "curves.html"
    try:
        replace_file(path, page(runs).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path}: {error}", fix="-o FILE in a folder that exists") from error
    shown = [run.numbers() for run in runs]
    if as_json:
        return print_json({"page": str(path), "runs": shown})
    for run in shown:
        seeds, last = f"seeds {run['seeds']}", f"last update {run['updates']}"
        say(f"{run['name']}: {seeds}, {last}, lines left out {run['left_out']}")
        for name, at in run["last"].items():
            between = "" if at["low"] is None else f" ({at['low']:.3g} to {at['high']:.3g})"
            say(f"  {name:16} {at['value']:.3g}{between}, update {at['update']}")
        for task, shares in run["tasks"].items():
            solved, spread = (Estimate(**shares[part]) for part in ("solved", "spread"))
            line = f"  {safe_line(task, 60)}: solved {solved} of {solved.n} episodes"
            say(f"{line}; share of groups with spread {spread} of {spread.n}")
        if run["tasks"] and all(t["spread"]["value"] == 0 for t in run["tasks"].values()):
            say(
                "  No group of any update had a spread: there was no gradient, nothing was learned."
            )
    return say(path)
