"""A list of actions does what it says, although nothing in it waits for the application."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.sequences import APPS
from hisa.environments.private_desktop import DesktopEnvironment

pytestmark = pytest.mark.desktop


@pytest.mark.parametrize(
    ("app", "program", "lists"),
    [("gtk", "mousepad", 4), ("office", "soffice", 3), ("web", "chromium", 2)],
)
async def test_a_list_without_pauses_does_what_it_says(app: str, program: str, lists: int) -> None:
    """Typed, confirmed and saved in one go, as models write it; read back from the machine."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    async with DesktopEnvironment() as desktop:
        do = await APPS[app](desktop)
        wrong = [await do(desktop, number) for number in range(lists)]
    assert wrong == [""] * lists
