"""Names of AT-SPI's roles and states by number."""

from __future__ import annotations

__all__ = ["LABELLED_BY", "ROLES", "STATES", "role_name", "state_names"]

_ROLE_NAMES = """
invalid|accelerator label|alert|animation|arrow|calendar|canvas|check box|check menu item|
color chooser|column header|combo box|date editor|desktop icon|desktop frame|dial|dialog|
directory pane|drawing area|file chooser|filler|focus traversable|font chooser|frame|
glass pane|html container|icon|image|internal frame|label|layered pane|list|list item|menu|
menu bar|menu item|option pane|page tab|page tab list|panel|password text|popup menu|
progress bar|push button|radio button|radio menu item|root pane|row header|scroll bar|
scroll pane|separator|slider|spin button|split pane|status bar|table|table cell|
table column header|table row header|tearoff menu item|terminal|text|toggle button|tool bar|
tool tip|tree|tree table|unknown|viewport|window|extended|header|footer|paragraph|ruler|
application|autocomplete|editbar|embedded|entry|chart|caption|document frame|heading|page|
section|redundant object|form|link|input method window|table row|tree item|
document spreadsheet|document presentation|document text|document web|document email|
comment|list box|grouping|image map|notification|info bar|level bar|title bar|block quote|
audio|video|definition|article|landmark|log|marquee|math|rating|timer|static|math fraction|
math root|subscript|superscript|description list|description term|description value|
footnote|content deletion|content insertion|mark|suggestion|push button menu"""
ROLES = tuple(_ROLE_NAMES.replace("\n", "").split("|"))

_STATE_NAMES = """invalid active armed busy checked collapsed defunct editable enabled expandable
expanded focusable focused has-tooltip horizontal iconified modal multi-line multiselectable opaque
pressed resizable selectable selected sensitive showing single-line stale transient vertical visible
manages-descendants indeterminate required truncated animated invalid-entry supports-autocompletion
selectable-text is-default visited checkable has-popup read-only"""
STATES = tuple(_STATE_NAMES.split())

LABELLED_BY = 2
"""The relation of a field to the text beside it."""


def role_name(number: int) -> str:
    """Returns a role's name, in lower case with blanks."""
    return ROLES[number] if 0 <= number < len(ROLES) else "unknown"


def state_names(words: tuple[int, ...] | list[int]) -> list[str]:
    """Returns the names of the state bits that are set."""
    bits = sum(word << 32 * index for index, word in enumerate(words))
    return [name for index, name in enumerate(STATES) if bits >> index & 1]
