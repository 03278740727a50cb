"""Restarts the browser that runs on this machine, with its tabs and a DevTools port."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .browser_devtools import (
    OWN_PORT,
    Process,
    ask,
    connect_browser,
    list_browsers,
    port_of,
    targets,
)
from .files_common import Refused, serve, wait_until

_SAVES = 4.0
"""Seconds until the browser has written its list of tabs, 2.5 s after a change."""
_RESTORES = 10.0
"""Seconds until the earlier tabs are restored; those that are missing then are opened anew."""
_ENDS = 20.0
"""Seconds until a browser that was asked to end has written its tabs and ended."""
_STARTS = 60.0
"""Seconds until the new browser answers; an emulated, busy machine takes most of them."""


def restart() -> Any:
    """Ends the browser as its own menu does, and starts it again with its tabs and a port."""
    running = list_browsers()
    if not running:
        raise Refused("no browser runs")
    old = running[0]
    program = os.readlink(f"/proc/{old.number}/exe")
    port = port_of(old)
    before = [target["url"] for target in targets(port)] if port else None
    time.sleep(_SAVES)
    os.kill(old.number, signal.SIGTERM)
    wait_until(
        lambda: not Path("/proc", str(old.number)).exists(), _ENDS, "the browser does not end"
    )
    port = port or OWN_PORT
    line = [program, *_list_flags(old), f"--remote-debugging-port={port}"]
    subprocess.Popen(
        [*line, "--restore-last-session"],
        cwd=Path.home(),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: _answers(port), _STARTS, f"the new browser does not answer on port {port}")
    with contextlib.suppress(Refused):
        wait_until(lambda: len(targets(port)) >= len(before or [""]), _RESTORES, "")
    return {"before": before, "tabs": _open_missing_tabs(port, before or [])}


def _open_missing_tabs(port: int, before: list[str]) -> list[str]:
    """Opens the tabs that were not restored, and returns the addresses of all."""
    open_urls = Counter(target["url"] for target in targets(port))
    missing = list((Counter(before) - open_urls).elements())
    if missing:
        with connect_browser() as browser:
            for url in missing:
                browser.call("Target.createTarget", url=url, background=True)
        time.sleep(1.0)  # a tab's address is blank at first
    return [target["url"] for target in targets(port)]


def _list_flags(old: Process) -> list[str]:
    """Returns the switches that the next browser gets too; its pages come with the tabs."""
    changed = ("--remote-debugging-", "--restore-last-session", "--user-data-dir=")
    flags = [re.split(r"[\0 ]", word)[0] for word in old.words if not word.startswith(changed)]
    return flags + [f"--user-data-dir={old.own_profile}"] * bool(old.own_profile)


def _answers(port: int) -> bool:
    try:
        return bool(ask(port, "/json/list"))
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    serve({"restart": restart})
