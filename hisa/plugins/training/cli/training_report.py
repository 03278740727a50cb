"""``hisa train report``: a page of the curves of runs, and their last numbers."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import json_option, print_json, say

__all__ = ["report"]

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=_PATH)
@click.option("-o", "out", metavar="FILE", type=_PATH, help="The page. [default: DIR/curves.html]")
@json_option
def report(folders: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Write a page of the curves of runs, over each other, and print their last numbers.

    A DIR is one run, or holds several seeds of it, a folder each.

    \b
    hisa train report pulse control -o curves.html
    """
    from hisa.errors import UsageError
    from hisa.machine.storage import replace_file
    from hisa.plugins.training.curves_page import page, read_runs

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
    return say(path)
