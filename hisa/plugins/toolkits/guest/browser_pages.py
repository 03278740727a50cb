"""Reads and works the pages of the browser that runs on this machine.

Each function takes and answers plain JSON data; see `files_common.serve`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .browser_devtools import Tab, chosen, found_port, front, targets, whole_browser
from .files_common import Refused, path_of, serve

_SCHEMES = ("http", "https", "file", "chrome", "about", "data", "view-source")
_STARTS = 0.3
"""Seconds after a click until the page's own answer to it, such as a new address, has begun."""
_TAKEN = 8.0
"""Seconds until a page has taken a click; one that shows a dialog for it does not before."""
_DOWNLOAD_BEGINS = 15.0
"""Seconds until a download has begun; a link that shows a page never begins one."""


def tabs() -> Any:
    """Returns the tabs, that in front first."""
    return [{key: each[key] for key in ("id", "title", "url")} for each in targets(found_port())]


def info() -> Any:
    """Returns what is known of the page in front."""
    with front() as tab:
        return tab.page("info")


def open_(address: str, new_tab: bool) -> Any:
    """Opens an address, and returns what came of it."""
    scheme = address.split(":", 1)[0].lower()
    if scheme not in _SCHEMES:
        raise Refused(f"address {address!r}: want it whole, with one of {', '.join(_SCHEMES)}")
    if new_tab:
        with whole_browser() as browser:
            made = browser.call("Target.createTarget", url="about:blank")["targetId"]
        target = next(each for each in targets(found_port()) if each["id"] == made)
        with Tab(target) as tab:
            return _navigated(tab, address)
    with front() as tab:
        return _navigated(tab, address)


def _navigated(tab: Tab, address: str) -> Any:
    tab.call("Page.bringToFront")
    said = tab.call("Page.navigate", url=address, seconds=60.0)
    if said.get("isDownload"):
        raise Refused(f"{address}: the browser downloads it and shows nothing")
    if wrong := said.get("errorText"):
        raise Refused(f"{address}: {wrong}")
    return tab.settled()


def switch(tab: str) -> Any:
    """Brings a tab to the front."""
    target = chosen(found_port(), tab)
    with Tab(target) as page:
        page.call("Page.bringToFront")
        seen = page.call("Runtime.evaluate", expression="document.visibilityState")
        if seen["result"].get("value") != "visible":
            raise Refused(f"tab {target['title']!r} did not come to the front")
        return page.settled()


def close(tab: str) -> Any:
    """Closes a tab, and returns the tabs that are left."""
    port = found_port()
    if len(targets(port)) == 1:
        raise Refused("it is the only tab: closing it would end the browser")
    target = chosen(port, tab) if tab else targets(port)[0]
    with whole_browser() as browser:
        browser.call("Target.closeTarget", targetId=target["id"])
    deadline = time.monotonic() + 5.0
    while any(each["id"] == target["id"] for each in targets(port)):
        if time.monotonic() > deadline:
            raise Refused(f"tab {target['title']!r} stays: it may ask whether to leave the page")
        time.sleep(0.1)
    return {"closed": target["title"] or target["url"], "left": tabs()}


def go(to: str) -> Any:
    """Goes back or forward, or loads the page again."""
    with front() as tab:
        if to == "reload":
            tab.call("Page.reload")
            time.sleep(_STARTS)
            return tab.settled()
        told = tab.call("Page.getNavigationHistory")
        index = told["currentIndex"] + (1 if to == "forward" else -1)
        if not 0 <= index < len(told["entries"]):
            raise Refused(f"there is no page to go {to} to")
        wanted = told["entries"][index]
        tab.call("Page.navigateToHistoryEntry", entryId=wanted["id"])
        deadline = time.monotonic() + 10.0
        while tab.call("Page.getNavigationHistory")["currentIndex"] != index:
            if time.monotonic() > deadline:
                raise Refused(f"the page did not go {to} to {wanted['url']}")
            time.sleep(0.1)
        return tab.settled()


def look(function: str, **given: Any) -> Any:
    """Returns what a function of our script answers that only reads."""
    if function not in ("outline", "fields"):
        raise Refused(f"no function {function!r}")
    with front() as tab:
        return tab.page(function, **given)


def fill(fields: dict[str, str], submit: bool) -> Any:
    """Fills fields as a person does, and returns what each says then."""
    with front(acts=True) as tab:
        told = []
        for name, text in fields.items():
            try:
                told.append(_filled(tab, name, text))
            except Refused as error:
                done = ", ".join(each["what"] for each in told) or "none"
                raise Refused(f"{error} (filled before it: {done})") from error
        if submit:
            _key(tab, "Enter", 13, "\r", 0)
            time.sleep(_STARTS)
        else:
            tab.page("leave")
        return {"fields": told, "page": tab.settled()}


