"""Instructions by rules: acts in plain words, from the looks before and after them alone.

Facts and checks are not read here, so that an instruction and its check stand apart (OS-Genesis,
3.2: a low-level instruction from the triple, then the task that it is part of).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from hisa.plugins.synthesis.doing import called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.task_records import Instruction
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.text.prompt_text import one_line

__all__ = ["Untold", "clauses", "element_of", "on_the_web", "rule_instruction", "sentence"]

_TOGGLES = frozenset({"check box", "check menu item", "toggle button", "switch", "toggle switch"})
_ITEMS = frozenset({"icon", "list item", "tree item", "table cell", "table row", "list box option"})
_ON = frozenset({"checked", "pressed"})
_CELL = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_MOST = 80
"""Characters of a name or text that an instruction repeats."""


class Untold(Exception):
    """An act that cannot be told in words: why."""


def rule_instruction(exploration: Exploration, way: Sequence[Triple]) -> Instruction | str:
    """The instruction for a way, or the reason why there is none.

    Raises:
        OSError, ValueError: the elements of a look are gone or damaged.
    """
    try:
        parts = clauses(exploration, way)
    except Untold as reason:
        return str(reason)
    last = way[-1]
    sort = "task"
    if on_the_web(exploration, last):
        sort = "navigation" if last.act.role == "link" else "content"
    return Instruction.model_validate(
        {
            "triples": (last.number,),
            "writer": "rules",
            "sub": sentence(parts[-2:-1] if last.saved and len(parts) > 1 else parts[-1:], ""),
            "high": sentence(parts, exploration.subject.title),
            "sort": sort,
        }
    )


def sentence(parts: Sequence[str], title: str) -> str:
    """Acts as one sentence: ``In the text editor, open … and turn on ….``."""
    saves = len(parts) > 1 and parts[-1].startswith("save the file")
    text = ", then ".join(parts[:-1] if saves else parts)
    text += f" and {parts[-1]}" if saves else ""
    if title and len(parts) == 1 and text.endswith(" menu"):
        text += f" of {title}"
    elif title:
        text = f"in {title}, {text}"
    return text[:1].upper() + text[1:] + "."


def clauses(exploration: Exploration, way: Sequence[Triple]) -> list[str]:
    """The acts of a way in words, in order; those that only lead to the next one are left out.

    Raises:
        Untold: one cannot be told.
        OSError, ValueError: the elements of a look are gone or damaged.
    """
    parts: list[str] = []
    documents = exploration.subject.documents
    for at, triple in enumerate(way):
        following = way[at + 1] if at + 1 < len(way) else None
        if following is None or not _only_leads(triple.act, following.act):
            step = _Step(exploration, triple)
            chosen = step.selection(parts)
            parts.append(f"with {chosen} selected, {step.words()}" if chosen else step.words())
        if triple.saved and documents:
            parts.append(f"save the file {PurePosixPath(documents[0]).name}")
    return parts


def _only_leads(act: Act, following: Act) -> bool:
    """Whether an act is told by the one after it: a menu by its item, a click by the typing."""
    if act.kind == "scroll":
        return True
    same = (act.role, act.name, act.within, act.nth) == (
        following.role, following.name, following.within, following.nth,
    )  # fmt: skip
    if act.kind == "click" and following.kind == "type" and same:
        return True
    return act.kind == "click" and act.role == "menu" and act.name in following.within


def element_of(exploration: Exploration, triple: Triple) -> Element | None:
    """The element that a triple's act is about, on the look before it."""
    if triple.box is None:
        return None
    for element in exploration.elements(exploration.states[triple.before]):
        sides = (element.box.left, element.box.top, element.box.right, element.box.bottom)
        near = all(abs(a - b) <= 2 for a, b in zip(sides, triple.box, strict=True))
        if near and element.role == triple.act.role and called(element) == triple.act.name:
            return element
    return None


def on_the_web(exploration: Exploration, triple: Triple) -> bool:
    """Whether an act is on a web page, and not on the browser around it."""
    element = element_of(exploration, triple)
    elements = exploration.elements(exploration.states[triple.before])
    return element is not None and any(
        holder.role == "document web" for holder in _above(element, elements)
    )


