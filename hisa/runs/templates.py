"""Templates of the pages that HiSA writes: values are escaped, and an unknown name is an error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

__all__ = ["templates"]


def templates(folder: Path) -> jinja2.Environment:
    """Returns an environment for the templates of a folder; the page adds filters and globals."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
