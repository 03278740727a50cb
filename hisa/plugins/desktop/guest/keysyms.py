"""Maps key names to X keysyms.

The names are repeated because the guest runs where nothing else of HiSA is; a test compares them
with `hisa.actions.keys.KEY_NAMES`.
"""

from __future__ import annotations

__all__ = ["NAMED_KEYS", "keysym_of_character", "keysym_of_key"]

_UNICODE = 0x01000000  # of <X11/keysymdef.h>: keysyms of Unicode begin here

NAMED_KEYS: dict[str, int] = {
    "backspace": 0xFF08, "tab": 0xFF09, "clear": 0xFF0B, "enter": 0xFF0D, "pause": 0xFF13,
    "scrolllock": 0xFF14, "esc": 0xFF1B, "home": 0xFF50, "left": 0xFF51, "up": 0xFF52,
    "right": 0xFF53, "down": 0xFF54, "pageup": 0xFF55, "pagedown": 0xFF56, "end": 0xFF57,
    "select": 0xFF60, "print": 0xFF61, "printscreen": 0xFF61, "execute": 0xFF62, "insert": 0xFF63,
    "apps": 0xFF67, "help": 0xFF6A, "numlock": 0xFF7F, "multiply": 0xFFAA, "add": 0xFFAB,
    "separator": 0xFFAC, "subtract": 0xFFAD, "decimal": 0xFFAE, "divide": 0xFFAF, "shift": 0xFFE1,
    "shiftleft": 0xFFE1, "shiftright": 0xFFE2, "ctrl": 0xFFE3, "ctrlleft": 0xFFE3,
    "ctrlright": 0xFFE4, "capslock": 0xFFE5, "alt": 0xFFE9, "altleft": 0xFFE9, "altright": 0xFFEA,
    "win": 0xFFEB, "winleft": 0xFFEB, "winright": 0xFFEC, "delete": 0xFFFF, "space": 0x20,
    "volumedown": 0x1008FF11, "volumemute": 0x1008FF12, "volumeup": 0x1008FF13,
    "playpause": 0x1008FF14, "stop": 0x1008FF15, "prevtrack": 0x1008FF16, "nexttrack": 0x1008FF17,
    "browserhome": 0x1008FF18, "browsersearch": 0x1008FF1B, "browserback": 0x1008FF26,
    "browserforward": 0x1008FF27, "browserstop": 0x1008FF28, "browserrefresh": 0x1008FF29,
    "browserfavorites": 0x1008FF30, "launchmail": 0x1008FF19, "sleep": 0x1008FF2F,
    **{f"f{number}": 0xFFBD + number for number in range(1, 25)},
    **{f"num{digit}": 0xFFB0 + digit for digit in range(10)},
}  # fmt: skip
"""The keysym of every key that has a name."""

_CONTROL = {"\n": 0xFF0D, "\r": 0xFF0D, "\t": 0xFF09, "\b": 0xFF08, "\x1b": 0xFF1B}


def keysym_of_character(character: str) -> int:
    """Returns the keysym that types one character.

    Raises:
        ValueError: a control character that no key types, or half a surrogate pair.
    """
    if character in _CONTROL:
        return _CONTROL[character]
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
        raise ValueError(f"no key types the character {character!r}")
    return code if code < 0x100 else _UNICODE | code


def keysym_of_key(name: str) -> int:
    """Returns the keysym of a key's name, or of a single character.

    Raises:
        ValueError: the name is unknown, or no key types the character.
    """
    if len(name) == 1:
        return keysym_of_character(name)
    known = NAMED_KEYS.get(name)
    if known is None:
        raise ValueError(f"unknown key {name!r}: a key is one character or a name such as 'enter'")
    return known
