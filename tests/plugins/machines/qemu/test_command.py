"""``hisa vm`` on real machines: builds that are killed, and that find all of it there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hisa.plugins.machines.qemu.qmp import connect_unix
from tests.cli.command import Command

pytestmark = pytest.mark.vm

OTHER_SIZE = ("--set", "environment.width=800", "--set", "environment.height=600")
"""A ready desktop that no other test makes."""


def ids(hisa: Command, kind: str) -> list[str]:
    return [row["id"] for row in hisa.json("vm", "ls")[kind]]


class TestBuild:
    def test_build_killed_at_the_boot_leaves_nothing_and_the_next_succeeds(
        self, hisa: Command, own_cache: Path
    ) -> None:
        place = own_cache / "hisa" / "vm" / "ready"
        before = ids(hisa, "ready")
        process = hisa.start(*OTHER_SIZE, "vm", "build", "minimal")
        while not (drafts := list(place.glob(".draft-*/qmp"))):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        _, messages = process.communicate()
        assert "is built" in messages
        assert "booting" in messages
        while _is_listening(drafts[0]):
            time.sleep(0.01)
        assert ids(hisa, "ready") == before

        assert "minimal: ready" in hisa.run(*OTHER_SIZE, "vm", "build", "minimal")
        assert list(place.glob(".draft-*")) == []
        assert len(ids(hisa, "ready")) == len(before) + 1

    def test_existing_image_is_not_built_again(self, hisa: Command) -> None:
        hisa.run("vm", "build", "minimal")
        process = hisa.start("vm", "build", "minimal")
        output, messages = process.communicate()
        assert "minimal: ready" in output
        assert "is built" in messages
        assert "booting" not in messages


def _is_listening(path: Path) -> bool:
    try:
        connect_unix(path).close()
    except OSError:
        return False
    return True
