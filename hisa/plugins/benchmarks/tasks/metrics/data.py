"""Metrics over CSV, JSON, YAML and SQLite."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from hisa.plugins.benchmarks.tasks.metric import (
    Options,
    Score,
    Unreadable,
    expecting,
    metric,
    read_json,
    read_text,
    rule,
    rules_of,
    shown,
    verdict,
)
from hisa.plugins.benchmarks.tasks.metrics.differences import line_difference
from hisa.plugins.benchmarks.tasks.metrics.value_rules import matches

__all__: list[str] = []


@metric("compare_csv", found=read_text)
def compare_csv(text: Any, expected: Any, options: Options) -> Score:
    """Two CSV files have the same lines; any one of several expected files will do.

    Options: ``strict`` (default; else white space at both ends of a line does not count),
    ``ignore_case``, ``ignore_order``.
    """
    found = _lines(text, options)
    for path in expected if isinstance(expected, list) else [expected]:
        with expecting("expected file"):
            wanted = _lines(read_text(path), options)
        if found == wanted:
            return 1.0, "equal"
    why = line_difference(found, wanted)
    return 0.0, f"{len(found)} lines, {len(wanted)} expected; first difference in {why}"


def _lines(text: str, options: Options) -> list[str]:
    lines = text.splitlines()
    if not options.get("strict", True):
        lines = [line.strip() for line in lines]
    if options.get("ignore_case", False):
        lines = [line.lower() for line in lines]
    return sorted(lines) if options.get("ignore_order", False) else lines


_ABSENT = object()
_MAX_YAML = 2_000_000
"""Characters; the reader needs about a second for every 100 000."""


def _at(tree: Any, keys: Any) -> Any:
    for key in keys:
        try:
            tree = tree[key]
        except (KeyError, IndexError, TypeError):
            return _ABSENT
    return tree


def _held(value: Any) -> str:
    return "nothing" if value is _ABSENT else shown(value)


def _read_yaml(value: object) -> Any:
    text = read_text(value)
    if len(text) > _MAX_YAML:
        raise Unreadable(f"more than {_MAX_YAML} characters of YAML")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(f"not valid YAML: {error}") from error


@metric("check_json", wanted=rule())
def check_json(result: Any, rules: Any, options: Options) -> Score:
    """Values of a JSON (``is_yaml``: YAML) file keep each ``expect`` and no ``unexpect`` rule."""
    tree = _read_yaml(result) if options.get("is_yaml", False) else read_json(result)
    for each in rules.get("expect") or []:
        value = _at(tree, rules_of(each, "key"))
        if value is _ABSENT or not matches(value, each):
            rule_ = f"{each.get('method')} {each.get('ref')}"
            return 0.0, f"{each['key']} is not as expected: is {_held(value)}, wanted is {rule_}"
    for each in rules.get("unexpect") or []:
        value = _at(tree, rules_of(each, "key"))
        if matches(None if value is _ABSENT else value, each):
            return 0.0, f"{each['key']} is as it must not be: {_held(value)}"
    return 1.0, "all values are as expected"


_YAML_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "match": operator.eq,
    "in": lambda value, wanted: value in wanted,
    "contain": lambda value, wanted: wanted in value,
    "not_null": lambda value, wanted: bool(value),
}


@metric(
    "check_yaml_file",
    found=_read_yaml,
    wanted=lambda rules: [(_YAML_RULES[kind], list(keys), value) for kind, keys, value in rules],
)
def check_yaml_file(tree: Any, rules: Any, options: Options) -> Score:
    """A YAML file keeps every rule, each a list of what must hold, of which place, with what.

    What must hold: match, in, contain, not_null. A place is a list of keys of mappings, and of
    numbers or ``[key, value]`` of the entry meant in lists.
    """
    for holds, keys, wanted in rules:
        value = functools.reduce(_below, keys, tree)
        if value is _ABSENT or not holds(value, wanted):
            return 0.0, f"{keys} is not as expected: is {_held(value)}, not {shown(wanted)}"
    return 1.0, "all values are as expected"


def _below(tree: Any, key: Any) -> Any:
    """Returns a mapping's value for a key, or a list's entry by number or by ``[key, value]``."""
    if isinstance(tree, Mapping):
        return _at(tree, [key])
    if not isinstance(tree, list):
        return _ABSENT
    if not isinstance(key, list):
        return _at(tree, [int(key)])
    name, value = key
    return next((entry for entry in tree if _at(entry, [name]) == value), _ABSENT)


@metric(
    "check_json_settings",
    found=read_json,
    wanted=lambda rules: rules_of(rules_of(rules, "expected")),
)
def check_json_settings(result: Any, expected: Any, options: Options) -> Score:
    """A JSON object has the expected values under the expected keys."""
    wrong = [key for key, value in expected.items() if _at(result, [key]) != value]
    why = "; ".join(
        f"{key} is {_held(_at(result, [key]))}, not {shown(expected[key])}" for key in wrong[:3]
    )
    return verdict(not wrong, "all settings are as expected", f"not as expected: {wrong}: {why}")


@metric("check_direct_json_object", wanted=rule())
def check_direct_json_object(result: Any, rules: Any, options: Options) -> Score:
    """A JSON object has the expected values; with ``expect_in_result``, has them in it."""
    wanted = rules_of(rules_of(rules, "expected"))
    result = json.loads(result.strip().replace("'", '"')) if isinstance(result, str) else result
    if not isinstance(result, Mapping):
        raise Unreadable(f"not a JSON object: {shown(result)}")
    inside = bool(rules.get("expect_in_result", False))
    sort = bool(wanted.get("ignore_list_order", False))
    wrong = [
        key
        for key, value in wanted.items()
        if not (_in(result.get(key), value) if inside else _same(result.get(key), value, sort))
    ]
    return verdict(not wrong, "as expected", f"not as expected: {wrong} in {str(result)[:300]}")


def _same(result: Any, expected: Any, sort: bool) -> bool:
    if sort and isinstance(expected, list):
        return isinstance(result, list) and sorted(result) == sorted(expected)
    return bool(result == expected)


def _in(result: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return any(
            part in result if isinstance(result, list) else part == result for part in expected
        )
    return isinstance(expected, str) and isinstance(result, str | list) and expected in result
