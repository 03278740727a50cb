"""What is loaded before it is needed; not timed: a module that is absent costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.machine import compiled_once

pytestmark = pytest.mark.process

HEAVY = (
    "FlagEmbedding", "httpx", "isal", "jinja2", "lxml", "numpy", "openai", "openpyxl",
    "qdrant_client", "qdrant_edge", "rich", "safetensors", "tokenizers", "torch", "yaml",
)  # fmt: skip
LISTED = "import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"


def loaded_with(module: str) -> set[str]:
    command = [sys.executable, "-c", LISTED.format(module=module)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("module", ["hisa.wiring", "hisa.cli", "hisa.runs", "hisa.config"])
def test_module_loads_no_heavy_package(module: str) -> None:
    assert not sorted(loaded_with(module).intersection(HEAVY))


@pytest.mark.parametrize("module", ["hisa", "hisa.testing"])
def test_a_package_of_names_loads_none_of_them(module: str) -> None:
    assert not sorted(loaded_with(module).intersection([*HEAVY, "PIL", "click", "pydantic"]))


def test_benchmarks_of_a_start_find_compiled_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    with compiled_once() as environment:
        subprocess.run([sys.executable, "-c", "import hisa.errors"], check=True, env=environment)
        written = Path(environment["PYTHONPYCACHEPREFIX"]).rglob("hisa/errors.*.pyc")
        assert len(list(written)) == 1
