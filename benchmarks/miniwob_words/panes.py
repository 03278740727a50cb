"""Scripts of pages with sections, tabs and menus; see `pages`."""

from __future__ import annotations

from benchmarks.miniwob_words.script import (
    BUTTON,
    Calls,
    Seen,
    click,
    hover,
    named,
    page,
    submit,
)


@page("click-collapsible")
def _collapsible(see: Seen) -> Calls:
    name = see.find(r"(Section #\d+)")
    yield click(
        f"blue collapsed section header '{name}'", f"the blue bar labeled '{name}'", at=named(name)
    )
    yield submit("'Submit' button below the expanded section")


@page("click-collapsible-2")
def _collapsible_2(see: Seen) -> Calls:
    link = see.quoted[0]
    for number in (1, 2, 3):
        name = f"Section #{number}"
        if see.shows(link):
            break
        yield click(f"blue header bar '{name}' (collapsed section)", at=named(name))
    yield click(
        f"blue underlined link '{link}' in the expanded section's text",
        f"link '{link}'",
        at=named(link, "link", "static"),
    )


@page("click-tab")
def _click_tab(see: Seen) -> Calls:
    name = see.word(r"(Tab #\d)")
    yield click(f"tab header '{name}' in the tab bar at the top", at=named(name))


@page("click-tab-2")
def _click_tab_2(see: Seen) -> Calls:
    link = see.quoted[0]
    for number in (2, 3):
        if see.shows(link):
            break
        yield click(
            f"tab 'Tab #{number}' (unselected, to the right of 'Tab #{number - 1}')",
            at=named(f"Tab #{number}"),
        )
    yield click(f"link '{link}' in the tab's text", at=named(link, "link", "static"))


@page("click-tab-2-hard")
def _click_tab_2_hard(see: Seen) -> Calls:
    link = see.quoted[0]
    for number in range(2, 7):
        if see.shows(link):
            break
        yield click(
            f"tab labeled '{number}' in the row of tabs", f"tab '{number}'", at=named(str(number))
        )
    yield click(
        f"hyperlink '{link}' within the paragraph of the selected tab",
        at=named(link, "link", "static"),
    )


@page("click-menu")
def _click_menu(see: Seen) -> Calls:
    *parents, leaf = [part.strip() for part in see.task.removeprefix("Select ").split(">")]
    for parent in parents:
        yield hover(
            f"menu entry '{parent}' with the submenu arrow on its right",
            f"'{parent}' menu item",
            at=named(parent),
        )
    yield click(
        f"menu entry '{leaf}'" + (f" in the submenu of '{parents[-1]}'" if parents else ""),
        f"'{leaf}' menu item",
        at=named(leaf),
    )


@page("click-menu-2")
def _click_menu_2(see: Seen) -> Calls:
    name = see.quoted[1] if len(see.quoted) > 1 else ""
    if not name:
        raise LookupError("the item is told by its icon alone")
    yield click("grey 'Menu' button", at=named("Menu", BUTTON))
    if name in ("Prev", "Stop", "Play", "Next"):
        yield hover(
            "'Playback' entry of the opened menu (has a submenu arrow)", at=named("Playback")
        )
    yield click(
        f"'{name}' item in the menu, with an icon on its left",
        f"menu item '{name}'",
        at=named(name),
    )


@page("click-pie")
def _click_pie(see: Seen) -> Calls:
    name = see.quoted[0]
    yield click(
        "round dark button with a plus sign in the centre of the page",
        "the '+' in the middle of the dark circle",
    )
    yield click(
        f"slice labeled '{name}' of the expanded pie menu",
        f"'{name}' in the ring around the centre",
        at=named(name),
    )


@page("navigate-tree")
def _navigate_tree(see: Seen) -> Calls:
    name = see.quoted[0]
    for _ in range(4):
        if see.shows(name):
            break
        yield click("'+' box to the left of the first collapsed folder in the file tree")
    yield click(
        f"'{name}' entry in the file tree (label to the right of its icon)",
        f"tree item '{name}'",
        at=named(name),
    )
