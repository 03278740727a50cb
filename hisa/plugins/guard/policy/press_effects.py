"""What a call presses and what that would do, by the elements at its points and with the focus.

It makes no difference how the target was given: by a description, a number, pixels, the end of a
drag, or a key for the element with the focus.
"""

from __future__ import annotations

from collections.abc import Sequence

from hisa.actions import Action, Write
from hisa.actions.effects import Effect
from hisa.plugins.guard.key_inputs import Inputs, Touch, read_inputs
from hisa.plugins.guard.policy import effect_words
from hisa.plugins.guard.policy.screen_things import (
    describe_thing,
    find_pressed_by_enter,
    is_pressed,
    is_reached,
    judge_element,
    list_words,
    thing_at,
)
from hisa.plugins.guard.policy.text_patterns import words
from hisa.protocols import GroundedCall
from hisa.screen.geometry import Point
from hisa.screen.hit_test import focused_element
from hisa.screen.observation import Element, Observation, Window
from hisa.screen.roles import FIELDS, MULTI_LINE
from hisa.screen.sight import SEEN

__all__ = ["PressEffects", "descriptions", "shows_effect", "window_at"]

_ENTER = words("enter num_enter shift+enter ctrl+enter ctrl+shift+enter")
_MOVES = words("tab shift+tab up down left right home end pageup pagedown")
_OPENS = words("f10 shift+f10 apps alt alt+down f4")
_STAYS = frozenset({"table cell", "terminal", "document spreadsheet", "document text"})
"""Roles in which Enter and Tab write or move on, and press nothing."""
_NOT_YET = "what an earlier part of the call brings up is not there yet"
_NO_FOCUS = "what has the focus is not known"


def descriptions(call: GroundedCall) -> tuple[str, ...]:
    """Returns the planner's descriptions of the targets of a call."""
    own = call.call
    texts = (own.description, own.description_2, *(place.description for place in call.places))
    return tuple(dict.fromkeys(filter(None, texts)))


def shows_effect(actions: Sequence[Action], before: Observation, now: Observation) -> bool:
    """Whether a look shows the effect of some acts, so that it can be used to judge the next.

    If the picture changed but there are no new elements, the elements may come late, or never.

    Args:
        actions: the acts that were done between the two looks.
        before: the look before them.
        now: the look after them.
    """
    if before.all_elements is None or now.all_elements is None:
        return False
    was, focus = focused_element(before), focused_element(now)
    moved = False
    for touch in read_inputs(actions).touches:
        moved = touch in _MOVES if isinstance(touch, str) else moved and isinstance(touch, Write)
    if moved:
        return focus is not None and (was is None or _known(focus) != _known(was))
    known = {_known(element) for element in before.elements or ()}
    new = any(_known(element) not in known for element in now.elements or ())
    pictures = (observation.without_pointer.screenshot.pixels for observation in (before, now))
    return new or next(pictures) == next(pictures)


def _known(element: Element) -> tuple[object, ...]:
    return element.role, element.name, element.box


