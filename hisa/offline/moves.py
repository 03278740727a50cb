"""The next tool call for an instruction, from how far it came and what the screen offers."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import assert_never

from hisa.offline.apps import find_app, launch_command, open_command
from hisa.offline.decisions import Decision, GiveUp, Move, Situation, wait_move
from hisa.offline.pointing import Pointed, missing, point, unlisted
from hisa.offline.progress import chunks
from hisa.offline.records import (
    Click,
    Close,
    Drag,
    GoTo,
    Instruction,
    Open,
    Press,
    Reveal,
    Run,
    Save,
    SaveAs,
    Scroll,
    Target,
    Tick,
    Type,
    Wait,
)
from hisa.offline.saving import save_move
from hisa.offline.screen import PAGES, Item, Screen

__all__ = ["next_move"]

_WINDOW_WAITS = (1.0, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 5.0)
"""Seconds: applications start within a few, and each wait is a step."""
_THING_LOOKS = 10
_CROWDED = 140
"""Things listed; a screen with so many has others that are not listed and can yet be found."""
_DRAWN_LOOKS = 2
_LISTED = frozenset({"table cell", "list item", "tree item"})
_NEXT_PAGE = Target("Next >", "button")
_SCROLL_LOOKS = 15
_MAX_WAIT = 60.0
_SPREADSHEETS = ("libreoffice calc", "libreoffice-calc")
_CLICKS = {1: "click", 2: "doubleClick", 3: "tripleClick"}
_CLOSING = {
    "window": "pyautogui.hotkey('alt', 'f4')",
    "application": "pyautogui.hotkey('alt', 'f4')",
    "dialog": "pyautogui.press('esc')",
    "tab": "pyautogui.hotkey('ctrl', 'w')",
}


def next_move(instruction: Instruction, now: Situation) -> Decision:
    """The call to make; None where the screen shows that nothing is left to do."""
    match instruction:
        case Open():
            return _open(instruction, now)
        case Click():
            return _click(instruction, now)
        case Reveal():
            return _reveal(instruction, now)
        case Tick():
            return _tick(instruction, now)
        case Type():
            return _type(instruction, now)
        case Press(keys, times):
            return Move("press the keys", _keys(keys, times))
        case Scroll():
            return _scroll(instruction, now)
        case Drag():
            return _drag(instruction, now)
        case Wait():
            return _wait(instruction, now)
        case Save() | SaveAs():
            return save_move(instruction, now)
        case Run(command):
            return Move("run the command", command, tool="bash_execution")
        case Close(what):
            return Move("close it", _CLOSING[what])
        case GoTo():
            return _go_to(instruction, now)
        case _:
            assert_never(instruction)


def _keys(keys: tuple[str, ...], times: int) -> str:
    if len(keys) == 1:
        presses = f", presses={times}" if times > 1 else ""
        return f"pyautogui.press({keys[0]!r}{presses})"
    hotkey = f"pyautogui.hotkey({', '.join(map(repr, keys))})"
    return "; ".join([hotkey] * min(times, 40))


# ---------------------------------------------------------------- pointing


def _at(pointed: Pointed, call: str, says: str) -> Move:
    return Move(says, call.format(at=pointed.at), description=pointed.description)


def _click(instruction: Click, now: Situation) -> Decision:
    target, button, count = instruction.target, instruction.button, instruction.count
    if target.kind == "cell" and button == "left" and count == 1 and _by_name_box(target, now):
        return Move("go to the cell by its address", _name_box(target.name, now))
    if now.tries and target.kind == "tab" and now.screen.in_front(_SPREADSHEETS):
        return Move("go to the sheet by its first cell", _name_box(f"{target.name}.A1", now))
    if (ready := _prepare(target, now)) is not None:
        return ready
    if _is_page(target, now):
        source = "pyautogui.click(X_COORD, Y_COORD)"
        return Move("turn to its page", source, description=_written(target))
    function = _CLICKS[count] if button == "left" else f"{button}Click"
    pointed = point(target, now.screen, tries=now.tries)
    return _at(pointed, f"pyautogui.{function}({{at}})", "click it")


def _prepare(target: Target, now: Situation) -> Decision:
    """Wait for a thing the screen does not list, then open the menu it usually is in."""
    if not now.position.looks and not now.screen.front_listed:
        return wait_move("what is in the window in front is not told yet")
    fold = now.screen.fold_over(target)
    if fold is not None and now.position.looks < 2:
        source = "pyautogui.click(X_COORD, Y_COORD)"
        return Move("unfold its section", source, description=fold.description, look=True)
    crowded = len(now.screen.items) >= _CROWDED
    if crowded or target.near or not now.screen.items:
        return None
    if now.screen.find(target) is not None:
        return None
    if now.position.failures:
        return _next_menu(target, now)
    name = now.advice.menu_before(target.name)
    known = now.screen.find(Target(name, "menu")) if name else None
    if known is not None and known.role == "menu":
        return _open_menu(known, target)
    if now.position.looks == 0:
        return wait_move(f"{target} is not there yet, wait a moment")
    menu = unlisted(target, now.screen)
    if now.position.looks == 1 and menu is not None:
        return replace(
            _at(menu, "pyautogui.click({at})", f"open a menu that usually holds {target}"),
            look=True,
        )
    return None


def _next_menu(target: Target, now: Situation) -> Decision:
    """What no one found may be in a menu that is closed: open them one by one."""
    if target.kind not in ("", "menu item", "item", "option"):
        return None
    menus = list(now.screen.with_role("menu"))
    bar = [item for item in menus if item.y == min(each.y for each in menus)]
    # The first look was a wait, so that the next one is for the first menu.
    place = now.position.looks - 1
    return _open_menu(bar[place], target) if 0 <= place < len(bar) else None


def _open_menu(menu: Item, target: Target) -> Move:
    return Move(
        f"open a menu that may hold {target}",
        "pyautogui.click(X_COORD, Y_COORD)",
        description=menu.description,
        look=True,
    )


def _tick(instruction: Tick, now: Situation) -> Decision:
    item = now.screen.find(instruction.target)
    if item is not None and item.states and ("checked" in item.states) == instruction.on:
        return None
    click = _click(Click(instruction.target), now)
    if isinstance(click, Move) and not click.look and item is not None and item.role in _LISTED:
        # A list's entry is only chosen by a click; the space bar ticks it.
        return replace(click, input=f"{click.input}; pyautogui.press('space')")
    return click


def _reveal(instruction: Reveal, now: Situation) -> Decision:
    """Turn to a page by its entry; a heading, or nothing of that name, needs no turning to."""
    page, screen = Target(instruction.page), now.screen
    if now.tries or screen.title.casefold() == page.name.casefold():
        return None
    item = screen.find(page)
    listed = item is not None and item.role in PAGES and "selected" not in item.states
    if not listed and screen.find(_NEXT_PAGE) is None:
        return None
    description = item.description if item is not None and listed else _written(page)
    return Move("turn to its page", "pyautogui.click(X_COORD, Y_COORD)", description=description)


def _written(target: Target) -> str:
    """A wizard's list of pages has no elements: its words are read off the picture."""
    return f'text "{target.name}"'


