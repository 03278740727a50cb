"""Tasks that want a proxy: what the setting makes of them, and a real browser behind a real one."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from hisa.config import TaskSettings, load
from hisa.errors import ConfigError, EnvironmentFailed
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.protocols import Task
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.test_verified_files import tree, write
from tests.tasks.host import Host

IS_BUILT = find_tree(recipe("osworld")) is not None
BUILD = "hisa machine build osworld"
NO_PROXY, PROXY = TaskSettings(proxy="none"), TaskSettings(proxy="http://127.0.0.1:18888")
ANSWERS = """
import http.server
class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = f"<title>{self.path}</title>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 18888), Proxy).serve_forever()
"""
"""A proxy that answers for every host, with the address that it was asked for."""
STARTED = """
(setsid python3 /tmp/proxy.py >/dev/null 2>&1 &)
until (: </dev/tcp/127.0.0.1/18888) 2>/dev/null; do sleep 0.1; done
"""
CHROME = ["google-chrome", "--remote-debugging-port=1337"]
PAGE = "http://shop.example/faq"


def wanting(chrome: list[str], **check: object) -> Task:
    """A task of the published shape whose page no machine reaches by itself."""
    setup = (
        {"type": "proxy", "parameters": {}},
        {"type": "launch", "parameters": {"command": chrome}},
        {"type": "chrome_open_tabs", "parameters": {"urls_to_open": [PAGE]}},
    )
    return Task(id="t", instruction="x", setup=setup, check=check or None, format="osworld")


@pytest.mark.parametrize(
    "address", ["http://ann:0penSesame@p.example:3128", "p.example:3128", "http://p.example:99999"]
)
def test_an_invalid_address_is_refused_without_the_password(address: str) -> None:
    with pytest.raises(ConfigError, match=r"tasks\.proxy: .*http://HOST:PORT") as caught:
        load(None, [f"tasks.proxy={address}"], environ={})
    assert "0penSesame" not in str(caught.value)


@pytest.mark.process
async def test_machine_that_cannot_reach_the_proxy_fails_to_prepare(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, tree(proxy=True)))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy_settings = TaskSettings(proxy=f"http://127.0.0.1:{listening.getsockname()[1]}")
        scorer = TaskScorer(cache=FileCache(tmp_path / "cache"), settings=proxy_settings)
        await scorer.prepare(task, Host(tmp_path / "home"))  # one that listens is enough
    with pytest.raises(EnvironmentFailed, match="does not reach the proxy") as caught:
        await scorer.prepare(task, Host(tmp_path / "home"))
    assert "tasks.proxy" in caught.value.fix


@pytest.mark.desktop
@pytest.mark.skipif(
    not (shutil.which("chromium") or IS_BUILT), reason=f"needs Chromium, or {BUILD}"
)
async def test_the_browser_opens_its_pages_by_the_proxy_also_when_started_anew() -> None:
    task = wanting(
        CHROME,
        postconfig=[
            {"type": "launch", "parameters": {"command": ["pkill", "chrome"]}},
            {"type": "launch", "parameters": {"command": [*CHROME, f"{PAGE}?again"]}},
        ],
        func="exact_match",
        result={"type": "active_tab_info"},
        expected={
            "type": "rule",
            "rules": {"expected": {"title": f"{PAGE}?again", "url": f"{PAGE}?again"}},
        },
    )
    async with DesktopEnvironment(profile="osworld" if IS_BUILT else "") as desktop:
        await desktop.write_file("/tmp/proxy.py", ANSWERS.encode())
        await desktop.execute(STARTED)
        scorer = TaskScorer(settings=PROXY)
        await scorer.prepare(task, desktop)
        for title in (PAGE, f"{PAGE}?again"):
            observation = await desktop.observe(settle=10.0)
            assert title in [window.title.partition(" - ")[0] for window in observation.windows]
            if title == PAGE:
                scoring = await scorer.score(task, desktop, "succeeded")
                assert scoring.value == 1.0, scoring.detail
