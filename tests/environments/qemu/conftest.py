"""The image and its ready desktop, made once and kept in the user's cache."""

from __future__ import annotations

import pytest

from hisa.environments.qemu.build import build, missing_programs
from hisa.environments.qemu.recipe import recipe
from hisa.environments.qemu.template import Template, ready
from hisa.observation import DEFAULT_IMAGE_LIMIT


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "vm: starts a virtual machine under QEMU")


@pytest.fixture(scope="session")
def minimal() -> Template:
    """The frozen desktop of the profile ``minimal``; skips where machines cannot be made."""
    missing = missing_programs()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; run scripts/install-vm.sh")
    return ready(build(recipe("minimal"), print), DEFAULT_IMAGE_LIMIT, print)
