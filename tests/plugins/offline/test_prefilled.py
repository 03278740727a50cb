"""A name of a file that is typed into a field which holds one already, in a real editor."""

from __future__ import annotations

from pathlib import Path

import pytest

import hisa
from hisa.config import Settings

pytestmark = pytest.mark.desktop

STEPS = (
    'Press Ctrl+Shift+S. Wait 2 seconds. Type "/home/user/new.txt". Press Enter. Wait 2 seconds.',
    'Save the file as "/home/user/new.txt".',
)


@pytest.mark.parametrize("steps", STEPS, ids=["by keys", "save as"])
async def test_a_path_replaces_the_name_that_the_document_has(tmp_path: Path, steps: str) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(
        f"""
instruction: {steps!r}
setup:
  - run: "printf hello > /home/user/old.txt"
  - launch: "mousepad /home/user/old.txt"
check:
  - file: /home/user/new.txt
    equals: hello
"""
    )
    settings = Settings.model_validate(
        {"patterns": {"enabled": False}, "run": {"folder": tmp_path / "runs"}}
    )
    result = await hisa.run(file, settings=settings)
    assert (result.status, result.score) == ("succeeded", 1.0), result.message