def _filled(tab: Tab, name: str, text: str) -> dict[str, Any]:
    held = tab.page("hold", pools=["field"], target=name, nth=0)
    _usable(held)
    if held["kind"] == "select":
        says = tab.page("choose", option=text)["value"]
        return {"what": held["what"], "says": says, "fits": True}
    if held["kind"] in ("checkbox", "radio"):
        raise Refused(f"{held['what']} takes no text; use browser_check")
    if held["kind"] == "file":
        raise Refused(f"{held['what']} takes a file: click it, and choose the file in the dialog")
    if held["settled"]:
        says = tab.page("set", text=text)
    else:
        if not tab.page("enter"):
            raise Refused(f"{held['what']} does not take the focus")
        if text:
            tab.call("Input.insertText", text=text)
        else:
            _key(tab, "Delete", 46, "", 0)
        says = tab.page("value")
    fits = says == text
    if held["secret"]:
        says = f"{len(says)} characters, hidden"
    return {"what": held["what"], "says": says, "fits": fits}


def _usable(held: dict[str, Any]) -> None:
    if held["disabled"]:
        raise Refused(f"{held['what']} is disabled")
    if held["read_only"]:
        raise Refused(f"{held['what']} is read-only")


def check(field: str, on: bool, nth: int) -> Any:
    """Ticks a box or a radio button, or takes the tick away, and returns what it says then."""
    with front(acts=True) as tab:
        held = tab.page("hold", pools=["field"], target=field, nth=nth)
        _usable(held)
        if held["value"] not in ("on", "off"):
            raise Refused(f"{held['what']} has no tick")
        wanted = "on" if on else "off"
        if held["value"] != wanted:
            _clicked(tab, 1)
            if (says := tab.page("value")) != wanted:
                raise Refused(f"{held['what']} was clicked and is {says}")
        return {"what": held["what"], "says": wanted, "was": held["value"]}


def click(target: str, nth: int, double: bool) -> Any:
    """Clicks an element, and returns what is there then."""
    before = {each["id"] for each in targets(found_port())}
    with front(acts=True) as tab:
        held = tab.page("hold", pools=["place", "field", "any"], target=target, nth=nth)
        if held["disabled"]:
            raise Refused(f"{held['what']} is disabled")
        _clicked(tab, 2 if double else 1)
        time.sleep(_STARTS)
        new = [each for each in targets(found_port()) if each["id"] not in before]
        opened = [each["url"] for each in new]
        try:
            page = tab.settled()
        except Refused as error:
            raise Refused(f"{held['what']} was clicked; then: {error}") from error
        return {"what": held["what"], "opened": opened, "page": page}


def aim(target: str, nth: int, enter: bool) -> Any:
    """Returns the words of what a click, or Enter in a field, would press."""
    pools = ["field"] if enter else ["place", "field", "any"]
    with front() as tab:
        return tab.page("aim", pools=pools, target=target, nth=nth, enter=enter)["aim"]


def _clicked(tab: Tab, count: int) -> None:
    """Clicks the element that is held."""
    spot = tab.page("point")
    place: dict[str, Any] = {"x": spot["x"], "y": spot["y"]}
    _mouse(tab, "mouseMoved", **place)
    for number in range(1, count + 1):
        for kind in ("mousePressed", "mouseReleased"):
            _mouse(tab, kind, button="left", clickCount=number, **place)


def _mouse(tab: Tab, kind: str, **params: Any) -> None:
    tab.call("Input.dispatchMouseEvent", type=kind, seconds=_TAKEN, **params)


def _key(tab: Tab, key: str, code: int, text: str, modifiers: int) -> None:
    typed: dict[str, Any] = {"text": text} if text and not modifiers & 7 else {}
    name = f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else key
    said: dict[str, Any] = {"key": key, "code": name, "modifiers": modifiers}
    said["windowsVirtualKeyCode"] = code
    kind = "keyDown" if typed else "rawKeyDown"
    tab.call("Input.dispatchKeyEvent", type=kind, **said, **typed)
    tab.call("Input.dispatchKeyEvent", type="keyUp", **said)


def download(link: str, folder: str, nth: int, limit: float) -> Any:
    """Downloads what a link leads to, and returns the file."""
    place = path_of(folder)
    if not place.is_dir():
        raise Refused(f"there is no folder {str(place)!r}")
    with whole_browser() as browser, front(acts=True) as tab:
        held = tab.page("hold", pools=["place"], target=link, nth=nth)
        browser.call(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(place),
            eventsEnabled=True,
        )
        if held["href"]:
            tab.page("save", name="")
        else:
            _clicked(tab, 1)
        deadline, begun, name = time.monotonic() + _DOWNLOAD_BEGINS, "", ""
        while True:
            event = browser.next_message(deadline - time.monotonic())
            if event is None:
                state = f"did not end within {limit:g} s" if begun else "began no download"
                raise Refused(f"{held['what']} {state}")
            given = event.get("params", {})
            if event.get("method") == "Browser.downloadWillBegin" and not begun:
                begun, name = given["guid"], given["suggestedFilename"]
                deadline = time.monotonic() + limit
            elif event.get("method") == "Browser.downloadProgress" and given["guid"] == begun:
                if given["state"] == "canceled":
                    raise Refused(f"the download of {name!r} was cancelled")
                if given["state"] == "completed":
                    file = Path(given.get("filePath") or place / name)
                    return {"path": str(file), "bytes": file.stat().st_size}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tabs": tabs,
    "aim": aim,
    "info": info,
    "open": open_,
    "switch": switch,
    "close": close,
    "go": go,
    "look": look,
    "fill": fill,
    "check": check,
    "click": click,
    "download": download,
}

if __name__ == "__main__":
    serve(FUNCTIONS)
