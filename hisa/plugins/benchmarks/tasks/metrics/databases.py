"""A metric over local databases of DuckDB and SQLite: tables, views, columns, rows."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hisa.plugins.benchmarks.tasks.metric import (
    BadRules,
    Options,
    Score,
    Unreadable,
    as_path,
    expecting,
    metric,
    unlike,
)

__all__: list[str] = []

_KINDS = ("table", "view")
_LEVELS = ("", "-schema", "-schema-content")
"""What is compared of tables or views; each takes in those before it."""
_CHECKS = tuple(kind + level for kind in _KINDS for level in _LEVELS)
_BASES = ("duckdb", "sqlite3")
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""The agent's views read nothing but their own file."""


@dataclass(frozen=True)
class _Asked:
    """What a task wants compared; no targets are all of them."""

    base: str
    depth: Mapping[str, int]
    targets: Mapping[str, tuple[str, ...]]
    schema: str


def _asked(options: Options) -> _Asked:
    base, checks = options.get("db_type", "duckdb"), options.get("check_type", list(_KINDS))
    if base not in _BASES:
        raise BadRules(f"check_local_database has no db_type {base!r}; there are {list(_BASES)}")
    if not isinstance(checks, list) or not checks or any(part not in _CHECKS for part in checks):
        raise BadRules(f"check_type must be a list of {list(_CHECKS)}, not {checks!r}")
    schema = str(options.get("schema_name") or "")
    if schema and base != "duckdb":
        raise BadRules(f"schema_name {schema!r}: {base} has no schemas")
    deepest = {k: max((_depth(k, part) for part in checks), default=0) for k in _KINDS}
    targets = {kind: tuple(options.get(f"{kind}_targets") or ()) for kind in _KINDS}
    return _Asked(base, deepest, targets, schema)


def _depth(kind: str, check: str) -> int:
    """1 for names, 2 for columns as well, 3 for rows as well, 0 for a check of the other kind."""
    return _LEVELS.index(check[len(kind) :]) + 1 if check.startswith(kind) else 0


def _problems(expected: Mapping[str, Any], options: Options) -> Iterator[str]:
    try:
        _asked(options)
    except BadRules as error:
        yield str(error)


@metric("check_local_database", needs=("duckdb",), check=_problems)
def check_local_database(result: Any, expected: Any, options: Options) -> Score:
    """Two databases have the same tables and views, and as asked the same columns and rows.

    Options: ``db_type`` duckdb (default) or sqlite3; ``check_type``, a list of table, view,
    table-schema, view-schema, table-schema-content, view-schema-content; ``table_targets`` and
    ``view_targets``, where empty is all; ``schema_name`` of DuckDB.
    """
    asked = _asked(options)
    with expecting("expected file"), _opened(as_path(expected), asked) as base:
        wanted = [(what, list(items)) for what, items in _parts(base, asked)]
    with _opened(as_path(result), asked) as base:
        for (what, items), (_, there) in zip(_parts(base, asked), wanted, strict=False):
            pairs = itertools.zip_longest(items, there)
            if pair := next((pair for pair in pairs if pair[0] != pair[1]), None):
                return 0.0, f"the {what} differ; {unlike('first', *pair)}"
    return 1.0, "equal: " + ", ".join(what for what, _ in wanted)[:300]


@contextmanager
def _opened(path: Path, asked: _Asked) -> Iterator[Any]:
    """A connection that only reads, and whose errors are those of the file."""
    connect, errors = _duckdb() if asked.base == "duckdb" else (_sqlite3, sqlite3.Error)
    try:
        with closing(connect(path)) as base:
            _use(base, asked.schema)
            yield base
    except errors as error:
        raise Unreadable(f"{path.name}: {str(error)[:300]}") from error


def _duckdb() -> tuple[Any, type[Exception]]:
    import duckdb

    return lambda path: duckdb.connect(str(path), read_only=True, config=_CLOSED), duckdb.Error


def _sqlite3(path: Path) -> sqlite3.Connection:
    where = f"{path.resolve().as_uri()}?immutable=1"
    return sqlite3.connect(where, uri=True)


def _use(base: Any, schema: str) -> None:
    """Look for names in a schema first, where one is named."""
    if not schema:
        return
    asked = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?"
    if base.execute(asked, [schema]).fetchone() is None:
        raise Unreadable(f"there is no schema {schema!r}")
    base.execute(f"SET SCHEMA TO {_quoted(schema)}")


def _parts(base: Any, asked: _Asked) -> Iterator[tuple[str, Iterable[Any]]]:
    """Yields each part to compare, with its name, in order; rows are read lazily."""
    names = {kind: _names(base, kind, asked) for kind in _KINDS if asked.depth[kind]}
    for kind, found in names.items():
        yield f"names of {kind}s", found
    for depth, what, look in ((2, "columns", _columns), (3, "rows", _rows)):
        for kind, found in names.items():
            for name in found if asked.depth[kind] >= depth else ():
                yield f"{what} of {kind} {name}", look(base, name)


def _names(base: Any, kind: str, asked: _Asked) -> list[str]:
    listed = "SELECT name FROM sqlite_master WHERE type = ? ORDER BY name"
    found = [str(row[0]) for row in base.execute(listed, [kind]).fetchall()]
    return [name for name in found if name in (asked.targets[kind] or (name,))]


def _columns(base: Any, name: str) -> list[Any]:
    """Number, name, type, default and the like of each column."""
    known = name if isinstance(base, sqlite3.Connection) else _quoted(name)
    return list(base.execute("SELECT * FROM pragma_table_info(?)", [known]).fetchall())


def _rows(base: Any, name: str) -> Iterator[Any]:
    cursor = base.execute(f"SELECT * FROM {_quoted(name)}")
    while part := cursor.fetchmany(1000):
        yield from part


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
