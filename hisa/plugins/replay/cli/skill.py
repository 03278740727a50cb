"""``hisa skill``: exports programs as Agent Skills."""

from __future__ import annotations

from pathlib import Path

import click

from hisa.cli.out import examples, say

__all__ = ["skill"]

_PATH = click.Path(path_type=Path)


@click.group(epilog=examples("hisa skill export save-a-note -o skills"))
def skill() -> None:
    """Export programs as Agent Skills: folders with a SKILL.md that any agent can read."""


@skill.command("export", epilog=examples("hisa skill export save-a-note -o skills"))
@click.argument("name")
@click.option(
    "-o", "--out", required=True, type=_PATH, metavar="DIR", help="Folder to put the skill in."
)
def export_one(name: str, out: Path) -> None:
    """Export program NAME as a skill: a text for any agent, and a script that replays it.

    Secrets are written as names only. If a text looks like a credential, nothing is written.
    """
    from hisa.plugins.replay.program_records import read_program
    from hisa.plugins.replay.skill_export import export_program

    place = Path(name) if (Path(name) / "program.yaml").is_file() else Path("programs", name)
    written = export_program(read_program(place), place, out)
    say("\n".join(str(file) for file in sorted(written.rglob("*")) if file.is_file()))
