"""``hisa explore``: what an application offers, tried and written down."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say

if TYPE_CHECKING:
    from hisa.plugins.synthesis.explorer import Session
    from hisa.plugins.synthesis.subject import Subject

__all__ = ["explore"]

_SECONDS = 10.0
"""Between two lines of progress where standard error is no terminal."""


@click.command()
@click.argument("subject", metavar="APP|ADDRESS|FILE")
@click.option("--minutes", default=10.0, show_default=True, type=click.FloatRange(0.1, 24 * 60))
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1, 64),
              help="Desktops at once; each takes about one processor.")  # fmt: skip
@click.option("--transitions", type=click.IntRange(1), help="End after so many new ones.")
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              metavar="DIR", help="Where to write; goes on with what is there.")  # fmt: skip
@click.option("--env", metavar="KIND", help="As for hisa run; each worker has one of its own.")
@json_option
@click.pass_context
def explore(
    ctx: click.Context, subject: str, minutes: float, workers: int, transitions: int | None,
    out: Path, env: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Try what an application offers, and keep what each act changed.

    APP is mousepad, calc, writer, files, orders (a shop's pages) or miniwob:PAGE, ADDRESS a page
    for Chromium (http://localhost:8000/, file:///…), FILE a page (page.html) or a subject of your
    own (subject.yaml). A private desktop reaches no network beyond itself.

    Every act becomes a triple: the state before, the act, the state after, with what changed among
    elements, files and settings. What was tried least comes first. Dangerous controls (quit, print,
    send, help) are left alone. Ctrl-C ends it at any time; the same command goes on from there.

    \b
    hisa explore mousepad --minutes 10 -o pads
    hisa explore page.html --transitions 40 --workers 1 -o page
    hisa synth write pads
    """
    import asyncio

    from hisa.config import load
    from hisa.errors import UsageError
    from hisa.plugins.synthesis.exploration import Exploration
    from hisa.plugins.synthesis.explored_numbers import report
    from hisa.plugins.synthesis.explorer import Session
    from hisa.plugins.synthesis.graph_page import write_graph

    file, given = ctx.meta["hisa.settings"]
    settings = load(file, given, overrides={"environment": {"kind": env}} if env else {})
    if not settings.environment.throw_away:
        raise UsageError(
            f"{settings.environment.kind!r} keeps what exploring does to it: every button is tried",
            fix="--env desktop, or --env vm:PROFILE",
        )
    exploration = Exploration.create(out, _subject(subject))
    progress = (lambda _: None) if as_json else _progress()
    session, stopped = Session(exploration, settings, minutes, transitions, progress), False
    try:
        asyncio.run(session.explore(workers))
    except KeyboardInterrupt:
        stopped = True
    finally:
        exploration.close()
    if sys.stderr.isatty() and not as_json:
        click.echo(err=True)
    numbers = report(exploration) | {"session": session.numbers()}
    write_graph(exploration, numbers)
    if as_json:
        print_json(numbers)
        return int(stopped)
    for key, value in numbers.items():
        parts = value.items() if isinstance(value, dict) else ()
        for name, counts in parts if key == "menus" else ((key.replace("_", " "), value),):
            shown = counts.items() if isinstance(counts, dict) else ()
            say(f"{name:<24} {', '.join(f'{k} {v}' for k, v in shown) or counts}")
    if stopped:
        say("stopped; the same command goes on from here", err=True)
    say(f"next: hisa synth write {out}", err=True)
    return int(stopped)


def _subject(text: str) -> Subject:
    """Read what is to be explored: an application's name, a page, or a file.

    Raises:
        UsageError: it is none of them.
    """
    import hashlib
    import re

    from hisa.errors import UsageError
    from hisa.plugins.synthesis.subject import Subject, load_subject

    setup: list[dict[str, Any]] = []
    path, address = Path(text), text
    if "://" not in text and path.suffix.lower() in (".html", ".htm"):
        if not path.is_file():
            raise UsageError(f"{text}: no such file", fix="hisa explore PAGE.html -o DIR")
        setup = [{"copy": {"source": path.name, "path": f"~/Documents/{path.name}"}}]
        address = f"/home/user/Documents/{path.name}"
    elif not re.match(r"(https?|file)://[^\s]+$", text):
        return load_subject(text)
    launch = "chromium --no-first-run --password-store=basic --force-renderer-accessibility --kiosk"
    setup += [
        {"launch": f"{launch} {shlex.quote(address)}"},
        {"wait_window": {"title": "Chromium", "seconds": 60}},
    ]
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[-28:].strip("-")
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return Subject(
        name=f"{name}-{digest}", title=f"the page {text[:80]}", domain="browser",
        setup=tuple(setup), main="Chromium", words=("Berlin", "42", "Ana"),
        folder=str(path.resolve().parent) if len(setup) > 2 else "",
    )  # fmt: skip


def _progress() -> Callable[[Session], None]:
    """A line on standard error: written over on a terminal, else a new one now and then."""
    over, due = sys.stderr.isatty(), 0.0

    def show(session: Session) -> None:
        nonlocal due
        if over or time.monotonic() >= due:
            due = time.monotonic() + _SECONDS
            triples = session.exploration.triples
            effect = sum(bool(one.differences) for one in triples) / max(1, len(triples))
            line = (
                f"{len(session.exploration.states)} states, {session.transitions} new transitions, "
                f"{session.numbers()['per_minute']} a minute, {effect:.0%} with effect, "
                f"{session.desktops} desktops"
            )
            click.echo(f"\r\x1b[K{line}" if over else line, err=True, nl=not over)

    return show
