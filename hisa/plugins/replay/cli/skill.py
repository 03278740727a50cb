"""``hisa skill``: Agent Skills made of programs, looked at, and taken in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples, json_option, print_json, say

if TYPE_CHECKING:
    from hisa.plugins.replay.skill_lint import Skill

__all__ = ["skill"]

_PATH = click.Path(path_type=Path)
_EXAMPLES = (
    "hisa skill export save-a-note -o skills",
    "hisa skill lint skills/save-a-note",
    "hisa skill import skills/save-a-note",
)


@click.group(epilog=examples(*_EXAMPLES))
def skill() -> None:
    """Agent Skills: folders with a SKILL.md that any agent can read."""


@skill.command("export", epilog=examples(_EXAMPLES[0]))
@click.argument("name")
@click.option("-o", "--out", required=True, type=_PATH, metavar="DIR", help="Gets a folder.")
@click.option("--license", "terms", default="", metavar="TEXT", help="The license of a skill.")
@click.option("--programs", default="programs", type=_PATH, metavar="DIR", help="Their folder.")
def export_one(name: str, out: Path, terms: str, programs: Path) -> None:
    """Write program NAME as a skill: a text for any agent, and a script that replays the program.

    Secrets stay names, and what `hisa skill lint` would refuse is not written.
    """
    from hisa.plugins.replay.program_records import read_program
    from hisa.plugins.replay.skill_export import export_program

    place = Path(name) if (Path(name) / "program.yaml").is_file() else programs / name
    written = export_program(read_program(place), place, out, terms=terms)
    say("\n".join(str(file) for file in sorted(written.rglob("*")) if file.is_file()))


@skill.command("lint", epilog=examples(_EXAMPLES[1], f"{_EXAMPLES[1]} --json"))
@click.argument("folder", type=_PATH)
@json_option
@click.pass_context
def lint(ctx: click.Context, folder: Path, as_json: bool) -> None:
    """Look at the skill in FOLDER without running any of it.

    Errors refuse it: what the specification forbids, large files, links out of the folder, and what
    is dangerous to obey or to run; exit status 1. Warnings are advice; notes list scripts.
    """
    read = _read(folder, quiet=as_json)
    if as_json:
        print_json({"ok": not read.errors, "findings": [f._asdict() for f in read.findings]})
    ctx.exit(1 if read.errors else 0)


def _read(folder: Path, *, quiet: bool = False) -> Skill:
    from hisa.plugins.replay.skill_lint import read_skill

    read = read_skill(folder)
    for line in [] if quiet else [*read.findings, f" {len(read.errors)} errors"]:
        say(f"{folder}/{line}")
    return read


@skill.command("import", epilog=examples(_EXAMPLES[2]))
@click.argument("folder", type=_PATH)
@click.option("--programs", default="programs", type=_PATH, metavar="DIR", help="Their folder.")
@click.option("--yes", is_flag=True, help="Take it without a question.")
def import_one(folder: Path, programs: Path, yes: bool) -> None:
    """Take in the program of the skill in FOLDER, for `hisa replay`, after a look and a yes.

    Scripts of the skill are listed, and never run.
    """
    from hisa.errors import UsageError
    from hisa.plugins.replay.skill_export import copy_program

    read = _read(folder)
    if read.errors or read.fields is None:
        raise UsageError(f"{folder}: {len(read.errors)} errors; not taken in", fix="edit it")
    if read.program is None:
        reason = f"{folder}: no program of HiSA is in it"
        raise UsageError(reason, fix="read it; rules of your own: --set patterns.sops=DIR")
    say(read.body)
    if not yes and not click.confirm("Take it in?", err=True):
        raise UsageError("nobody said yes; nothing was taken in", fix="--yes")
    say(f"{copy_program(read.program, folder, programs)}\nhisa replay {read.program.name}")
