"""What a browser shows in bubbles of its own is in front, and can be clicked."""

from __future__ import annotations

import asyncio

import pytest

from hisa.actions import Hotkey
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.screen.bubbles import bubbles
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation, Window
from tests.grounder.scenes import call, element, scene

SHOWN = frozenset({"enabled", "sensitive", "showing", "visible"})
PAGE, BUBBLE = "Orders - Browser", "Bookmark added"


def a_bubble(*, listed: bool = False) -> Observation:
    """A browser's page with a button, and its bubble over that, which X does not list."""
    over, in_page = {"app": "Browser", "window": BUBBLE}, {"app": "Browser", "window": PAGE}
    windows = [Window("1", PAGE, "Browser", BoundingBox(0, 0, 1000, 700, "screen"), active=True)]
    if listed:
        windows.insert(0, Window("2", BUBBLE, "Browser", BoundingBox(350, 90, 800, 320, "screen")))
    return scene(
        element("frame", PAGE, (0, 0, 1000, 700), states=SHOWN, **in_page),
        element("push button", "Filter", (400, 150, 60, 30), states=SHOWN, **in_page),
        element("push button", "Sort", (100, 150, 60, 30), states=SHOWN, **in_page),
        element("dialog", BUBBLE, (350, 90, 450, 230), states=SHOWN | {"active"}, **over),
        element("entry", "Bookmark name", (560, 150, 220, 38), states=SHOWN, **over),
        element("push button", "Done", (690, 262, 90, 38), states=SHOWN, **over),
        windows=tuple(windows),
    )


async def find_click(description: str, observation: Observation) -> tuple[int, int]:
    grounder = ElementsGrounder(emit=lambda _: None, read=lambda *_: ())
    (place,) = (await grounder.resolve(call(description), observation)).places
    return place.point.to_pixels()


@pytest.mark.parametrize(
    ("description", "place"),
    [
        ("the Done button", (735, 281)),
        ("the 'Bookmark name' field", (670, 169)),
        ("the Sort button", (130, 165)),
    ],
)
async def test_control_in_a_browser_bubble_is_clicked(
    description: str, place: tuple[int, int]
) -> None:
    assert await find_click(description, a_bubble()) == place


@pytest.mark.desktop
async def test_the_form_of_a_real_browsers_bookmark_is_found() -> None:
    async with DesktopEnvironment() as desktop:
        await desktop.execute("setsid -f chromium --no-first-run about:blank >/dev/null 2>&1")
        for _ in range(100):
            if any("about:blank" in w.title for w in (await desktop.observe()).windows):
                break
            await asyncio.sleep(0.2)
        await desktop.act([Hotkey(("ctrl", "d"))])
        for _ in range(100):
            observation = await desktop.observe(elements=True, settle=1.0)
            if observation.complete and bubbles(observation):
                break
            await asyncio.sleep(0.2)
        (title,) = bubbles(observation)
        (button,) = [
            e for e in observation.elements or () if e.window == title and e.name == "Done"
        ]
        grounder = ElementsGrounder(emit=lambda _: None)
        grounded = await grounder.resolve(
            call(f"the Done button in the '{title}' bubble"), observation
        )
        assert button.box.contains(observation.convert(grounded.places[0].point, "screen"))
