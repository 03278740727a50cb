"""Accessibility roles and states that several modules treat specially.

Collectors spell them in lower case with blanks: "push button", "multi-line". The guest imports
nothing from HiSA and has separate sets for reading the tree.
"""

from __future__ import annotations

__all__ = ["CONTAINERS", "COVERED", "CUT", "DIALOGS", "FIELDS", "LAYOUT", "MULTI_LINE", "PASSWORD"]

FIELDS = frozenset(
    {"text", "entry", "password text", "combo box", "spin button", "search box", "text box"}
    | {"editbar", "date editor", "autocomplete", "terminal"}
)
"""Roles that take text or a value and are named by their label."""

COVERED = "covered"
"""The state of an element that, by the browser, would not receive a click at its middle."""
CUT = "cut"
"""The state of a container of thousands: only the visible elements in it are listed."""

MULTI_LINE = frozenset({"multi-line", "multi line"})
"""The state of a text that has several lines, as collectors spell it."""

CONTAINERS = frozenset(
    {"frame", "window", "dialog", "alert", "panel", "filler", "application", "scroll pane"}
    | {"root pane", "layered pane", "split pane", "viewport", "section", "grouping", "form"}
    | {"file chooser", "option pane", "internal frame", "desktop frame", "page tab list"}
    | {"menu bar", "tool bar", "table", "list", "list box", "tree", "tree table", "document frame"}
)
"""Roles of containers; chosen only when described or when no element inside matches."""

DIALOGS = frozenset({"dialog", "alert", "file chooser"})
"""Roles of windows that ask one question or show one message."""

LAYOUT = frozenset(
    {"filler", "layered pane", "menu bar", "page tab list", "panel", "root pane", "scroll pane"}
    | {"separator", "split pane", "tool bar", "viewport"}
)
"""Roles that only arrange others: without a name they are of no use to a planner."""

PASSWORD = "password text"
"""The role of a field whose text is never shown."""
