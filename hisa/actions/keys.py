"""Names of keys: those of PyAutoGUI that X has, common aliases, and one spelling for each key."""

from __future__ import annotations

from hisa.errors import ActionRefused

__all__ = ["KEY_NAMES", "KEY_SPELLINGS", "MODIFIERS", "normalise_key"]

KEY_SPELLINGS = {
    "control": "ctrl", "controlleft": "ctrlleft", "controlright": "ctrlright", "cmd": "win",
    "command": "win", "super": "win", "meta": "win", "windows": "win", "option": "alt",
    "optionleft": "altleft", "optionright": "altright", "altgr": "altright", "return": "enter",
    "\n": "enter", "\r": "enter", "\t": "tab", " ": "space", "spacebar": "space", "escape": "esc",
    "del": "delete", "ins": "insert", "pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown",
    "prior": "pageup", "arrowup": "up", "arrowdown": "down", "arrowleft": "left",
    "arrowright": "right", "uparrow": "up", "downarrow": "down", "leftarrow": "left",
    "rightarrow": "right", "caps": "capslock", "prtsc": "printscreen", "prtscr": "printscreen",
    "prntscrn": "printscreen", "menu": "apps",
}  # fmt: skip
"""Other spelling to the one that HiSA uses; several of these are names of PyAutoGUI as well."""

_NAMED = """
add alt altleft altright apps backspace browserback browserfavorites browserforward browserhome
browserrefresh browsersearch browserstop capslock clear ctrl ctrlleft ctrlright decimal delete
divide down end enter esc execute help home insert launchmail left multiply nexttrack numlock
pagedown pageup pause playpause prevtrack print printscreen right scrolllock select separator shift
shiftleft shiftright sleep space stop subtract tab up volumedown volumemute volumeup win winleft
winright
"""

_EXAMPLES = (
    "enter, tab, esc, backspace, delete, up, down, left, right, home, end, pageup, pagedown, "
    "space, ctrl, alt, shift, win"
)

KEY_NAMES = frozenset(
    [
        *_NAMED.split(),
        *(f"f{number}" for number in range(1, 25)),
        *(f"num{digit}" for digit in range(10)),
        *(chr(code) for code in range(0x21, 0x7F)),
    ]
)
"""Every key after `normalise_key`: named keys in lower case and the printable ASCII characters."""

MODIFIERS = frozenset(
    f"{key}{side}" for key in ("alt", "ctrl", "shift", "win") for side in ("", "left", "right")
)
"""Keys that are held while another one is pressed."""


def normalise_key(name: str) -> str:
    """Returns the one spelling of a key.

    Names longer than one character may be in any case, with ``_``, ``-`` or blanks inside. A
    capital letter stays one: it stands for Shift and the letter, as in PyAutoGUI.

    Raises:
        ActionRefused: there is no such key.
    """
    key = name if len(name) == 1 else name.strip().lower()
    key = KEY_SPELLINGS.get(key, key)
    if key not in KEY_NAMES:
        joined = key.replace("_", "").replace("-", "").replace(" ", "")
        key = KEY_SPELLINGS.get(joined, joined)
    if key in KEY_NAMES:
        return key
    if "+" in name[1:-1]:
        hint = "write keys held together as hotkey('ctrl', 's')"
    else:
        hint = "use a single character, f1..f24, or a name such as " + _EXAMPLES
    raise ActionRefused(f"unknown key {name[:40]!r}: {hint}")
