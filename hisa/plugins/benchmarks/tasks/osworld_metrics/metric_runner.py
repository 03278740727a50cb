"""A script for any Python: calls metrics of OSWorld's package and prints their results.

It reads one JSON object from standard input and prints a JSON list, one verdict per call:
``{"score": 0.5}``, ``{"unreadable": why}`` if what the agent left made the function fail, or
``{"broken": why}`` if the function, its libraries or the task's rules are at fault. Only the file
that defines a function is loaded, never the package around it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import math
import os
import resource
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["main"]

_PACKAGE = "desktop_env.evaluators.metrics"


class _Lacking(Exception):
    """A function uses a library that is not installed."""


class _Nothing(type):
    """Stands for any member of an absent library while a file is loaded; it cannot be used."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _hollow_member(f"{cls.__module__}.{cls.__name__}", name)

    def __call__(cls, *args: object, **options: object) -> Any:
        raise _lacking(cls.__module__)


_used: set[str] = set()
"""Absent libraries that a function used; it may have hidden that it failed."""
_loading = True


def _lacking(module: str) -> _Lacking:
    _used.add(module.partition(".")[0])
    return _Lacking(module.partition(".")[0])


def _hollow_member(module: str, name: str) -> Any:
    if not _loading:
        raise _lacking(module)
    return _Nothing(name, (), {"__module__": module})


class _Hollow(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _hollow_member(self.__name__, name)


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a hollow module for each absent library, so that files that import it can be loaded."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds a hollow module; see `importlib.abc.MetaPathFinder`.

        Args:
            fullname: the dotted name of the module; its first part decides.
            path: not used.
            target: not used.
        """
        if fullname.partition(".")[0] not in self._names:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Hollow(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = []


def _packages(folder: str) -> None:
    """Make the packages above the metrics known, without what their own files would import."""
    name = ""
    parts = _PACKAGE.split(".")
    for depth, part in enumerate(parts, 1):
        name = f"{name}.{part}".lstrip(".")
        package = types.ModuleType(name)
        place = folder
        for _ in parts[depth:]:
            place = os.path.dirname(place)
        package.__path__ = [place]
        sys.modules[name] = package


def _defect(error: BaseException, place: str) -> bool:
    """Whether an error is about the package or its libraries, not about what was compared."""
    if _raised_in(error).startswith(("<", place)):
        return False
    if isinstance(error, AttributeError):
        return isinstance(error.obj, types.ModuleType)
    if isinstance(error, UnboundLocalError):
        return False
    return isinstance(error, _Lacking | ImportError | MemoryError | NameError | NotImplementedError)


def _raised_in(error: BaseException) -> str:
    """Returns the file of the code that failed; what the agent left may itself be code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename if trace is not None else ""


def _words(error: BaseException) -> str:
    if isinstance(error, _Lacking):
        return f"the library {error} is not installed"
    return f"{type(error).__name__}: {str(error)[:300]}"


def _value(result: object) -> dict[str, object]:
    try:
        number = float(result)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {"broken": f"its result is no number: {result!r}"[:300]}
    return {"score": number} if math.isfinite(number) else {"broken": f"its result is {number}"}


def _call(call: dict[str, Any]) -> dict[str, object]:
    global _loading
    _loading = True
    work, error = _try_work(lambda: _bind_call(call))
    _loading = False
    if error is not None:
        return {"broken": _words(error)}
    function, arguments = work
    return _score_call(function, arguments, call)


def _try_work(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Returns the result of the work, or what it raised: a stranger's code may raise anything."""
    try:
        return work(), None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return None, error


def _bind_call(call: dict[str, Any]) -> tuple[Callable[..., object], list[Any]]:
    """Returns the function and its arguments; many take no expected value."""
    function = getattr(importlib.import_module(f"{_PACKAGE}.{call['file']}"), call["name"])
    arguments = [call["result"]]
    kinds = inspect.signature(function).parameters.values()
    needed = sum(k.default is k.empty and k.kind is k.POSITIONAL_OR_KEYWORD for k in kinds)
    if call["expected"] is not None or needed > 1:
        arguments.append(call["expected"])
    inspect.signature(function).bind(*arguments, **call["options"])
    return function, arguments


def _score_call(
    function: Callable[..., object], arguments: list[Any], call: dict[str, Any]
) -> dict[str, object]:
    options = call["options"]
    _used.clear()
    result, error = _try_work(lambda: function(*arguments, **options))
    if _used:
        return {"broken": f"the library {', '.join(sorted(_used))} is not installed"}
    if error is None:
        return _value(result)
    if _defect(error, call["place"]):
        return {"broken": _words(error)}
    if len(arguments) > 1 and _is_file(arguments[0]) and _is_file(arguments[1]):
        _, again = _try_work(lambda: function(arguments[1], arguments[1], **options))
        if again is not None:
            return {"broken": f"it fails on the expected file too: {_words(again)}"}
    return {"unreadable": _words(error)}


def _is_file(value: object) -> bool:
    return isinstance(value, str) and os.path.isfile(value)


def main() -> None:
    """Write the answer to the original standard output; functions print to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    for limit, value in ((resource.RLIMIT_AS, request["memory"]), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))
    resource.setrlimit(resource.RLIMIT_FSIZE, (request["bytes"], request["bytes"]))
    seconds = request["processor"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    sys.meta_path.append(_Absent(request["absent"]))
    _packages(request["folder"])
    verdicts = [_call(call) for call in request["calls"]]
    os.write(answers, json.dumps(verdicts).encode())
    sys.stdout.flush()
    os._exit(0)  # threads that a function left must not delay the answer


if __name__ == "__main__":
    main()
