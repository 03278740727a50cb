"""``hisa models``: fetches and lists language models that run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hisa.cli.out import examples, json_option, print_json, say
from hisa.errors import UsageError
from hisa.plugins.gguf.host_memory import gigabytes

__all__ = ["models"]


@click.group(epilog=examples("hisa models ls", "hisa models fetch coder-1.5b"))
def models() -> None:
    """Fetch and list language models that run on this machine.

    Use a model that was fetched by its name, and any other GGUF file by its path:

    \b
    hisa run "Click Save." --model gguf:coder-1.5b
    hisa run "Click Save." --model gguf:some/model.gguf
    """


@models.command("ls")
@json_option
def list_models(as_json: bool) -> None:
    """List the models that can be fetched by name, and all that are here."""
    from hisa.plugins.gguf.model_names import fetched_names, place_of
    from hisa.plugins.gguf.weights_table import TABLE

    fetched = fetched_names()
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "here": name in fetched,
            "file": str(place_of(name)),
            "size": place_of(name).stat().st_size if name in fetched else TABLE[name].size,
            "what": f"{TABLE[name].title}; {TABLE[name].licence}" if name in TABLE else "",
        }
        for name in dict.fromkeys((*TABLE, *fetched))
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        mark = "ok  " if row["here"] else "--  "
        say(f"  {mark}{row['name']:<12} {gigabytes(row['size']):>7}  {row['what']}".rstrip())
    say('\nok: here, for --model gguf:NAME. --: not here; "hisa models fetch NAME" fetches it.')


@models.command(epilog=examples("hisa models fetch coder-1.5b"))
@click.argument("name", metavar="NAME")
@click.option("--alone", is_flag=True, help="Do not install llama.cpp if it is missing.")
@click.pass_context
def fetch(ctx: click.Context, name: str, alone: bool) -> int:
    """Fetch the weights of a model, and install llama.cpp, which runs it, if it is missing.

    NAME is one of "hisa models ls". A fetch that was interrupted goes on where it stopped.
    \f
    Args:
        ctx: calls "hisa install gguf" in the same context.
        name: a name of the table.
        alone: do not install llama.cpp.
    """
    from hisa.cli.install import install
    from hisa.machine.parts import list_missing

    say(_fetch_model(name))
    options = {"parts": ("gguf",), "only_print": False, "alone": False, "as_json": False}
    if list_missing("gguf") and not alone and (status := ctx.invoke(install, **options)):
        return int(status)
    say(f'use it: hisa run "Click Save." --model gguf:{name}')
    return 0


def _fetch_model(name: str) -> Path:
    from hisa.plugins.gguf.model_names import place_of
    from hisa.plugins.gguf.weights_fetch import fetch_weights
    from hisa.plugins.gguf.weights_table import TABLE

    if name not in TABLE:
        raise UsageError(
            f"no model {name!r}; there are {', '.join(TABLE)}",
            fix="hisa models ls",
        )
    weights = TABLE[name]
    say(f"{weights.title}: {gigabytes(weights.size)}, licence {weights.licence}", err=True)
    return fetch_weights(
        weights,
        place_of(name).parent,
        lambda present, size: say(f"  {present / 1e6:,.0f} of {size / 1e6:,.0f} MB", err=True),
    )
