"""How a metric is declared, and what it may return: a score with its reason.

A metric gets what the two getters gave, and the options. It raises `Unreadable` if what the agent
left cannot be read (score 0), `BadRules` if the task file is at fault, and `NotScored` if the
machine that scores is at fault (no score).
"""

from __future__ import annotations

import errno
import functools
import importlib.util
import json
import struct
import types
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hisa.machine import plugins
from hisa.plugins.benchmarks.tasks.process_limits import MAX_UNPACKED
from hisa.tasks.pieces import Registry
from hisa.tasks.task_format import NotScored, Unreadable

__all__ = [
    "METRICS",
    "BadRules",
    "Function",
    "Metric",
    "NotScored",
    "Options",
    "Score",
    "Unreadable",
    "abbreviate",
    "equal",
    "expecting",
    "find_metric",
    "metric",
    "parse_xml",
    "read_json",
    "read_text",
    "reading",
    "rule",
    "rules_of",
    "same",
    "unlike",
    "verdict",
]

Score = tuple[float, str]
Options = Mapping[str, Any]
Function = Callable[[Any, Any, Options], Score]
Check = Callable[[Mapping[str, Any], Options], Iterable[str]]
_BAD_INPUT = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, LookupError, OSError,
    RecursionError, zipfile.BadZipFile, ArithmeticError, NotImplementedError, SyntaxError,
    AssertionError, EOFError, struct.error, zlib.error,
)  # fmt: skip
"""Errors that the readers of formats raise for malformed files."""
_MACHINES = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO,
     errno.EACCES, errno.EPERM, errno.EROFS, errno.EFBIG)
)  # fmt: skip
"""Error numbers of `OSError` that are about the machine that scores, not about the file."""


class BadRules(NotScored):
    """The task file asks for something that has no meaning, or that is not there."""


@dataclass(frozen=True)
class Metric:
    """A metric: its function, the libraries it needs, and a check of the task before a run."""

    run: Function
    needs: tuple[str, ...] = ()
    check: Check | None = None

    def missing(self) -> tuple[str, ...]:
        """Returns the libraries that are not installed."""
        return tuple(name for name in self.needs if importlib.util.find_spec(name) is None)


METRICS: Registry[Metric] = Registry("metric")
"""Every metric by its name in task files."""


def find_metric(name: str) -> Metric | None:
    """Returns the metric of a name: one of ours, else that of an installed package.

    Raises:
        PluginFailed: the package that has the metric fails.
    """
    known, point = METRICS.get(name), plugins.find("metrics", name)
    if known is not None or point is None:
        return known
    added = plugins.load("metrics", point)
    added = added if isinstance(added, Metric) else Metric(added)
    return replace(added, run=_wrap_function(added.run, plugins.describe_point("metrics", point)))


def _wrap_function(function: Function, origin: str) -> Function:
    """Wraps a package's metric: its errors name the package, and give no score."""

    def run(result: Any, expected: Any, options: Options) -> Score:
        try:
            return function(result, expected, options)
        except (Unreadable, NotScored, MemoryError):
            raise
        except Exception as error:
            raise NotScored(f"{origin}: {type(error).__name__}: {error}") from error

    return run


Read = Callable[[Any], Any]


def metric(
    name: str,
    *,
    read_result: Read | None = None,
    read_expected: Read | None = None,
    needs: Sequence[str] = (),
    check: Check | None = None,
) -> Callable[[Function], Function]:
    """Returns a decorator that makes a function the metric of a name.

    Args:
        name: the name in task files.
        read_result: reads what the agent left; an error means that it cannot be read (score 0).
        read_expected: reads what is expected; an error means that the task is at fault.
        needs: libraries that the metric imports.
        check: given expected value and options before a run, yields what is wrong with the task.

    The function gets the result, the expected value and the task's options.
    """

    def keep(function: Function) -> Function:
        @functools.wraps(function)
        def run(result: Any, expected: Any, options: Options) -> Score:
            if read_expected is not None:
                with expecting("expected"):
                    expected = read_expected(expected)
            with reading("result"):
                return function(read_result(result) if read_result else result, expected, options)

        METRICS.add(name, Metric(run, tuple(needs), check))
        return run

    return keep


