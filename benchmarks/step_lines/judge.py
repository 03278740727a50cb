"""Each claim of a line held against what the page's log, UNO or a file says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Judgement", "Source", "judge_line"]

Verdict = Literal["true", "false", "not known", "left out"]

_QUOTED = re.compile(r"“(.*?)”(?=[,.;: ]|$)")
_READS = re.compile(r"(?P<thing>[^.;]*?)now reads? “(?P<new>.*?)”(?=[.;]|$)")
_NAMED = re.compile(r"“([^”]*)”")
_STATE = re.compile(
    r"(?P<name>[^.;“]*“[^”]*”[^.;“]*?) (?:is|are) (?P<not>now|no longer) "
    r"(?P<state>checked|selected|expanded|pressed|not \w+)"
)
_NEW = re.compile(r"(?:New on the screen|New text): (.*?)\.(?= [A-Z]|$)")
_GONE = re.compile(r"(?:Gone|Text gone): (.*?)\.(?= [A-Z]|$)")
_WINDOW_GONE = re.compile(r"(?:Window|Dialog|Alert|Frame|File chooser) “([^”]*)” is gone\.")
_APPEARED = re.compile(
    r"(?:Window|Dialog|Alert|Frame|File chooser|Notification) “([^”]*)” appeared"
)
_FRONT = re.compile(r"The window in front is now “(.*?)”\.")
_CAME_UP = re.compile(
    r"“(.*?)” (?:says the [\w ]+?(?: “[^”]*”)? that came up|came up on the screen)"
)
_STANDS = re.compile(r"“(.*?)” stands in")
_HOLDS = re.compile(r"which holds (?:what was typed: )?\"(.*?)\"")
_SELECTED = re.compile(r"[Tt]he text “(.*?)” is selected")
_BEFORE = re.compile(r"“([^”]*)” (?:now )?stands before [^“.]*“([^”]*)”")
_FILES = re.compile(r"The files? (.*?) (?:was|were) written\.")


@dataclass(frozen=True)
class Source:
    """What is known of the screen by other ways than the looks.

    ``texts`` are the words that show, each as often as it does; with ``whole`` False there may be
    more (menus, tool bars). ``refused`` counts what was said against an act so far. ``own`` is what
    goes on by itself, such as a clock, and in none of the others; None: that is not known.
    """

    texts: Sequence[str] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)
    windows: Sequence[str] = ()
    active: str = ""
    refused: int = 0
    whole: bool = True
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    own: Sequence[str] | None = None


@dataclass(frozen=True)
class Judgement:
    """The claims of a line, each with its verdict; one that tells nothing of the act is empty."""

    claims: tuple[tuple[str, Verdict], ...]

    @property
    def false(self) -> bool:
        """Whether a claim is false."""
        return any(verdict == "false" for _, verdict in self.claims)

    @property
    def empty(self) -> bool:
        """Whether it says nothing but its verdict or a place, or leaves out what happened."""
        if any(verdict == "left out" for _, verdict in self.claims):
            return True
        return all(claim.startswith("verdict") for claim, _ in self.claims)


def judge_line(result: str, before: Source, after: Source) -> Judgement:
    """Judge a line's result.

    Args:
        result: its last field.
        before: what held before the step.
        after: what held after it.
    """
    claims = list(_claims(result, before, after))
    return Judgement(tuple(claims))


def _claims(result: str, before: Source, after: Source) -> Iterator[tuple[str, Verdict]]:
    yield _verdict(result, before, after)
    if "no listed text or value did" in result:
        same = _content(before) == _content(after)
        yield "looks otherwise alone", "true" if same else "false"
    if "no text did" in result:
        changed = _content(before) != _content(after)
        yield "verdict: no text changed", "false" if changed else "true"
    if result.startswith("No visible change"):
        same = _content(before) == _content(after) and before.windows == after.windows
        yield "nothing changed", "true" if same else "false"
    if after.more.get("dead", 0) > before.more.get("dead", 0):
        named = after.more["disabled"] in result
        yield "tells of the disabled button", "true" if named else "false"
    for hit in _SELECTED.finditer(result):
        right = _flat(hit[1]) == _flat(after.more.get("selection", hit[1]))
        yield f"selected {hit[1]}", "true" if right else "false"
    for hit in _BEFORE.finditer(result):
        yield f"{hit[1]} before {hit[2]}", _check_order(hit[1], hit[2], after)
    for hit in _READS.finditer(result):
        names = _NAMED.findall(hit["thing"])
        if _is_own(hit["new"], before, after) and not set(names) & set(after.values):
            continue
        yield f"reads {hit['new']}", _reads(names, hit["new"], before, after)
    for hit in _STATE.finditer(result):
        for name in _NAMED.findall(hit["name"]):
            if hit["state"] == "selected" and "selected" in after.more:
                right = (name in after.more["selected"]) is (hit["not"] == "now")
                yield f"{name} {hit['not']} selected", "true" if right else "false"
            elif hit["state"] == "checked" and name in after.checks:
                right = after.checks[name] is (hit["not"] == "now")
                yield f"{name} {hit['not']} checked", "true" if right else "false"
            else:
                yield f"{name} {hit['not']} {hit['state']}", "not known"
    yield from _comings(result, before, after)
    yield from _written_down(result, after.more)


def _written_down(result: str, truth: Mapping[str, Any]) -> Iterator[tuple[str, Verdict]]:
    """What a scene wrote down of the act itself: words that are false, one thing to be told."""
    for pattern in truth.get("denies", ()):
        if re.search(pattern, result):
            yield f"says {pattern}", "false"
    patterns = truth.get("tells", ())
    if patterns:
        is_mentioned = any(re.search(pattern, result) for pattern in patterns)
        yield f"tells {' or '.join(patterns)}", "true" if is_mentioned else "left out"


def _comings(result: str, before: Source, after: Source) -> Iterator[tuple[str, Verdict]]:
    """Claims on what came, went, was said and has the focus."""
    yield from _check_lists(result, before, after)
    for pattern, earlier, later in ((_APPEARED, before, after), (_WINDOW_GONE, after, before)):
        for hit in pattern.finditer(result):
            if hit[1] in ("", "(none)") or not (earlier.windows or later.windows):
                yield f"window {hit[1]}", "not known"
                continue
            is_open = any(_is_shown_in(hit[1], title) for title in later.windows)
            inner = not is_open and _count(hit[1], later) > 0
            yield f"window {hit[1]}", "true" if is_open or inner else _unless(later.whole)
    for hit in _FRONT.finditer(result):
        yield (
            f"front {hit[1]}",
            "true" if _is_shown_in(hit[1], after.active) else _unless(after.active),
        )
    for pattern in (_CAME_UP, _STANDS):
        for hit in pattern.finditer(result):
            yield f"said {hit[1]}", "true" if _count(hit[1], after) else _unless(after.whole)
    for hit in _HOLDS.finditer(result):
        held = any(_is_shown_in(hit[1], value) for value in after.values.values())
        yield f"holds {hit[1]}", "true" if held else _unless(bool(after.values))
    for hit in _FILES.finditer(result):
        yield f"written {hit[1]}", "not known"
    if "The focus is on" in result:
        changed = after.own is not None and _content(before) != _content(after)
        yield "verdict: focus" if changed else "focus", _focus(result, after)


def _check_lists(result: str, before: Source, after: Source) -> Iterator[tuple[str, Verdict]]:
    """Claims on what came and went, but for what goes on by itself and what an edge cuts."""
    for hit in _NEW.finditer(result):
        for text in filter(_flat, _NAMED.findall(hit[1])):
            if not (_is_own(text, before, after) or _cut(text, before, after)):
                yield f"new {text}", _check_arrival(text, before, after)
    for hit in _GONE.finditer(result):
        for text in _NAMED.findall(hit[1]):
            if _is_own(text, before, after) or _cut(text, before, after):
                continue
            yield f"gone {text}", _check_arrival(text, after, before)


def _verdict(result: str, before: Source, after: Source) -> tuple[str, Verdict]:
    """Whether the verdict fits: something said against the act, or nothing.

    Where it is known what goes on by itself, an act without an effect has none in its line either.
    """
    word = result.partition(".")[0]
    if after.own is not None and word in (
        "Succeeded",
        "Changed",
        "Unexpected",
        "No visible change",
    ):
        idle = _content(before) == _content(after) and _hidden_state(before) == _hidden_state(after)
        entered = _field(before) != _field(after)  # what only a field's frame shows
        right = idle is (word == "No visible change") or (idle and entered)
        return f"verdict {word}", "true" if right else "false"
    refused = after.refused > before.refused
    if word == "Succeeded":
        return "verdict succeeded", "false" if refused else "true"
    if word == "Unexpected":
        return "verdict unexpected", "true" if refused else "false"
    return f"verdict {word}", "not known"


def _unless(known: object) -> Verdict:
    return "false" if known else "not known"


def _hidden_state(source: Source) -> tuple[object, ...]:
    return tuple(source.more.get(key) for key in ("selected", "selection", "scrolled"))


def _field(source: Source) -> str:
    field: str = source.more.get("field", "")
    return field


def _is_own(text: str, *sources: Source) -> bool:
    """Whether a text is of what goes on by itself: its words are, figures or not."""
    letters = "".join(filter(str.isalpha, text)).casefold()
    owned = [own for source in sources for own in source.own or ()]
    return any(
        letters == "".join(filter(str.isalpha, own)).casefold() or _is_shown_in(text, own)
        for own in filter(None, owned)
    )


def _cut(text: str, *sources: Source) -> bool:
    """Whether a text is cut by the edge of what it is in: it shows and does not."""
    cut = [fragment for source in sources for fragment in source.more.get("cut", ())]
    return any(_is_shown_in(text, fragment) for fragment in cut)


def _content(source: Source) -> tuple[object, ...]:
    return tuple(source.texts), dict(source.values), dict(source.checks)


def _flat(text: str) -> str:
    """The words alone; a page's list draws bullets that are no text of it."""
    return " ".join(text.replace("⏎", " ").split()).casefold().strip("… •")


