"""``hisa compile``: turns a run into a program, stored once a second run confirms it."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import click

from hisa.cli.out import examples, say
from hisa.text.counts import pluralise

__all__ = ["compile_program"]


@click.command(
    "compile",
    epilog=examples(
        "hisa compile 20261126-101500-ab12 -o save-a-note",
        "hisa compile 20261126-101500-ab12 -o save-a-note --env desktop:osworld --yes",
    ),
)
@click.argument("run")
@click.option("-o", "--out", metavar="NAME", help="Name of the program (default: the task's).")
@click.option("--env", metavar="KIND", help="The clean machine of the second run, as for hisa run.")
@click.option("--yes", is_flag=True, help="Accept the observed effects without asking.")
@click.pass_context
def compile_program(
    ctx: click.Context,
    run: str,
    out: str | None,
    env: str | None,
    yes: bool,
) -> None:
    """Turn RUN into a program that `hisa replay` replays without a model.

    The program describes the target of each action in words that can be found on another screen,
    and what the action changed. It is stored only after a second run on a clean machine reached
    the same end: by the task's check or, without one, by the changed files and settings, which are
    shown for you to confirm. Effects that were seen in only one of the runs are left out.
    """
    from hisa.config import load
    from hisa.errors import UsageError
    from hisa.plugins.replay.program_proof import prove
    from hisa.plugins.replay.program_records import NAME, write_program
    from hisa.plugins.replay.run_compiler import compile_run
    from hisa.runs.run_reader import load_run

    file, options = ctx.meta["hisa.settings"]
    settings = load(file, options, overrides={"environment": {"kind": env}} if env else {})
    first = load_run(run, settings.run.folder)
    name = out or re.sub(r"[^a-z0-9]+", "-", first.manifest.task.id.lower()).strip("-")[:40]
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a program name", fix="-o save-a-note")
    place, part = Path("programs", name), Path("programs", f".{name}.part")
    if place.exists():
        raise UsageError(f"{place} already exists", fix=f"rm -r {place}, or -o NAME")
    shutil.rmtree(part, ignore_errors=True)
    try:
        program = compile_run(first, name)
        write_program(program, part)
        say(f"{pluralise(len(program.steps), 'step')}; a second run on a clean machine", err=True)
        agree = (lambda _: True) if yes else _ask
        program = asyncio.run(prove(program, part, settings, agree=agree))
        write_program(program, part)
        part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    _say_program(place)


def _ask(lines: list[str]) -> bool:
    say("The task has no check. The second run changed these:")
    for line in lines:
        say(f"  {line}")
    return click.confirm("Should every replay change exactly these?", err=True)


def _say_program(place: Path) -> None:
    from hisa.plugins.replay.program_records import read_program
    from hisa.plugins.replay.run_compiler import remarks

    program = read_program(place)
    for line in remarks(program.steps):
        say(line, err=True)
    say(f"{place / 'program.yaml'}: {pluralise(len(program.steps), 'step')}")
    say(f"next: hisa replay {place.name}", err=True)
