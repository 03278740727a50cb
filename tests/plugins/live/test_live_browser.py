"""A person at the live page: real browser, server, run and desktop, from start to end."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest
from selenium.webdriver.common.keys import Keys

from hisa.testing import tool_call
from hisa.text.redact.named_secrets import forms
from tests.chromium import NEEDED
from tests.plugins.live.live_page import HOSTILE, World, digest, world
from tests.plugins.live.serving import wait_for
from tests.plugins.live.watching import DONE

pytestmark = [
    pytest.mark.browser, pytest.mark.desktop, pytest.mark.process,
    NEEDED,
]  # fmt: skip
PASSWORD = "Zebra-Quilt-77"
SIZES = (1280, 1, False), (1280, 2, False), (390, 2, True)
STEERING = """[...document.querySelectorAll("[aria-label=Steering] button")]
    .filter((e) => !e.disabled && e.checkVisibility())"""
"""Buttons that can be used."""
STEPS = "return [...document.querySelectorAll('header .number')].length"
STEPS_ABOVE = f"{STEPS} > arguments[0]"
SHARED = "/home/user/shared/guest"
OPEN = f"setsid -f /usr/bin/python3 {SHARED}/guest.py {SHARED} '{HOSTILE}' >{SHARED}/log 2>&1"


@pytest.fixture(scope="module")
def live_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    gtk = ["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"]
    lacking = subprocess.run(gtk, capture_output=True, check=False).returncode
    if lacking or not shutil.which("mousepad"):
        pytest.skip("needs GTK for Python, and mousepad: apt-get install python3-gi mousepad")
    folder = tmp_path_factory.mktemp("page")
    for name in ("runs", "benches"):
        (folder / name).mkdir()
    share = json.dumps([f"{folder}/guest:rw"])
    with world(
        folder,
        HISA_RUN__CONFIRM="always",
        HISA_ENVIRONMENT__SHARE=share,
    ) as new_world:
        new_world.page.enter()
        yield new_world


def test_a_person_starts_watches_and_takes_over(live_world: World) -> None:
    page = live_world.page
    run = live_world.start(f"Watch this. {HOSTILE}")
    live_world.replies.put(tool_call("bash_execution", OPEN, thought=HOSTILE))
    page.press("Allow once")
    wait_for(lambda: live_world.guest.get("active") is False)  # the editor has the keyboard
    steps = page.js(STEPS)
    page.until(STEPS_ABOVE, steps + 1)
    pauses(live_world)
    page.fill("viewer", "Ruth")
    page.press("Take over")
    page.until("return document.activeElement.tagName === 'CANVAS'")
    types_into_the_editor(live_world)
    clicks_where_it_should(live_world)
    logs_in(live_world)
    page.press("Give back")
    line = page.until(
        "return /a person had .*/.exec(document.querySelector('.note.calm').textContent)?.[0]"
    )
    assert "Grace" in line
    live_world.wait_for_prompt(line)
    answers(live_world)
    live_world.replies.put(DONE)
    page.badge("succeeded")
    page.inert()
    assert page.complaints() == []
    assert live_world.served.get(f"/runs/{run}")["state"] == "succeeded"
    assert leaks(live_world, run, "Grace")  # what everybody may read is found so
    assert leaks(live_world, run, PASSWORD) == []


def test_a_run_is_stopped(live_world: World) -> None:
    page = live_world.page
    run = live_world.start("Wait for me.")
    page.until(STEPS_ABOVE, 1)
    page.press("Stop")
    page.press("Stop the run")
    page.badge("stopped")
    page.until(f"return ({STEERING}).length === 0")  # nothing to do with a run that is over
    assert live_world.served.get(f"/runs/{run}")["state"] == "stopped"
    page.inert()


def test_server_output_does_not_contain_the_password(live_world: World) -> None:
    live_world.served.process.send_signal(signal.SIGINT)
    out, err = live_world.served.process.communicate(timeout=60)
    assert live_world.served.process.returncode == 0
    assert "Traceback" not in err
    assert not any(form in out + err for form in forms(PASSWORD))


def pauses(live_world: World) -> None:
    """Paused, the planner is asked nothing, and it is again afterwards."""
    page = live_world.page
    page.press("Pause")
    page.badge("paused")
    prompt_count = len(live_world.prompts)
    assert page.served.get("/desktops")["runs"][0]["hash"]
    assert len(live_world.prompts) == prompt_count
    page.press("Resume")
    page.badge("running")
    wait_for(lambda: len(live_world.prompts) > prompt_count)


def types_into_the_editor(live_world: World) -> None:
    """The canvas has the focus: Enter gives it the keyboard."""
    note = live_world.folder / "guest" / "note.txt"
    live_world.page.keys(Keys.ENTER, *"Dear Ada")
    live_world.page.hotkey(Keys.CONTROL, "s")
    wait_for(lambda: note.exists() and note.read_text().strip() == "Dear Ada")


def clicks_where_it_should(live_world: World) -> None:
    """At any size and density of the viewer's screen, by mouse and by touch."""
    for number, (width, scale, touch) in enumerate(SIZES, 1):
        live_world.page.size(width, scale, touch=touch)
        x, y = 60 + 150 * number, 290 + 70 * number
        step = live_world.page.tap(x, y, touch=touch)
        wait_for(partial(live_world.has_clicks, number))
        near = [pytest.approx(x, abs=step), pytest.approx(y, abs=step), 1]
        assert live_world.guest["clicks"][number - 1 :] == [near], (width, scale)
    live_world.page.size(1280)
    live_world.page.tap(100, 300)
    live_world.page.tap(400, 300)  # soon after, and no double click there
    wait_for(lambda: len(live_world.guest["clicks"]) >= len(SIZES) + 2)
    assert live_world.guest["clicks"][-2:] == [[100, 300, 1], [400, 300, 1]]


