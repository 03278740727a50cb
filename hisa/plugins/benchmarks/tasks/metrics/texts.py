"""Metrics over texts, lists and plain text files."""

from __future__ import annotations

import difflib
import re
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    equal,
    metric,
    read_text,
    rule,
    same,
    shown,
    verdict,
)
from hisa.plugins.benchmarks.tasks.metrics.value_rules import search

__all__: list[str] = []


@metric("check_include_exclude", wanted=rule())
def check_include_exclude(result: Any, rules: Any, options: Options) -> Score:
    """Every ``include`` is in the text or list, and no ``exclude`` is."""
    missing = [part for part in rules.get("include") or [] if part not in result]
    there = [part for part in rules.get("exclude") or [] if part in result]
    bad = f"missing {missing}, unwanted {there} in {shown(result)}"
    return verdict(not missing and not there, "all is there", bad)


@metric("is_in_list", wanted=rule("expected"))
def is_in_list(result: Any, expected: Any, options: Options) -> Score:
    """The list or text has the expected part."""
    return verdict(expected in result, "in it", f"{shown(expected)} is not in {shown(result)}")


@metric("literal_match")
def literal_match(result: Any, expected: Any, options: Options) -> Score:
    """Two values, or with ``type: list`` two lists, are equal as texts.

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


@metric("fuzzy_match", wanted=rule("expected"), needs=("rapidfuzz",))
def fuzzy_match(result: Any, expected: Any, options: Options) -> Score:
    """Scores the similarity of two texts, 0 to 1."""
    from rapidfuzz import fuzz

    score = fuzz.ratio(result, str(expected)) / 100.0
    return score, f"{score:.2f} of {shown(expected)} in {shown(result)}"


@metric("is_extension_installed", wanted=rule("type", "expected"))
def is_extension_installed(listing: Any, expected: Any, options: Options) -> Score:
    """A listing has (``contain``) or has not (``not_contain``) a name."""
    kind, name = expected
    if kind not in ("contain", "not_contain"):
        raise BadRules(f"is_extension_installed has no type {kind!r}")
    there = name in listing
    state = f"{name!r} is {'' if there else 'not '}listed"
    return verdict(there == (kind == "contain"), state, state)


@metric("diff_text_file", found=read_text, wanted=read_text)
def diff_text_file(result: Any, expected: Any, options: Options) -> Score:
    """Scores the share of lines that two files have in common, 0 to 1."""
    ratio = difflib.SequenceMatcher(a=result.splitlines(), b=expected.splitlines()).ratio()
    return ratio, f"{ratio:.2f} of the lines agree"


@metric("compare_text_file", found=read_text, wanted=read_text)
def compare_text_file(result: Any, expected: Any, options: Options) -> Score:
    """Two text files are equal; ``ignore_blanks`` and ``ignore_case`` loosen it."""
    return same(_loosened(result, options), _loosened(expected, options))


def _loosened(text: str, options: Options) -> str:
    if options.get("ignore_blanks", False):
        text = re.sub(r"\s+", " ", text.strip("\t\n ")).strip()
    return text.lower() if options.get("ignore_case", False) else text


@metric("check_list", found=read_text, wanted=rule())
def check_list(result: Any, rules: Any, options: Options) -> Score:
    """Some line matches each ``expect`` pattern, and no line an ``unexpect`` pattern."""
    lines = result.splitlines()
    missing = [p for p in rules.get("expect") or [] if not any(search(p, x) for x in lines)]
    there = [p for p in rules.get("unexpect") or [] if any(search(p, x) for x in lines)]
    return verdict(not missing and not there, "as expected", f"missing {missing}, found {there}")


equal("exact_match", lambda value: value, wanted=rule("expected"))
equal("compare_config", read_text, wanted=rule("expected"))
