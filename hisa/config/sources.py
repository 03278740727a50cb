"""Merges trees of settings, and finds where each was set: file, variable, ``--set`` or option."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["merge", "nest_value", "scalar", "source_of"]


def merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Returns ``base`` with the values of ``over``, which wins if both have a value."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, dict):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def nest_value(path: str, value: Any) -> dict[str, Any]:
    """Returns a tree with one value at a path, such as ``run.max_steps``."""
    head, _, rest = path.partition(".")
    return {head: nest_value(rest, value)} if rest else {head: value}


def scalar(text: str) -> Any:
    """Parse a value as TOML; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def source_of(
    place: Sequence[int | str], trees: Mapping[str, Mapping[str, Any]], file: Path
) -> str:
    """Returns where the setting at a place was set, in words for an error message.

    Args:
        place: names of the setting, section first.
        trees: the settings of each source by its kind ("option", "--set", "variable", "file"), the
            strongest first.
        file: path of the settings file.
    """
    kind = max(trees, key=lambda name: _depth(trees[name], place))  # the first of equals
    names = [str(name) for name in place[: _depth(trees[kind], place)]]
    match kind:
        case "file":
            return str(file)
        case "variable":
            return f"HISA_{'__'.join(names).upper()}"
        case "--set":
            return "--set"
        case _:
            return "an option of the command"


def _depth(tree: Any, place: Sequence[int | str]) -> int:
    """Returns how many names of a place exist in a tree, counted from its root."""
    for depth, name in enumerate(place):
        if isinstance(tree, Mapping) and str(name) in tree:
            tree = tree[str(name)]
        elif isinstance(tree, list) and isinstance(name, int) and name < len(tree):
            tree = tree[name]
        else:
            return depth
    return len(place)
