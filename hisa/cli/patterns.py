"""``hisa patterns``: lists, searches and edits the lessons of finished runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from hisa.cli.open_group import pass_sections
from hisa.cli.out import examples, json_option, print_json, say
from hisa.cli.pattern_files import build_pattern, export_lines, import_patterns, write_atomically
from hisa.config import PatternSettings, StateSettings
from hisa.errors import UsageError
from hisa.patterns.dedup import remember
from hisa.patterns.embedders import open_embedder, thresholds_of
from hisa.patterns.memory import open_sops, open_store
from hisa.patterns.retrieval import retrieve
from hisa.patterns.retrieval import search as nearest
from hisa.patterns.sops import render_rules, rules_for
from hisa.patterns.stores.vector_store import VectorStore
from hisa.protocols import Pattern, Task

__all__ = ["patterns"]


_domain = click.option("--domain", metavar="NAME", help="Only this domain.")


@click.group(
    epilog=examples(
        "hisa patterns ls --domain calc",
        'hisa patterns search "sort a sheet by two columns"',
        "hisa patterns show 3f2a",
        "hisa patterns export backup.jsonl",
    )
)
def patterns() -> None:
    """List, search and edit the lessons that HiSA learned from finished runs.

    For an ID, its first characters are enough if only one pattern begins with them.
    """


# ---------------------------------------------------------------- helpers


def _find(store: VectorStore, prefix: str) -> Pattern:
    """Returns the one pattern whose id begins with ``prefix``.

    Raises:
        UsageError: there is none, or there are several.
    """
    exact = store.get(prefix)
    if exact:
        return exact
    matches = [pattern for pattern in store.list(status=None) if pattern.id.startswith(prefix)]
    if len(matches) == 1 and prefix:
        return matches[0]
    if matches:
        some = ", ".join(pattern.id for pattern in matches[:5])
        raise UsageError(
            f"pattern {prefix!r}: {len(matches)} ids begin with it: {some}",
            fix="give more characters of the id",
        )
    raise UsageError(f"pattern {prefix!r} not found", fix="hisa patterns ls --all")


def _table(rows: Sequence[dict[str, object]]) -> None:
    from rich.console import Console

    from hisa.runs.terminal_view import table

    console = Console()
    console = console if console.is_terminal else Console(width=200)
    console.print(table(rows, cut=("lesson",)))


def _row(pattern: Pattern, **first: object) -> dict[str, object]:
    return {
        **first,
        "id": pattern.id,
        "domain": pattern.domain,
        "kind": pattern.kind,
        "scope": pattern.scope,
        "used": _summarise_use(pattern),
        "run": pattern.source_run,
        "lesson": pattern.lesson,
    }


def _summarise_use(pattern: Pattern) -> str:
    """Summarises the runs that used a pattern: how many, how many were scored, how many won."""
    if not pattern.uses:
        return "never"
    runs = "1 run" if pattern.uses == 1 else f"{pattern.uses} runs"
    scored = f"{pattern.wins} of {pattern.scored} scored" if pattern.scored else "none scored"
    return f"{runs}, {scored}{' won' if pattern.scored else ''}"


# ---------------------------------------------------------------- reading


@patterns.command("ls")
@_domain
@click.option("--all", "everything", is_flag=True, help="Include superseded and removed patterns.")
@json_option
@pass_sections("patterns")
def list_patterns(
    settings: PatternSettings, domain: str | None, *, everything: bool, as_json: bool
) -> None:
    """List patterns, newest first.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        domain: only this domain.
        everything: include superseded and removed patterns.
        as_json: print JSON.
    """
    with closing(open_store(settings)) as store:
        patterns = store.list(domain=domain, status=None if everything else "active")
    if as_json:
        print_json([asdict(pattern) for pattern in patterns])
    elif patterns:
        _table(
            [
                _row(pattern, status=pattern.status) if everything else _row(pattern)
                for pattern in patterns
            ]
        )
    else:
        click.echo("No patterns. HiSA learns them at the end of a run.", err=True)


@patterns.command(
    "search",
    epilog=examples('hisa patterns search "write a note and save it" --domain text_editor'),
)
@click.argument("text")
@_domain
@click.option(
    "--limit", type=click.IntRange(1, 1000), help="Most patterns to show (default: patterns.top)."
)
@json_option
@pass_sections("patterns")
def search(
    settings: PatternSettings,
    text: str,
    *,
    domain: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show the patterns nearest to TEXT, as a task with that instruction would find them.

    A task recalls only patterns of its own domain that are similar enough (patterns.threshold, or
    the embedder's own limit); patterns of one page also need the task to name that page. "yes"
    marks patterns that a task of the pattern's domain would recall.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        text: an instruction, as of a task.
        domain: only this domain.
        limit: most patterns to show; None: ``patterns.top``.
        as_json: print JSON.
    """
    embedder = open_embedder(settings.embedder)
    count = limit or settings.top
    with closing(open_store(settings, embedder)) as store:
        hits = nearest(store, embedder, text, domain=domain, limit=count, threshold=-1.0)
        recalled = {
            hit.pattern.id
            for name in {hit.pattern.domain for hit in hits}
            for hit in retrieve(store, embedder, Task("", text, name), settings=settings)
        }
    if as_json:
        print_json(
            [
                asdict(hit.pattern) | {"score": hit.score, "retrieved": hit.pattern.id in recalled}
                for hit in hits
            ]
        )
    elif hits:
        marks = ["yes" if hit.pattern.id in recalled else "no" for hit in hits]
        rows = zip(hits, marks, strict=True)
        _table([_row(hit.pattern, score=f"{hit.score:.2f}", recalled=mark) for hit, mark in rows])
    else:
        click.echo("No patterns found.", err=True)


