"""How the tests themselves are run: which of them start processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def in_a_run(folder: Path, body: str, chosen: str) -> str:
    """What pytest prints of tests with this body under the hooks of ``conftest.py``."""
    head = "import os, subprocess, sys\nimport pytest\n"
    (folder / "test_it.py").write_text(head + body)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(
        [*command, "-c", "pyproject.toml", "-m", chosen, str(folder / "test_it.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


UNMARKED = """
def test_a(): subprocess.run([sys.executable, '-c', ''])
def test_b(): os.system('true')
@pytest.mark.process
def test_c(): os.system('true')
def test_d(): pass
"""


@pytest.mark.process
def test_a_process_that_no_mark_announces_fails_in_every_run(tmp_path: Path) -> None:
    printed = in_a_run(tmp_path, UNMARKED, "not vm")
    assert re.search(r"^4 passed, 2 errors in", printed, re.MULTILINE), printed
    assert printed.count("ERROR at teardown") == 2
    assert "mark it with @pytest.mark.process" in printed


@pytest.mark.process
def test_a_part_that_is_none_is_refused_with_those_there_are() -> None:
    refused = subprocess.run(
        ["make", "-n", "test", "P=calc"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "P=calc is no plugin; P= takes one of: core " in refused.stderr
    for path in (ROOT / "tests" / "plugins").glob("*/__init__.py"):
        assert f" {path.parent.name}" in refused.stderr
