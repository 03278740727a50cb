"""The pages: twenty to work with, twenty that are reported once; fixed before any agent saw one.

Sixteen working pages were named when the comparison was planned. Of the others that a model
without eyes can be asked, four more to work with and then twenty to report were drawn by
``draw``. A page is left out by its kind, which its name and source tell (`kind`):

- *drawn*: its task is a drawing (SVG, canvas, MiniWoB's own shapes, or "visual" in its name);
- *colour*: its name tells of colours or shades, or it has a colour picker;
- *dragged*: it is solved by dragging, by a slider, by selecting text with the mouse or by where the
  pointer moves;
- *other ground*: the three pages of FlightWoB, which BrowserGym does not have.

Pages that differ by a delay or a size only are pages of their own here, on both sides of the split.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

__all__ = ["REPORTED", "WORKING", "draw", "kind", "kinds"]

_NAMED = (
    "click-test", "click-test-2", "click-button", "click-link", "click-option",
    "click-checkboxes", "click-dialog", "focus-text", "enter-text", "login-user", "click-tab",
    "click-collapsible", "navigate-tree", "use-spinner", "search-engine", "email-inbox-delete",
)  # fmt: skip
WORKING: tuple[str, ...] = (
    *_NAMED, "book-flight-nodelay", "email-inbox-important", "enter-time", "scroll-text",
)  # fmt: skip
"""Failures on these may be looked at, and what is built may be changed for them."""
REPORTED: tuple[str, ...] = (
    "buy-ticket", "choose-date", "choose-date-easy", "choose-list", "click-tab-2",
    "click-test-transfer", "email-inbox-forward", "enter-text-dynamic", "guess-number",
    "login-user-popup", "multi-orderings", "order-food", "read-table-2", "sign-agreement",
    "simple-algebra", "simple-arithmetic", "social-media", "unicode-test", "use-autocomplete",
    "use-autocomplete-nodelay",
)  # fmt: skip
"""No agent is run on these before everything else is settled; then once."""

_SEED = 20261125
"""The day of the draw."""
_KINDS = {
    "dragged": r"draggable\(|sortable\(|\.slider\(|resizable\(|d3\.drag|getSelection|Quill|"
    r"mousedown|mousemove",
    "drawn": r"<svg|<canvas|shapes\.js|raphael",
    "colour": r"jscolor",
}
_NAMES = {"dragged": r"^drag-", "drawn": r"^draw-|^visual-", "colour": r"color|shade"}


def kind(page: str, source: str) -> str:
    """Returns why a page is left out of the draw, or an empty text if it is in it.

    Args:
        page: its name.
        source: its HTML with its own scripts.
    """
    if "." in page:
        return "other ground"
    for name, pattern in _KINDS.items():
        if re.search(_NAMES[name], page) or re.search(pattern, source):
            return name
    return ""


def kinds() -> dict[str, str]:
    """Returns the kind of each page of the installed MiniWoB++.

    Raises:
        UsageError: the pages are not installed.
    """
    from importlib.util import find_spec
    from pathlib import Path

    from hisa.plugins.gym.miniwob import package

    names = package.tasks()
    spec = find_spec("miniwob")
    assert spec is not None
    assert spec.submodule_search_locations
    html = Path(spec.submodule_search_locations[0], "html")
    return {
        name: kind(name, (html / package.page_path(name)).read_text("utf-8", "replace"))
        for name in names
    }


def draw(kinds: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the four working and the twenty reported pages that were drawn.

    Args:
        kinds: of every page; those with an empty one are drawn from.
    """
    names = sorted(page for page, why in kinds.items() if not why and page not in _NAMED)
    drawn = random.Random(_SEED).sample(names, 24)
    return tuple(sorted(drawn[:4])), tuple(sorted(drawn[4:]))
