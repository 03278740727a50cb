"""Reads and changes the pages of the browser that runs on this machine.

Each function takes and returns plain JSON data; see `files_common.serve`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .browser_devtools import Tab, connect_browser, find_port, front, select_tab, targets
from .files_common import Refused, path_of, serve

_SCHEMES = ("http", "https", "file", "chrome", "about", "data", "view-source")
_STARTS = 0.3
"""Seconds after a click until the page's reaction, such as a new address, has begun."""
_TAKEN = 8.0
"""Seconds until a page has handled a click; a page that shows a dialog handles it only later."""
_DOWNLOAD_BEGINS = 15.0
"""Seconds until a download must have begun; a link to a page never begins one."""


def tabs() -> Any:
    """Returns the tabs, the one in front first."""
    return [{key: target[key] for key in ("id", "title", "url")} for target in targets(find_port())]


def info() -> Any:
    """Returns address, title and loading state of the page in front."""
    with front() as tab:
        return tab.call_page("info")


def open_(address: str, new_tab: bool) -> Any:
    """Opens an address, and returns the `info` of the page."""
    scheme = address.split(":", 1)[0].lower()
    if scheme not in _SCHEMES:
        raise Refused(f"address {address!r}: expected a whole one, with {', '.join(_SCHEMES)}")
    if new_tab:
        with connect_browser() as browser:
            target_id = browser.call("Target.createTarget", url="about:blank")["targetId"]
        target = next(target for target in targets(find_port()) if target["id"] == target_id)
        with Tab(target) as tab:
            return _navigate(tab, address)
    with front() as tab:
        return _navigate(tab, address)


def _navigate(tab: Tab, address: str) -> Any:
    tab.call("Page.bringToFront")
    navigation = tab.call("Page.navigate", url=address, seconds=60.0)
    if navigation.get("isDownload"):
        raise Refused(f"{address}: the browser downloads it and shows nothing")
    if wrong := navigation.get("errorText"):
        raise Refused(f"{address}: {wrong}")
    return tab.wait_until_loaded()


def switch(tab: str) -> Any:
    """Brings a tab to the front."""
    target = select_tab(find_port(), tab)
    with Tab(target) as page:
        page.call("Page.bringToFront")
        visibility = page.call("Runtime.evaluate", expression="document.visibilityState")
        if visibility["result"].get("value") != "visible":
            raise Refused(f"tab {target['title']!r} did not come to the front")
        return page.wait_until_loaded()


def close(tab: str) -> Any:
    """Closes a tab, and returns the tabs that are left."""
    port = find_port()
    if len(targets(port)) == 1:
        raise Refused("it is the only tab: closing it would end the browser")
    target = select_tab(port, tab) if tab else targets(port)[0]
    with connect_browser() as browser:
        browser.call("Target.closeTarget", targetId=target["id"])
    deadline = time.monotonic() + 5.0
    while any(open_tab["id"] == target["id"] for open_tab in targets(port)):
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
            return tab.wait_until_loaded()
        history = tab.call("Page.getNavigationHistory")
        index = history["currentIndex"] + (1 if to == "forward" else -1)
        if not 0 <= index < len(history["entries"]):
            raise Refused(f"there is no page to go {to} to")
        entry = history["entries"][index]
        tab.call("Page.navigateToHistoryEntry", entryId=entry["id"])
        deadline = time.monotonic() + 10.0
        while tab.call("Page.getNavigationHistory")["currentIndex"] != index:
            if time.monotonic() > deadline:
                raise Refused(f"the page did not go {to} to {entry['url']}")
            time.sleep(0.1)
        return tab.wait_until_loaded()


def look(function: str, **arguments: Any) -> Any:
    """Calls a function of our script that only reads, and returns its answer."""
    if function not in ("outline", "fields"):
        raise Refused(f"no function {function!r}")
    with front() as tab:
        return tab.call_page(function, **arguments)


def fill(fields: dict[str, str], submit: bool) -> Any:
    """Fills fields as a person does, and returns the new value of each."""
    with front(acts=True) as tab:
        filled_fields = []
        for name, text in fields.items():
            try:
                filled_fields.append(_fill_field(tab, name, text))
            except Refused as error:
                filled_names = ", ".join(field["what"] for field in filled_fields) or "none"
                raise Refused(f"{error} (filled before it: {filled_names})") from error
        if submit:
            _press_key(tab, "Enter", 13, "\r", 0)
            time.sleep(_STARTS)
        else:
            tab.call_page("leave")
        return {"fields": filled_fields, "page": tab.wait_until_loaded()}


def _fill_field(tab: Tab, name: str, text: str) -> dict[str, Any]:
    element = tab.call_page("hold", pools=["field"], target=name, nth=0)
    _require_usable(element)
    if element["kind"] == "select":
        says = tab.call_page("choose", option=text)["value"]
        return {"what": element["what"], "says": says, "fits": True}
    if element["kind"] in ("checkbox", "radio"):
        raise Refused(f"{element['what']} takes no text; use browser_check")
    if element["kind"] == "file":
        raise Refused(
            f"{element['what']} takes a file: click it, and choose the file in the dialog"
        )
    if element["settled"]:
        says = tab.call_page("set", text=text)
    else:
        if not tab.call_page("enter"):
            raise Refused(f"{element['what']} does not take the focus")
        if text:
            tab.call("Input.insertText", text=text)
        else:
            _press_key(tab, "Delete", 46, "", 0)
        says = tab.call_page("value")
    fits = says == text
    if element["secret"]:
        says = f"{len(says)} characters, hidden"
    return {"what": element["what"], "says": says, "fits": fits}