def logs_in(live_world: World) -> None:
    page, places = live_world.page, live_world.guest["places"]
    page.tap(*places["name"])
    page.keys(*"Grace")
    wait_for(lambda: live_world.guest["name"] == "Grace")
    page.tap(*places["password"])
    page.keys(*PASSWORD)
    wait_for(lambda: live_world.guest["password"] == digest(PASSWORD))


def answers(live_world: World) -> None:
    """To a question, and to what it wants to do."""
    page = live_world.page
    choices = ["March", f"April {HOSTILE}"]
    live_world.replies.put(
        tool_call("person_ask", {"question": f"When? {HOSTILE}", "choices": choices})
    )
    script = "return document.querySelector('.question:not([hidden]) pre')?.textContent"
    assert page.until(script) == f"When? {HOSTILE}"
    page.press(choices[1])
    live_world.wait_for_prompt("April")
    live_world.replies.put(tool_call("bash_execution", "touch ~/shared/guest/refused"))
    page.button("Refuse")
    page.fill("answer", "rather not today")
    page.press("Refuse")
    live_world.wait_for_prompt("rather not today")
    assert not (live_world.folder / "guest" / "refused").exists()


def leaks(live_world: World, run: str, value: str) -> list[str]:
    """Where any form of a value stands: in files, requests, answers, what the server says."""
    heard = live_world.page.js("return window.__heard.join('\\n')")
    texts = {"page": heard + live_world.page.js("return document.documentElement.outerHTML")}
    assert len(heard) > 10_000
    with live_world.served.http as http:
        for path in (f"/runs/{run}", f"/runs/{run}/view", "/runs", "/desktops"):
            texts[path] = http.get(f"/api{path}").text
        for name, number, event in live_world.served.stream(f"/runs/{run}/events"):
            texts[f"event {number} {name}"] = json.dumps(event)
            if event.get("type") == "run_finished":
                break
    for index, request in enumerate(live_world.model.requests):
        texts[f"request {index}"] = json.dumps(request.body)
    files = {str(p): p.read_bytes() for p in live_world.folder.rglob("*") if p.is_file()}
    places = {**files, **{name: text.encode() for name, text in texts.items()}}
    size = sum(map(len, places.values()))
    hits = [n for n, data in places.items() if any(f.encode() in data for f in forms(value))]
    print(f"{value}: in {len(hits)} of {len(places)} places, {size} bytes")
    return hits
