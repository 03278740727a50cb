"""Programs that a stock guest is sent, in the shell's and in Python's language."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from hisa.actions import Action, Click, Drag, MouseDown, MouseUp, Move, Sleep, Write, to_source

__all__ = ["acting_program", "bounded", "deliberate_seconds", "stat", "windows"]

_PREAMBLE = "import pyautogui; import time; pyautogui.FAILSAFE = False\n"
_PAUSED = "pyautogui.PAUSE = 0.4\n"
"""Between the calls of a list: GTK's file dialog lost Enter 3 times of 3 after 0.1 s, the default,
and none after 0.4 s."""
_UNHURRIED = """
def unhurried(on):
    down, up, pressed = on._mouseDown, on._mouseUp, []
    def press(x, y, button):
        if button not in (4, 5, 6, 7):
            time.sleep(0.05)
        pressed[:] = x, y
        down(x, y, button)
    def release(x, y, button):
        right, below = (x - pressed[0], y - pressed[1]) if pressed else (0, 0)
        way = max(abs(right), abs(below))
        if way >= 20:
            on._moveTo(x + round(5 * right / way), y + round(5 * below / way))
            time.sleep(0.05)
            on._moveTo(x, y)
        if button not in (4, 5, 6, 7):
            time.sleep(0.05)
        up(x, y, button)
    on._mouseDown, on._mouseUp = press, release
if hasattr(pyautogui.platformModule, "_mouseUp"):
    unhurried(pyautogui.platformModule)
"""
"""PyAutoGUI presses and releases at once: of 10 clicks on LibreOffice's new-sheet button none did
anything. It drags in one jump too, where lists that are sorted so need to see the pointer come; it
goes a little past the place and back, as the middle of a row has to be passed."""
_DRAG_SECONDS = 0.25
_UNPAUSED = """pause, pyautogui.PAUSE = pyautogui.PAUSE, 0
{}
pyautogui.PAUSE = pause
time.sleep(pause)"""
"""Around a text of many calls: each sign that PyAutoGUI cannot type is one of its own."""
_OTHER_TEXT = r"""
import shutil, subprocess, sys, tempfile
def paste(text):
    data, null, told = text.encode("utf-8", "replace"), subprocess.DEVNULL, tempfile.TemporaryFile()
    words = ["xclip", "-verbose", "-selection", "clipboard", "-in"]
    serving = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=null, stderr=told)
    serving.stdin.write(data)
    serving.stdin.close()
    def requests():
        told.seek(0)
        return told.read().count(b"selection request number")
    def came(count):
        deadline = time.monotonic() + 5
        while requests() < count and serving.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        return requests() >= count
    if not came(1):
        told.seek(0)
        sys.exit(f"xclip did not take the text: {told.read()[-200:]!r}")
    before = requests()
    pyautogui.hotkey("ctrl", "v")
    if not came(before + 1):
        sys.exit("Ctrl+V was pressed, and no window asked for the text within 5 s")
    time.sleep(0.2)
def key(text):
    codes = {}
    def lend(number, sym):
        display.change_keyboard_mapping(number, [(sym, sym)])
    def take_back():
        display.sync()
        time.sleep(0.4)
        for number in codes.values():
            lend(number, 0)
        codes.clear()
        display.sync()
    for sym in map(sym_of, text.replace("\r\n", "\n")):
        if sym not in codes:
            if len(codes) == len(spare):
                take_back()
            codes[sym] = spare[len(codes)]
            lend(codes[sym], sym)
            display.sync()
            time.sleep(0.02)
        for kind in (X.KeyPress, X.KeyRelease):
            xtest.fake_input(display, kind, codes[sym])
        display.sync()
        time.sleep(0.02)
    take_back()
def sym_of(letter):
    number = ord(letter)
    if letter in "\n\r\t":
        return 0xFF09 if letter == "\t" else 0xFF0D
    if number < 32 or 127 <= number < 160:
        sys.exit(f"{letter!r} cannot be typed as a key, and the guest has no xclip")
    return number if number < 256 else 0x1000000 + number
clipboard = shutil.which("xclip")
if not clipboard:
    spare = []
    try:
        from Xlib import X
        from Xlib.display import Display
        from Xlib.ext import xtest
        display = Display()
        first, last = display.display.info.min_keycode, display.display.info.max_keycode
        held = {code for row in display.get_modifier_mapping() for code in row}
        rows = display.get_keyboard_mapping(first, last - first + 1)
        spare = [code for code, row in enumerate(rows, first) if not any(row) and code not in held]
    except Exception as error:
        sys.stderr.write(f"no keyboard of X: {error}\n")
    if not spare:
        sys.exit("text outside ASCII: the guest has no xclip and no key to spare")
    for text in TEXTS:
        for letter in text:
            sym_of(letter)
other_text = paste if clipboard else key
"""
"""Before anything is done it is known how text outside ASCII gets in, or that it does not: by the
clipboard; else with keys that the layout leaves empty, which is slower.

