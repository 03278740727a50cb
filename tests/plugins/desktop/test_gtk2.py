"""A program of GTK 2: GIMP 2.10, whose open menus do not say that they show."""

from __future__ import annotations

import pytest

from hisa.actions import Hotkey, Press
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree
from hisa.screen.observation import Observation


@pytest.mark.desktop
@pytest.mark.skipif(
    find_tree(recipe("osworld")) is None, reason="not built: hisa machine build osworld"
)
async def test_open_menu_is_listed_and_closed_one_is_not() -> None:
    async with DesktopEnvironment(profile="osworld") as desktop:
        await desktop.execute("convert -size 300x200 xc:red a.png; gimp a.png >/dev/null 2>&1 &")
        while not any(
            "[a]" in window.title for window in (await desktop.observe(settle=5.0)).windows
        ):
            pass
        await desktop.observe(settle=8.0)
        assert items(await desktop.observe(elements=True, settle=5.0)) == set()
        await desktop.act([Hotkey(("alt", "i"))])
        assert "Scale Image..." in items(await desktop.observe(elements=True, settle=5.0))
        await desktop.act([Press("esc")])
        assert items(await desktop.observe(elements=True, settle=5.0)) == set()


def items(look: Observation) -> set[str]:
    return {element.name for element in look.elements or () if element.role == "menu item"}
