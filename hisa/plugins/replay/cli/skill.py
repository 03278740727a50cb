"""``hisa skill``: Agent Skills made of programs, looked at, and taken in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import examples, json_option, print_json, say

if TYPE_CHECKING:
    from hisa.config import Settings
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


@skill.command("import", epilog=examples(_EXAMPLES[2], f'{_EXAMPLES[2]} --when "note, list"'))
@click.argument("folder", type=_PATH)
@click.option(
    "--when", default="", metavar="WORDS", help="What rules wait for: beginnings of words."
)
@click.option("--programs", default="programs", type=_PATH, metavar="DIR", help="Their folder.")
@click.option("--yes", is_flag=True, help="Take it without a question.")
@click.pass_obj
def import_one(settings: Settings, folder: Path, when: str, programs: Path, yes: bool) -> None:
    """Take in the skill in FOLDER, after a look at it and a yes.

    Its text becomes rules in the folder of patterns.sops, by default rules/: a planner gets them
    once a word of the task or the screen begins as one of --when. A skill with a program of HiSA
    brings the program instead, for `hisa replay`. Scripts are listed, and never run.
    """
    from hisa.errors import UsageError
    from hisa.models.tokens import estimate_tokens
    from hisa.plugins.replay.skill_export import copy_program, rules_of, words_of, write_rules

    read, place = _read(folder), (settings.patterns.sops or Path("rules")).expanduser()
    if read.errors or read.fields is None:
        raise UsageError(f"{folder}: {len(read.errors)} errors; not taken in", fix="edit it")
    rules, words = rules_of(read.body), when or ", ".join(words_of(read.fields))
    say(read.body)
    if read.program is None:
        size, room = estimate_tokens("\n".join(rules)), settings.state.advice_tokens
        say(f"{len(rules)} rules, {size} tokens (state.advice_tokens is {room}), wait for: {words}")
    if not yes and not click.confirm("Take it in?", err=True):
        raise UsageError("nobody said yes; nothing was taken in", fix="--yes")
    if read.program is not None:
        say(f"{copy_program(read.program, folder, programs)}\nhisa replay {read.program.name}")
    else:
        files = "\n".join(map(str, write_rules(read.fields, rules, words, place)))
        say(f"{files}\nhisa run TASK --set patterns.sops={place}")
