"""Finds the steps done and left to do, from the step lines, the task's words and the screen.

These are plain rules for a model that is too small to find out; they leave out uncertain things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hisa.actions import Action, Click, Write, parse, points
from hisa.errors import ActionRefused
from hisa.screen.geometry import BoundingBox
from hisa.text.prompt_text import excerpt
from hisa.text.words import quotes, tokens

__all__ = [
    "Mark",
    "PastStep",
    "build_mark_lines",
    "changed_nothing",
    "list_to_do",
    "read_past_steps",
]

_FIELDS = re.compile(r" \| (Thought|Description|Input|Result): ")
_HEAD = re.compile(r"Step (\d+): (.*)")
_NUMBER = re.compile(r"(?<![\w#.,:/-])-?\d+(?:[./:-]\d+)*(?: ?[AP]M\b|(?![\w.,:/%-]*\w))")
"""A number, date, time or other sequence of digits."""
_NO_CHANGE = "No visible change"
_CLICKS = frozenset({"click", "press", "hotkey"})
_VERBS = {"drag": "dragged", "click": "clicked", "scroll": "scrolled"}
_TARGET, _RESULT, _INPUT = 50, 90, 50
"""Most characters of a step's parts, so that its line has some 40 tokens."""
_BETWEEN = 2
"""Most words between a field's name and its value in the task."""
_MOST, _WORDS = 4, 70
"""Most things listed as still to do, and most characters of each."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One entry of a list of the screen; the first entry has the number 1.

    ``kind`` is a plain word for the role, ``line`` the entry without its number, made safe.
    """

    line: str
    kind: str
    name: str
    value: str
    box: BoundingBox
    """Its box, in image space."""
    is_text: bool = False
    """Whether it is only text to read."""
    takes_text: bool = False
    """Whether it can be typed into."""
    is_line: bool = False
    """Whether it is a field of one line, whose text is replaced as a whole."""
    is_filled: bool = False
    """Whether it has text."""
    is_off: bool = False
    """Whether it is a box that is not ticked."""
    is_on: bool = False
    """Whether it is ticked, or selected from several."""
    repeats_task: bool = False
    """Whether it shows the task's own words."""


@dataclass(frozen=True)
class PastStep:
    """A step, as read from its line."""

    step: str
    tool: str
    target: str = ""
    source: str = ""
    result: str = ""
    actions: tuple[Action, ...] = ()

    @property
    def typed_text(self) -> str:
        """The typed text; empty without typing."""
        return "".join(action.text for action in self.actions if isinstance(action, Write))

    @property
    def verb(self) -> str:
        """The act on its target, as a participle."""
        if self.typed_text:
            return "typed into"
        kinds = [action.kind for action in self.actions]
        return next((word for kind, word in _VERBS.items() if kind in kinds), "used")

    @property
    def has_changed(self) -> bool:
        """Whether it had a visible effect."""
        return not self.result.startswith((_NO_CHANGE, "Failed"))

    @property
    def line(self) -> str:
        """The step in short, with the beginning of its result."""
        target = excerpt(self.target, _TARGET)
        if self.typed_text:
            act = f'typed "{excerpt(self.typed_text, _INPUT)}"' + (
                f" into {target}" if target else ""
            )
        elif any(isinstance(action, Click) for action in self.actions):
            act = f"clicked {target}"
        else:
            source = self.source.replace("pyautogui.", "") if self.actions else self.source
            act = f"{'' if self.actions else self.tool + ' '}{excerpt(source, _INPUT)} {target}"
        return f"{self.step}. {act.strip()}: {excerpt(self.result, _RESULT)}"

    @property
    def has_clicked(self) -> bool:
        """Whether it clicked without typing, or pressed keys; a scroll does not count."""
        return not self.typed_text and any(action.kind in _CLICKS for action in self.actions)

    def was_on(self, mark: Mark) -> bool:
        """Whether it acted on this entry: at its place, and by its name."""
        name = _flat(mark.name.replace('"', "'"))[:30]
        named = not name or f'"{name}' in _flat(self.target)
        return named and any(mark.box.contains(point) for point in points(self.actions))


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def read_past_steps(lines: Sequence[str]) -> list[PastStep]:
    """Reads steps from lines as `hisa.state.lines` writes them."""
    return [_read_past_step(line) for line in lines]


def changed_nothing(steps: Sequence[PastStep]) -> bool:
    """Whether there were acts, and none of them had a visible effect."""
    acts = [step for step in steps if step.tool != "wait"]
    return bool(acts) and not any(step.has_changed for step in acts)


def _read_past_step(line: str) -> PastStep:
    head, *parts = _FIELDS.split(line)
    fields = dict(zip(parts[::2], parts[1::2], strict=False))
    head_match = _HEAD.match(head)
    step, tool = (head_match[1], head_match[2]) if head_match else ("", head)
    source = fields.get("Input", "")
    try:
        actions = parse(source) if tool == "gui_action" else ()
    except ActionRefused:  # the line was cut to its limit
        actions = ()
    return PastStep(
        step, tool, fields.get("Description", ""), source, fields.get("Result", ""), actions
    )


