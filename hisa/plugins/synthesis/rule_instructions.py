"""Instructions by rules: acts in plain words, from the looks before and after them alone.

Facts and checks are not read here, so that an instruction is independent of its check. As in
OS-Genesis, 3.2, a low-level instruction is made from the triple, then the task that it is part of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.exploration_acts import CELL, above, read_name
from hisa.plugins.synthesis.records import Act, Instruction, Triple
from hisa.plugins.synthesis.routes import ITEMS, list_selected
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.text.prompt_text import one_line

__all__ = ["element_of", "rule_instruction", "same_place"]

_TOGGLES = frozenset({"check box", "check menu item", "toggle button", "switch", "toggle switch"})
_VERBS = {
    **dict.fromkeys(FIELDS, "click into the field"), **dict.fromkeys(ITEMS, "select"),
    "page tab": "choose the tab", "link": "follow the link", "combo box": "open the list",
    "push button": "click", "radio button": "select the option", "radio menu item": "choose",
}  # fmt: skip
_ON = frozenset({"checked", "pressed"})
_WAYS_OUT = (("esc",), ("alt", "f4"))
_LONGEST = 80  # most characters of a name or text that an instruction quotes


class _NoWords(Exception):
    """An act that cannot be put into words; the message says why."""


def rule_instruction(exploration: Exploration, way: Sequence[Triple]) -> Instruction | str:
    """Returns the instruction for a way, or the reason why there is none.

    Raises: OSError, ValueError if the elements of a look are missing or damaged.
    """
    last = way[-1]
    if last.act.kind == "scroll":
        return "scrolling alone is not a task"
    try:
        parts = clauses(exploration, way)
        sub = clauses(exploration, [last.model_copy(update={"saved": False})])
    except _NoWords as reason:
        return str(reason)
    return Instruction(
        triples=(last.number,),
        sub=sentence(sub, ""),
        high=sentence(parts, exploration.subject.title),
        steps=tuple(step.number for step in way),
    )


def sentence(parts: Sequence[str], title: str) -> str:
    """Joins clauses into one sentence: ``In the text editor, open … and turn on ….``."""
    saves = len(parts) > 1 and parts[-1].startswith("save the file")
    text = ", then ".join(parts[:-1] if saves else parts) + (f" and {parts[-1]}" if saves else "")
    if title:
        menu = len(parts) == 1 and text.endswith(" menu")
        text = f"{text} of {title}" if menu else f"in {title}, {text}"
    return text[:1].upper() + text[1:] + "."


def clauses(exploration: Exploration, way: Sequence[Triple]) -> list[str]:
    """Returns the acts of a way in words, in order, without those that the next one implies.

    Raises: OSError, ValueError if the elements of a look are missing or damaged.
    """
    parts: list[str] = []
    documents = exploration.subject.documents
    for triple, following in zip(way, [*way[1:], None], strict=True):
        if following is None or not _is_implied_by_next(triple.act, following.act):
            step = _Step(exploration, triple)
            in_document = triple.saved or not documents
            chosen = step.selection(" ".join(parts)) if in_document else ""
            parts.append(f"with {chosen} selected, {step.words()}" if chosen else step.words())
        if triple.saved and documents:
            parts.append(f"save the file {PurePosixPath(documents[0]).name}")
    return parts


def _is_implied_by_next(act: Act, following: Act) -> bool:
    """Whether the next act implies this one: an item its menu, typing the click before it."""
    if act.kind == "click" and following.kind in ("type", "double_click", "right_click"):
        return act.key[1:] == following.model_copy(update={"keys": act.keys}).key[1:]
    return act.kind == "click" and act.role == "menu" and act.name in following.within


def element_of(exploration: Exploration, triple: Triple) -> Element | None:
    """Returns the element of a triple's act, on the look before it."""
    for element in exploration.elements(exploration.states[triple.before]) if triple.box else ():
        sides = (element.box.left, element.box.top, element.box.right, element.box.bottom)
        near = all(abs(a - b) <= 2 for a, b in zip(sides, triple.box or (), strict=True))
        if near and (element.role, read_name(element)) == (triple.act.role, triple.act.name):
            return element
    return None