def _is_shown_in(shown: str, full_text: str) -> bool:
    """Whether a text is shown there, shortened or not."""
    parts = [_flat(part) for part in shown.split("…") if _flat(part)]
    return all(part in _flat(full_text) for part in parts) and bool(parts)


def _count(text: str, source: Source) -> int:
    everything = [*source.texts, *source.values, *source.values.values(), *source.checks]
    joined = " ".join(source.texts)
    hits = sum(_is_shown_in(text, part) for part in everything)
    return hits or int(_is_shown_in(text, joined))


def _check_arrival(text: str, before: Source, after: Source) -> Verdict:
    if _count(text, after) > _count(text, before):
        return "true"
    return _unless(before.whole and after.whole)


def _check_order(first: str, second: str, after: Source) -> Verdict:
    places = [
        [at for at, shown in enumerate(after.texts) if _is_shown_in(text, shown)]
        for text in (first, second)
    ]
    if not all(places):
        return _unless(after.whole)
    return "true" if places[0][0] < places[1][-1] else "false"


def _reads(named: Sequence[str], new: str, before: Source, after: Source) -> Verdict:
    values = [after.values[name] for name in named if name in after.values]
    if values:
        return (
            "true" if all(_is_shown_in(new, value) or new == value for value in values) else "false"
        )
    if new == "":
        return "not known"
    return "true" if _count(new, after) else _unless(after.whole)


def _focus(result: str, after: Source) -> Verdict:
    hit = re.search(r"The focus is on ([\w ]+?) [\"“](.*?)[\"”]", result)
    if hit is None or "focus" not in after.more:
        return "not known"
    if hit[1].startswith("document"):
        return "true" if not after.more["focus"] else "false"
    same = hit[2].strip() == after.more["focus"]
    part = after.own is not None and hit[2].endswith(after.more["focus"])  # one of a date's fields
    entry = hit[2] in after.more.get("entries", ())
    return "true" if same or part or entry else "false"
