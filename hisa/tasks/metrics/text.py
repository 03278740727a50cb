"""Metrics over texts, lists and plain text files."""

from __future__ import annotations

import difflib
import re
import zipfile
from typing import Any

from hisa.tasks.metrics.base import (
    BadRules,
    Options,
    Score,
    Unreadable,
    as_path,
    both_files,
    expecting,
    metric,
    read_text,
    reading,
    rules_of,
    verdict,
)
from hisa.tasks.metrics.values import search

__all__: list[str] = []

_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)"


def _shown(value: object) -> str:
    return repr(value)[:200]


@metric("check_include_exclude")
def check_include_exclude(result: Any, expected: Any, options: Options) -> Score:
    """Every ``include`` is in the text or list, and no ``exclude`` is."""
    rules = rules_of(expected)
    with reading("result"):
        missing = [part for part in rules.get("include") or [] if part not in result]
        found = [part for part in rules.get("exclude") or [] if part in result]
    holds = not missing and not found
    return verdict(
        holds, "all is there", f"missing {missing}, unwanted {found} in {_shown(result)}"
    )


@metric("exact_match", "compare_answer")
def exact_match(result: Any, expected: Any, options: Options) -> Score:
    """The value is the expected one."""
    wanted = rules_of(expected, "expected")
    return verdict(result == wanted, "equal", f"{_shown(result)} is not {_shown(wanted)}")


@metric("match_in_list")
def match_in_list(result: Any, expected: Any, options: Options) -> Score:
    """The value is one of those expected."""
    wanted = rules_of(expected, "expected")
    return verdict(result in wanted, "in the list", f"{_shown(result)} is not in {_shown(wanted)}")


@metric("is_in_list")
def is_in_list(result: Any, expected: Any, options: Options) -> Score:
    """The list or text has the expected part."""
    wanted = rules_of(expected, "expected")
    with reading("result"):
        return verdict(wanted in result, "in it", f"{_shown(wanted)} is not in {_shown(result)}")


@metric("is_not_in_list")
def is_not_in_list(result: Any, expected: Any, options: Options) -> Score:
    """The list or text does not have the excluded part."""
    unwanted = rules_of(expected, "exclude")
    with reading("result"):
        return verdict(unwanted not in result, "not in it", f"{_shown(unwanted)} is in it")


@metric("literal_match")
def literal_match(result: Any, expected: Any, options: Options) -> Score:
    """Two values, or with ``type: list`` two lists, are equal as texts.

    Options: ``ignore_case``, and ``ignore_order`` of a list.
    """
    kind = options.get("type", "str")
    if kind not in ("str", "list"):
        raise BadRules(f"literal_match has no type {kind!r}; there are 'str' and 'list'")
    if kind == "list" and not (isinstance(result, list | tuple) and isinstance(expected, list)):
        return 0.0, f"{_shown(result)} is no list"
    found = [str(item) for item in (result if kind == "list" else [result])]
    wanted = [str(item) for item in (expected if kind == "list" else [expected])]
    if options.get("ignore_case", False):
        found, wanted = [s.lower() for s in found], [s.lower() for s in wanted]
    if options.get("ignore_order", False):
        found, wanted = sorted(found), sorted(wanted)
    return verdict(found == wanted, "equal", f"{_shown(result)} is not {_shown(expected)}")


@metric("fuzzy_match", needs=("rapidfuzz",))
def fuzzy_match(result: Any, expected: Any, options: Options) -> Score:
    """How much two texts have in common, 0 to 1."""
    from rapidfuzz import fuzz

    wanted = rules_of(expected, "expected")
    with reading("result"):
        score = fuzz.ratio(result, str(wanted)) / 100.0
    return score, f"{score:.2f} of {_shown(wanted)} in {_shown(result)}"


@metric("is_extension_installed")
def is_extension_installed(result: Any, expected: Any, options: Options) -> Score:
    """A listing has (``contain``) or has not (``not_contain``) a name."""
    kind, name = rules_of(expected, "type", "expected")
    if kind not in ("contain", "not_contain"):
        raise BadRules(f"is_extension_installed has no type {kind!r}")
    with reading("result"):
        there = name in result
    state = f"{name!r} is {'' if there else 'not '}listed"
    return verdict(there == (kind == "contain"), state, state)


@metric("diff_text_file")
def diff_text_file(result: Any, expected: Any, options: Options) -> Score:
    """How many lines two files have in common, 0 to 1."""
    with expecting("expected file"):
        wanted = read_text(expected).splitlines()
    with reading("result file"):
        found = read_text(result).splitlines()
    ratio = difflib.SequenceMatcher(a=found, b=wanted).ratio()
    return ratio, f"{ratio:.2f} of the lines agree"


