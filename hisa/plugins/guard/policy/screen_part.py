"""Works out what an act with pointer and keyboard would do, from the screen and its description."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hisa.actions import Write, points, to_source
from hisa.actions.effects import Effect
from hisa.plugins.guard.key_inputs import Inputs, read_inputs
from hisa.plugins.guard.policy import effect_words
from hisa.plugins.guard.policy.command_facts import parts_of_line
from hisa.plugins.guard.policy.named_facts import Part
from hisa.plugins.guard.policy.named_paths import NamedPath, resolve_path
from hisa.plugins.guard.policy.named_sites import NamedUrl, looks_like_address, read_url
from hisa.plugins.guard.policy.press_effects import PressEffects, descriptions, window_at
from hisa.plugins.guard.policy.text_patterns import words
from hisa.protocols import GroundedCall
from hisa.screen.observation import Observation

__all__ = ["apps_of", "is_browser_in_front", "screen_parts"]

_BAR = re.compile(r"(address|location|url|search|omni)[\w ]*(bar|box|field)|address bar", re.I)
_TO_BAR = words("ctrl+l alt+d f6 ctrl+t ctrl+n ctrl+k ctrl+e ctrl+shift+n ctrl+shift+p")
"""Keys after which a browser takes what is typed for an address or a search."""
_AWAY = words(
    "alt+left ctrl+w ctrl+f4 alt+f4 esc ctrl+l alt+d f6 backspace ctrl+tab ctrl+pageup "
    "ctrl+pagedown ctrl+shift+tab alt+tab ctrl+t browserback"
)
"""Keys that lead away from a page, or do nothing on it."""
_MAILING = re.compile(
    r"mail|outlook|inbox|compose|proton|message|chat|slack|discord|teams|whatsapp|telegram|forum"
    r"|comment|reply|post|tweet|x\.com|twitter|mastodon|linkedin|facebook|reddit",
    re.IGNORECASE,
)
_FILE_DIALOG = re.compile(r"\b(save|export|open|choose|select|import|file|folder|print)\b", re.I)
_SAVES = re.compile(r"\b(save|export|create)\b", re.IGNORECASE)


def apps_of(call: GroundedCall, observation: Observation) -> tuple[str, ...]:
    """Returns the applications that a call acts on: the one in front, and those that are clicked.

    Empty if the windows are not known.
    """
    if not observation.windows_known:
        return ()
    apps = [observation.active.app.lower()] if observation.active is not None else []
    for point, _ in read_inputs(call.actions).clicks:
        under = window_at(point, observation)
        apps += [under.app.lower()] if under else []
    return tuple(dict.fromkeys(apps)) or ("",)


def is_browser_in_front(observation: Observation) -> bool:
    """Whether a browser has the focus."""
    return observation.active is not None and effect_words.is_app(
        "browsers", (observation.active.app.lower(),)
    )


def screen_parts(
    call: GroundedCall,
    observation: Observation,
    apps: tuple[str, ...],
    *,
    home: str,
    judges_effects: bool = False,
) -> tuple[Part, ...]:
    """Returns the parts of an act: itself, and the commands that it types.

    Args:
        call: a gui_action.
        observation: the newest look, with elements if they were read.
        apps: see `apps_of`.
        home: the home folder, absolute; empty if not known.
        judges_effects: whether effects matter to the rules, and so unknown effects too.
    """
    inputs = read_inputs(call.actions)
    typed = _commands(inputs, apps, home=home)
    press_effects = PressEffects(call, inputs, observation)
    title = observation.active.title if observation.active is not None else ""
    act = Part(
        text=_describe_act(call, press_effects),
        unread=" and ".join(press_effects.unknown) if judges_effects else "",
        effects=frozenset((*press_effects.effects, *_key_effects(inputs, title, apps))),
        urls=tuple(dict.fromkeys(_urls(call, inputs, observation, apps))),
        paths=tuple(dict.fromkeys(_paths(inputs, observation, apps, home=home))),
    )
    return (act, *typed)


def _describe_act(call: GroundedCall, press_effects: PressEffects) -> str:
    """Describes an act by the elements that it is done to, never by their coordinates."""
    things = press_effects.things
    other_actions = [a for a in call.actions if isinstance(a, Write) or not (things or points([a]))]
    text = "; ".join(dict.fromkeys(filter(None, [*things, to_source(other_actions)])))
    about = " and ".join(descriptions(call))
    return f"{text} ({about})" if about else text


# ------------------------------------------------------------------ typed commands


def _commands(inputs: Inputs, apps: Iterable[str], *, home: str) -> tuple[Part, ...]:
    apps = tuple(apps)
    launches = effect_words.is_app("launchers", apps) or {"alt+f2", "win+r"} & set(inputs.chords)
    if not launches and not effect_words.is_app("terminals", apps):
        return ()
    text = inputs.typed.replace("\t", " ")
    parts = parts_of_line(text, home=home) if text.strip() else ()
    why = ""
    if inputs.recalls:
        why = "its keys put text into the terminal that is not part of the call"
    elif "!" in text or text.lstrip().startswith("^"):
        why = "a terminal replaces ! and ^ by earlier commands"
    if why:
        unread = Part(text=text.strip() or "keys", command=text, exact=False, unread=why)
        parts = (*parts, unread)
    return parts


# ------------------------------------------------------------------ effects


def _key_effects(inputs: Inputs, title: str, apps: tuple[str, ...]) -> Iterable[Effect]:
    chords = set(inputs.chords)
    mails = effect_words.is_app("mail", apps)
    deleting = {"delete", "shift+delete", "ctrl+delete", "decimal", "shift+decimal"} & chords
    if deleting and (effect_words.is_app("file_managers", apps) or mails):
        yield "delete"
    browses = effect_words.is_app("browsers", apps)
    sends = {"ctrl+enter", "ctrl+shift+enter", "alt+s"} & chords
    if sends and (mails or (browses and _MAILING.search(title))):
        yield "send"
    if effect_words.is_app("chats", apps) and {"enter", "ctrl+enter"} & chords:
        yield "send"
    if browses and "ctrl+shift+delete" in chords:
        yield "delete"


# ------------------------------------------------------------------ addresses and files


def _urls(
    call: GroundedCall, inputs: Inputs, observation: Observation, apps: tuple[str, ...]
) -> Iterable[NamedUrl]:
    if not effect_words.is_app("browsers", apps):
        return
    at_bar = bool(_TO_BAR & set(inputs.chords)) or any(
        _BAR.search(text) for text in (*descriptions(call), *(p.label for p in call.places))
    )
    text = inputs.typed.strip()
    navigates = False
    for line in text.split("\n"):
        line = line.strip()
        if line and (looks_like_address(line) or (at_bar and re.search(r"\S@\S+\.\S", line))):
            navigates = True
            yield from filter(None, [read_url(line)])
        elif line and at_bar:
            navigates = True
            yield NamedUrl(f"a search for {line}", "search")
    if at_bar and inputs.pastes:
        yield NamedUrl("what is pasted", "pasted")
    leaves = (navigates and at_bar and not _clicks_elsewhere(call, inputs)) or (
        not inputs.clicks and not text and inputs.chords and set(inputs.chords) <= _AWAY
    )
    shown = _shown_address(observation)
    if shown and not leaves:
        yield from filter(None, [read_url(shown)])


def _clicks_elsewhere(call: GroundedCall, inputs: Inputs) -> bool:
    """Whether a click goes to the page and not to the address bar."""
    if not inputs.clicks:
        return False
    names = (*descriptions(call), *(place.label for place in call.places))
    return not any(_BAR.search(text) for text in names)


def _shown_address(observation: Observation) -> str:
    """The address that the browser shows; empty if the elements are not known."""
    bars = [
        e for e in observation.elements or () if effect_words.ADDRESS_BAR.search(e.name.strip())
    ]
    return next((bar.text.strip() for bar in bars if bar.text.strip()), "")


def _paths(
    inputs: Inputs, observation: Observation, apps: tuple[str, ...], *, home: str
) -> Iterable[NamedPath]:
    title = observation.active.title if observation.active is not None else ""
    writes = _SAVES.search(title) is not None
    browses = effect_words.is_app("browsers", apps)
    for line in inputs.typed.split("\n"):
        text = line.strip()
        named = text.startswith(("/", "~/", "file:")) and " /" not in text
        if named or (text and _FILE_DIALOG.search(title) and "/" in text and not browses):
            path = resolve_path(text, home=home, writes=writes)
            if path is not None:
                yield path
