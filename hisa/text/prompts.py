"""Prompts are files under ``prompts/``; an undefined name in one is an error."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["data_folder", "render"]


def data_folder(name: str) -> Path:
    """``prompts`` or ``patterns_db``, from the wheel or, in a checkout, from its top level."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_data" / name
    return packed if packed.is_dir() else package.parent / name


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(data_folder("prompts")),
        undefined=StrictUndefined,
        autoescape=False,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def render(name: str, /, **values: object) -> str:
    """The prompt ``name`` (without ``.md``) with its values filled in.

    Raises:
        jinja2.UndefinedError: the prompt uses a name that was not given.
        jinja2.TemplateNotFound: there is no such prompt.
    """
    return _environment().get_template(f"{name}.md").render(values).strip()