@metric("compare_text_file")
def compare_text_file(result: Any, expected: Any, options: Options) -> Score:
    """Two text files are equal; ``ignore_blanks`` and ``ignore_case`` loosen it."""
    with expecting("expected file"):
        wanted = _loosened(read_text(expected), options)
    with reading("result file"):
        found = _loosened(read_text(result), options)
    return verdict(found == wanted, "equal", f"{_shown(found)} is not {_shown(wanted)}")


def _loosened(text: str, options: Options) -> str:
    if options.get("ignore_blanks", False):
        text = re.sub(r"\s+", " ", text.strip("\t\n ")).strip()
    return text.lower() if options.get("ignore_case", False) else text


@metric("compare_sql")
@both_files(read_text)
def compare_sql(found: str, wanted: str, options: Options) -> Score:
    """Two files hold the same query, to the character."""
    return verdict(found == wanted, "equal", f"{_shown(found)} is not {_shown(wanted)}")


@metric("check_file_existence")
def check_file_existence(result: Any, expected: Any, options: Options) -> Score:
    """The agent left the file."""
    return verdict(as_path(result).is_file(), "it is there", "it is not there")


@metric("compare_result_files")
def compare_result_files(result: Any, expected: Any, options: Options) -> Score:
    """Two files say the same; where a number is expected, it stands in the result."""
    with expecting("expected file"):
        wanted = read_text(expected).strip()
    with reading("result file"):
        found = read_text(result).strip()
    holds = found == wanted
    try:
        number = float(wanted)
        holds = holds or wanted in found or abs(float(found) - number) < 1e-4
    except ValueError:
        pass
    return verdict(holds, "equal", f"{_shown(found)} is not {_shown(wanted)}")


@metric("compare_config")
def compare_config(result: Any, expected: Any, options: Options) -> Score:
    """A file's whole text is the expected one."""
    wanted = rules_of(expected, "expected")
    with reading("result file"):
        text = read_text(result)
    return verdict(text == wanted, "equal", f"{_shown(text)} is not {_shown(wanted)}")


@metric("compare_terminal_and_txt")
def compare_terminal_and_txt(result: Any, expected: Any, options: Options) -> Score:
    """A file's whole text is what the terminal says."""
    with reading("result file"):
        text = read_text(result)
    return verdict(bool(expected) and text == expected, "equal", "the file says something else")


@metric("file_contains")
def file_contains(result: Any, expected: Any, options: Options) -> Score:
    """A file has every expected text."""
    wanted = rules_of(expected, "expected")
    with reading("result file"):
        text = read_text(result)
    missing = [part for part in wanted if str(part) not in text]
    return verdict(not missing, "all texts are there", f"missing {_shown(missing)}")


@metric("check_line_number")
def check_line_number(result: Any, expected: Any, options: Options) -> Score:
    """As many lines as expected have a time of day."""
    with expecting("rules"):
        wanted = int(rules_of(expected, "expected"))
    with reading("result file"):
        count = sum(search(_TIME, line) for line in read_text(result).splitlines())
    return verdict(count == wanted, f"{count} lines", f"{count} lines with a time, not {wanted}")


@metric("check_list")
def check_list(result: Any, expected: Any, options: Options) -> Score:
    """Some line matches each ``expect`` pattern, and no line an ``unexpect`` pattern."""
    rules = rules_of(expected)
    with reading("result file"):
        lines = read_text(result).splitlines()
    missing = [p for p in rules.get("expect") or [] if not any(search(p, x) for x in lines)]
    found = [p for p in rules.get("unexpect") or [] if any(search(p, x) for x in lines)]
    return verdict(not missing and not found, "as expected", f"missing {missing}, found {found}")


@metric("compare_zip_files")
def compare_zip_files(result: Any, expected: Any, options: Options) -> Score:
    """Two archives hold the same files."""
    with expecting("expected file"):
        wanted = _members(expected)
    with reading("result file"):
        found = _members(result)
    names = sorted(found.keys() ^ wanted.keys())
    differ = sorted(name for name in found.keys() & wanted.keys() if found[name] != wanted[name])
    return verdict(
        not names and not differ, "equal", f"only in one: {names[:5]}; differ: {differ[:5]}"
    )


def _members(path: Any) -> dict[str, bytes]:
    with zipfile.ZipFile(as_path(path)) as archive:
        if any(item.flag_bits & 1 for item in archive.infolist()):
            raise Unreadable("the archive asks for a password")
        return {name: archive.read(name) for name in archive.namelist()}
