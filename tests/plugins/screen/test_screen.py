"""A screen that exists already: here of an X server that the test starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.plugins.screen.screen_environment import ScreenEnvironment
from tests.environments.conformance import CommandConformance, Conformance

pytest.importorskip("mss", reason="hisa install screen")
pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def folder(environment: ScreenEnvironment) -> Path:
    """The folder in which commands may write."""
    folder = environment.machine.guest.folder
    assert isinstance(folder, Path)
    return folder


class TestScreen(Conformance, CommandConformance):
    documented = "your own screen"