def _is_page(target: Target, now: Situation) -> bool:
    """Whether a target is named nowhere on the page of a wizard, and so may be another page."""
    if target.kind or now.tries or now.screen.find(_NEXT_PAGE) is None:
        return False
    item = now.screen.find(target)
    name = target.name.casefold()
    return item is None or not f"{item.name} ".casefold().startswith(f"{name} ")


def _drag(instruction: Drag, now: Situation) -> Decision:
    if (ready := _prepare(instruction.source, now)) is not None:
        return ready
    start = point(instruction.source, now.screen, tries=now.tries)
    end = point(instruction.target, now.screen, tries=now.tries)
    to = end.at.replace("X_COORD", "X_COORD_2").replace("Y_COORD", "Y_COORD_2")
    drag = f"pyautogui.moveTo({start.at}); pyautogui.dragTo({to}, duration=0.5)"
    if held := instruction.held:
        drag = f"pyautogui.keyDown({held!r}); {drag}; pyautogui.keyUp({held!r})"
    return Move(
        "drag it",
        drag,
        description=start.description,
        description_2=end.description,
    )


def _scroll(instruction: Scroll, now: Situation) -> Decision:
    until = instruction.until
    if until is not None:
        if now.screen.find(until) is not None:
            return None
        if now.position.looks >= _SCROLL_LOOKS:
            return GiveUp(missing(until, now.screen, f"after scrolling {_SCROLL_LOOKS} times"))
    function = "scroll" if instruction.direction in ("up", "down") else "hscroll"
    sign = 1 if instruction.direction in ("up", "right") else -1
    look = until is not None and now.screen.known
    if instruction.over is None:
        return Move("scroll", f"pyautogui.{function}({sign * instruction.clicks})", look=look)
    pointed = point(instruction.over, now.screen, tries=now.tries)
    call = f"pyautogui.moveTo({{at}}); pyautogui.{function}({sign * instruction.clicks})"
    return replace(_at(pointed, call, "scroll over it"), look=look)


# ---------------------------------------------------------------- typing