def _above(element: Element, elements: Sequence[Element]) -> Iterator[Element]:
    """What holds an element, innermost first."""
    at, seen = element.parent, 0
    while at is not None and 0 <= at < len(elements) and seen < 60:
        yield elements[at]
        at, seen = elements[at].parent, seen + 1


class _Step:
    """One triple, to be put into words."""

    def __init__(self, exploration: Exploration, triple: Triple) -> None:
        self.act = triple.act
        self.before, self.after = (
            exploration.states[state] for state in (triple.before, triple.after)
        )
        self.looks = exploration.elements(self.before), exploration.elements(self.after)
        self.main = exploration.subject.main
        self.root = exploration.elements(exploration.states[exploration.root])
        self.element = element_of(exploration, triple)

    def words(self) -> str:
        """The act in words.

        Raises:
            Untold: it cannot be told.
        """
        act = self.act
        if act.kind == "press":
            return f"press {_keys(act.keys)}"
        if act.kind in ("scroll", "tool"):
            raise Untold(f"a {act.kind} act is no task that words can tell")
        if self.element is None:
            raise Untold("the control is not on the look before")
        if act.kind == "type":
            return self._typed(self.element)
        thing = self._thing(self.element)
        if act.kind == "right_click":
            return f"open the context menu of {thing}{self._place()}"
        if act.kind == "double_click":
            return f"open {thing} with a double click{self._place()}"
        return self._clicked(self.element, thing)

    def _clicked(self, element: Element, thing: str) -> str:
        role, place = element.role, self._place()
        menus = [one.name for one in _above(element, self.looks[0]) if one.role == "menu"]
        names = " > ".join(_shown(menu) for menu in reversed(menus) if menu)
        where = f" in the {names or 'context'} menu" if menus else place
        if role in _TOGGLES or "checkable" in element.states:
            return f"turn {'on' if self._turned_on(element) else 'off'} {thing}{where}"
        if role == "menu":
            return f"open the {thing} menu"
        if role == "menu item":
            opens = len(self.after.windows) > len(self.before.windows)
            return f"{'open' if opens else 'choose'} {thing}{where}"
        if role == "table cell" and _CELL.fullmatch(element.name):
            return f"select cell {element.name}"
        verbs = {
            **dict.fromkeys(_ITEMS, "select"),
            "page tab": "choose the tab",
            "link": "follow the link",
            "combo box": "open the list",
            "push button": "click",
            "radio button": "select the option",
            "radio menu item": "choose",
        }
        verb = verbs.get(role) or (
            "click into the field" if role in FIELDS else f"click the {role}"
        )
        return f"{verb} {thing}{where}"

    def _turned_on(self, element: Element) -> bool:
        was_on, after = bool(_ON & element.states), self._same_after(element)
        if after and bool(_ON & after.states) == was_on:
            raise Untold("the act left the control as it was")
        return not was_on

    def _same_after(self, element: Element) -> Element | None:
        """The same element on the look after; None: it is not there."""
        place = (element.role, element.box)
        return next((one for one in self.looks[1] if (one.role, one.box) == place), None)

    def _typed(self, element: Element) -> str:
        text = self.act.text
        if not text.strip() or len(text) > _MOST or text != one_line(text):
            raise Untold("the text that was typed is empty, long or of several lines")
        if element.role == "table cell" and _CELL.fullmatch(element.name):
            return f"make cell {element.name} hold {text}"
        if MULTI_LINE & element.states:
            return f'type "{text}" {self._spot(element, text)}{self._place()}'
        lone = not _name(element, self.looks[0]) and _only_field(element, self.looks[0])
        thing, enter = "" if lone else self._thing(element), ""
        held = self._same_after(element)
        if element.role == "spin button" and thing:
            words = f"set {thing} to {held.text if held else text}"
        elif held and text not in held.text:
            raise Untold("the field does not hold what was typed")
        else:
            field = f"the field {thing}" if thing else "the only input field"
            words = f'type "{text}" into {field}'
        if self.act.keys:
            enter = f" and press {_keys(self.act.keys)}"
        return f"{words}{self._place()}{enter}"

    def _spot(self, element: Element, text: str) -> str:
        """Where a text came to stand in one of several lines."""
        before, after = element.text, self._same_after(element)
        for at in range(len(before) + 1) if after else ():
            if after and before[:at] + text + before[at:] == after.text:
                line = before[:at].rpartition("\n")[2]
                if at >= len(before.rstrip("\n")):
                    new = " on a new line" if at and not line else ""
                    return f"at the end of the text{new}" if before.strip() else "into the text"
                if not at:
                    return "at the very beginning of the text"
                if 3 <= len(line) <= _MOST and before.count(line) == 1:
                    return f'right after "{line}"'
        raise Untold("the place that the text came to cannot be told")

    def _thing(self, element: Element) -> str:
        """The name of an element, with its number where several are called so.

        Raises:
            Untold: it has no name, nor anything that names it.
        """
        elements = self.looks[0]
        name = _name(element, elements)
        if not re.search(r"\w", name) or len(name) > _MOST:
            raise Untold(f"a {element.role} without a name that can be said")
        within = holders(element, elements)
        alike = [
            one
            for one in elements
            if (one.role, called(one)) == (element.role, called(element))
            and "showing" in one.states
            and holders(one, elements) == within
        ]
        named = [one for one in alike if _name(one, elements) == name]
        if len(named) < 2:
            return _shown(name)
        named.sort(key=lambda one: (one.box.top, one.box.left))
        if (nth := named.index(element)) >= len(_ORDINALS):
            raise Untold(f"one of {len(named)} alike: {element.role}")
        return f"the {_ORDINALS[nth]} {_shown(name)}"

    def _place(self) -> str:
        """Names the dialog that an act is in."""
        window = one_line(self.act.window)
        alone = len(self.before.windows) < 2 or self.main.casefold() in window.casefold()
        return "" if not window or alone else f" in the window {_shown(window)}"

    def selection(self, parts: Sequence[str]) -> str:
        """Names the items that are selected, where an act is about them and no part says so."""
        act, buttons = self.act, {"toggle button", "push button", "menu item"}
        in_dialog = len(self.before.windows) > 1
        if in_dialog or not (act.kind == "press" or act.role in buttons):
            return ""
        chosen = _selected(self.looks[0])
        is_usual = chosen == _selected(self.root) and act.role == "menu item"
        if not 0 < len(chosen) <= 3 or is_usual or all(name in " ".join(parts) for name in chosen):
            return ""
        cells = all(_CELL.fullmatch(name) for name in chosen)
        return ("cell " if cells and len(chosen) == 1 else "") + " and ".join(map(_shown, chosen))


