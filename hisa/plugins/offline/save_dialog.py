"""Saving: the shortcut, the file dialog, and the questions after it.

The parts of "save as" are: 1 open the dialog, 2 choose the file type, 3 type the name, 4 confirm,
5 answer questions and check that the dialog is gone. Parts that the screen makes unnecessary are
skipped.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from hisa.plugins.offline.decisions import CLICK, Decision, GiveUp, Move, Situation, wait_move
from hisa.plugins.offline.instruction_records import Save
from hisa.plugins.offline.screen_words import Screen, click_point
from hisa.screen.observation import Element

__all__ = ["save_move"]

_FILE_DIALOG = re.compile(r"(?:save|save as|save file|save document|export)", re.I)
_QUESTION = re.compile(
    r"confirm file format|keep current format\??|export text file|question|confirm|overwrite.*",
    re.I,
)
_ANSWERS = re.compile(
    r"replace|overwrite(?: file)?|keep|keep current format!?|use (?!odf).*format!?", re.I
)
"""Buttons that keep the name and format that the task says."""
_USUAL_TYPES = frozenset({".ods", ".odt", ".odp", ".odg"})
_TYPE_NAMES = {
    ".csv": "Text CSV (.csv)",
    ".xlsx": "Excel 2007–365 (.xlsx)",
    ".docx": "Word 2010–365 Document (.docx)",
    ".pptx": "PowerPoint 2007–365 (.pptx)",
}
"""The usual types, as LibreOffice's own dialog lists them."""
_LISTS = frozenset({"combo box", "toggle button"})
_FIELDS = frozenset({"text", "entry", "combo box"})
_MAX_TYPE_LOOKS = 4
_MAX_RETYPING = 2
_SHORTCUT_LOOKS = 3
_MAX_DIALOG_LOOKS = 6
_MAX_ANSWERS = 8


def save_move(instruction: Save, now: Situation) -> Decision:
    """Returns the next call for "save" or "save as"."""
    path, parts, looks = instruction.path, now.position.parts, now.position.looks
    if not path:
        return _save(now)
    if parts >= 4:
        return _settle(now, posixpath.basename(path))
    if parts == 3:
        return _confirm(path, now)
    if _file_dialog(now.screen):
        return _fill(path, now)
    if parts == 0:
        return _ask(now)
    if not now.screen.known:
        return _name(path, now.screen)
    if looks < _SHORTCUT_LOOKS:
        return wait_move("the file dialog is not there yet")
    if looks < _MAX_DIALOG_LOOKS:
        return _by_menu(now, look=True)
    return GiveUp("no dialog for the file's name appeared, by shortcut or by menu")


def _save(now: Situation) -> Decision:
    if not now.position.parts:
        return Move("save with the shortcut", "pyautogui.hotkey('ctrl', 's')")
    if _file_dialog(now.screen):
        return GiveUp("the file has no name yet; the task has to say: save it as NAME")
    return _settle(now, "")


def _ask(now: Situation) -> Move:
    if now.tries:
        return _by_menu(now, look=False)
    return Move("ask for the file dialog", "pyautogui.hotkey('ctrl', 'shift', 's')")


def _by_menu(now: Situation, *, look: bool) -> Move:
    """Clicks "Save As…" if it is visible, or else opens the File menu."""
    if now.screen.find('menu item "Save As"') is not None:
        return Move("choose Save As", CLICK, description='menu item "Save As"', look=look)
    return Move("open the File menu", CLICK, description='menu "File"', look=True)


def _fill(path: str, now: Situation) -> Move:
    """Fills in the dialog: the type, if it has a list of types, then the name."""
    if now.screen.items and _field(now.screen) is None and now.position.looks < 2:
        return wait_move("the file dialog is not drawn yet")
    chosen = now.position.parts >= 2
    return (None if chosen else _type(path, now)) or _name(path, now.screen)


def _type(path: str, now: Situation) -> Move | None:
    """Chooses the file type by the name's ending; None if it is chosen or there is no list."""
    ending = posixpath.splitext(path)[1].casefold()
    chooser = now.screen.find_beside("File type", _LISTS)
    if not ending or ending in _USUAL_TYPES or chooser is None:
        return None
    for item in now.screen.items:
        if item.name.casefold().endswith((f"({ending})", f"(*{ending})")):
            return Move("choose the file type", _click_at(item), part=2)
    if now.position.parts == 1 and now.position.looks >= _MAX_TYPE_LOOKS:
        return None
    if "checked" in chooser.states:
        # The list is open, but a crowded screen lists only some of its items.
        description = f'table cell "{_TYPE_NAMES.get(ending, f"({ending})")}"'
        return Move("choose the file type", CLICK, description=description, part=2)
    return Move("open the list of file types", _click_at(chooser), look=True, part=2)


