"""Metrics over texts, lists, plain files and YAML, and over the rewards of pages.

They are here although OSWorld's package has them too: nearly every task of your own is scored by
one of them, and Spider2-V's tasks have an option ``ignore_order`` that the package ignores.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    Unreadable,
    abbreviate,
    equal,
    expecting,
    metric,
    read_text,
    rule,
    rules_of,
    same,
    unlike,
    verdict,
)
from hisa.text.yaml_text import read_yaml

__all__: list[str] = []


@metric("check_include_exclude", read_expected=rule())
def check_include_exclude(result: Any, rules: Any, options: Options) -> Score:
    """Checks that every ``include`` is in the text or list, and no ``exclude`` is.

    Args:
        result: the text or list.
        rules: lists of texts or entries under ``include`` and ``exclude``; both may be missing.
        options: none are used.
    """
    missing = [part for part in rules.get("include") or [] if part not in result]
    unwanted = [part for part in rules.get("exclude") or [] if part in result]
    bad = f"missing {missing}, unwanted {unwanted} in {abbreviate(result)}"
    return verdict(not missing and not unwanted, "all is there", bad)


@metric("literal_match")
def literal_match(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two values, or with ``type: list`` two lists, are equal as texts.

    Args:
        result: the agent's value or list.
        expected: the value or list to compare it with.
        options: ``type`` str (default) or list; ``ignore_case``, and ``ignore_order`` of a list.
    """
    kind = options.get("type", "str")
    if kind not in ("str", "list"):
        raise BadRules(f"literal_match has no type {kind!r}; there are 'str' and 'list'")
    if kind == "list" and not (isinstance(result, list | tuple) and isinstance(expected, list)):
        return 0.0, f"{abbreviate(result)} is no list"

    def texts(value: Any) -> list[str]:
        every = [str(item) for item in (value if kind == "list" else [value])]
        every = [item.lower() for item in every] if options.get("ignore_case", False) else every
        return sorted(every) if options.get("ignore_order", False) else every

    return same(texts(result), texts(expected))


@metric("compare_csv", read_result=read_text)
def compare_csv(text: Any, expected: Any, options: Options) -> Score:
    """Checks that two CSV files have the same lines; any one of several expected files will do.

    Args:
        text: the content of the agent's file.
        expected: a file, or several of which one has to match.
        options: ``strict`` (default true; if false, white space at both ends of a line does not
            count), ``ignore_case``, ``ignore_order``.
    """
    result_lines = _lines(text, options)
    expected_lines: list[str] = []
    for path in expected if isinstance(expected, list) else [expected]:
        with expecting("expected file"):
            expected_lines = _lines(read_text(path), options)
        if result_lines == expected_lines:
            return 1.0, "equal"
    pairs = itertools.zip_longest(result_lines, expected_lines)
    line, pair = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    why = unlike(f"line {line}", *pair)
    return (
        0.0,
        f"{len(result_lines)} lines, {len(expected_lines)} expected; first difference in {why}",
    )


def _lines(text: str, options: Options) -> list[str]:
    lines = text.splitlines()
    if not options.get("strict", True):
        lines = [line.strip() for line in lines]
    if options.get("ignore_case", False):
        lines = [line.lower() for line in lines]
    return sorted(lines) if options.get("ignore_order", False) else lines


equal("exact_match", lambda value: value, read_expected=rule("expected"))
equal("compare_config", read_text, read_expected=rule("expected"))


_ABSENT = object()
_MAX_YAML = 2_000_000
"""Characters; the reader needs about a second for every 100 000."""


def _read_yaml(value: object) -> Any:
    text = read_text(value)
    if len(text) > _MAX_YAML:
        raise Unreadable(f"more than {_MAX_YAML} characters of YAML")
    try:
        return read_yaml(text)
    except yaml.YAMLError as error:
        raise Unreadable(f"not valid YAML: {error}") from error


_RULES: Mapping[str, Callable[[Any, Any], bool]] = {
    "match": operator.eq,
    "in": lambda value, expected: value in expected,
    "contain": lambda value, expected: expected in value,
    "not_null": lambda value, expected: bool(value),
}


@metric(
    "check_yaml_file",
    read_result=_read_yaml,
    read_expected=lambda rules: [(_RULES[kind], list(keys), value) for kind, keys, value in rules],
)
def check_yaml_file(tree: Any, rules: Any, options: Options) -> Score:
    """Checks that a YAML file meets every rule.

    Args:
        tree: the content of the agent's file.
        rules: condition, place and value of each rule. The condition is match, in, contain or
            not_null. The place is a list of keys, one per level: the key of a mapping, or in a
            list, the number of an entry or ``[key, value]`` of the entry.
        options: none are used.
    """
    for holds, keys, expected in rules:
        value = functools.reduce(_below, keys, tree)
        if value is _ABSENT or not holds(value, expected):
            value_text = "nothing" if value is _ABSENT else abbreviate(value)
            return 0.0, f"{keys} is not as expected: is {value_text}, not {abbreviate(expected)}"
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


@metric("miniwob_solved")
def miniwob_solved(result: Any, expected: Any, options: Options) -> Score:
    """Gives 1 for any reward of a MiniWoB++ page above 0, as published results count it.

    Args:
        result: ``reward`` and ``reason`` of the page, from the getter miniwob_reward.
        expected: not used.
        options: none are used.
    """
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("miniwob_solved, which goes with miniwob_reward"):
        return float(reward > 0), str(reason)


@metric("browsergym_rewarded")
def browsergym_rewarded(result: Any, expected: Any, options: Options) -> Score:
    """Gives the reward of a task of BrowserGym, 0 to 1.

    Args:
        result: ``reward`` and ``reason`` of the task, from the getter browsergym_reward.
        expected: not used.
        options: none are used.
    """
    reward, reason = rules_of(result, "reward", "reason")
    with expecting("browsergym_rewarded, which goes with browsergym_reward"):
        return min(1.0, max(0.0, float(reward))), str(reason)
