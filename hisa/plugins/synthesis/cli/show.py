"""``hisa synth show``: the page of what was explored and of the tasks made of it."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import print_json, say

__all__ = ["show"]


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=Path)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def show(folders: tuple[Path, ...], as_json: bool) -> None:
    """Write DIR/tasks.html, and print the numbers.

    Of each task its pictures, instruction, check and proof; why others were refused; and what each
    act of the exploration changed.

    \b
    hisa synth show pads
    """
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.cli.prove import sums
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.task_page import candidates_shown, write_tasks

    shown = []
    for folder in folders:
        exploration = Exploration.open(folder)
        known = candidates_shown(exploration)
        numbers = sums([one.proof for one in known if one.proof], len(known))
        try:
            page = write_tasks(exploration, known, numbers)
        except (OSError, ValueError) as error:
            raise UsageError(f"{folder}: {error}") from error
        explored = exploration.numbers()
        shown.append({"folder": str(folder), "explored": explored, **numbers, "tasks": str(page)})
        if not as_json:
            say(
                f"{folder}: {explored['transitions']} acts, {explored['states']} states; "
                f"{len(known)} candidates, {numbers['tried']} tried, {numbers['proved']} proved"
            )
            for reason, count in numbers["refused"].items():
                say(f"  {count:4} refused: {reason}")
            say(page)
    if as_json:
        print_json(shown)