def _click_at(item: Element) -> str:
    x, y = click_point(item)
    return f"pyautogui.click({x}, {y})"


def _name(path: str, screen: Screen, *, again: bool = False) -> Move:
    """Types the whole path over the name field's text; clicks the field unless it has the focus."""
    calls = ["pyautogui.hotkey('ctrl', 'a')", f"pyautogui.write({path!r})"]
    field = _field(screen)
    if field is not None and "focused" not in field.states:
        # Some dialogs move the focus late, so keys would still go to the list of types.
        calls = [_click_at(field), "pyautogui.sleep(0.4)", *calls]
    # Suggestions that open while a name is typed would take the next key.
    source = "; ".join([*calls, "pyautogui.sleep(0.5)"])
    return Move("type the name again" if again else "type the name", source, look=again, part=3)


def _field(screen: Screen) -> Element | None:
    return screen.find_beside("File name", _FIELDS) or screen.find_beside("Name", _FIELDS)


def _confirm(path: str, now: Situation) -> Move:
    """Confirms once the field has the name: a dialog that fills itself late may overwrite it."""
    field = _field(now.screen)
    if field is not None and now.position.looks < _MAX_RETYPING:
        shown = field.text or field.name
        if shown != path and not (shown.endswith("…") and path.startswith(shown[:-1])):
            return replace(_name(path, now.screen, again=True), part=None)
    button = _save_button(now.screen) if _file_dialog(now.screen) and not now.tries else None
    return button or Move("confirm with Enter", "pyautogui.press('enter')")


def _save_button(screen: Screen, *, look: bool = False) -> Move | None:
    name = 'push button "Save"'
    shown = screen.find(name) is not None
    return Move("press the Save button", CLICK, description=name, look=look) if shown else None


def _settle(now: Situation, name: str) -> Decision:
    """Answers questions, and checks that the file dialog is gone."""
    screen, looks = now.screen, now.position.looks
    if not screen.known:
        return None
    if looks >= _MAX_ANSWERS:
        return GiveUp(f"saving does not finish; in front is the window “{screen.title}”")
    if answer := _answer(screen):
        description = f'push button "{answer}"'
        item = screen.find(description)
        if now.tries and item is not None:
            return Move(f"answer {answer}", _click_at(item), look=True)
        return Move(f"answer {answer}", CLICK, description=description, look=True)
    if _asks(screen):
        return Move("confirm the question", "pyautogui.press('enter')", look=True)
    if _file_dialog(screen):
        return _save_button(screen, look=True) or wait_move("the file dialog is still open")
    return _check_name(screen, name, looks) if name else None


def _check_name(screen: Screen, name: str, looks: int) -> Decision:
    """Checks in the windows' titles that the file has its name."""
    for title in (screen.title, *screen.windows):
        if (other := re.search(re.escape(name) + r"\.\w+", title)) is not None:
            return GiveUp(f"the application saved it as “{other.group()}” instead of “{name}”")
        if name in title:
            return None
    return None if looks else wait_move("see whether a question comes")


def _file_dialog(screen: Screen) -> bool:
    return any(screen.with_role("file chooser")) or _has_title(_FILE_DIALOG, screen)


def _has_title(pattern: re.Pattern[str], screen: Screen) -> bool:
    return any(pattern.fullmatch(title.strip()) for title in (screen.title, *screen.windows))


def _answer(screen: Screen) -> str:
    """Returns the name of the button that answers a question; empty if there is no question."""
    names = [item.name for item in screen.with_role("push button", "button")]
    known = next((name for name in names if _ANSWERS.fullmatch(name)), "")
    return known or ("OK" if "OK" in names and _has_title(_QUESTION, screen) else "")


def _asks(screen: Screen) -> bool:
    """Whether a question is in front whose buttons are not listed; Enter takes its default."""
    return _QUESTION.fullmatch(screen.title.strip()) is not None or (
        not screen.title and bool(screen.app) and _file_dialog(screen)
    )