def _type(instruction: Type, now: Situation) -> Decision:
    pieces = chunks(instruction.text)
    part = min(now.position.parts, len(pieces) - 1)
    calls = [f"pyautogui.write({pieces[part]!r})"] if pieces[part] else []
    target = instruction.target
    if target is not None and target.kind == "cell" and part == len(pieces) - 1:
        calls += [] if isinstance(now.following, Press) else ["pyautogui.press('enter')"]
    if part == 0 and (instruction.replace or _holds_text(target, now)):
        calls = ["pyautogui.hotkey('ctrl', 'a')", *(calls or ["pyautogui.press('delete')"])]
    if target is None or part > 0:
        return Move("type it", "; ".join(calls)) if calls else None
    if target.kind == "cell" and _by_name_box(target, now):
        return Move("go to the cell and type", "; ".join([_name_box(target.name, now), *calls]))
    if (ready := _prepare(target, now)) is not None:
        return ready
    pointed = point(target, now.screen, tries=now.tries, editable=True)
    source = "; ".join([f"pyautogui.click({pointed.at})", *calls])
    return Move("click into it and type", source, description=pointed.description)


def _holds_text(target: Target | None, now: Situation) -> bool:
    """Whether a field of one line holds a text already, which the new one is meant to replace."""
    if target is None or target.kind != "field" or target.near:
        return False
    item = now.screen.find(target, editable=True)
    return item is not None and "single-line" in item.states and bool(item.text)


def _by_name_box(cell: Target, now: Situation) -> bool:
    """A cell is reached by its address where the screen does not list it or advice says so."""
    if now.advice.name_box and now.screen.in_front(_SPREADSHEETS):
        return True
    return bool(now.screen.items) and now.screen.find(cell) is None


def _leave_chart(now: Situation) -> str:
    """A chart that was just made is being edited, with menus of its own, and keeps the keys.

    A click on the sheet ends that; the first cell that shows is the least likely to be covered.
    """
    menus = {item.name for item in now.screen.with_role("menu")}
    cell = next(now.screen.with_role("table cell"), None)
    if "Tools" not in menus or "Sheet" in menus or cell is None:
        return ""
    return f"pyautogui.click({cell.x}, {cell.y}); pyautogui.sleep(0.5); "


def _name_box(cells: str, now: Situation) -> str:
    return (
        # The name box takes and gives back the focus a moment after the keys.
        f"{_leave_chart(now)}pyautogui.hotkey('ctrl', 'shift', 't'); pyautogui.sleep(0.5); "
        f"pyautogui.write({cells!r}); pyautogui.press('enter'); pyautogui.sleep(0.3)"
    )


def _go_to(instruction: GoTo, now: Situation) -> Move:
    if instruction.what == "cell":
        return Move("go there by its address", _name_box(instruction.place, now))
    return Move(
        "go to the address",
        f"pyautogui.hotkey('ctrl', 'l'); pyautogui.write({instruction.place!r}); "
        "pyautogui.press('enter')",
    )


# ---------------------------------------------------------------- applications and time


def _open(instruction: Open, now: Situation) -> Decision:
    app = find_app(instruction.app) if instruction.app else None
    name = instruction.file.rstrip("/").rpartition("/")[2]
    words = (name,) if name else app.windows if app else ()
    there = now.screen.shows_window(words)
    if now.position.parts:
        drawn = bool(now.screen.items) or now.position.looks >= _DRAWN_LOOKS
        return None if there and drawn else _await_window(instruction, now)
    if there and now.screen.in_front(words):
        return None
    if there and not instruction.file:
        return Move("bring its window to the front", _to_front(now.screen, words), "bash_execution")
    if app is None:
        return Move("open it", open_command(instruction.file), "bash_execution")
    launcher = now.screen.find(Target(instruction.app, "icon")) if not instruction.file else None
    if launcher is not None and launcher.role in ("icon", "push button", "menu item"):
        function = "doubleClick" if launcher.role == "icon" else "click"
        source = f"pyautogui.{function}(X_COORD, Y_COORD)"
        return Move("use its launcher", source, description=launcher.description)
    return Move("start it", launch_command(app, instruction.file), "bash_execution")


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
        # No windows are told of, or nothing is known of their names: that it runs is likelier.
        return None
    return GiveUp(f"the window of {name} did not appear; windows on the screen: {shown}")


def _wait(instruction: Wait, now: Situation) -> Decision:
    if instruction.until is None:
        return Move("wait", f"{min(instruction.seconds, _MAX_WAIT):g}", tool="wait")
    if not now.screen.items:
        return Move("wait for it", "5", tool="wait")
    if now.screen.find(instruction.until) is not None:
        return None
    if now.screen.shows_window((instruction.until.name,)):
        return None
    if now.position.looks >= _THING_LOOKS:
        return GiveUp(missing(instruction.until, now.screen, f"after {_THING_LOOKS} waits"))
    return wait_move(f"{instruction.until} is not there yet", 2.0)
