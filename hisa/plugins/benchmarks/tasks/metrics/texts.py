"""Metrics over texts, lists and plain files.

They are here although OSWorld's package has them too: nearly every task of one's own is scored by
one of them, and Spider2-V's tasks have an option ``ignore_order`` that the package passes over.
"""

from __future__ import annotations

import itertools
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    equal,
    expecting,
    metric,
    read_text,
    rule,
    same,
    shown,
    unlike,
    verdict,
)

__all__: list[str] = []


@metric("check_include_exclude", wanted=rule())
def check_include_exclude(result: Any, rules: Any, options: Options) -> Score:
    """Checks that every ``include`` is in the text or list, and no ``exclude`` is."""
    missing = [part for part in rules.get("include") or [] if part not in result]
    there = [part for part in rules.get("exclude") or [] if part in result]
    bad = f"missing {missing}, unwanted {there} in {shown(result)}"
    return verdict(not missing and not there, "all is there", bad)


@metric("literal_match")
def literal_match(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two values, or with ``type: list`` two lists, are equal as texts.

    Options: ``ignore_case``, and ``ignore_order`` of a list.
    """
    kind = options.get("type", "str")
    if kind not in ("str", "list"):
        raise BadRules(f"literal_match has no type {kind!r}; there are 'str' and 'list'")
    if kind == "list" and not (isinstance(result, list | tuple) and isinstance(expected, list)):
        return 0.0, f"{shown(result)} is no list"

    def texts(value: Any) -> list[str]:
        every = [str(item) for item in (value if kind == "list" else [value])]
        every = [item.lower() for item in every] if options.get("ignore_case", False) else every
        return sorted(every) if options.get("ignore_order", False) else every

    return same(texts(result), texts(expected))


@metric("compare_csv", found=read_text)
def compare_csv(text: Any, expected: Any, options: Options) -> Score:
    """Checks that two CSV files have the same lines; any one of several expected files will do.

    Options: ``strict`` (default; else white space at both ends of a line does not count),
    ``ignore_case``, ``ignore_order``.
    """
    found = _lines(text, options)
    wanted: list[str] = []
    for path in expected if isinstance(expected, list) else [expected]:
        with expecting("expected file"):
            wanted = _lines(read_text(path), options)
        if found == wanted:
            return 1.0, "equal"
    pairs = itertools.zip_longest(found, wanted)
    line, pair = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    why = unlike(f"line {line}", *pair)
    return 0.0, f"{len(found)} lines, {len(wanted)} expected; first difference in {why}"


def _lines(text: str, options: Options) -> list[str]:
    lines = text.splitlines()
    if not options.get("strict", True):
        lines = [line.strip() for line in lines]
    if options.get("ignore_case", False):
        lines = [line.lower() for line in lines]
    return sorted(lines) if options.get("ignore_order", False) else lines


equal("exact_match", lambda value: value, wanted=rule("expected"))
equal("compare_config", read_text, wanted=rule("expected"))
