"""Roles and states of accessibility that more than one part treats specially.

Collectors spell them in lower case with blanks: "push button", "multi-line". The guest, which
stands alone, has the sets of its own that reading the tree takes.
"""

from __future__ import annotations

__all__ = ["CONTAINERS", "COVERED", "CUT", "DIALOGS", "FIELDS", "LAYOUT", "MULTI_LINE", "PASSWORD"]

FIELDS = frozenset(
    {"text", "entry", "password text", "combo box", "spin button", "search box", "text box"}
    | {"editbar", "date editor", "autocomplete", "terminal"}
)
"""Roles that take text or a value and are named by their label."""

COVERED = "covered"
"""The state of what a browser says that a click in its middle does not meet."""
CUT = "cut"
"""The state of what holds thousands of others: only those that show are told."""

MULTI_LINE = frozenset({"multi-line", "multi line"})
"""The state of a text that has several lines, as collectors spell it."""

CONTAINERS = frozenset(
    {"frame", "window", "dialog", "alert", "panel", "filler", "application", "scroll pane"}
    | {"root pane", "layered pane", "split pane", "viewport", "section", "grouping", "form"}
    | {"file chooser", "option pane", "internal frame", "desktop frame", "page tab list"}
    | {"menu bar", "tool bar", "table", "list", "list box", "tree", "tree table", "document frame"}
)
"""Roles that hold others; chosen only when asked for or when nothing inside fits."""

DIALOGS = frozenset({"dialog", "alert", "file chooser"})
"""Roles of what asks or tells one thing."""

LAYOUT = frozenset(
    {"filler", "layered pane", "menu bar", "page tab list", "panel", "root pane", "scroll pane"}
    | {"separator", "split pane", "tool bar", "viewport"}
)
"""Roles that only arrange others: without a name they say nothing to a planner."""

PASSWORD = "password text"
"""The role of a field whose text is never told."""
