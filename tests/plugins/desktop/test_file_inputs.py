"""A page's file input in Chromium is found by what is drawn on it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from hisa.actions import Click, Slot
from hisa.machine.patience import Deadline
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import GroundedCall, ToolCall
from hisa.screen.observation import Observation

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]
PAGE = b"""<!doctype html><title>Upload</title>
<p><label>Photo <input type=file></label><p><input type=file multiple aria-label=Scans>
<p><button>Submit</button>"""
CHROMIUM = "setsid -f chromium --no-sandbox --test-type file:///tmp/page.html"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desktop() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as environment:
        await environment.write_file("/tmp/page.html", PAGE)
        await environment.execute(f"{CHROMIUM} >/dev/null 2>&1")
        yield environment


async def look_when(
    desktop: DesktopEnvironment, holds: Callable[[Observation], bool]
) -> Observation:
    deadline = Deadline(60.0)
    observation = await desktop.observe(elements=True, settle=1.0)
    while not holds(observation):
        assert not deadline.passed, [window.title for window in observation.windows]
        observation = await desktop.observe(elements=True, settle=1.0)
    return observation


def names(observation: Observation) -> set[str]:
    return {element.name for element in observation.elements or ()}


async def resolve_description(observation: Observation, description: str) -> GroundedCall:
    call = ToolCall("", "gui_action", "", description, actions=(Click(at=Slot(1)),))
    return await ElementsGrounder(emit=lambda _: None).resolve(call, observation)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ('the "Choose File" button', "Photo: No file chosen"),
        ("Choose File", "Photo: No file chosen"),
        ('the "Choose Files" button', "Scans: No file chosen"),
        ("the Submit button", "Submit"),
    ],
)
async def test_file_input_is_resolved_by_its_drawn_label(
    desktop: DesktopEnvironment, description: str, name: str
) -> None:
    observation = await look_when(desktop, lambda observation: "Submit" in names(observation))
    (place,) = (await resolve_description(observation, description)).places
    assert place.element is not None
    assert place.element.name == name
    box = observation.convert_box(place.element.box, "image")
    assert box.contains(place.point)