class PressEffects:
    """What a call presses, in order, and what that would do; ``unknown`` says what is not known.

    The focus is followed as far as one look allows. ``_moved``: keys have moved it elsewhere;
    ``_opened``: a press may have brought up what the look does not show.

    Args:
        call: a gui_action.
        inputs: its clicks, keys and text.
        observation: the newest look, with elements if they were read.
    """

    def __init__(self, call: GroundedCall, inputs: Inputs, observation: Observation) -> None:
        self.effects = set[Effect]()
        self.things: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self._about, self._look = descriptions(call), observation
        self._labels = [place.label for place in call.places if place.label]
        self._title_effects = (
            effect_words.title_effects(observation.active.title)
            if observation.active
            else frozenset[Effect]()
        )
        focus = None if observation.all_elements is None else focused_element(observation)
        self._focus = (
            focus if focus is not None and self._is_in(focus, observation.active) else None
        )
        self._terminal = _takes_commands(observation.active, self._focus)
        self._moved = self._opened = False
        for touch in inputs.touches:
            match touch:
                case Touch():
                    self._touch(touch)
                case Write():
                    self._type(touch.text)
                case str():
                    self._press(touch)
        if any(not key.startswith("shift") for key in inputs.held):
            self.unknown["it leaves a key held down for later calls"] = None

    def _touch(self, touch: Touch) -> None:
        """Press a button of the pointer."""
        if touch.button != "left":
            self._opened = True
            return
        if self._opened:
            self.unknown[_NOT_YET] = None
        at = touch.at or self._look.cursor
        under = window_at(at, self._look)
        thing = None if at is None else thing_at(at, self._look)
        thing = thing if thing is not None and self._is_in(thing, under) else None
        self._focus, self._moved, self._terminal = thing, False, _takes_commands(under, thing)
        by_picture = thing is not None and SEEN in thing.states
        if self._terminal and (thing is None or by_picture):
            self.things["click the terminal"] = None
        elif thing is None:
            self._judge_words()
            self.things["click something that is not known"] = None
            self.unknown["nothing is known of what lies there"] = None
            self._opened = True
        else:
            if by_picture:
                self._judge_words(*list_words(thing))
            self._judge(thing, "drop on" if touch.drops else "click")
            opens = is_pressed(thing) and thing.role not in ("check box", "radio button")
            self._opened |= (opens or thing.role in ("menu", "combo box")) and not touch.drops

    def _judge_words(self, *shown: str) -> None:
        """Judge a click by words alone: of the target and, if any, those shown at its place."""
        names = (*self._labels, *shown)
        if not names or not all(map(effect_words.is_dismissing, names)):
            text_effects = (
                effect_words.read_effects(text, label=text in self._labels)
                for text in (*names, *self._about)
            )
            self.effects.update(*text_effects)
        if not names or any(map(effect_words.is_confirming, names)):
            self.effects.update(self._title_effects)

    def _press(self, chord: str) -> None:
        """Press keys together."""
        *held, key = chord.split("+")
        on_button = self._moved or (self._focus is not None and is_pressed(self._focus))
        if self._terminal:
            return
        if chord in _ENTER or (chord == "space" and on_button):
            things = self._find_key_targets(chord)
            if not things or not all(effect_words.is_dismissing(thing.name) for thing in things):
                self.effects.update(self._title_effects)
            for thing in things:
                self._judge(thing, f"press {chord} on")
        elif chord == "space":
            self._type(" ")
        elif "alt" in held and "ctrl" not in held and len(key) == 1:
            self.effects.update(self._title_effects)
            self._letters(key, f"press {chord} for")
            self._opened = True
        elif chord in _OPENS:
            self._opened = True
        elif chord in _MOVES:
            self._moved |= not self._stays()
            if self._look.all_elements is None:
                self._focus = None

    def _find_key_targets(self, chord: str) -> Sequence[Element]:
        """Returns what Enter or Space presses."""
        focus, menu = self._focus, self._menu()
        if self._look.all_elements is None:
            self.unknown[_NO_FOCUS] = None
            return ()
        if self._opened or (focus is None and not menu):
            self.unknown[_NOT_YET if self._opened else _NO_FOCUS] = None
            return ()
        if self._moved:
            return menu or self._find_reachable()
        if focus is None:
            return [entry for entry in menu if "selected" in entry.states]
        if is_pressed(focus):
            return [focus]
        if self._stays() and "ctrl" not in chord:
            return ()
        return find_pressed_by_enter(focus, self._look)

    def _type(self, text: str) -> None:
        """Type text: outside of a field, it presses what has the focus or has its letter."""
        focus, menu = self._focus, self._menu()
        if self._terminal or (self._moved and not menu and focus is not None):
            return
        if self._opened:
            if focus is None or not (focus.role in FIELDS or "editable" in focus.states):
                self.unknown[_NOT_YET] = None
        elif focus is None or menu or is_pressed(focus):
            self._letters(text.strip().lower(), f"type {text!r} for")
            if focus is None and not menu:
                self.unknown[_NO_FOCUS] = None
            elif focus is not None and is_pressed(focus) and " " in text:
                self._judge(focus, "press space on")

    def _letters(self, letters: str, verb: str) -> None:
        """Press the elements that may have one of these letters underlined."""
        if self._look.all_elements is None:
            self.unknown["what the key would press is not known"] = None
        for thing in self._menu() or self._find_reachable():
            if set(letters) & set(thing.name.lower()):
                self._judge(thing, verb)

    def _judge(self, thing: Element, verb: str) -> None:
        verdict, name = judge_element(thing, self._look), describe_thing(thing)
        texts: Sequence[str] = ()
        if verb == "drop on":  # a bin is a row or a picture, and needs no verb
            texts = (thing.name, thing.text, thing.label)
        elif verb == "click" and is_pressed(thing) and not effect_words.is_dismissing(thing.name):
            texts = self._about
        self.effects.update(verdict.effects, *map(effect_words.read_effects, texts))
        if is_pressed(thing) and effect_words.is_confirming(thing.name or thing.text):
            self.effects.update(self._title_effects)
        more = f" (“{verdict.about}”)" if verdict.about not in name else ""
        self.things[f"{verb} {name}{more}"] = None
        if verdict.unknown:
            self.unknown[verdict.unknown] = None

    # -------------------------------------------------------------- the elements

    def _stays(self) -> bool:
        """Whether Enter and Tab write or move on in what has the focus, and press nothing."""
        focus = self._focus
        return focus is not None and (focus.role in _STAYS or bool(focus.states & MULTI_LINE))

    def _is_in(self, thing: Element, window: Window | None) -> bool:
        """Whether a thing is in a window; a toolkit's tree may give a dialog another title."""
        if window is None or thing.window in (window.title, ""):
            return True
        tops = (e for e in self._look.elements or () if e.window == thing.window)
        return window.active and any("active" in top.states for top in tops)

    def _window(self) -> Sequence[Element]:
        """Returns the elements of the window that has the focus."""
        active = self._look.active
        titles = {active.title if active else "", self._focus.window if self._focus else "", ""}
        return [element for element in self._look.elements or () if element.window in titles]

    def _find_reachable(self) -> Sequence[Element]:
        """Returns the buttons that keys may reach and that are not known to be harmless."""
        observation = self._look
        judgements = (
            (element, judge_element(element, observation))
            for element in self._window()
            if is_pressed(element)
        )
        risky = (element for element, verdict in judgements if verdict.effects or verdict.unknown)
        return [element for element in risky if is_reached(element, observation)]

    def _menu(self) -> Sequence[Element]:
        """The entries of open menus; a page may show a menu bar all the time."""
        entries = [element for element in self._window() if element.role.endswith("menu item")]
        chosen = any(
            {"selected", "focused"} & entry.states or not entry.window for entry in entries
        )
        return entries if chosen or self._focus is None else ()


def window_at(point: Point | None, observation: Observation) -> Window | None:
    """The topmost window at a point; None if that is not known."""
    if point is None:
        return None
    at = observation.convert(point, "screen")
    return next((w for w in reversed(observation.windows) if w.box and w.box.contains(at)), None)


def _takes_commands(window: Window | None, focus: Element | None) -> bool:
    """Whether typed text is commands, which are judged by themselves."""
    apps = () if window is None else (window.app.lower(),)
    if focus is not None and focus.role != "terminal" and SEEN not in focus.states:
        return False
    return effect_words.is_app("terminals", apps) or effect_words.is_app("launchers", apps)