@patterns.command("show")
@click.argument("pattern_id", metavar="ID")
@json_option
@pass_sections("patterns")
def show(settings: PatternSettings, pattern_id: str, as_json: bool) -> None:
    """Show every field of one pattern.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        pattern_id: an id, or its first characters.
        as_json: print JSON.
    """
    with closing(open_store(settings)) as store:
        pattern = _find(store, pattern_id)
    if as_json:
        print_json(asdict(pattern))
        return
    created = pattern.created_at
    shown = asdict(pattern) | {
        "created_at": time.strftime("%Y-%m-%d %H:%M", time.localtime(created)) if created else "",
        "used": _summarise_use(pattern),
        "other_conditions": "; ".join(pattern.other_conditions),
    }
    for name, value in shown.items():
        say(f"{name:<18}{value}")


@patterns.command("rules", epilog=examples("hisa patterns rules calc"))
@click.argument("domain", default="general")
@json_option
@pass_sections("patterns", "state")
def rules(settings: PatternSettings, state: StateSettings, domain: str, as_json: bool) -> None:
    """List the rules that apply in DOMAIN, yours first, and mark those left out of the advice.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        state: the section ``state``, for the room of the advice.
        domain: the domain of the rules.
        as_json: print JSON.
    """
    binding_rules = rules_for(open_sops(settings), domain)
    limit = state.advice_tokens
    left_out = render_rules(binding_rules, domain=domain, limit=limit).left_out
    if as_json:
        print_json([{"rule": rule, "told": rule not in left_out} for rule in binding_rules])
        return
    for rule in binding_rules:
        say(f"{'(left out) ' if rule in left_out else ''}{rule}")
    if left_out:
        say(
            f"{len(left_out)} of {len(binding_rules)} rules do not fit in "
            f"state.advice_tokens = {limit}; "
            f"raise it: --set state.advice_tokens={2 * limit}",
            err=True,
        )


# ---------------------------------------------------------------- changing


