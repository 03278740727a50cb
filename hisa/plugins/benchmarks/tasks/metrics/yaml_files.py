"""The metric over YAML files."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from hisa.plugins.benchmarks.tasks.metric import (
    Options,
    Score,
    Unreadable,
    metric,
    read_text,
    shown,
)

__all__: list[str] = []

_ABSENT = object()
_MAX_YAML = 2_000_000
"""Characters; the reader needs about a second for every 100 000."""


def _read_yaml(value: object) -> Any:
    text = read_text(value)
    if len(text) > _MAX_YAML:
        raise Unreadable(f"more than {_MAX_YAML} characters of YAML")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(f"not valid YAML: {error}") from error


_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "match": operator.eq,
    "in": lambda value, wanted: value in wanted,
    "contain": lambda value, wanted: wanted in value,
    "not_null": lambda value, wanted: bool(value),
}


@metric(
    "check_yaml_file",
    found=_read_yaml,
    wanted=lambda rules: [(_RULES[kind], list(keys), value) for kind, keys, value in rules],
)
def check_yaml_file(tree: Any, rules: Any, options: Options) -> Score:
    """Checks that a YAML file keeps every rule: what must hold, of which place, with what.

    What must hold: match, in, contain, not_null. A place is a list of keys of mappings, and of
    numbers or ``[key, value]`` of the entry meant in lists.
    """
    for holds, keys, wanted in rules:
        value = functools.reduce(_below, keys, tree)
        if value is _ABSENT or not holds(value, wanted):
            there = "nothing" if value is _ABSENT else shown(value)
            return 0.0, f"{keys} is not as expected: is {there}, not {shown(wanted)}"
    return 1.0, "all values are as expected"


def _below(tree: Any, key: Any) -> Any:
    """Returns a mapping's value for a key, or a list's entry by number or by ``[key, value]``."""
    if isinstance(tree, Mapping):
        return tree.get(key, _ABSENT)
    if not isinstance(tree, list):
        return _ABSENT
    if isinstance(key, list):
        name, value = key
        entries = (entry for entry in tree if isinstance(entry, Mapping))
        return next((entry for entry in entries if entry.get(name, _ABSENT) == value), _ABSENT)
    number = int(key)
    return tree[number] if -len(tree) <= number < len(tree) else _ABSENT