def _selected(elements: Sequence[Element]) -> list[str]:
    """The names of selected items; of a spreadsheet's cells, what the name box says."""
    for one in elements:
        if "name box" in one.name.casefold() and _CELL.fullmatch(one.text.strip()):
            return [one.text.strip()]
    items = (one for one in elements if one.role in _ITEMS and "selected" in one.states)
    return [called(one) for one in items if "showing" in one.states and called(one)]


def _name(element: Element, elements: Sequence[Element]) -> str:
    """An element's name, its label's, that of a label in it, or of what stands left of a field."""
    own = called(element) or element.label
    if own:
        return one_line(own).rstrip(" .…:")
    inside = (
        one.name
        for one in elements
        if one.role in {"label", "static"} and one.name and element in _above(one, elements)
    )
    beside = (
        one.name
        for one in elements
        if element.role in FIELDS and one.role in {"label", "check box", "static"} and one.name
        and one.window == element.window
        and one.box.top <= element.box.centre.y <= one.box.bottom
        and 0 <= element.box.left - one.box.right <= 40
    )  # fmt: skip
    return one_line(next(inside, "") or next(beside, "")).rstrip(" .…:")


def _only_field(element: Element, elements: Sequence[Element]) -> bool:
    """Whether a window has no other field of one line."""
    fields = [
        one for one in elements
        if one.window == element.window and {"editable", "showing"} <= one.states
        and not MULTI_LINE & one.states
    ]  # fmt: skip
    return fields == [element]


def _shown(name: str) -> str:
    """A name as a sentence has it: in quotes but where every word begins with a capital."""
    name = one_line(name).rstrip(" .…:")
    plain = re.fullmatch(r"[A-Z0-9][\w-]*( [A-Z0-9][\w-]*){0,4}", name)
    return name if plain else f'"{name}"'


def _keys(keys: Sequence[str]) -> str:
    return "+".join(key.capitalize() if len(key) > 1 else key.upper() for key in keys)
