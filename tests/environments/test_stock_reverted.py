"""The same stand-in, brought back to its start by a command."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import PurePosixPath

import pytest
import pytest_asyncio

from hisa.config import RemoteSettings
from hisa.plugins.machines.guests.remote import RemoteEnvironment
from tests.environments.conformance import Conformance
from tests.environments.stock import REVERT
from tests.stock.stock_guest import StockGuest
from tests.stock.stock_machine import StockMachine

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockGuest]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with StockMachine() as machine, StockGuest(answers=machine) as guest:
            yield guest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def environment(guest: StockGuest) -> AsyncIterator[RemoteEnvironment]:
    async with RemoteEnvironment(guest.url, RemoteSettings(revert=REVERT)) as environment:
        yield environment


@pytest.fixture
def folder() -> PurePosixPath:
    return PurePosixPath("/home/user", uuid.uuid4().hex)


class TestReverted(Conformance):
    documented = "a stock guest that is reverted"
