"""What lies under something in a page is not clicked, whatever that is made of."""

from __future__ import annotations

import shutil

import pytest

from hisa.actions import Click, Hotkey, Press, Write
from hisa.errors import NotFound
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.observation import Observation
from tests.environments.conformance import observe_until
from tests.grounder.scenes import call

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]

SAVE = (
    "<button style='position:absolute;left:100px;top:100px;width:120px;height:30px'"
    " onclick='document.title=\"Saved\"'>Save draft</button>"
    "<button style='position:absolute;left:600px;top:500px'>Help</button>"
)
OVER = "position:fixed;left:0;top:60px;width:500px;height:120px"
STRIPES = "background:repeating-linear-gradient(45deg,#ffd,#ffd 8px,#dda 8px,#dda 16px)"
COVERED = {
    "banner": f"{SAVE}<div style='{OVER};background:#ffd'>Cookies {'and more ' * 60}</div>",
    "first": f"<div style='{OVER};z-index:9;{STRIPES}'>Cookies</div>{SAVE}",
    "dialog": f"{SAVE}<dialog open style='{OVER};margin:0;{STRIPES}'>Welcome</dialog>",
    "toast": f"{SAVE}<div style='position:fixed;left:80px;top:90px;width:200px;height:60px;"
    "background:#333;color:#fff'>Uploading your files now</div>",
    "veil": f"{SAVE}<div style='position:fixed;inset:0;background:rgba(0,0,0,.4)'></div>",
}
OPEN = {
    "drawn": f"{SAVE}<div style='{OVER};pointer-events:none;border:1px solid red'>Draft</div>",
    "half": f"{SAVE}<div style='position:fixed;left:0;top:60px;width:180px;height:120px;"
    "background:#ffd'>Drafts</div>",
}


async def _open_page(desktop: DesktopEnvironment, name: str, body: str) -> Observation:
    page = f"<!doctype html><meta charset=utf-8><title>{name}</title>{body}"
    await desktop.write_file(f"/tmp/{name}.html", page.encode())
    await desktop.act([Hotkey(("ctrl", "l")), Write(f"file:///tmp/{name}.html"), Press("enter")])
    return await observe_until(
        desktop,
        lambda look: (
            _title(look).startswith(f"{name} ")
            and any(e.name == "Save draft" for e in look.elements or ())
        ),
    )


def _title(look: Observation) -> str:
    return look.active.title if look.active else ""


async def test_covered_control_is_refused_and_open_one_is_clicked() -> None:
    grounder = ElementsGrounder(emit=lambda event: None)
    async with DesktopEnvironment() as desktop:
        await desktop.execute("chromium --start-maximized about:blank >/dev/null 2>&1 &")
        await observe_until(desktop, lambda look: "Chromium" in _title(look))
        for name, body in COVERED.items():
            look = await _open_page(desktop, name, body)
            with pytest.raises(NotFound, match="covered by"):
                await grounder.resolve(call("the button Save draft"), look)
        for name, body in OPEN.items():
            look = await _open_page(desktop, name, body)
            (place,) = (await grounder.resolve(call("the button Save draft"), look)).places
            await desktop.act([Click(look.convert(place.point, "screen"))])
            look = await observe_until(desktop, lambda look: _title(look).startswith("Saved"))
            assert _title(look).startswith("Saved"), name
