"""What `import hisa` and `import hisa.testing` offer, each loaded when it is first asked for."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hisa
import hisa.testing

PACKAGES = (hisa, hisa.testing)
NAMES = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_name_is_there_and_documented(package: ModuleType, name: str) -> None:
    value = getattr(package, name)
    if name != "__version__":
        assert value.__module__.startswith(f"{package.__name__}.")
        assert inspect.getdoc(value)


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checker_imports_match_the_offered_names(package: ModuleType) -> None:
    tree = ast.parse(Path(str(package.__file__)).read_text("utf-8"))
    imported = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*imported, "__version__"} == {*package.__all__, "__version__"}
    for name, module in imported.items():
        assert getattr(package, name).__module__ == module


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"hisa.*has no attribute 'MagicModel'"):
        getattr(package, "MagicModel")  # noqa: B009 - a checker refuses the plain form


@pytest.mark.process
def test_a_model_alone_loads_no_server_and_no_picture() -> None:
    code = "import sys; from hisa.testing import ScriptedModel; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert not loaded & {"hisa.testing.form", "hisa.testing.model_server", "http.server", "httpx"}
