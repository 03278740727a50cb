"""The size of the screen where nobody asks for another."""

from __future__ import annotations

import pytest

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.profile_screens import screen_of
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.screen.geometry import Size


@pytest.mark.parametrize(
    ("profile", "requested", "size"),
    [
        ("", (None, None), Size(1280, 720)),
        ("minimal", (None, None), Size(1280, 720)),
        ("a-snapshot", (None, None), Size(1280, 720)),
        ("osworld", (None, None), Size(1920, 1080)),
        ("spider2v", (None, None), Size(1920, 1080)),
        ("osworld", (800, 600), Size(800, 600)),
        ("", (800, None), Size(800, 720)),
    ],
)
def test_a_profile_has_the_screen_of_its_tasks(
    profile: str, requested: tuple[int | None, int | None], size: Size
) -> None:
    assert screen_of(profile, *requested) == size


@pytest.mark.desktop
@pytest.mark.skipif(
    find_tree(recipe("osworld")) is None, reason="not built: hisa machine build osworld"
)
async def test_desktop_starts_with_the_screen_of_its_profile() -> None:
    async with DesktopEnvironment(profile="osworld") as desktop:
        assert (await desktop.observe()).screen == screen_of("osworld")