xclip stays in the background to serve the clipboard, and tells how often it was asked, so that the
next text waits until a slow window has taken this one. The published server reads both pipes of a
command to their end: one left open by xclip would hold the request for 120 s."""

_WINDOWS = r"""
listed=$(wmctrl -lGx 2>/dev/null) && front=$(xprop -root _NET_ACTIVE_WINDOW 2>/dev/null) \
    || { listed=; front=$(python -c "$0") || exit; }
command -v iconv >/dev/null && clean="iconv -c -f utf-8 -t utf-8" || clean=cat
printf '%s\n%s\n' "$listed" "$front" | $clean
"""
"""A title that is not UTF-8 would be an error of the guest."""
_WINDOWS_OF_X = r"""
from Xlib.display import Display
display = Display()
root = display.screen().root
def told(window, name):
    found = window.get_full_property(display.intern_atom(name), 0)
    return found.value if found else b""
def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
if not root.get_full_property(display.intern_atom("_NET_SUPPORTING_WM_CHECK"), 0):
    raise SystemExit("no window manager that lists windows")
for number in told(root, "_NET_CLIENT_LIST"):
    try:
        window = display.create_resource_object("window", number)
        size, kind = window.get_geometry(), window.get_wm_class() or ("N/A", "N/A")
        place = window.translate_coords(root, 0, 0)
        title = text(told(window, "_NET_WM_NAME") or window.get_wm_name() or "").replace("\n", " ")
    except Exception:
        continue
    name = ".".join(kind).replace(" ", "")
    print(hex(number), 0, -place.x, -place.y, size.width, size.height, name, "machine", title)
for number in told(root, "_NET_ACTIVE_WINDOW")[:1]:
    print("_NET_ACTIVE_WINDOW(WINDOW): window id #", hex(number))
"""

_BOUNDED = r"""
lacks() { echo "hisa: the guest lacks $1" >&2; exit 125; }
command -v timeout >/dev/null || lacks timeout
command -v iconv >/dev/null || lacks iconv
o=$(mktemp -d) || lacks room
n=$1; shift
{ timeout -s KILL "$0" "$@" >"$o/1" 2>"$o/2" </dev/null; c=$?; } 2>/dev/null
head -c "$n" "$o/1" | iconv -c -f utf-8 -t utf-8
head -c "$n" "$o/2" | iconv -c -f utf-8 -t utf-8 >&2
rm -rf "$o"; exit $c
"""
"""Runs a command under a time limit, with files for its output: a stock guest waits for every
program that holds its pipe, also those left in the background, and answers 500 where the output
is not UTF-8."""
_STAT = r'LC_ALL=C stat -Lc "%s %F" -- "${1/#\~\//$HOME/}"'


def acting_program(actions: Sequence[Action]) -> list[str]:
    """Returns the command that does the actions, by PyAutoGUI."""
    others = [action.text for action in actions if _is_other(action)]
    body = "\n".join(_source(action) for action in actions)
    if len(actions) > 1:
        body = _PAUSED + body
    if any(isinstance(action, Click | Drag | MouseDown | MouseUp) for action in actions):
        body = _UNHURRIED + body
    if others:
        body = f"TEXTS = {others!r}\n{_OTHER_TEXT}{body}"
    return ["python", "-c", _PREAMBLE + body]


def _is_other(action: Action) -> TypeGuard[Write]:
    """Whether it is text that PyAutoGUI passes over: it types plain ASCII only."""
    return isinstance(action, Write) and not re.fullmatch(r"[\t\n\x20-\x7e]*", action.text)


def _source(action: Action) -> str:
    if _is_other(action):
        return f"other_text({action.text!r})"
    if isinstance(action, Drag):
        action = replace(action, duration=max(action.duration, _DRAG_SECONDS))
    source = to_source([action], stock=True)
    return _UNPAUSED.format(source) if isinstance(action, Write) and "<" in action.text else source


def deliberate_seconds(actions: Sequence[Action]) -> float:
    """Returns the seconds that the actions are asked to take, by waiting or going slowly."""
    total = 0.0
    for action in actions:
        match action:
            case Sleep(seconds=seconds) | Move(duration=seconds) | Drag(duration=seconds):
                total += seconds
            case Write(text=text, interval=interval):
                total += len(text) * interval
            case _:
                pass
    return total


def bounded(command: str | Sequence[str], seconds: float, limit: int) -> list[str]:
    """Returns the command that runs another under limits of time and, in bytes, of output.

    A stock guest takes a word that begins with ``~/`` for one of its home, so that no word of the
    command stands alone.
    """
    line = command if isinstance(command, str) else f"exec {shlex.join(command)}"
    return ["bash", "-c", _BOUNDED, f"{seconds:g}", str(limit), "bash", "-c", line]


def windows() -> list[str]:
    """Returns the command that lists windows, by wmctrl and xprop, else by python-xlib."""
    return ["bash", "-c", _WINDOWS, _WINDOWS_OF_X]


def stat(path: str) -> list[str]:
    """Returns the command that tells the size and the kind of a file."""
    return ["bash", "-c", _STAT, "stat", path]
