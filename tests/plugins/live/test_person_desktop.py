"""A person at a real desktop: a login window of GTK, while the agent is parked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.observation import Element, Observation
from hisa.screen.ocr import available
from hisa.screen.roles import PASSWORD as PASSWORD_ROLE
from hisa.testing import ReceivedRequest
from tests.environments.conformance import observe_until
from tests.plugins.live.test_typed_secrets import PASSWORD, leaks, read_words
from tests.plugins.live.watching import DONE, WAIT, watch_run

pytestmark = pytest.mark.desktop
GTK = "/usr/bin/python3"
LOGIN = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window, box = Gtk.Window(title="Log in"), Gtk.Box(orientation=Gtk.Orientation.VERTICAL, margin=30)
name, password, said = Gtk.Entry(), Gtk.Entry(visibility=False), Gtk.Label(label="Nobody")
name.get_accessible().set_name("Account")
button = Gtk.Button(label="Tell")
button.connect("clicked", lambda _: said.set_text(f"{name.get_text()}: {password.get_text()}"))
for part in (name, password, button, said):
    box.pack_start(part, False, False, 10)
window.add(box)
window.set_default_size(500, 260)
window.show_all()
Gtk.main()
"""


class _PersistentDesktop(DesktopEnvironment):
    """A desktop that a run does not reset: what a test opened is there."""

    async def reset(self) -> None:
        """Leave it as it is."""


def _part(observation: Observation, role: str, name: str = "") -> Element | None:
    matches = (e for e in observation.elements or () if e.role == role and name in e.name)
    return next(matches, None)


def _click(observation: Observation, role: str, name: str = "") -> dict[str, Any]:
    element = _part(observation, role, name)
    assert element is not None, [(e.role, e.name) for e in observation.elements or ()]
    x, y = element.box.centre.to_pixels()
    return {"kind": "click", "x": x, "y": y}


@pytest.mark.skipif(not available(), reason="nothing here reads pictures")
async def test_a_person_logs_in_and_nobody_reads_the_password(tmp_path: Path) -> None:
    def plan(request: ReceivedRequest, count: int) -> str:
        return DONE if "a person had" in request.text else WAIT

    async with _PersistentDesktop() as desktop:
        has = await desktop.execute([GTK, "-c", "import gi; gi.require_version('Gtk', '3.0')"])
        if has.exit_code:
            pytest.skip("GTK is not there for Python")
        await desktop.write_file("/tmp/login.py", LOGIN.encode())
        await desktop.execute(f"setsid -f {GTK} /tmp/login.py >/dev/null 2>&1")
        observation = await observe_until(
            desktop, lambda look: _part(look, PASSWORD_ROLE) is not None
        )
        async with watch_run(tmp_path, plan, form=desktop) as run:
            client = await run.client()
            await client.step(1)
            lease = (await client.ask("take", viewer="Ruth"))["lease"]

            async def do(*acts: dict[str, Any]) -> None:
                assert (await client.ask("input", lease=lease, acts=acts)) == {"ok": True}

            await do(_click(observation, "text", "Account"), {"kind": "type", "text": "Grace"})
            await do(_click(observation, PASSWORD_ROLE), {"kind": "type", "text": PASSWORD})
            await do(_click(observation, "push button", "Tell"))
            assert (await client.ask("frame"))["data"]
            line = (await client.ask("give", lease=lease))["line"]
            assert (await run.result()).status == "succeeded"
    folder = next((tmp_path / "runs").iterdir())
    acted = [e.text for e in run.events if e.type == "person_acted" and e.did == "acted"]
    typed = [text for text in acted if "click" not in text]
    assert typed == ["pyautogui.write('Grace')", "pyautogui.write('{{secret:typed_1}}')"]
    assert leaks(run, folder, PASSWORD) == []
    assert "Grace" in line
    assert line in run.prompts()[-1]
    assert not any(PASSWORD[:9] in words for words in read_words(folder))
