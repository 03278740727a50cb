"""The image and its ready desktop, made once and kept in the user's cache."""

from __future__ import annotations

import os

import pytest

from hisa.environments.qemu.build import build, missing_programs
from hisa.environments.qemu.recipe import recipe
from hisa.environments.qemu.template import Template, ready
from hisa.observation import DEFAULT_IMAGE_LIMIT

ASKED = "HISA_TEST_VM" in os.environ
"""Machines take minutes of emulated processor time: their tests run where they are asked for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="starts virtual machines: HISA_TEST_VM=1 make test")
    for item in items:
        if item.get_closest_marker("vm") and not ASKED:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def minimal() -> Template:
    """The frozen desktop of the profile ``minimal``; skips where machines cannot be made."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; run scripts/install-vm.sh")
    return ready(build(recipe("minimal"), print), DEFAULT_IMAGE_LIMIT, print)