def equal(
    name: str, read: Read, *, read_expected: Read | None = None, needs: Sequence[str] = ()
) -> None:
    """Declare a metric that scores 1 if the same is read from both sides, else 0.

    Args:
        name: the name in task files.
        read: reads what the agent left.
        read_expected: reads what is expected; by default ``read`` does.
        needs: libraries that the readers import.
    """

    @metric(name, read_result=read, read_expected=read_expected or read, needs=needs)
    def compare(result: Any, expected: Any, options: Options) -> Score:
        return same(result, expected)


@contextmanager
def reading(subject: str) -> Iterator[None]:
    """Turn a reader's error inside into `Unreadable`: the agent's file is broken."""
    try:
        yield
    except (Unreadable, NotScored):
        raise
    except _BAD_INPUT as error:
        words = f"{type(error).__name__}: {error}"
        if _is_own_fault(error):
            raise NotScored(f"{subject}: the check itself failed: {words}") from error
        raise Unreadable(f"{subject}: cannot be read: {words}") from error


@contextmanager
def expecting(subject: str) -> Iterator[None]:
    """Turn a reader's error inside into `BadRules`: the task's own file or rule is broken."""
    try:
        yield
    except NotScored:
        raise
    except (Unreadable, *_BAD_INPUT) as error:
        raise BadRules(f"{subject}: the task's own file or rule is broken: {error}") from error


def _is_own_fault(error: BaseException) -> bool:
    """Whether an error, or one of its causes, is about this machine and not about the file."""
    if isinstance(error, OSError) and error.errno in _MACHINES:
        return True
    if isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType):
        return True  # a library of another version
    if isinstance(error, ImportError | MemoryError):
        return True
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return cause is not None and _is_own_fault(cause)


def verdict(holds: bool, good: str, bad: str) -> Score:
    """Returns 1 with one reason, or 0 with the other.

    Args:
        holds: whether the result is as expected.
        good: the reason for 1.
        bad: the reason for 0.
    """
    return (1.0, good) if holds else (0.0, bad)


def same(result: object, expected: object) -> Score:
    """Returns 1 if both are equal, else 0."""
    return verdict(
        result == expected, "equal", f"{abbreviate(result)} is not {abbreviate(expected)}"
    )


def unlike(place: str, result: object, expected: object) -> str:
    """Returns a sentence on what is at a place and what should be.

    Args:
        place: where the two differ, such as "line 3".
        result: what is there; None: nothing.
        expected: what should be there; None: nothing.
    """
    result_text, expected_text = (
        "nothing" if value is None else abbreviate(value) for value in (result, expected)
    )
    return f"{place}: is {result_text}, not {expected_text}"


def abbreviate(value: object) -> str:
    """Returns the beginning of a value, for use in a reason."""
    return repr(value)[:200]


def as_path(value: object) -> Path:
    """Returns ``value`` as a file that fits into memory once unpacked."""
    if not isinstance(value, Path):
        raise BadRules(f"a file is needed, not {type(value).__name__}")
    if zipfile.is_zipfile(value):
        with zipfile.ZipFile(value) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_UNPACKED:
                raise Unreadable(f"{value.name}: larger than {MAX_UNPACKED} bytes unpacked")
    return value


def as_package(value: object) -> Path:
    """Returns ``value`` as an office document, which is a zip archive."""
    path = as_path(value)
    if not zipfile.is_zipfile(path):
        raise Unreadable(f"{path.name}: not an office document")
    return path


def read_text(value: object) -> str:
    """Returns the text of a file, with every line end as one character."""
    text = as_path(value).read_bytes().decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json(value: object) -> Any:
    """Returns the JSON of a file."""
    return json.loads(read_text(value))


def parse_xml(data: bytes) -> Any:
    """Returns a tree of XML, without resolving entities or using the network."""
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def rules_of(expected: object, *names: str) -> Any:
    """Returns the rules as a mapping, or the values of ``names`` in it.

    Raises:
        BadRules: the rules are no mapping, or a name is missing.
    """
    if not isinstance(expected, Mapping):
        raise BadRules(f"rules must be a mapping, not {type(expected).__name__}")
    if not names:
        return expected
    missing = [name for name in names if name not in expected]
    if missing:
        raise BadRules(f"the rules lack {missing}; there are {sorted(map(str, expected))}")
    return expected[names[0]] if len(names) == 1 else tuple(expected[name] for name in names)


def rule(*names: str) -> Read:
    """Returns a reader of the rules, or of their values under some names; see `rules_of`."""
    return lambda expected: rules_of(expected, *names)
