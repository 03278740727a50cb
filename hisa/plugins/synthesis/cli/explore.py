"""``hisa explore``: explores an application and records what each action changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hisa.cli.out import say

if TYPE_CHECKING:
    from hisa.plugins.synthesis.explorer import Session

__all__ = ["explore"]

_SECONDS = 10.0
"""Seconds between two lines of progress."""


@click.command()
@click.argument("subject", metavar="APP|FILE")
@click.option("--minutes", default=10.0, show_default=True, type=click.FloatRange(0.1, 24 * 60))
@click.option(
    "--workers",
    default=2,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Desktops at once; each takes about one processor.",
)
@click.option("--transitions", type=click.IntRange(1), help="End after this many new ones.")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Output folder; continues an exploration in it.",
)
@click.pass_context
def explore(
    ctx: click.Context,
    /,
    subject: str,
    minutes: float,
    workers: int,
    transitions: int | None,
    out: Path,
) -> int:
    """Explore an application and record what each action changes.

    APP is mousepad, calc, writer or files; FILE is a subject of your own (subject.yaml): an
    application, or a browser with a page. The private desktops have no network.

    Every action becomes a triple: the state before, the action, and the state after, with the
    changed elements, files and settings. The least tried actions come first; exploring ends when
    none is left. Dangerous controls (quit, print, send, help) are left alone. Ctrl-C stops at any
    time; the same command continues.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa explore ./subject.yaml --transitions 40 --workers 1 -o own
    hisa synth write pads
    \f

    Args:
        ctx: of the command; its object is the settings.
        subject: name of a subject that ships, or the path of a file.
        minutes: of wall time.
        workers: desktops at once.
        transitions: most new transitions; None: no limit.
        out: folder of the exploration.
    """
    import asyncio

    from hisa.errors import UsageError
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.explorer import Session
    from hisa.plugins.synthesis.subject import load_subject

    machine = ctx.obj.environment
    if not machine.throw_away:
        reason = f"environment.kind {machine.kind!r} keeps what exploring does to the machine"
        raise UsageError(reason, fix="--set environment.kind=desktop")
    exploration = Exploration.create(out, load_subject(subject))
    session, stopped = Session(exploration, machine, ctx.obj.tasks, minutes, transitions), False
    try:
        asyncio.run(_explore(session, workers))
    except KeyboardInterrupt:
        stopped = True
    finally:
        exploration.close()
    for name, value in (exploration.numbers() | session.numbers()).items():
        say(f"{name.replace('_', ' '):<24} {value}")
    say(f"{'stopped; ' if stopped else ''}next: hisa synth write {out}", err=True)
    return int(stopped)


async def _explore(session: Session, workers: int) -> None:
    """Explore, with a line of progress on standard error every `_SECONDS`."""
    import asyncio

    work = asyncio.create_task(session.explore(workers))
    while not (await asyncio.wait([work], timeout=_SECONDS))[0]:
        counts = ", ".join(f"{name} {count}" for name, count in session.numbers().items())
        say(f"{len(session.exploration.states)} states, {counts}", err=True)
    await work
