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
"""What is compared of tables or views; each level includes those before it."""
_CHECKS = tuple(kind + level for kind in _KINDS for level in _LEVELS)
_DB_TYPES = ("duckdb", "sqlite3")
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""Lets the agent's views read nothing but their own file."""


@dataclass(frozen=True)
class _DatabaseRequest:
    """What a task wants compared; without targets, all tables or views are."""

    db_type: str
    depth: Mapping[str, int]
    targets: Mapping[str, tuple[str, ...]]
    schema: str


def _read_request(options: Options) -> _DatabaseRequest:
    db_type = options.get("db_type", "duckdb")
    checks = options.get("check_type", list(_KINDS))
    if db_type not in _DB_TYPES:
        raise BadRules(
            f"check_local_database has no db_type {db_type!r}; there are {list(_DB_TYPES)}"
        )
    if not isinstance(checks, list) or not checks or any(part not in _CHECKS for part in checks):
        raise BadRules(f"check_type must be a list of {list(_CHECKS)}, not {checks!r}")
    schema = str(options.get("schema_name") or "")
    if schema and db_type != "duckdb":
        raise BadRules(f"schema_name {schema!r}: {db_type} has no schemas")
    deepest = {k: max((_depth(k, part) for part in checks), default=0) for k in _KINDS}
    targets = {kind: tuple(options.get(f"{kind}_targets") or ()) for kind in _KINDS}
    return _DatabaseRequest(db_type, deepest, targets, schema)


def _depth(kind: str, check: str) -> int:
    """Returns 1 for names, 2 with columns, 3 with rows too, 0 for a check of the other kind."""
    return _LEVELS.index(check[len(kind) :]) + 1 if check.startswith(kind) else 0


def _problems(expected: Mapping[str, Any], options: Options) -> Iterator[str]:
    try:
        _read_request(options)
    except BadRules as error:
        yield str(error)


@metric("check_local_database", needs=("duckdb",), check=_problems)
def check_local_database(result: Any, expected: Any, options: Options) -> Score:
    """Checks that two databases have the same tables and views, and if asked, columns and rows.

    Args:
        result: the agent's database, as a file.
        expected: the database to compare it with, as a file.
        options: ``db_type`` duckdb (default) or sqlite3; ``check_type``, a list of table, view,
            table-schema, view-schema, table-schema-content, view-schema-content;
            ``table_targets`` and ``view_targets``, where empty means all; ``schema_name`` of
            DuckDB.
    """
    request = _read_request(options)
    with expecting("expected file"), _open_database(as_path(expected), request) as database:
        expected_parts = [
            (part_name, list(items)) for part_name, items in _parts(database, request)
        ]
    with _open_database(as_path(result), request) as database:
        for (part_name, items), (_, expected_items) in zip(
            _parts(database, request), expected_parts, strict=False
        ):
            pairs = itertools.zip_longest(items, expected_items)
            if pair := next((pair for pair in pairs if pair[0] != pair[1]), None):
                return 0.0, f"the {part_name} differ; {unlike('first', *pair)}"
    return 1.0, "equal: " + ", ".join(part_name for part_name, _ in expected_parts)[:300]


@contextmanager
def _open_database(path: Path, request: _DatabaseRequest) -> Iterator[Any]:
    """Yields a read-only connection; its errors count as those of the file."""
    connect, errors = _duckdb() if request.db_type == "duckdb" else (_sqlite3, sqlite3.Error)
    try:
        with closing(connect(path)) as database:
            _use(database, request.schema)
            yield database
    except errors as error:
        raise Unreadable(f"{path.name}: {str(error)[:300]}") from error


def _duckdb() -> tuple[Any, type[Exception]]:
    import duckdb

    return lambda path: duckdb.connect(str(path), read_only=True, config=_CLOSED), duckdb.Error


def _sqlite3(path: Path) -> sqlite3.Connection:
    where = f"{path.resolve().as_uri()}?immutable=1"
    return sqlite3.connect(where, uri=True)


def _use(database: Any, schema: str) -> None:
    """Look for names in a schema first, if the task gives one."""
    if not schema:
        return
    query = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?"
    if database.execute(query, [schema]).fetchone() is None:
        raise Unreadable(f"there is no schema {schema!r}")
    database.execute(f"SET SCHEMA TO {_quote_name(schema)}")


def _parts(database: Any, request: _DatabaseRequest) -> Iterator[tuple[str, Iterable[Any]]]:
    """Yields each part to compare, with its name, in order; rows are read lazily."""
    names = {kind: _names(database, kind, request) for kind in _KINDS if request.depth[kind]}
    for kind, kind_names in names.items():
        yield f"names of {kind}s", kind_names
    for depth, part, look in ((2, "columns", _columns), (3, "rows", _rows)):
        for kind, kind_names in names.items():
            for name in kind_names if request.depth[kind] >= depth else ():
                yield f"{part} of {kind} {name}", look(database, name)


def _names(database: Any, kind: str, request: _DatabaseRequest) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = ? ORDER BY name"
    all_names = [str(row[0]) for row in database.execute(query, [kind]).fetchall()]
    return [name for name in all_names if name in (request.targets[kind] or (name,))]


def _columns(database: Any, name: str) -> list[Any]:
    """Returns number, name, type, default and so on of each column."""
    known = name if isinstance(database, sqlite3.Connection) else _quote_name(name)
    return list(database.execute("SELECT * FROM pragma_table_info(?)", [known]).fetchall())


def _rows(database: Any, name: str) -> Iterator[Any]:
    cursor = database.execute(f"SELECT * FROM {_quote_name(name)}")
    while part := cursor.fetchmany(1000):
        yield from part


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
