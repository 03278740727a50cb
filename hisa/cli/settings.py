"""``hisa settings``: prints every setting with its value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import json_option, print_json, say_error

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["show_settings"]


@click.command("settings")
@json_option
@click.pass_context
def show_settings(ctx: click.Context, as_json: bool) -> None:
    """Print every setting with its value, in the form that --set and hisa.toml take.

    Later sources win: defaults, --preset NAME, hisa.toml (or --config FILE), HISA_SECTION__KEY
    variables, --set. A setting without a value is printed after a "#". If a setting is refused,
    the command says so, prints the defaults, and exits with status 2.

    \b
    hisa settings
    hisa --set run.max_steps=9 settings
    hisa --preset hisa-paper settings  # cites the place in the paper for each
    HISA_RUN__MAX_STEPS=9 hisa settings --json
    """
    from hisa.config import preset_sources

    settings: Settings = ctx.obj
    tree = settings.model_dump(mode="json")
    if as_json:
        print_json(tree)
    else:
        sources = preset_sources(settings.preset) if settings.preset else {}
        for name, value in _flat(tree):
            preset, place = sources.get(name, (None, ""))
            origin = f"  # {settings.preset}: {place}" if place and preset == value else ""
            click.echo(f"# {name}" if value is None else f"{name} = {json.dumps(value)}{origin}")
    if refused := ctx.meta.get("hisa.refused"):
        say_error(
            f"hisa: {refused}\n  printed the defaults instead; {refused.fix.partition(';')[0]}"
        )
        ctx.exit(2)


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
