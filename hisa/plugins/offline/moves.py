"""The next tool call for an instruction, from its progress and the screen."""

from __future__ import annotations

import re
import shlex
from typing import assert_never

from hisa.actions.values import MAX_SECONDS
from hisa.plugins.offline.apps import find_app, launch_command, open_command
from hisa.plugins.offline.decisions import CLICK, Decision, GiveUp, Move, Situation, wait_move
from hisa.plugins.offline.filenames import looks_like_file
from hisa.plugins.offline.instruction_records import (
    Click,
    Instruction,
    Open,
    Press,
    Run,
    Save,
    Scroll,
    Tick,
    Type,
    Wait,
)
from hisa.plugins.offline.save_dialog import save_move
from hisa.plugins.offline.screen_words import Screen, click_point
from hisa.plugins.offline.script_progress import chunks
from hisa.plugins.offline.things import address, meaning

__all__ = ["next_move"]

_WINDOW_WAITS = (1.0, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0)
"""Seconds of each wait: applications start within a few seconds, and each wait is a step."""
_THING_LOOKS = 10
_DRAWN_LOOKS = 2
_SPREADSHEETS = ("libreoffice calc", "libreoffice-calc")
_IN_MENUS = frozenset({"menu item", "item"})


def next_move(instruction: Instruction, now: Situation) -> Decision:
    """Returns the call to make; None if the screen shows that nothing is left to do."""
    match instruction:
        case Open():
            return _open(instruction, now)
        case Click():
            return _click(instruction, now)
        case Tick():
            return _tick(instruction, now)
        case Type():
            return _type(instruction, now)
        case Press(keys, times):
            return Move("press the keys", _keys(keys, times))
        case Scroll(direction, clicks):
            function = "scroll" if direction in ("up", "down") else "hscroll"
            sign = 1 if direction in ("up", "right") else -1
            return Move("scroll", f"pyautogui.{function}({sign * clicks})")
        case Wait():
            return _wait(instruction, now)
        case Save():
            return save_move(instruction, now)
        case Run(command):
            return Move("run the command", command, tool="bash_execution")
        case _:
            assert_never(instruction)


def _keys(keys: tuple[str, ...], times: int) -> str:
    if len(keys) == 1:
        presses = f", presses={times}" if times > 1 else ""
        return f"pyautogui.press({keys[0]!r}{presses})"
    hotkey = f"pyautogui.hotkey({', '.join(map(repr, keys))})"
    return "; ".join([hotkey] * min(times, 40))


# ---------------------------------------------------------------- pointing


def _click(instruction: Click, now: Situation) -> Decision:
    target, button, count = instruction.target, instruction.button, instruction.count
    if button == "left" and count == 1 and _by_name_box(target, now):
        return Move("go to the cell by its address", _name_box(address(target)))
    if (ready := _search(target, now)) is not None:
        return ready
    point, description = _aim(target, now)
    function = "rightClick" if button == "right" else "doubleClick" if count == 2 else "click"
    return Move("click it", f"pyautogui.{function}({point})", description=description)


def _aim(phrase: str, now: Situation) -> tuple[str, str]:
    """Returns a target, differently on each try: the task's words, the listed place, the name."""
    item = now.screen.find(phrase)
    quoted = re.search(r'"([^"]+)"', phrase)
    name = quoted[1] if quoted else meaning(phrase).name
    if now.tries == 1 and item is not None:
        x, y = click_point(item)
        return f"{x}, {y}", ""
    return "X_COORD, Y_COORD", f'"{name}"' if now.tries and name else phrase


def _search(target: str, now: Situation) -> Move | None:
    """Waits for a missing target, then opens the menus one by one, or as the advice says."""
    menus = list(now.screen.with_role("menu"))
    query = meaning(target)
    if not now.position.failures:
        advised_menu = now.advice.menu_before(query.name)
        known = next((menu for menu in menus if menu.name == advised_menu), None)
        hidden = known is not None and now.screen.find(target) is None
        return _open_menu(advised_menu, target) if hidden else None
    if now.screen.find(target) is not None:
        return None
    looks = now.position.looks
    if looks == 0:
        return wait_move(f"{target} is not there yet, wait a moment")
    if query.kind is not None and query.kind.word not in _IN_MENUS:
        return None
    bar = [
        menu
        for menu in menus
        if click_point(menu)[1] == min(click_point(other)[1] for other in menus)
    ]
    return _open_menu(bar[looks - 1].name, target) if looks <= len(bar) else None


def _open_menu(menu: str, target: str) -> Move:
    says = f"open a menu that may hold {target}"
    return Move(says, CLICK, description=f'menu "{menu}"', look=True)


