"""What a call presses, and what that would do: by what lies at its places and what has the focus.

How a place was given does not count: a description, a number, pixels, a drag's end and a key on
what has the focus all come to one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hisa.actions.effects import Effect
from hisa.protocols import GroundedCall
from hisa.screen.geometry import Point
from hisa.screen.lies_at import element_at, focused_element
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.tools.policy import effect_words as said
from hisa.tools.policy.keyed import Keyed, Touch, Typed
from hisa.tools.policy.matching import words
from hisa.tools.policy.screen_things import (
    called,
    is_pressed,
    judged,
    pressed_by_enter,
)

__all__ = ["Pressed", "descriptions", "pressed"]

_ENTER = words("enter num_enter shift+enter ctrl+enter ctrl+shift+enter")
_MOVES = words("tab shift+tab up down left right home end pageup pagedown")
_OPENS = words("f10 shift+f10 apps alt alt+down f4")
_STAYS = frozenset({"table cell", "terminal", "document spreadsheet", "document text"})
"""Roles in which Enter and Tab write or go on, and press nothing."""


@dataclass
class Pressed:
    """What is pressed, in order, and what it would do; with ``unknown`` that cannot be told."""

    effects: set[Effect] = field(default_factory=set)
    things: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def pressed(call: GroundedCall, done: Keyed, look: Observation, apps: tuple[str, ...]) -> Pressed:
    """Returns what a call presses.

    Args:
        call: a gui_action.
        done: its clicks, keys and text.
        look: with elements where they were read.
        apps: those that it acts on.
    """
    walk = _Walk(call, look, apps)
    for each in done.touches:
        walk.take(each)
    return walk.found


def descriptions(call: GroundedCall) -> tuple[str, ...]:
    """The planner's own words for the places of a call."""
    own = call.call
    found = (own.description, own.description_2, *(place.description for place in call.places))
    return tuple(dict.fromkeys(filter(None, found)))


