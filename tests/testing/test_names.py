"""What `import hisa.testing` offers, and that nothing is loaded for it before it is asked for."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hisa.testing

NAMES = hisa.testing.__all__


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_documented(name: str) -> None:
    value = getattr(hisa.testing, name)
    assert value.__module__.startswith("hisa.testing.")
    assert inspect.getdoc(value)


def test_what_a_checker_reads_is_what_is_offered() -> None:
    tree = ast.parse(Path(hisa.testing.__file__).read_text("utf-8"))
    imported = [
        (alias.name, node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(name for name, _ in imported) == sorted(NAMES)
    for name, module in imported:
        assert getattr(hisa.testing, name).__module__ == module


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"hisa\.testing.*has no attribute 'MagicModel'"):
        getattr(hisa.testing, "MagicModel")  # noqa: B009 - a checker refuses the plain form


def test_a_model_alone_loads_no_server_and_no_picture() -> None:
    code = "import sys; from hisa.testing import ScriptedModel; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {"hisa.testing.form", "hisa.testing.model_server", "http.server", "httpx"}
