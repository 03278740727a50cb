"""Chromium on a private desktop shows nothing of its own that changes by itself."""

from __future__ import annotations

import json
import shutil

import pytest

from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]
_STATE = "/home/user/.config/chromium/Local State"


async def test_chromium_starts_without_sign_in_and_without_memory_in_the_names_of_tabs() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/tmp/page.html", b"<!doctype html><title>Orders</title>Hello")
        await desktop.execute(
            "setsid -f chromium --no-sandbox --test-type file:///tmp/page.html >/dev/null 2>&1"
        )
        names: set[str] = set()
        deadline = Deadline(60.0)
        while not {"Orders", "New Tab"} <= names and not deadline.passed:
            observation = await desktop.observe(elements=True, settle=1.0)
            names = {element.name for element in observation.elements or ()}
        assert {"Orders", "New Tab"} <= names
        assert not any("Sign in" in name for name in names)
        state = json.loads(await desktop.read_file(_STATE))
        assert state["browser"]["hovercard"]["memory_usage_enabled"] is False