class _Walk:
    """Follows the focus through a call, as far as one look tells."""

    def __init__(self, call: GroundedCall, look: Observation, apps: tuple[str, ...]) -> None:
        self.found = Pressed()
        self._call, self._look = call, look
        self._types_commands = said.is_app(said.TERMINALS, apps) or said.is_app(
            said.LAUNCHERS, apps
        )
        self._asked = said.title_effects(look.active.title) if look.active else frozenset()
        self._focus = None if look.all_elements is None else focused_element(look)
        self._moved = self._opened = False

    def take(self, each: Touch | Typed | str) -> None:
        """Go on by a click, a text or a chord."""
        match each:
            case Touch():
                self._touch(each)
            case Typed():
                self._type(each.text)
            case str():
                self._press(each)

    # -------------------------------------------------------------- pointer

    def _touch(self, touch: Touch) -> None:
        if touch.button != "left":
            self._opened = True
            return
        at = touch.at or self._look.cursor
        thing = self._at(at)
        if thing is None:
            self._blind(at)
        else:
            self._judge(thing, "drop on" if touch.drops else "click")
        if self._opened:
            self._unknown("what the call itself brings up before is not there yet")
        changes = thing is None or is_pressed(thing) or thing.role == "menu"
        ticks = thing is not None and thing.role in ("check box", "radio button")
        self._opened |= changes and not ticks and not touch.drops
        self._focus, self._moved = thing, False

    def _at(self, point: Point | None) -> Element | None:
        if point is None or self._look.all_elements is None:
            return None
        return element_at(point, self._look)

    def _blind(self, point: Point | None) -> None:
        """A click on what nobody knows: the words that it was found by are all there is."""
        if self._types_commands and _only_window(self._look, point):
            self.found.things.append("click the terminal")
            return
        labels = [place.label for place in self._call.places if place.label]
        if not (labels and all(said.is_dismissing(label) for label in labels)):
            self._add(*(said.effects_said(label, label=True) for label in labels))
            self._add(*(said.effects_said(text) for text in descriptions(self._call)))
            if not labels or any(map(said.is_confirming, labels)):
                self._add(self._asked)
        self.found.things.append("click something that is not known")
        self._unknown("nothing is known of what lies there")

    # -------------------------------------------------------------- keys

    def _press(self, chord: str) -> None:
        *held, key = chord.split("+")
        on_button = self._moved or (self._focus is not None and is_pressed(self._focus))
        if chord in _ENTER or (chord == "space" and on_button):
            self._enter(chord)
        elif chord == "space":
            self._type(" ")
        elif "alt" in held and {*held} <= {"alt", "shift"} and len(key) == 1:
            self._add(self._asked)
            self._letters(key, f"press {chord} for")
            self._opened = True
        elif chord in _OPENS:
            self._opened = True
        elif chord in _MOVES and not self._keeps_keys():
            self._moved = True

    def _enter(self, chord: str) -> None:
        focus, verb = self._focus, f"press {chord} on"
        if self._types_commands and (focus is None or focus.role == "terminal"):
            return
        if focus is None or self._opened:
            self._add(self._asked)
            chosen = [e for e in self._menu() if "selected" in e.states and not self._moved]
            for thing in chosen or (self._menu() if self._moved else ()):
                self._judge(thing, verb)
            if self._opened or not self._menu():
                self._unknown("what has the focus is not known")
        elif self._moved:
            self._add(self._asked)
            for thing in self._menu() or self._buttons():
                self._judge(thing, verb)
        elif is_pressed(focus):
            self._judge(focus, verb)
            if not said.is_dismissing(focus.name):
                self._add(self._asked)
        elif "ctrl" in chord or not self._keeps_keys():
            self._add(self._asked)
            for thing in pressed_by_enter(focus, self._look):
                self._judge(thing, verb)

    def _type(self, text: str) -> None:
        """Text goes into a field; elsewhere it presses what has the focus or its letter."""
        focus = self._focus
        if self._types_commands and (focus is None or focus.role == "terminal"):
            return
        if self._moved and not self._menu() and focus is not None:
            return  # from field to field; Space is pressed by `_press`
        if self._opened and not self._takes_text():
            self._unknown("what the call itself brings up before is not there yet")
        elif focus is not None and is_pressed(focus):
            if " " in text:
                self._judge(focus, "press space on")
            self._letters(text.strip(), f"type {text!r} for")
        elif self._menu() or focus is None:
            self._letters(text.strip(), f"type {text!r} for")
            if focus is None and not self._menu():
                self._unknown("what has the focus is not known")

    def _letters(self, letters: str, verb: str) -> None:
        """Whatever bears one of these letters may be underlined there, and is pressed by it."""
        if self._look.all_elements is None:
            if not self._types_commands:
                self._unknown("what the key would press is not known")
            return
        things = self._menu() or self._buttons()
        if any(e.role == "menu" and e.name.lower().startswith(letters) for e in self._window()):
            return
        for thing in things:
            if any(letter in thing.name.lower() for letter in letters.lower()):
                self._judge(thing, verb, sure=False)

    # -------------------------------------------------------------- what there is

    def _takes_text(self) -> bool:
        focus = self._focus
        return focus is not None and (focus.role in FIELDS or "editable" in focus.states)

    def _keeps_keys(self) -> bool:
        """Whether Enter and Tab are written into what has the focus, or go on in it."""
        focus = self._focus
        if focus is None:
            return False
        return focus.role in _STAYS or bool(focus.states & MULTI_LINE)

    def _window(self) -> Sequence[Element]:
        """The elements of the window that has the focus."""
        active = self._look.active
        titles = {active.title if active else "", self._focus.window if self._focus else "", ""}
        return [e for e in self._look.elements or () if e.window in titles]

    def _buttons(self) -> Sequence[Element]:
        return [e for e in self._window() if is_pressed(e)]

    def _menu(self) -> Sequence[Element]:
        """The entries of the menus that are open."""
        return [e for e in self._window() if e.role.endswith("menu item")]

    # -------------------------------------------------------------- what is found

    def _judge(self, thing: Element, verb: str, *, sure: bool = True) -> None:
        verdict = judged(thing, self._look)
        effects = verdict.effects
        if verb == "drop on":  # a bin is a row or a picture, and needs no verb
            texts = (thing.name, thing.text, thing.label)
            effects = effects.union(*(said.effects_said(text, label=True) for text in texts))
        yes = is_pressed(thing) and not said.is_dismissing(thing.name)
        if yes and verb == "click":
            effects = effects.union(*(said.effects_said(t) for t in descriptions(self._call)))
        if yes and said.is_confirming(thing.name or thing.text):
            effects |= self._asked
        self._add(effects)
        if sure or effects:
            name = called(thing)
            more = f" ({verdict.about})" if verdict.about not in name else ""
            self.found.things.append(f"{verb} {name}{more}")
        if sure and verdict.unknown:
            self._unknown(verdict.unknown)

    def _add(self, *effects: Iterable[Effect]) -> None:
        self.found.effects.update(*effects)

    def _unknown(self, why: str) -> None:
        if why not in self.found.unknown:
            self.found.unknown.append(why)


def _only_window(look: Observation, point: Point | None) -> bool:
    """Whether the window in front is what lies at a point, by the order of the windows."""
    if point is None:
        return False
    at = look.convert(point, "screen")
    under = [window for window in look.windows if window.box and window.box.contains(at)]
    return bool(under) and under[-1].active