def build_mark_lines(marks: Sequence[Mark], steps: Sequence[PastStep]) -> Iterator[str]:
    """Yields the lines of a list, each with the last step that acted on its entry."""
    for number, mark in enumerate(marks, 1):
        last = next((step for step in reversed(steps) if step.was_on(mark)), None)
        words = ""
        if last is not None:
            quiet = "" if last.has_changed else ", nothing changed"
            words = f" ({last.verb} in step {last.step}{quiet})"
        yield f"{number} {mark.line}{words}"


def list_to_do(instruction: str, marks: Sequence[Mark], steps: Sequence[PastStep]) -> list[str]:
    """Returns what the task names and no step has done, in the order of the task's words.

    These are quoted texts and numbers that were not typed and are not on the screen, and named
    things on the screen that were not acted on.

    Args:
        instruction: of the task.
        marks: the entries of the list.
        steps: done so far.
    """
    shown = [mark for mark in marks if not mark.repeats_task]
    missing: dict[int, str] = {}
    typed_texts = {_flat(step.typed_text) for step in steps}
    for at, numbers, mark in _find_targets(instruction, shown):
        clicked = any(
            step.has_clicked and step.was_on(shown[n - 1]) for step in steps for n in numbers
        )
        if not (clicked or mark.is_on or _flat(mark.name) in typed_texts):
            verb = "tick" if mark.is_off else "click"
            which = f"element {numbers[0]}"
            if len(numbers) > 1:
                which = f"one of the elements {', '.join(map(str, numbers))}"
            missing.setdefault(at, f'{verb} {which}: {mark.kind} "{excerpt(mark.name, _TARGET)}"')
    typed = "\n".join(
        step.typed_text for step in steps if step.has_changed and _is_in_field(step, shown)
    ).casefold()
    screen = "\n".join(f"{mark.name}\n{mark.value}" for mark in shown).casefold()
    names = frozenset().union(*(tokens(mark.name) for mark in shown))
    for value in _values(instruction):
        if value.casefold() in f"{typed}\n{screen}" or tokens(value) <= names:
            continue
        at = instruction.find(value)
        field = _field_for(instruction[:at], shown)
        is_typed = field or any(mark.is_line for mark in shown)
        missing.setdefault(at, f'type "{value}"{field}' if is_typed else f'find "{value}"')
    return [excerpt(missing[at], _WORDS) for at in sorted(missing)][:_MOST]


def _is_in_field(step: PastStep, marks: Sequence[Mark]) -> bool:
    """Whether a step's text is still in its field, as far as the field is listed."""
    fields = (mark for mark in marks if mark.is_line and step.was_on(mark))
    return all(not step.typed_text or _holds(mark, step.typed_text) for mark in fields)


def _holds(mark: Mark, text: str) -> bool:
    """Whether a field has a text, or may have it if only its being filled is known."""
    value = mark.value.casefold()
    return mark.is_filled and (not value or text.casefold() in value or value.endswith("…"))


def _field_for(before: str, marks: Sequence[Mark]) -> str:
    """Returns words for the empty field named last before a value, or for the only field."""
    lines = [(at, mark) for at, mark in enumerate(marks, 1) if mark.is_line]
    empty = [(at, mark) for at, mark in lines if not mark.is_filled]
    flat = _flat(before)
    named = [(flat.rfind(_flat(m.name.rstrip(":* "))), at, m) for at, m in empty if m.name]
    place, number, mark = max(named, key=lambda item: item[0], default=(-1, 0, None))
    if mark and len(flat[place + len(mark.name) :].split()) > _BETWEEN:
        place = -1
    if place < 0 and len(lines) == 1:
        number, mark = lines[0]
    return f" into element {number}" if mark and (place >= 0 or len(lines) == 1) else ""


def _values(instruction: str) -> list[str]:
    """Returns the quoted texts and the numbers of a task."""
    quoted = quotes(instruction)
    rest = instruction
    for value in quoted:
        rest = rest.replace(value, " ")
    return list(dict.fromkeys([*quoted, *_NUMBER.findall(rest)]))


def _find_targets(instruction: str, marks: Sequence[Mark]) -> Iterator[tuple[int, list[int], Mark]]:
    """Yields as `_find_named`, but of things with the same name only those whose line fits best."""
    groups: dict[tuple[str, str], list[tuple[int, int, Mark]]] = {}
    for at, number, mark in _find_named(instruction, marks):
        groups.setdefault((mark.kind, _flat(mark.name)), []).append((at, number, mark))
    words = tokens(instruction)
    for group in groups.values():
        fits = [len(tokens(mark.line) & words) for _, _, mark in group]
        best = [item for item, fit in zip(group, fits, strict=True) if fit == max(fits)]
        yield best[0][0], [number for _, number, _ in best], best[0][2]


def _find_named(instruction: str, marks: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Yields clickable entries that the task names: the place in the task, number and entry.

    Letter case matters only if another name differs from it in case alone.
    """
    quoted = set(quotes(instruction))
    for number, mark in enumerate(marks, 1):
        read_or_typed = (mark.is_text or mark.takes_text) and mark.name not in quoted
        if read_or_typed or len(mark.name) < 2:
            continue
        pattern = rf"(?<!\w){re.escape(mark.name)}(?!\w)"
        exact = re.search(pattern, instruction)
        has_double = any(m.name.casefold() == mark.name.casefold() for m in marks if m is not mark)
        place = exact or (None if has_double else re.search(pattern, instruction, re.IGNORECASE))
        if place is not None:
            yield place.start(), number, mark
