"""A task says by its format alone whose it is; the core names no benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hisa
from hisa.config import EnvironmentSettings
from hisa.environments.kinds import find_kind
from hisa.errors import UsageError

CORE = Path(hisa.__file__).parent
NAMED = re.compile(r"osworld|spider2|webarena|miniwob|workarena|browsergym", re.IGNORECASE)


@pytest.mark.parametrize("place", ["protocols.py", "config"])
def test_seams_and_settings_name_no_benchmark(place: str) -> None:
    root = CORE / place
    files = [root] if root.is_file() else [*root.rglob("*.py"), *root.rglob("*.toml")]
    assert [path for path in files if NAMED.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("kind", ["display", "vm", "guest", "package", "desktop=x", "screen="])
def test_no_other_spelling_reaches_a_kind_of_the_core(kind: str) -> None:
    with pytest.raises(UsageError, match="allowed are"):
        find_kind(EnvironmentSettings(kind=kind))
