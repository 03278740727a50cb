"""A task says by its format alone whose it is; the core names no benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hisa
from hisa.config import EnvironmentSettings
from hisa.environments.kinds import find_kind
from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.runs.manifest import TaskRecord

CORE = Path(hisa.__file__).parent
NAMED = re.compile(r"osworld|spider2|webarena|miniwob|workarena|browsergym", re.IGNORECASE)


@pytest.mark.parametrize("place", ["protocols.py", "config"])
def test_seams_and_settings_name_no_benchmark(place: str) -> None:
    found = CORE / place
    files = [found] if found.is_file() else [*found.rglob("*.py"), *found.rglob("*.toml")]
    assert [path for path in files if NAMED.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ({"benchmark": "formers", "format": "of-a-package"}, "formers"),
        ({"benchmark": "formers"}, "formers"),
        ({"benchmark": "", "format": "pages"}, "pages"),
        ({"benchmark": ""}, ""),
        ({}, ""),
    ],
)
def test_a_task_of_an_earlier_versions_run_keeps_whose_it_is(
    recorded: dict[str, str], name: str
) -> None:
    task = TaskRecord.model_validate({"id": "t", "instruction": "x", **recorded}).task()
    assert task == Task("t", "x", format=name)
    assert TaskRecord.of(task).task() == task


@pytest.mark.parametrize("kind", ["display", "vm", "guest", "package", "desktop=x", "display:x"])
def test_no_other_spelling_reaches_a_kind_of_the_core(kind: str) -> None:
    with pytest.raises(UsageError, match="allowed are"):
        find_kind(EnvironmentSettings(kind=kind))
