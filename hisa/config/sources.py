"""Where a setting was given: the line of a file, a variable, ``--set``, or an option."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["source_of", "toml_line"]


def source_of(
    place: Sequence[int | str], trees: Mapping[str, Mapping[str, Any]], file: Path
) -> str:
    """Returns where the setting at a place was given.

    Args:
        place: its names, section first.
        trees: what each source gave, by its kind ("option", "--set", "variable", "file"), the
            strongest first.
        file: of the last of them.
    """
    kind = max(trees, key=lambda name: _depth(trees[name], place))  # the first of equals
    names = [str(name) for name in place[: _depth(trees[kind], place)]]
    match kind:
        case "file":
            return f"{file} line {toml_line(file.read_text(encoding='utf-8'), place)}"
        case "variable":
            return f"HISA_{'__'.join(names).upper()}"
        case "--set":
            return "--set"
        case _:
            return "an option of the command"


def toml_line(text: str, place: Sequence[int | str]) -> int:
    """Returns the line of a TOML document that gives a key, from 1, however it is written."""
    lines = text.splitlines(keepends=True)
    wanted, depth = len(lines), 0
    for number in range(1, len(lines) + 1):
        try:
            tree = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # within a value of several lines
        if (reached := _depth(tree, place)) > depth:
            wanted, depth = number, reached
    return wanted


def _depth(tree: Any, place: Sequence[int | str]) -> int:
    """Returns how many names of a place there are in a tree, from its root."""
    for depth, name in enumerate(place):
        if isinstance(tree, Mapping) and str(name) in tree:
            tree = tree[str(name)]
        elif isinstance(tree, list) and isinstance(name, int) and name < len(tree):
            tree = tree[name]
        else:
            return depth
    return len(place)
