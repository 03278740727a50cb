"""The live page in a real browser, with a server, a model and a store of the test's own."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.remote.webelement import WebElement

from hisa.runs.run_reader import list_runs
from hisa.testing import FakeServer, ReceivedRequest
from tests.chromium import chromium
from tests.plugins.live.serving import ROOT, Served, serving, wait_for
from tests.plugins.live.watching import WAIT

HOSTILE = (
    '<script>window.__hit=1</script><img src=x onerror="window.__hit=2">'
    '<a href="javascript:window.__hit=3">j</a>'
)
GUEST = """
import gi, hashlib, json, os, subprocess, sys
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
folder, title = sys.argv[1:]
window, box = Gtk.Window(title=title), Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=10)
pad, name, password = Gtk.EventBox(), Gtk.Entry(), Gtk.Entry(visibility=False)
name.get_accessible().set_name("Account")
pad.add(Gtk.Label(label="Click here"))
parts, clicks, shown = {"pad": pad, "name": name, "password": password}, [], [None]
pad.connect("button-press-event", lambda _, e: clicks.append([e.x_root, e.y_root, e.button]))
for part in parts.values():
    box.pack_start(part, part is pad, part is pad, 0)
window.add(box)
window.set_default_size(600, 420)
window.move(20, 240)
window.show_all()
def place(part):
    x, y = part.translate_coordinates(window, 0, 0)
    left, top = window.get_window().get_origin()[1:]
    return [left + x + part.get_allocated_width() // 2, top + y + part.get_allocated_height() // 2]
def tell():
    state = {"clicks": clicks, "name": name.get_text(), "active": window.is_active(),
        "password": hashlib.sha256(password.get_text().encode()).hexdigest(),
        "places": {key: place(part) for key, part in parts.items()}}
    if state != shown[0]:
        shown[0] = json.loads(json.dumps(state))
        with open(folder + "/state.new", "w") as file:
            json.dump(state, file)
        os.rename(folder + "/state.new", folder + "/state.json")
    return True
GLib.timeout_add(100, tell)
GLib.timeout_add(1500, lambda: subprocess.Popen(["mousepad", folder + "/note.txt"]) and False)
Gtk.main()
"""
_RECORDER = """
window.__heard = []; window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) =>
    __violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
