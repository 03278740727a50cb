"""The same desktop driven by the stock OSWorld routes alone."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest
import pytest_asyncio

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.guests.any_guest import connect_stock
from tests.environments.conformance import CommandConformance, Conformance

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment(connect=connect_stock) as desktop:
        yield desktop


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestStock(Conformance, CommandConformance):
    documented = "the private desktop, by stock routes"