@patterns.command(
    "add",
    epilog=examples(
        'hisa patterns add "Press Ctrl+S and type the path." --domain text_editor \\',
        '    --condition "Write a text and save it as a file"',
    ),
)
@click.argument("lesson")
@click.option("--domain", default="general", show_default=True, help="Domain that it applies to.")
@click.option(
    "--kind", type=click.Choice(["success", "failure"]), default="success", show_default=True
)
@click.option(
    "--scope",
    type=click.Choice(["application", "family", "page"]),
    default="family",
    show_default=True,
    help="All tasks of the domain, one kind of task, or one page.",
)
@click.option("--condition", default="", help="The kind of task, as a user would ask for it.")
@json_option
@pass_sections("patterns")
def add(settings: PatternSettings, /, lesson: str, *, as_json: bool, **fields: str) -> None:
    """Add a pattern by hand; it supersedes an older one that says nearly the same.

    Tasks find a pattern by its condition, so give one; for the scope "page" the condition is the
    page's name. Adding the same words again confirms the older pattern.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        lesson: what to do or to avoid.
        as_json: print JSON.
        fields: domain, kind, scope and condition of the pattern.
    """
    pattern = build_pattern(lesson, **fields)
    embedder = open_embedder(settings.embedder)
    dedup = thresholds_of(embedder.name, settings).same
    with closing(open_store(settings, embedder)) as store:
        (stored,) = remember(store, [pattern], embedder=embedder, threshold=dedup)
    superseded = [old.id for old in stored.superseded]
    if as_json:
        print_json(asdict(stored.pattern) | {"superseded": superseded, "again": stored.confirmed})
        return
    say(f"{stored.pattern.id} {'confirmed' if stored.confirmed else 'added'}")
    for old in superseded:
        click.echo(f"{old} superseded")


@patterns.command("rm")
@click.argument("pattern_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--purge", is_flag=True, help="Delete them for good, from the history too.")
@pass_sections("patterns")
def remove(settings: PatternSettings, pattern_ids: tuple[str, ...], purge: bool) -> None:
    """Take patterns out of use; "ls --all" still shows them.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        pattern_ids: ids, or their first characters.
        purge: delete the patterns from the history too.
    """
    with closing(open_store(settings)) as store, store.session():
        patterns = [_find(store, pattern_id) for pattern_id in pattern_ids]
        for pattern in patterns:
            if purge:
                store.delete(pattern.id)
            else:
                store.amend(replace(pattern, status="removed"))
            click.echo(f"{pattern.id} {'deleted' if purge else 'removed'}")


@patterns.command("export", epilog=examples("hisa patterns export backup.jsonl"))
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@_domain
@pass_sections("patterns")
def export(settings: PatternSettings, file: Path, domain: str | None) -> None:
    """Write all patterns and their history to FILE as JSON Lines ("-": standard output).

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        file: the file to write; "-": standard output.
        domain: only this domain.
    """
    with closing(open_store(settings)) as store:
        lines = list(export_lines(store, domain))
    if str(file) == "-":
        click.echo("".join(f"{line}\n" for line in lines).encode(), nl=False)  # UTF-8 everywhere
        return
    write_atomically(file, lines)
    click.echo(f"{len(lines)} patterns written to {file}", err=True)


@patterns.command("import", epilog=examples("hisa patterns import backup.jsonl"))
@click.argument("file", type=click.File("r", encoding="utf-8"))
@json_option
@pass_sections("patterns")
def import_file(settings: PatternSettings, file: Any, as_json: bool) -> None:
    """Read patterns from FILE ("-": standard input): all of them, or none if a line is wrong.

    A pattern whose id is already stored replaces the stored one.

    \f
    Args:
        settings: the section ``patterns`` of the settings.
        file: lines of an export.
        as_json: print JSON.
    """
    embedder = open_embedder(settings.embedder)
    with closing(open_store(settings, embedder)) as store:
        try:
            added, replaced = import_patterns(store, file, embedder=embedder, name=file.name)
        except UnicodeDecodeError as error:
            raise UsageError(f"{file.name}: not UTF-8 text: {error.reason}") from error
    if as_json:
        print_json({"added": added, "replaced": replaced})
    else:
        click.echo(f"{added} added, {replaced} replaced")
