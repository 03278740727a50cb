"""Whether a value keeps a rule of the shape {"method": "eq", "ref": 3}."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import BadRules

__all__ = ["known_method", "matches", "search"]

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge,
}  # fmt: skip
_FLAGS = {
    "I": re.I, "IGNORECASE": re.I, "M": re.M, "MULTILINE": re.M, "S": re.S, "DOTALL": re.S,
    "X": re.X, "VERBOSE": re.X, "A": re.A, "ASCII": re.A, "U": re.U, "UNICODE": re.U,
}  # fmt: skip
_RANGE = re.compile(r"range\.([te])([te])")


def search(pattern: object, text: str, flags: int = 0) -> bool:
    """Whether a task's regular expression occurs in a text.

    Raises:
        BadRules: it is no regular expression.
    """
    try:
        return re.search(str(pattern), text, flags) is not None
    except re.error as error:
        raise BadRules(f"{pattern!r} is not a regular expression: {error}") from error


def known_method(method: object) -> bool:
    """Whether `matches` knows a method."""
    name = str(method)
    return (
        name in _COMPARE
        or name in ("spreadsheet_range", "str_list_eq", "str_set_eq")
        or name.split(".")[0] == "re"
        or name.startswith("approx:")
        or _RANGE.fullmatch(name) is not None
    )


def matches(value: Any, rule: object) -> bool:
    """Whether ``value`` keeps the rule; a value of another kind does not.

    Methods: eq ne lt le gt ge, ``re`` with flags (``re.I``), ``approx:0.1``, ``range.te`` ([0, 2]
    is 0 < x <= 2), ``str_list_eq``, ``str_set_eq``, ``spreadsheet_range`` ([inner, outer]).

    Raises:
        BadRules: the rule has no method or no ref, or an unknown method.
    """
    if not isinstance(rule, Mapping) or "method" not in rule or "ref" not in rule:
        raise BadRules(f"a rule needs 'method' and 'ref': {str(rule)[:200]}")
    method, reference = str(rule["method"]), rule["ref"]
    if not known_method(method):
        raise BadRules(f"unknown method {method!r} in a rule")
    try:
        return _holds(value, method, reference)
    except (TypeError, ValueError, AttributeError, IndexError):
        return False


def _holds(value: Any, method: str, reference: Any) -> bool:
    if method in _COMPARE:
        return bool(_COMPARE[method](value, reference))
    if method.startswith("approx:"):
        return abs(float(value) - float(reference)) <= float(method.partition(":")[2])
    if method == "spreadsheet_range":
        return _between_ranges(value, reference)
    if method in ("str_list_eq", "str_set_eq"):
        kind = list if method == "str_list_eq" else set
        return kind(value.strip("\"'").split(",")) == kind(reference)
    if found := _RANGE.fullmatch(method):
        low = _COMPARE["l" + found[1]](reference[0], value)
        return bool(low and _COMPARE["l" + found[2]](value, reference[1]))
    flags = [_FLAGS.get(name, re.NOFLAG) for name in method.split(".")[1:]]
    return search(reference, value, functools.reduce(operator.or_, flags, re.NOFLAG))


def _between_ranges(value: Any, reference: Any) -> bool:
    from openpyxl.worksheet.cell_range import MultiCellRange

    inner, outer = MultiCellRange(reference[0]), MultiCellRange(reference[1])
    return all(part in value for part in inner) and all(part in outer for part in value)
