"""Reads Python source as a list of calls on literals, and refuses everything else.

Nothing is ever evaluated: the source is parsed with `ast`, and the only shapes accepted are
``module.function(literal, name=literal, …)`` and the two imports that such calls need.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from hisa.errors import ActionRefused

__all__ = ["MAX_SOURCE", "MAX_STATEMENTS", "SHAPE", "Call", "Name", "Value", "read_calls"]

MAX_SOURCE = 20_000
"""Most characters of one source."""
MAX_STATEMENTS = 50
"""Most statements of one source."""
_MAX_INT = 10**9
"""The largest number in a call; chosen by hand, far beyond any screen."""
_MAX_ITEMS = 200
"""Most items of one list; chosen by hand."""
_MODULES = ("pyautogui", "time")
_TOKEN = re.compile(
    r"#[^\n]*|\'{3}.*?\'{3}|\"{3}.*?\"{3}"
    r"|(?P<prefix>\b[A-Za-z]{1,2})?(?P<string>'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")",
    re.S,
)
"""A comment or a string; strings with a prefix are refused or treat line breaks differently."""
SHAPE = "only calls such as pyautogui.click(100, 200) with plain numbers and strings are allowed"


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name in the place of a value."""

    name: str


Value = int | float | str | bool | None | Name | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Call:
    """``module.function`` with its arguments."""

    function: str
    args: tuple[Value, ...]
    kwargs: Mapping[str, Value]


def read_calls(source: str) -> tuple[Call, ...]:
    """Returns the calls of a source, in order, without ``import pyautogui`` and ``import time``.

    Raises:
        ActionRefused: the source has anything but calls on literals; names it and its line.
    """
    text = _with_line_breaks(source.strip())
    statements = _parse(text).body
    lines = text.encode().splitlines()
    if len(statements) > MAX_STATEMENTS:
        raise ActionRefused(
            f"{len(statements)} statements in one input; at most {MAX_STATEMENTS} are allowed"
        )
    calls = [_call(statement, lines) for statement in statements if not _harmless_import(statement)]
    if not calls:
        raise ActionRefused(f"no action in {source[:80]!r}; {SHAPE}")
    return tuple(calls)


def _with_line_breaks(source: str) -> str:
    """Returns a source with the line breaks inside one-line strings replaced by escapes.

    Models write ``\\n`` where JSON needs ``\\\\n``, so that the string has a real line break.
    """
    if len(source) > MAX_SOURCE or "\n" not in source:
        return source

    def escape_breaks(token: re.Match[str]) -> str:
        if not token["string"] or token["prefix"]:
            return token[0]
        return re.sub(r"(\\.)|\r?\n", lambda part: part[1] or r"\n", token[0], flags=re.S)

    return _TOKEN.sub(escape_breaks, source)


def _parse(source: str) -> ast.Module:
    if len(source) > MAX_SOURCE:
        raise ActionRefused(f"source of {len(source)} characters; at most {MAX_SOURCE} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        position = f" at line {error.lineno}" if error.lineno else ""
        raise ActionRefused(f"not valid Python{position}: {error.msg}; {SHAPE}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise ActionRefused(
            f"source that cannot be read (null bytes, broken characters or too deep); {SHAPE}"
        ) from None


def _harmless_import(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import(names=[ast.alias(name=name, asname=None)]):
            return name in _MODULES
        case _:
            return False


def _call(statement: ast.stmt, lines: list[bytes]) -> Call:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=module))) as call):
            assert isinstance(call.func, ast.Attribute)
            function = f"{module}.{call.func.attr}"
            _as_written(call.func, function, lines)
        case ast.Import() | ast.ImportFrom():
            raise ActionRefused(
                f"line {statement.lineno}: import is not allowed "
                "(only a plain 'import pyautogui' or 'import time', which does nothing)"
            )
        case _:
            raise ActionRefused(
                f"line {statement.lineno}: {_describe_node(statement)} is refused; {SHAPE}"
            )
    kwargs: dict[str, Value] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ActionRefused(f"line {call.lineno}: ** arguments are refused; {SHAPE}")
        _as_written(keyword, keyword.arg, lines)
        if keyword.arg in kwargs:
            raise ActionRefused(f"line {call.lineno}: {keyword.arg[:60]!r} is given twice")
        kwargs[keyword.arg] = _value(keyword.value, lines)
    return Call(function, tuple(_value(arg, lines) for arg in call.args), kwargs)


def _value(node: ast.expr, lines: list[bytes], depth: int = 0) -> Value:
    match node:
        case ast.Constant(value=str() | bool() | None as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return _finite(value, node)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            if not isinstance(value, bool):
                return -_finite(value, node)
        case ast.Name(id=name):
            _as_written(node, name, lines)
            return Name(name)
        case ast.List(elts=items) | ast.Tuple(elts=items) if depth == 0:
            if len(items) > _MAX_ITEMS:
                raise ActionRefused(
                    f"line {node.lineno}: {len(items)} items; at most {_MAX_ITEMS} are allowed"
                )
            return tuple(_value(item, lines, depth + 1) for item in items)
        case _:
            pass
    raise ActionRefused(
        f"line {node.lineno}: {_describe_node(node)} as an argument is refused; {SHAPE}"
    )


def _finite(number: int | float, node: ast.expr) -> int | float:
    if isinstance(number, float) and not math.isfinite(number):
        raise ActionRefused(f"line {node.lineno}: a number that is not finite is refused")
    # Compare before printing: Python refuses to print very long integers.
    if abs(number) > _MAX_INT:
        raise ActionRefused(f"line {node.lineno}: a number beyond {_MAX_INT} is refused")
    return number


def _as_written(node: ast.expr | ast.keyword, text: str, lines: list[bytes]) -> None:
    """Refuse names that Python folds to ASCII but that are written in other characters."""
    start = node.col_offset
    if lines[node.lineno - 1][start : start + len(text)] != text.encode("utf-8"):
        raise ActionRefused(f"line {node.lineno}: write {text[:60]!r} in plain letters, unspaced")


def _describe_node(node: ast.AST) -> str:
    """Returns the kind of a refused node in words that the model knows: "a lambda", "a call"."""
    if isinstance(node, ast.Expr):
        return _describe_node(node.value)
    return {
        ast.Assign: "an assignment",
        ast.JoinedStr: "an f-string",
        ast.Lambda: "a lambda",
        ast.Starred: "a * argument",
        ast.Call: "a call",
        ast.Attribute: "an attribute",
        ast.Subscript: "a subscript",
        ast.BinOp: "arithmetic",
        ast.FunctionDef: "a function definition",
        ast.Constant: "a constant",
    }.get(type(node), f"Python's {type(node).__name__}")