def same_place(element: Element, look: Sequence[Element]) -> Element | None:
    """Returns the same element on another look, if it is still in its place."""
    place = (element.role, element.box)
    return next((candidate for candidate in look if (candidate.role, candidate.box) == place), None)


class _Step:
    """One triple, to be put into words."""

    def __init__(self, exploration: Exploration, triple: Triple) -> None:
        self.act = triple.act
        ids = (triple.before, triple.after, exploration.root)
        states = [exploration.states[state_id] for state_id in ids]
        self.before, self.after, self.root = map(exploration.elements, states)
        self.windows = [len(state.windows) for state in states]
        self.main = exploration.subject.main.casefold()
        self.element = element_of(exploration, triple)

    def words(self) -> str:
        """Returns the act in words; raises `_NoWords`."""
        kind = self.act.kind
        if kind == "press":
            if self.act.keys in _WAYS_OUT:
                raise _NoWords("leaving a window is not a task")
            return f"press {_keys(self.act.keys)}"
        if self.element is None:
            raise _NoWords("the control is not on the look before")
        if kind == "type":
            return self._describe_typing(self.element)
        if kind == "scroll":
            return f"scroll {self.act.text}{self._place()}"
        thing = self._thing(self.element)
        if kind == "click":
            return self._describe_click(self.element, thing)
        words = "open the context menu of" if kind == "right_click" else "double-click"
        return f"{words} {thing}{self._place()}"

    def _describe_click(self, element: Element, thing: str) -> str:
        role, where = element.role, self._place()
        around = list(above(element, self.before))
        menus = [
            _quote_name(holder.name) for holder in around if holder.role == "menu" and holder.name
        ]
        if role == "menu":
            return f"open the {thing} menu"
        if any(holder.role in ("menu", "popup menu") for holder in around):
            listed = any(holder.role == "combo box" for holder in around)
            menu = " > ".join(reversed(menus)) or "context"
            where = " in the list" if listed else f" in the {menu} menu"
        if role in _TOGGLES and not (role == "toggle button" and self._springs_back(element)):
            return f"turn {'on' if self._is_turned_on(element) else 'off'} {thing}{where}"
        if role == "menu item":
            return f"{'open' if self.windows[1] > self.windows[0] else 'choose'} {thing}{where}"
        if role == "table cell" and CELL.fullmatch(element.name):
            return f"select cell {element.name}"
        return f"{_VERBS.get(role, f'click the {role}')} {thing}{where}"

    def _springs_back(self, element: Element) -> bool:
        """Whether a toggle is as before although something changed: then it acts as a button."""
        after = same_place(element, self.after)
        still = after is not None and _ON & after.states == _ON & element.states
        return still and self.before != self.after

    def _is_turned_on(self, element: Element) -> bool:
        after = same_place(element, self.after)
        if after and bool(_ON & after.states) == bool(_ON & element.states):
            raise _NoWords("the act left the control as it was")
        return not _ON & element.states

    def _describe_typing(self, element: Element) -> str:
        text, after = self.act.text, same_place(element, self.after)
        if element.role == "table cell" and CELL.fullmatch(element.name):
            return f"make cell {element.name} hold {text}"
        if MULTI_LINE & element.states:
            spot = _spot(text, element.text, after.text if after else "")
            return f'type "{text}" {spot}{self._place()}'
        if element.role == "spin button":
            words = f"set {self._thing(element)} to {after.text if after else text}"
        elif after and text not in after.text:
            raise _NoWords("the field does not hold what was typed")
        else:
            lone = not _name(element, self.before) and _only_field(element, self.before)
            field = "the only input field" if lone else f"the field {self._thing(element)}"
            words = f'type "{text}" into {field}'
        enter = f" and press {_keys(self.act.keys)}" if self.act.keys else ""
        return f"{words}{self._place()}{enter}"

    def _thing(self, element: Element) -> str:
        """Returns the name of an element, numbered if several share it; raises `_NoWords`."""
        name = _name(element, self.before)
        if not name or len(name) > _LONGEST:
            raise _NoWords(f"a {element.role} has no name, or too long a name")
        shown = [candidate for candidate in self.before if "showing" in candidate.states]
        same = [e for e in shown if e.role == element.role and _name(e, self.before) == name]
        if len(same) < 2:
            return _quote_name(name)
        same.sort(key=lambda control: (control.box.top, control.box.left))
        return f"{_quote_name(name)}, number {same.index(element) + 1} of {len(same)} from the top"

    def _place(self) -> str:
        """Returns words for the dialog that an act is in; empty for the main window."""
        window = one_line(self.act.window)
        alone = self.windows[0] < 2 or self.main in window.casefold()
        return "" if not window or alone else f" in the window {_quote_name(window)}"

    def selection(self, clauses: str) -> str:
        """Returns the names of selected items, if the act needs them and ``clauses`` lack them."""
        act = self.act
        buttons = {"toggle button", "push button", "menu item"}
        if self.windows[0] > 1 or not (act.kind == "press" or act.role in buttons):
            return ""
        chosen = list_selected(self.before)
        usual = act.role == "menu item" and chosen == list_selected(self.root)
        if not 0 < len(chosen) <= 3 or usual or all(name in clauses for name in chosen):
            return ""
        cell = "cell " if CELL.fullmatch(chosen[0]) else ""
        return cell + " and ".join(map(_quote_name, chosen))


