"""Reads and changes what the browser that runs on this machine keeps, and starts it anew.

Bookmarks and settings go through the browser's own pages for them, as a person's changes do.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .browser_devtools import OWN_PORT, Process, ask, own_page, port_of, processes, targets
from .browser_devtools import whole_browser as browser
from .files_common import Refused, serve, wait_until

_BOOKMARKS = (
    "chrome://bookmarks/",
    "function () { return !!(window.chrome && chrome.bookmarks); }",
)
_SETTINGS = (
    "chrome://settings/reset",
    "function () { return !!(window.chrome && chrome.settingsPrivate); }",
)
_TREE = "function () { return chrome.bookmarks.getTree(); }"
_CREATE = "function (node) { return chrome.bookmarks.create(node); }"
_ALL = "function () { return chrome.settingsPrivate.getAllPrefs(); }"
_ONE = "function (key) { return chrome.settingsPrivate.getPref(key); }"
_SET = "function (key, value) { return chrome.settingsPrivate.setPref(key, value); }"
_SAVES = 4.0
"""Seconds until it has written which tabs there are; it does so 2.5 s after a change."""
_RESTORES = 10.0
"""Seconds until the tabs of before are there; those that are not are opened anew."""
_ENDS = 20.0
"""Seconds until a browser that was asked to end has written its tabs and is gone."""
_STARTS = 60.0
"""Seconds until a new one answers; an emulated, busy machine takes most of them."""


def bookmarks() -> Any:
    """Returns the bookmarks, each with its folder."""
    with own_page(*_BOOKMARKS) as page:
        return [_told(node, path) for node, path in _walked(page.built_in(_TREE)) if "url" in node]


def _told(node: dict[str, Any], path: str) -> dict[str, str]:
    return {"title": node["title"], "url": node["url"], "folder": path}


def _walked(nodes: list[dict[str, Any]], path: str = "") -> list[tuple[dict[str, Any], str]]:
    found = []
    for node in nodes:
        found.append((node, path))
        under = "/".join(filter(None, (path, node.get("title", ""))))
        found += _walked(node.get("children", []), under)
    return found


def bookmark(address: str, title: str, folder: str) -> Any:
    """Adds a bookmark, its folders made as needed, and returns it as it is kept."""
    with own_page(*_BOOKMARKS) as page:
        roots = page.built_in(_TREE)[0]["children"]
        first, *rest = [part.strip() for part in folder.split("/") if part.strip()] or [""]
        at = next((r for r in roots if r["title"].lower() == first.lower()), None)
        if at is None:  # a folder of the bar
            at, rest = roots[0], [part for part in (first, *rest) if part]
        for name in rest:
            inside = [n for n in at.get("children", []) if "url" not in n and n["title"] == name]
            at = (
                inside[0]
                if inside
                else page.built_in(_CREATE, {"parentId": at["id"], "title": name})
            )
        made = page.built_in(_CREATE, {"parentId": at["id"], "title": title, "url": address})
        kept = [pair for pair in _walked(page.built_in(_TREE)) if pair[0]["id"] == made["id"]]
        if not kept:
            raise Refused("the bookmark is not among the bookmarks afterwards")
        return _told(*kept[0])


def _is_of(domain: str, site: str) -> bool:
    host, wanted = domain.lstrip(".").lower(), site.lstrip(".").lower()
    return not wanted or host == wanted or host.endswith(f".{wanted}")


def clear_cookies(site: str) -> Any:
    """Deletes the cookies of a site, or all, and returns how many went and are left."""
    with browser() as whole:
        before = whole.call("Storage.getCookies")["cookies"]
        kept = [each for each in before if not _is_of(each["domain"], site)]
        whole.call("Storage.clearCookies")
        if kept:
            whole.call("Storage.setCookies", cookies=[_again(each) for each in kept])
        left = whole.call("Storage.getCookies")["cookies"]
    return {"deleted": len(before) - len(left), "left": len(left)}


def _again(cookie: dict[str, Any]) -> dict[str, Any]:
    """A cookie as it is set."""
    names = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "priority")
    same = {name: cookie[name] for name in names if name in cookie}
    return {**same, **({} if cookie.get("session") else {"expires": cookie["expires"]})}


def settings(words: str) -> Any:
    """Returns the browser's settings whose names have all the words, with their values."""
    sought = words.lower().split()
    with own_page(*_SETTINGS) as page:
        every = page.built_in(_ALL)
    return {p["key"]: p.get("value") for p in every if all(w in p["key"].lower() for w in sought)}


def setting(name: str, value: Any) -> Any:
    """Sets a setting, and returns what it was and is."""
    with own_page(*_SETTINGS) as page:
        try:
            before = page.built_in(_ONE, name)
        except Refused as error:
            raise Refused(f"no setting {name!r}; browser_settings lists them: {error}") from error
        if before.get("enforcement") == "ENFORCED":
            raise Refused(f"{name} is {before.get('value')!r}, and a policy keeps it so")
        if type(value) is not type(before.get("value")) and before.get("value") is not None:
            kind = {"BOOLEAN": "true or false", "NUMBER": "a number"}.get(before["type"], "a text")
            if not (before["type"] == "NUMBER" and isinstance(value, (int, float))):
                raise Refused(f"{name} is {kind}, now {before.get('value')!r}; not {value!r}")
        page.built_in(_SET, name, value)
        now = page.built_in(_ONE, name).get("value")
    if now != value:
        raise Refused(f"{name} is still {now!r}: the browser does not take {value!r}")
    return {"was": before.get("value"), "now": now}


def restart() -> Any:
    """Ends the browser as its own menu does, and starts it again with its tabs and a port."""
    running = processes()
    if not running:
        raise Refused("no browser runs")
    old = running[0]
    program = os.readlink(f"/proc/{old.number}/exe")
    port = port_of(old)
    before = [each["url"] for each in targets(port)] if port else None
    time.sleep(_SAVES)
    os.kill(old.number, signal.SIGTERM)
    wait_until(
        lambda: not Path("/proc", str(old.number)).exists(), _ENDS, "the browser does not end"
    )
    port = port or OWN_PORT
    line = [program, *_kept_flags(old), f"--remote-debugging-port={port}"]
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
    return {"before": before, "tabs": _with_missing(port, before or [])}


def _with_missing(port: int, before: list[str]) -> list[str]:
    """Opens the tabs that were not restored, and returns the addresses of all."""
    there = Counter(each["url"] for each in targets(port))
    missing = list((Counter(before) - there).elements())
    if missing:
        with browser() as whole:
            for url in missing:
                whole.call("Target.createTarget", url=url, background=True)
        time.sleep(1.0)  # until their addresses stand there; those of a moment ago are blank
    return [each["url"] for each in targets(port)]


def _kept_flags(old: Process) -> list[str]:
    """The switches of a browser that the next one gets too; pages come with its tabs."""
    changed = ("--remote-debugging-", "--restore-last-session", "--user-data-dir=")
    flags = [re.split(r"[\0 ]", word)[0] for word in old.words if not word.startswith(changed)]
    return flags + [f"--user-data-dir={old.own_profile}"] * bool(old.own_profile)


def _answers(port: int) -> bool:
    try:
        return bool(ask(port, "/json/list"))
    except (OSError, ValueError):
        return False


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "bookmarks": bookmarks, "bookmark": bookmark, "clear_cookies": clear_cookies,
    "settings": settings, "setting": setting,
    "restart": restart,
}  # fmt: skip

if __name__ == "__main__":
    serve(FUNCTIONS)
