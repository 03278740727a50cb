"""The image and its ready desktop, made once and kept in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.qemu.build import Image, build, missing_programs
from hisa.plugins.machines.qemu.template import Template, ready
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT
from tests.cli.command import Command

IS_REQUESTED = "HISA_TEST_VM" in os.environ
"""Machines take minutes of emulated processor time: their tests run where they are asked for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="starts virtual machines: make test-vm")
    for item in items:
        if item.get_closest_marker("vm") and not IS_REQUESTED:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def image() -> Image:
    """The image of the profile ``minimal``; skips where machines cannot be made."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; run scripts/install-vm.sh")
    return build(recipe("minimal"), print)


@pytest.fixture(scope="session")
def minimal(image: Image) -> Template:
    """The frozen desktop of the profile ``minimal``."""
    return ready(image, DEFAULT_IMAGE_LIMIT, print)


@pytest.fixture(scope="session")
def own_cache(image: Image) -> Iterator[Path]:
    """A cache that the tests may clean up and count; it shares the costly image alone."""
    with TemporaryDirectory(prefix="hisa-test-") as name:
        images = Path(name, "hisa", "vm", "images")
        images.mkdir(parents=True)
        (images / image.name).symlink_to(image.folder)
        yield Path(name)


@pytest.fixture
def hisa(own_cache: Path, tmp_path: Path) -> Command:
    """The command line on that cache."""
    command = Command(tmp_path)
    command.environ["XDG_CACHE_HOME"] = str(own_cache)
    return command