def _require_usable(element: dict[str, Any]) -> None:
    if element["disabled"]:
        raise Refused(f"{element['what']} is disabled")
    if element["read_only"]:
        raise Refused(f"{element['what']} is read-only")


def check(field: str, on: bool, nth: int) -> Any:
    """Ticks a box or a radio button, or takes the tick away, and returns the new state.

    Args:
        field: its label, name or "css=SELECTOR".
        on: whether it is to have a tick.
        nth: which of the fields that fit, from 1; 0: there must be only one.
    """
    with front(acts=True) as tab:
        element = tab.call_page("hold", pools=["field"], target=field, nth=nth)
        _require_usable(element)
        if element["value"] not in ("on", "off"):
            raise Refused(f"{element['what']} has no tick")
        expected = "on" if on else "off"
        if element["value"] != expected:
            _click_element(tab, 1)
            if (says := tab.call_page("value")) != expected:
                raise Refused(f"{element['what']} was clicked and is {says}")
        return {"what": element["what"], "says": expected, "was": element["value"]}


def click(target: str, nth: int, double: bool) -> Any:
    """Clicks an element, and returns the page and the tabs that it opened.

    Args:
        target: the element's text or a part of it, or "css=SELECTOR".
        nth: which of the elements that fit, from 1; 0: there must be only one.
        double: whether to click twice.
    """
    before = {open_tab["id"] for open_tab in targets(find_port())}
    with front(acts=True) as tab:
        element = tab.call_page("hold", pools=["place", "field", "any"], target=target, nth=nth)
        if element["disabled"]:
            raise Refused(f"{element['what']} is disabled")
        _click_element(tab, 2 if double else 1)
        time.sleep(_STARTS)
        new = [open_tab for open_tab in targets(find_port()) if open_tab["id"] not in before]
        opened = [new_tab["url"] for new_tab in new]
        try:
            page = tab.wait_until_loaded()
        except Refused as error:
            raise Refused(f"{element['what']} was clicked; then: {error}") from error
        return {"what": element["what"], "opened": opened, "page": page}


def aim(target: str, nth: int, enter: bool) -> Any:
    """Returns the names of what a click, or Enter in a field, would press, and the text around.

    Args:
        target: the element's text, or the field's label; or "css=SELECTOR".
        nth: which of those that fit, from 1; 0: there must be only one.
        enter: whether Enter would be pressed in a field, instead of a click.
    """
    pools = ["field"] if enter else ["place", "field", "any"]
    with front() as tab:
        return tab.call_page("aim", pools=pools, target=target, nth=nth, enter=enter)["aim"]


def _click_element(tab: Tab, count: int) -> None:
    """Clicks the element that is held."""
    spot = tab.call_page("point")
    place: dict[str, Any] = {"x": spot["x"], "y": spot["y"]}
    _send_mouse_event(tab, "mouseMoved", **place)
    for number in range(1, count + 1):
        for kind in ("mousePressed", "mouseReleased"):
            _send_mouse_event(tab, kind, button="left", clickCount=number, **place)


def _send_mouse_event(tab: Tab, kind: str, **params: Any) -> None:
    tab.call("Input.dispatchMouseEvent", type=kind, seconds=_TAKEN, **params)


def _press_key(tab: Tab, key: str, code: int, text: str, modifiers: int) -> None:
    typed: dict[str, Any] = {"text": text} if text and not modifiers & 7 else {}
    name = f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else key
    event: dict[str, Any] = {"key": key, "code": name, "modifiers": modifiers}
    event["windowsVirtualKeyCode"] = code
    kind = "keyDown" if typed else "rawKeyDown"
    tab.call("Input.dispatchKeyEvent", type=kind, **event, **typed)
    tab.call("Input.dispatchKeyEvent", type="keyUp", **event)


def download(link: str, folder: str, nth: int, limit: float) -> Any:
    """Downloads what a link leads to, and returns the file's path and size.

    Args:
        link: its text or a part of it, or "css=SELECTOR".
        folder: an existing folder, absolute or from the home folder on.
        nth: which of the links that fit, from 1; 0: there must be only one.
        limit: most seconds from the beginning of the download to its end.
    """
    place = path_of(folder)
    if not place.is_dir():
        raise Refused(f"there is no folder {str(place)!r}")
    with connect_browser() as browser, front(acts=True) as tab:
        element = tab.call_page("hold", pools=["place"], target=link, nth=nth)
        browser.call(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(place),
            eventsEnabled=True,
        )
        if element["href"]:
            tab.call_page("save", name="")
        else:
            _click_element(tab, 1)
        deadline, begun, name = time.monotonic() + _DOWNLOAD_BEGINS, "", ""
        while True:
            event = browser.next_message(deadline - time.monotonic())
            if event is None:
                state = f"did not end within {limit:g} s" if begun else "began no download"
                raise Refused(f"{element['what']} {state}")
            params = event.get("params", {})
            if event.get("method") == "Browser.downloadWillBegin" and not begun:
                begun, name = params["guid"], params["suggestedFilename"]
                deadline = time.monotonic() + limit
            elif event.get("method") == "Browser.downloadProgress" and params["guid"] == begun:
                if params["state"] == "canceled":
                    raise Refused(f"the download of {name!r} was cancelled")
                if params["state"] == "completed":
                    file = Path(params.get("filePath") or place / name)
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