def _spot(text: str, before: str, after: str) -> str:
    """Returns words for the place of a new text in a field of several lines; raises `_NoWords`."""
    places = (at for at in range(len(before) + 1) if before[:at] + text + before[at:] == after)
    for at in places:
        line = before[:at].rpartition("\n")[2]
        if not before.strip():
            return "into the text"
        if at >= len(before.rstrip("\n")):
            return f"at the end of the text{'' if line else ' on a new line'}"
        if 3 <= len(line) <= _LONGEST and before.count(line) == 1:
            return f'right after "{line}"'
    raise _NoWords("the place of the new text cannot be described")


def _name(element: Element, elements: Sequence[Element]) -> str:
    """Returns an element's name, or its label's, or for a field the text on its left."""
    own = read_name(element) or element.label
    labels = (
        label for label in elements if label.role in {"label", "static", "check box"} and label.name
    )
    for label in labels if element.role in FIELDS and not own else ():
        left = 0 <= element.box.left - label.box.right <= 40 and label.window == element.window
        if left and label.box.top <= element.box.centre.y <= label.box.bottom:
            own = label.name
            break
    return _strip_name(own)


def _only_field(element: Element, elements: Sequence[Element]) -> bool:
    """Whether the element is the only one-line field of its window."""
    fields = (candidate for candidate in elements if {"editable", "showing"} <= candidate.states)
    own = [
        candidate
        for candidate in fields
        if candidate.window == element.window and not MULTI_LINE & candidate.states
    ]
    return own == [element]


def _strip_name(name: str) -> str:
    return one_line(name).rstrip(" .…:") or one_line(name)


def _quote_name(name: str) -> str:
    """Returns a name for use in a sentence: in quotes unless every word begins with a capital."""
    name = _strip_name(name)
    plain = re.fullmatch(r"[A-Z0-9][\w-]*( [A-Z0-9][\w-]*){0,4}", name)
    return name if plain else f'"{name}"'


def _keys(keys: Sequence[str]) -> str:
    return "+".join(key.capitalize() if len(key) > 1 else key.upper() for key in keys)
