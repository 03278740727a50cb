"""Builds the programs that are sent to a stock guest, in bash and in Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from hisa.actions import Action, Click, Drag, MouseDown, MouseUp, Move, Sleep, Write, to_source

__all__ = ["acting_program", "bound_command", "deliberate_seconds", "stat", "windows"]

_PREAMBLE = "import pyautogui; import time; pyautogui.FAILSAFE = False\n"
_PAUSED = "pyautogui.PAUSE = 0.4\n"
"""Pause between the calls of a list: after 0.1 s, the default, GTK's file dialog lost Enter 3 times
of 3; after 0.4 s never."""
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
anything. It also drags in one jump, but lists that are sorted by dragging must see the pointer
arrive. So the pointer goes a little past the place and back: it must pass the middle of a row."""
_DRAG_SECONDS = 0.25
_UNPAUSED = """pause, pyautogui.PAUSE = pyautogui.PAUSE, 0
{}
pyautogui.PAUSE = pause
time.sleep(pause)"""
"""Wraps a text that takes many calls: each character that PyAutoGUI cannot type is its own call."""
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
if not shutil.which("xclip"):
    sys.exit("text outside ASCII: the guest has no xclip")
"""
"""Types text outside ASCII through the clipboard; checks for xclip before anything is done.

xclip stays in the background to serve the clipboard and reports how often it was asked, so the next
text waits until a slow window has taken this one. The published server reads both pipes of a
command to their end: one left open by xclip would block the request for 120 s."""

_WINDOWS = r"""
listed=$(wmctrl -lGx) && front=$(xprop -root _NET_ACTIVE_WINDOW) || exit
command -v iconv >/dev/null && clean="iconv -c -f utf-8 -t utf-8" || clean=cat
printf '%s\n%s\n' "$listed" "$front" | $clean
"""
"""Lists windows; iconv is needed because the guest fails on a title that is not UTF-8."""

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
"""Runs a command under a time limit, with files for its output. A stock guest waits for every
program that has its pipe open, including those left in the background, and responds with 500 if the
output is not UTF-8."""
_STAT = r'LC_ALL=C stat -Lc "%s %F" -- "${1/#\~\//$HOME/}"'


def acting_program(actions: Sequence[Action]) -> list[str]:
    """Returns the command that does the actions, by PyAutoGUI."""
    body = "\n".join(_source(action) for action in actions)
    if len(actions) > 1:
        body = _PAUSED + body
    if any(isinstance(action, Click | Drag | MouseDown | MouseUp) for action in actions):
        body = _UNHURRIED + body
    if any(map(_is_other, actions)):
        body = _OTHER_TEXT + body
    return ["python", "-c", _PREAMBLE + body]


def _is_other(action: Action) -> TypeGuard[Write]:
    """Whether an action types text that PyAutoGUI would skip: it types plain ASCII only."""
    return isinstance(action, Write) and not re.fullmatch(r"[\t\n\x20-\x7e]*", action.text)


def _source(action: Action) -> str:
    if _is_other(action):
        return f"paste({action.text!r})"
    if isinstance(action, Drag):
        action = replace(action, duration=max(action.duration, _DRAG_SECONDS))
    source = to_source([action], stock=True)
    return _UNPAUSED.format(source) if isinstance(action, Write) and "<" in action.text else source


def deliberate_seconds(actions: Sequence[Action]) -> float:
    """Returns the seconds that the actions are meant to take, by waiting or going slowly."""
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


def bound_command(command: str | Sequence[str], seconds: float, limit: int) -> list[str]:
    """Returns the command that runs another under limits of time and output.

    A stock guest expands every word that begins with ``~/``, so the command is passed as one line.

    Args:
        command: a bash line, or a program and its arguments.
        seconds: time limit; then the command is killed.
        limit: most bytes of each of its outputs.
    """
    line = command if isinstance(command, str) else f"exec {shlex.join(command)}"
    return ["bash", "-c", _BOUNDED, f"{seconds:g}", str(limit), "bash", "-c", line]


def windows() -> list[str]:
    """Returns the command that lists windows, by wmctrl and xprop."""
    return ["bash", "-c", _WINDOWS]


def stat(path: str) -> list[str]:
    """Returns the command that prints the size and the kind of a file."""
    return ["bash", "-c", _STAT, "stat", path]