const plain = window.fetch, Socket = window.WebSocket;
window.fetch = async (...wish) => {
    const answer = await plain(...wish);
    if (/json|html|event-stream/.test(answer.headers.get("content-type") ?? "")) (async () => {
        const reader = answer.clone().body.pipeThrough(new TextDecoderStream()).getReader();
        for (let part; !(part = await reader.read()).done;) __heard.push(part.value);
    })().catch(() => {});
    return answer;
};
window.WebSocket = class extends Socket {
    constructor(...more) {
        super(...more);
        this.addEventListener("message", (e) => typeof e.data === "string" && __heard.push(e.data));
    }
};
"""
"""Keeps all texts that the page is sent, and what its policy blocked."""
_VISIBLE = "const seen = (e) => e.checkVisibility({visibilityProperty: true});"


@dataclass
class World:
    """Whatever the page is tested with."""

    served: Served
    model: FakeServer
    replies: queue.Queue[str]
    folder: Path
    page: Page
    environ: dict[str, str]
    names: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def has_clicks(self, count: int) -> bool:
        """Whether the window in the guest was clicked so often."""
        return len(self.guest["clicks"]) >= count

    @property
    def guest(self) -> dict[str, Any]:
        """What the window in the guest tells of itself; empty before it is there."""
        path = self.folder / "guest" / "state.json"
        state: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
        return state

    @property
    def prompts(self) -> list[str]:
        """What the planner was sent, in order."""
        return [r.text for r in self.model.requests if r.role == "planner"]

    def start(self, task: str) -> str:
        """Start a run whose questions are answered on the page, and show it there; its id."""
        known = list_runs(self.folder / "runs")
        words = ["run", task, "--env", "desktop", "--model", "my-model", "--max-steps", "400"]
        process = subprocess.Popen(
            [sys.executable, "-m", "hisa", *words, "--no-report"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HISA_LIVE_ASK": "1", **self.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        runs = self.folder / "runs"
        (folder,) = wait_for(lambda: [run for run in list_runs(runs) if run not in known])
        self.page.go(f"run/{folder.name}")
        return str(folder.name)

    def wait_for_prompt(self, words: str, seconds: float = 60) -> str:
        """The first prompt with these words, once there is one."""

        def find() -> str:
            return next((p for p in self.prompts if words in p), "")

        return str(wait_for(find, seconds))


class Page:
    """The page as a person uses it, in the tab that is shown."""

    def __init__(self, browser: Chrome, served: Served) -> None:
        self.browser, self.served = browser, served

    def enter(self) -> None:
        """Open the address that the server printed, in the tab that is shown."""
        command = "Page.addScriptToEvaluateOnNewDocument"
        self.browser.execute_cdp_cmd(command, {"source": _RECORDER})
        self.browser.get(f"{self.served.url}/#token={self.served.token}")
        self.until("return document.querySelector('h1')?.textContent === 'Desktops'")

    def go(self, view: str) -> None:
        """Show a view, whole."""
        self.js("location.hash = '#/desktops'" if view != "desktops" else "")
        self.js("location.hash = arguments[0]", f"#/{view}")
        name = view.partition("/")[0]
        self.until("return document.querySelector('.view-' + arguments[0] + ' h1')", name)

    def js(self, script: str, *more: Any) -> Any:
        """What a script returns."""
        return self.browser.execute_script(script, *more)

    def until(self, script: str, *more: Any) -> Any:
        """What a script returns once that holds."""
        try:
            return wait_for(lambda: self.js(script, *more))
        except AssertionError as error:
            raise AssertionError(f"{script} {more} never held: {self.text()[:3000]}") from error

    def size(self, width: int, scale: int = 1, *, touch: bool = False) -> None:
        """The screen of the viewer."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": scale, "mobile": touch}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        emulation = {"enabled": touch, "maxTouchPoints": 1}
        self.browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", emulation)

    def button(self, text: str) -> WebElement:
        """A button or link that can be seen and used, once it is there."""
        script = f"""{_VISIBLE} return [...document.querySelectorAll("button, nav a, a.link")].find(
            (e) => e.textContent === arguments[0] && !e.disabled && seen(e))"""
        element: WebElement = self.until(script, text)
        return element

    def press(self, text: str) -> None:
        """Click a button, by its words."""
        self.button(text).click()

    def fill(self, name: str, text: str) -> None:
        """Type into a field."""
        field: WebElement = self.until("return document.getElementById(arguments[0])", name)
        field.clear()
        field.send_keys(text)

    @staticmethod
    def quote_part(name: str) -> str:
        """A name as a part of the page's address."""
        return quote(name, safe="")

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def hotkey(self, held: str, key: str) -> None:
        """Press a key while another is held."""
        ActionChains(self.browser).key_down(held).send_keys(key).key_up(held).perform()

    def text(self) -> str:
        """All that the page shows or could."""
        return str(self.js("return document.body.textContent"))

    def badge(self, word: str) -> None:
        """Wait until a badge of the run says this."""
        script = """return [...document.querySelectorAll(".badge")]
            .some((e) => e.textContent === arguments[0])"""
        self.until(script, word)

    def tap(self, x: float, y: float, *, touch: bool = False) -> float:
        """Click on a pixel of the guest; returns how many of these a shown one has."""
        script = """const canvas = document.querySelector("canvas");
            canvas.scrollIntoView({block: "center"});
            const box = canvas.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height];"""
        left, top, width, height = self.js(script)
        at = {"x": left + (x + 0.5) * width / 1280, "y": top + (y + 0.5) * height / 720}
        if touch:
            for kind, points in (("touchStart", [at]), ("touchEnd", [])):
                touches = {"type": kind, "touchPoints": points}
                self.browser.execute_cdp_cmd("Input.dispatchTouchEvent", touches)
        else:
            for kind in ("mousePressed", "mouseReleased"):
                wish: dict[str, object] = {"type": kind, "button": "left", "clickCount": 1, **at}
                self.browser.execute_cdp_cmd("Input.dispatchMouseEvent", wish)
        return float(1280 / width)

    def inert(self) -> None:
        """Nothing hostile has run or could by a click, and the policy had nothing to block."""
        assert self.js("return [window.__hit ?? null, window.__violations]") == [None, []]
        able = """return [...document.querySelectorAll("main *")].filter((e) => e.matches("script")
            || e.getAttributeNames().some((name) => name.startsWith("on")
            || /^\\s*javascript:/i.test(e.getAttribute(name)))).map((e) => e.outerHTML)"""
        assert self.js(able) == []

    def complaints(self) -> list[Any]:
        """What the console says since it was asked last."""
        return list(self.browser.get_log("browser"))  # type: ignore[no-untyped-call]


def digest(text: str) -> str:
    """As the guest's window tells a password."""
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def world(folder: Path, **environ: str) -> Iterator[World]:
    """A server whose runs are planned by what is put into ``replies``, and wait meanwhile."""
    replies = queue.Queue[str]()

    def plan(request: ReceivedRequest) -> str:
        if request.role != "planner":
            return "Succeeded. It did."
        try:
            return replies.get(timeout=0.5)
        except queue.Empty:
            return WAIT

    (folder / "guest").mkdir()
    (folder / "guest" / "guest.py").write_text(GUEST)
    roots = ("--root", str(folder / "runs"), "--root", str(folder / "benches"))
    with (
        tempfile.TemporaryDirectory(prefix="hl") as runtime,
        FakeServer(then=plan) as model,
        chromium() as browser,
    ):
        environ |= {
            "XDG_RUNTIME_DIR": runtime,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "none",
            "HISA_PATTERNS__ENABLED": "false",
        }
        with serving(folder, *roots, **environ) as served:
            new_world = World(served, model, replies, folder, Page(browser, served), environ)
            try:
                yield new_world
            finally:
                for process in new_world.processes:
                    process.kill()
                    process.wait()