def _tick(instruction: Tick, now: Situation) -> Decision:
    item = now.screen.find(instruction.target)
    if item is not None and item.states and ("checked" in item.states) == instruction.on:
        return None
    return _click(Click(instruction.target), now)


# ---------------------------------------------------------------- typing


def _type(instruction: Type, now: Situation) -> Decision:
    target, pieces = instruction.target, chunks(instruction.text)
    part = min(now.position.parts, len(pieces) - 1)
    calls = [f"pyautogui.write({pieces[part]!r})"] if pieces[part] else []
    cell = address(target)
    if cell and part == len(pieces) - 1 and not isinstance(now.following, Press):
        calls.append("pyautogui.press('enter')")
    if part == 0 and (instruction.replace or _is_prefilled(instruction, now)):
        calls = ["pyautogui.hotkey('ctrl', 'a')", *(calls or ["pyautogui.press('delete')"])]
    if not target or part > 0:
        return Move("type it", "; ".join(calls)) if calls else None
    if _by_name_box(target, now):
        return Move("go to the cell and type", "; ".join([_name_box(cell), *calls]))
    if (ready := _search(target, now)) is not None:
        return ready
    point, description = _aim(target, now)
    source = "; ".join([f"pyautogui.click({point})", *calls])
    return Move("click into it and type", source, description=description)


def _is_prefilled(instruction: Type, now: Situation) -> bool:
    """Whether a one-line field has a text that the new one is meant to replace.

    Without a target it is the focused field, if both texts are names of files: other text may
    continue what is there, but nobody appends one file name to another.
    """
    if instruction.target:
        item = now.screen.find(instruction.target)
        return item is not None and "single-line" in item.states and bool(item.text)
    fields = (item for item in now.screen.items if {"focused", "single-line"} <= item.states)
    item = next(fields, None)
    return item is not None and looks_like_file(item.text) and looks_like_file(instruction.text)


def _by_name_box(target: str, now: Situation) -> bool:
    """Whether to go to a cell by its address: it is not listed, or the advice says so."""
    if not address(target) or not now.screen.is_in_front(_SPREADSHEETS):
        return False
    return now.advice.name_box or now.screen.find(target) is None


def _name_box(cells: str) -> str:
    return (
        # The name box takes and returns the focus with a short delay.
        "pyautogui.hotkey('ctrl', 'shift', 't'); pyautogui.sleep(0.5); "
        f"pyautogui.write({cells!r}); pyautogui.press('enter'); pyautogui.sleep(0.3)"
    )


# ---------------------------------------------------------------- applications and time


def _open(instruction: Open, now: Situation) -> Decision:
    app = find_app(instruction.app) if instruction.app else None
    name = instruction.file.rstrip("/").rpartition("/")[2]
    words = (name,) if name else app.windows if app else ()
    is_open = now.screen.shows_window(words)
    if now.position.parts:
        drawn = bool(now.screen.items) or now.position.looks >= _DRAWN_LOOKS
        return None if is_open and drawn else _await_window(instruction, now)
    if is_open and now.screen.is_in_front(words):
        return None
    if is_open and not instruction.file:
        return Move("bring its window to the front", _to_front(now.screen, words), "bash_execution")
    command = launch_command(app, instruction.file) if app else open_command(instruction.file)
    return Move("start it", command, "bash_execution")


def _to_front(screen: Screen, words: tuple[str, ...]) -> str:
    title = next(
        (shown for shown in screen.windows if any(word in shown.casefold() for word in words)), ""
    )
    return f"wmctrl -a {shlex.quote(title or words[0])}"


def _await_window(instruction: Open, now: Situation) -> Decision:
    name = instruction.file or instruction.app
    if not now.screen.known:
        return Move("give its window time to appear", "3", tool="wait")
    if now.position.looks < len(_WINDOW_WAITS):
        says = f"the window of {name} is not ready yet"
        return wait_move(says, _WINDOW_WAITS[now.position.looks])
    shown = "; ".join(filter(None, now.screen.windows))
    if not shown or instruction.file or not find_app(instruction.app).known:
        # No windows are listed, or their titles are unknown: then it probably runs.
        return None
    return GiveUp(f"the window of {name} did not appear; windows on the screen: {shown}")


def _wait(instruction: Wait, now: Situation) -> Decision:
    until = instruction.until
    if not until:
        return Move("wait", f"{min(instruction.seconds, MAX_SECONDS):g}", tool="wait")
    if not now.screen.items:
        return Move("wait for it", "5", tool="wait")
    if now.screen.find(until) or now.screen.shows_window((meaning(until).name or until,)):
        return None
    if now.position.looks >= _THING_LOOKS:
        return GiveUp(f"{until} was not found after {_THING_LOOKS} waits")
    return wait_move(f"{until} is not there yet", 2.0)
