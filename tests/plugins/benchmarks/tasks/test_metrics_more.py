"""Metrics over notebooks, pictures, databases, and more data: right, wrong and broken files."""

from __future__ import annotations

import io
import itertools
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from PIL import Image

from hisa.plugins.benchmarks.tasks.metrics import METRICS, BadRules
from tests.plugins.benchmarks.tasks.made import Case, File, build_value, data, file, text


def emit(words: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": [words]}


def show_value(words: str, **more: Any) -> dict[str, Any]:
    kinds = {"text/plain": [words], **more}
    return {"output_type": "execute_result", "data": kinds, "metadata": {}, "execution_count": 1}


def code(source: str, *outputs: Any, run: int | None = 1) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": [source],
        "outputs": list(outputs),
        "metadata": {},
        "execution_count": run,
    }


def words(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def tree(*cells: Any, **more: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def book(*cells: Any, **more: Any) -> File:
    return data(tree(*cells, **more))


def old_book(source: str) -> File:
    cell = {
        "cell_type": "code",
        "input": source,
        "language": "python",
        "outputs": [],
        "prompt_number": 3,
        "metadata": {},
        "collapsed": False,
    }
    sheet = {"cells": [cell], "metadata": {}}
    return data({"worksheets": [sheet], "metadata": {}, "nbformat": 3, "nbformat_minor": 0})


def png(pixels: Any, mode: str | None = None, **more: Any) -> File:
    image = Image.fromarray(np.asarray(pixels, np.uint8))
    return encode_image(image.convert(mode) if mode else image, **more)


def encode_image(image: Image.Image, **more: Any) -> File:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **more)
    return file(f"{abs(hash(buffer.getvalue()))}.png", buffer.getvalue())


def chart(width: int, height: int, bar: float, green: int = 160) -> Any:
    """White, with one bar of a colour that begins at the left and ends at a share of the width."""
    pixels = np.full((height, width, 3), 255)
    pixels[height // 4 : height // 2, : int(width * bar)] = (80, green, 220)
    return pixels


def database(kind: str, *statements: str) -> File:
    def write(folder: Path) -> Path:
        path = folder / f"{len(list(folder.iterdir()))}.{kind}"
        connect: Any = duckdb.connect if kind == "duckdb" else sqlite3.connect
        with closing(connect(str(path))) as base:
            for statement in statements:
                base.execute(statement)
            base.commit()
        return path

    return write


TABLE = "CREATE TABLE t (a INTEGER, b VARCHAR)"
ROWS = "INSERT INTO t VALUES (1, 'x'), (2, NULL)"
VIEW = "CREATE VIEW v AS SELECT a FROM t"
SCHEMA = ("CREATE SCHEMA s", "CREATE TABLE s.t (a INTEGER)", "INSERT INTO s.t VALUES (1)")
ENDLESS = """CREATE VIEW v AS WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n)
SELECT a FROM n"""
PEEK = "CREATE VIEW v AS SELECT content FROM read_text('/etc/hostname')"
LITE = {"db_type": "sqlite3"}


def checks(*kinds: str, **more: Any) -> dict[str, Any]:
    return {"check_type": list(kinds), **more}


def is_(value: Any) -> dict[str, Any]:
    return {"expected": value}


YAML = """
models:
  - name: orders
    columns: [{name: id, description: Primary key of all}]
  - {name: customers, description: ""}
"""
BOMB = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 8)}]\n" for old, new in itertools.pairwise("abcdefghi")
)
ID = ["models", ["name", "orders"], "columns", ["name", "id"], "description"]
HOLED = data({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]})
DEEP = text("[" * 100_000)
ONE = book(code("1+1", show_value("2")), words("# end"))
RED, BLUE = chart(40, 20, 0.5), chart(40, 20, 0.5, 40)
LARGE = encode_image(Image.new("1", (7200, 7200)))
CASES: list[Case] = [
    ("is_jupyter_cell_executed", book(code("1"), words("x")), is_([]), {}, 1),
    ("is_jupyter_cell_executed", book(code("1"), code("", run=None)), is_([]), {}, 0),
    ("is_jupyter_cell_executed", old_book("1"), is_([]), {}, 1),
    ("is_jupyter_cell_executed", book(words("x")), is_([0]), {"cell_type": "markdown"}, 1),
    ("is_jupyter_cell_executed", text(""), is_([]), {}, 0),
    ("is_jupyter_cell_executed", HOLED, is_([]), {}, 0),
    ("is_jupyter_cell_executed", DEEP, is_([]), {}, 0),
    ("are_jupyter_outputs_cleared", book(code("1", run=None), words("x")), is_([]), {}, 1),
    ("are_jupyter_outputs_cleared", book(code("1", run=None), code("2")), is_([]), {}, 0),
    ("compare_ipynb_files", book(code("1"), metadata={"a": 1}), book(code("1")), {}, 1),
    ("compare_ipynb_files", book(code("1", run=2)), book(code("1")), {}, 0),
    ("compare_notebook_cells", book(code("1", run=7), words("x")),
     book(code("1", show_value("1")), words("x")), {}, 1),
    ("compare_notebook_cells", book(words("1")), book(code("1")), {}, 0),
    ("compare_notebook_cells", HOLED, ONE, {}, 0),
    ("compare_notebook_outputs", book(code("2", show_value("2")), words("other")), ONE, {}, 1),
    ("compare_notebook_outputs", book(code("1+1", show_value("3")), words("# end")), ONE, {}, 0),
    ("compare_notebook_outputs", book(code("1+1", emit("2")), words("")), ONE, {}, 0),
    ("compare_notebook_outputs", book(code("", show_value("2", **{"image/png": "B"})), words("")),
     ONE, {}, 1),
    ("compare_notebook_outputs",
     book(code("", emit("Requirement already satisfied: x"), emit("w", "stderr"), show_value("2")),
          words("")), ONE, {}, 1),
    ("compare_notebook_outputs", book(code("", emit("a\n"))), book(code("", emit("b\n"))),
     {}, 0),
    ("check_yaml_file", text(YAML), [["contain", ID, "Primary key"]], {}, 1),
    ("check_yaml_file", text(YAML), [["match", ID, "Primary key"]], {}, 0),
    ("check_yaml_file", text(YAML), [["in", ["models", "0", "name"], ["a", "orders"]]], {}, 1),
    ("check_yaml_file", text(YAML),
     [["not_null", ["models", ["name", "customers"], "description"], ""]], {}, 0),
    ("check_yaml_file", text("models: word"), [["not_null", ["models", 0], ""]], {}, 0),
    ("check_yaml_file", text("a: [1"), [["match", ["a"], 1]], {}, 0),
    ("check_yaml_file", text("a: !!python/name:os.system ''"), [["not_null", ["a"], ""]], {}, 0),
    ("check_yaml_file", text(BOMB), [["match", ["i"], "x"]], {}, 0),
    ("check_yaml_file", text("a: 1\n" * 500_000), [["match", ["a"], 1]], {}, 0),
    ("compare_jupyterlab_images", png(RED), png(RED, "RGBA"), {}, 1),
    ("compare_jupyterlab_images", png(RED[::-1]), png(RED), {}, 1),
    ("compare_jupyterlab_images", png(chart(40, 20, 0.525)), png(RED), {}, 0),
    ("compare_jupyterlab_images", png(BLUE), png(RED), {}, 0),
    ("compare_jupyterlab_images", LARGE, png(RED), {}, 0),
    ("compare_jupyterlab_images", text(""), png(RED), {}, 0),
    ("check_local_database", database("duckdb", TABLE, ROWS), database("duckdb", TABLE), {}, 1),
    ("check_local_database", database("duckdb"), database("duckdb", TABLE), {}, 0),
    ("check_local_database", database("duckdb", TABLE, "CREATE TABLE u (z INTEGER)"),
     database("duckdb", TABLE), {"table_targets": ["t"]}, 1),
    ("check_local_database", database("duckdb", TABLE, ROWS), database("duckdb", TABLE, ROWS),
     checks("table-schema-content"), 1),
    ("check_local_database", database("duckdb", TABLE, ROWS), database("duckdb", TABLE),
     checks("table-schema-content"), 0),
    ("check_local_database", database("duckdb", "CREATE TABLE t (a BIGINT, b VARCHAR)"),
     database("duckdb", TABLE), checks("table-schema"), 0),
    ("check_local_database", database("duckdb", *SCHEMA), database("duckdb", *SCHEMA, TABLE, ROWS),
     checks("table-schema-content", schema_name="s", table_targets=["t"]), 0),
    ("check_local_database", database("duckdb", *SCHEMA), database("duckdb", *SCHEMA),
     checks("table-schema-content", schema_name="s"), 1),
    ("check_local_database", database("duckdb", TABLE, ENDLESS),
     database("duckdb", TABLE, "CREATE VIEW v AS SELECT 1 AS a"), checks("view"), 1),
    ("check_local_database", database("duckdb", PEEK),
     database("duckdb", "CREATE VIEW v AS SELECT 'x' AS content"),
     checks("view-schema-content"), 0),
    ("check_local_database", database("sqlite", TABLE, ROWS), database("sqlite", TABLE),
     {**LITE, **checks("table-schema")}, 1),
    ("check_local_database", database("sqlite", "PRAGMA journal_mode=WAL", TABLE, ROWS, VIEW),
     database("sqlite", TABLE, ROWS, VIEW),
     {**LITE, **checks("table-schema-content", "view-schema-content")}, 1),
    ("check_local_database", database("sqlite", 'CREATE TABLE "a ""b" (z)'),
     database("sqlite", 'CREATE TABLE "a ""b" (z, y)'), {**LITE, **checks("table-schema")}, 0),
    ("check_local_database", database("sqlite", TABLE, ENDLESS),
     database("sqlite", TABLE, "CREATE VIEW v AS SELECT 1 AS a"),
     {**LITE, **checks("view-schema-content")}, 0),
    ("check_local_database", text(""), database("duckdb", TABLE), {}, 0),
    ("check_local_database", text("no database, not at all"), database("sqlite", TABLE), LITE, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "result", "expected", "options"),
    [
        ("is_jupyter_cell_executed", ONE, {}, {}),
        ("is_jupyter_cell_executed", ONE, is_([]), {"version": 3}),
        ("compare_ipynb_files", ONE, data([]), {}),
        ("compare_notebook_outputs", ONE, text("{"), {}),
        ("check_yaml_file", text("a: 1"), [["is", ["a"], 1]], {}),
        ("check_yaml_file", text("a: 1"), is_([]), {}),
        ("check_local_database", database("duckdb", TABLE), text("x" * 5000), {}),
        ("check_local_database", database("duckdb", TABLE), text(""), checks("rows")),
        ("check_local_database", database("sqlite", TABLE), text(""), {**LITE, "schema_name": "s"}),
        ("check_local_database", database("sqlite", TABLE), text(""), {"db_type": "postgresql"}),
    ],
)
def test_a_rule_without_meaning_is_the_tasks_fault(
    tmp_path: Path, name: str, result: Any, expected: Any, options: Mapping[str, Any]
) -> None:
    metric = METRICS.get(name)
    assert metric is not None
    with pytest.raises(BadRules):
        metric.run(build_value(result, tmp_path), build_value(expected, tmp_path), options)
