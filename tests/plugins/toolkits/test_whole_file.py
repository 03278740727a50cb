"""A test of what its whole file did, in runs in which others failed or were left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONFTEST = "from tests.plugins.toolkits.whole_file import *\n"
TESTS = """
import pytest
called = set()
@pytest.fixture
def torn():
    yield
    assert {torn}
@pytest.fixture
def desktop():
    print("a desktop started")
def test_a(): called.add("a"); assert {passes}
class TestOthers:
    @pytest.mark.parametrize("name", ["b", "c"])
    def test_more(self, name, torn): called.add(name)
    @pytest.mark.skip
    def test_lacks(self): pass
def test_every_function_was_called(desktop): assert called == {wanted}
"""
LAST = "test_it.py::test_every_function_was_called"

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("values", "words", "ending"),
    [
        ({}, [], "4 passed, 1 skipped"),
        ({"wanted": {"a", "b", "c", "d"}}, [], "1 failed, 3 passed, 1 skipped"),
        ({"passes": False}, [], "1 failed, 2 passed, 2 skipped"),
        ({"torn": False}, [], "3 passed, 2 skipped, 2 errors"),
        ({}, [LAST], "1 skipped"),
        ({}, ["-k", "not test_a"], "2 passed, 2 skipped, 1 deselected"),
    ],
)
def test_it_is_skipped_where_not_all_of_the_file_was_done(
    tmp_path: Path, values: dict[str, object], words: list[str], ending: str
) -> None:
    values = {"passes": True, "torn": True, "wanted": {"a", "b", "c"}, **values}
    (tmp_path / "test_it.py").write_text(TESTS.format(**values))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rsA", *words]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert f" {ending} in " in done.stdout, done.stdout
    assert ("a desktop started" in done.stdout) == ("3 passed, 1" in ending or "4 passed" in ending)
