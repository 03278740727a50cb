"""Changes of the screen told in sentences, from the lines of `hisa.state.changes`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hisa.text.prompt_text import short

__all__ = ["change_sentences"]

_WINDOWS = frozenset({"window", "dialog", "alert", "file chooser", "frame", "notification"})
_STATES = frozenset({"checked", "selected", "expanded", "pressed"})
_ROLE_LINE = re.compile(r'[+-] (?P<role>[^"]{1,40}?) "(?P<name>.*?)"(?: text="(?P<text>.*)")?')
_CHANGE_LINE = re.compile(
    r'[~!] (?P<role>[^"]{1,40}?) "(?P<name>.*?)": "(?P<old>.*?)" -> "(?P<new>.*)"'
)
_ORDER_LINE = re.compile(r'order: ([^"]{1,40}?) "(.*?)" before ([^"]{1,40}?) "(.*)"')


def change_sentences(lines: Sequence[str]) -> Iterator[str]:
    """Sentences, the most informative first.

    What the step acted on, then windows, values, additions, removals, the focus.
    """
    added, gone = _roles(lines, "+"), _roles(lines, "-")
    yield from _values([line for line in lines if line.startswith("!")], most=len(lines))
    yield from _windows(lines, added, gone)
    values = [*_values([line for line in lines if line.startswith("~")], most=2)]
    yield from values
    if rows := [pair[1] for pair in added if pair[0] == "terminal"]:
        yield f"New in the terminal: “{rows[0]}”."
    if order := next((hit for line in lines if (hit := _ORDER_LINE.match(line))), None):
        first, second = (f"{order[at]} “{short(order[at + 1], 40)}”" for at in (1, 3))
        yield f"{first[:1].upper()}{first[1:]} now stands before {second}."
    if chosen := next((line for line in lines if line.startswith("selection: ")), ""):
        yield f"The text “{short(chosen[12:-1], 100)}” is selected."
    told = " ".join(values)
    shown = [pair for pair in added if pair[0] not in _WINDOWS | {"terminal"} and pair[1]]
    if shown := [pair for pair in shown if f"“{pair[1]}”" not in told]:
        yield f"New on the screen: {_listed(shown)}."
    if left := [pair for pair in gone if pair[1] and pair[0] not in _WINDOWS]:
        yield f"Gone: {_listed(left)}."
    if focus := next((line for line in lines if line.startswith("focus:")), ""):
        yield f"The focus is on {short(focus.rpartition('->')[2], 80)}."
    if look := next((line for line in lines if line.startswith("look:")), ""):
        yield f"The look of {short(look[6:], 80)} changed; no listed text or value did."


def _windows(
    lines: Sequence[str], added: Sequence[tuple[str, str]], gone: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """A sentence on what opened, else on what closed, else on the window that came to the front."""
    opened = [pair for pair in added if pair[0] in _WINDOWS]
    closed = [pair for pair in gone if pair[0] in _WINDOWS and pair[1]]
    front = next((line for line in lines if line.startswith("window:")), "")
    if opened:
        role, name = next((pair for pair in opened if pair[1]), opened[0])
        yield f"{role.capitalize()} “{name}” appeared." if name else f"A {role} appeared."
    if closed:
        yield f"{closed[0][0].capitalize()} “{closed[0][1]}” is gone."
    elif front and not opened:
        yield f"The window in front is now “{short(front.rpartition(' -> ')[2], 80)}”."


def _values(lines: Sequence[str], *, most: int) -> Iterator[str]:
    """A sentence on the values that changed; things to which the same befell share a clause."""
    told: dict[str, list[str]] = {}
    for found in [hit for line in lines if (hit := _CHANGE_LINE.match(line))][:most]:
        thing, change = _value(found)
        told.setdefault(change, []).append(thing)
    if told:
        yield "; ".join(_clause(things, change) for change, things in told.items()) + "."


def _clause(things: Sequence[str], change: str) -> str:
    *first, last = things
    if not first:
        return f"{last} {change}"
    plural = re.sub(r"^now reads", "now read", change)
    if plural == change:
        plural = change.replace("is n", "are n")
    rest = [f"{thing[:1].lower()}{thing[1:]}" for thing in (*first[1:], last)]
    return f"{', '.join((first[0], *rest[:-1]))} and {rest[-1]} {plural}"


def _roles(lines: Sequence[str], sign: str) -> list[tuple[str, str]]:
    found = (_ROLE_LINE.match(line) for line in lines if line.startswith(f"{sign} "))
    return [
        (hit["role"], short(hit["text"] or hit["name"], 120 if hit["role"] == "terminal" else 60))
        for hit in found
        if hit
    ]


def _value(found: re.Match[str]) -> tuple[str, str]:
    """Returns the thing that changed and what it is now."""
    name = f" “{short(found['name'], 30)}”" if found["name"] else ""
    thing = f"{found['role'].capitalize()}{name}"
    old, new = set(found["old"].split()), set(found["new"].split())
    if (old | new) <= _STATES and old != new:
        said = [f"is now {state}" for state in sorted(new - old)]
        said += [f"is no longer {state}" for state in sorted(old - new)]
        return thing, " and ".join(said)
    return thing, f"now reads “{short(found['new'], 70)}”"


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{role} “{name}”" for role, name in pairs[:3])
    return f"{shown} and {len(pairs) - 3} more" if len(pairs) > 3 else shown
