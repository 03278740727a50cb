"""Tagged sections of a user message: ``<task>`` … ``</task>``, each tag alone on its line.

An opening tag may have a mark after its name, as ``<last_output untrusted>``.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["read_sections"]


def read_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """The bodies of the sections that are there, by name.

    Sections are looked for in the order of ``names``, each after the end of the one before. A
    section runs from its first opening line to its last closing line, so that text inside one
    which only looks like a tag stays text.

    Args:
        text: the message.
        names: tag names in the order in which the message is written.
    """
    lines = text.split("\n")
    marks: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("<"):
            tag = line.rstrip().replace(" untrusted>", ">")
            marks.setdefault(tag, []).append(number)
    found: dict[str, str] = {}
    start = 0
    for name in names:
        opening = next((n for n in marks.get(f"<{name}>", ()) if n >= start), None)
        closing = max(marks.get(f"</{name}>", ()), default=-1)
        if opening is None or closing <= opening:
            continue
        found[name] = "\n".join(lines[opening + 1 : closing])
        start = closing + 1
    return found
