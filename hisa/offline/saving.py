"""Saving: the shortcut, the file dialog, and the questions that come after it.

The parts of "save as" are: 1 ask for the dialog, 2 choose the file type, 3 type the name,
4 confirm, 5 answer what is asked and see that the dialog is gone. What the screen makes needless
is skipped.
"""

from __future__ import annotations

import posixpath
import re

from hisa.offline.decisions import Decision, GiveUp, Move, Situation, wait_move
from hisa.offline.records import Save, SaveAs, Target
from hisa.offline.screen import Item, Screen

__all__ = ["save_move"]

_FILE_DIALOG = re.compile(r"(?:save|save as|save file|save document|export)", re.I)
_QUESTION = re.compile(
    r"confirm file format|keep current format\??|export text file|question|confirm|overwrite.*",
    re.I,
)
_ANSWERS = (
    re.compile(r"replace|overwrite(?: file)?", re.I),
    re.compile(r"keep current format!?|keep", re.I),
    re.compile(r"use (?!odf).*format!?", re.I),
)
_USUAL_TYPES = frozenset({".ods", ".odt", ".odp", ".odg"})
_TYPE_NAMES = {
    ".csv": "Text CSV (.csv)",
    ".xlsx": "Excel 2007–365 (.xlsx)",
    ".docx": "Word 2010–365 Document (.docx)",
    ".pptx": "PowerPoint 2007–365 (.pptx)",
}
"""How LibreOffice's own dialog lists the usual types."""
_LISTS = frozenset({"combo box", "toggle button"})
_FIELDS = frozenset({"text", "entry", "combo box"})
_MAX_TYPE_LOOKS = 4
_MAX_RETYPING = 2
_MAX_DIALOG_LOOKS = 6
_MAX_ANSWERS = 8


def save_move(instruction: Save | SaveAs, now: Situation) -> Decision:
    """The next call of "save" and "save as"."""
    if isinstance(instruction, Save):
        return _save(instruction, now)
    if now.position.parts >= 4:
        return _settle(now, posixpath.basename(instruction.path))
    if now.position.parts == 3:
        return _confirm(instruction, now)
    if _file_dialog(now.screen):
        return _fill(instruction, now)
    if now.position.parts == 0:
        return _ask(instruction, now)
    if not now.screen.known:
        return _name(instruction, now)
    if now.position.looks < 3:
        return wait_move("the file dialog is not there yet")
    if now.position.looks < _MAX_DIALOG_LOOKS:
        return _by_menu(now, look=True)
    return GiveUp("no dialog for the file's name appeared, by shortcut or by menu")


def _save(instruction: Save, now: Situation) -> Decision:
    ending = instruction.ending
    if ending and now.screen.title and ending not in now.screen.title:
        return GiveUp(
            f"the file in front, “{now.screen.title}”, is no {ending} file; the task has to say "
            f"under which name to save it: save it as NAME{ending}"
        )
    if not now.position.parts:
        return Move("save with the shortcut", "pyautogui.hotkey('ctrl', 's')")
    if _file_dialog(now.screen):
        return GiveUp("the file has no name yet; the task has to say: save it as NAME")
    return _settle(now, "")


def _ask(instruction: SaveAs, now: Situation) -> Move:
    warned = bool(now.screen.items) and now.advice.warns_of_shortcut(instruction)
    if now.tries or warned:
        return _by_menu(now, look=False)
    return Move("ask for the file dialog", "pyautogui.hotkey('ctrl', 'shift', 's')")


def _by_menu(now: Situation, *, look: bool) -> Move:
    """Click "Save As…" where it shows; else open the File menu first."""
    entry = now.screen.find(Target("Save As", "menu item"))
    source = "pyautogui.click(X_COORD, Y_COORD)"
    if entry is not None:
        return Move("choose Save As", source, description=entry.description, look=look)
    menu = now.screen.find(Target("File", "menu"))
    description = menu.description if menu else 'menu "File"'
    return Move("open the File menu", source, description=description, look=True)


def _fill(instruction: SaveAs, now: Situation) -> Move:
    """The dialog is there: the type where it has a list of types, then the name."""
    if now.screen.items and _field(now.screen) is None and now.position.looks < 2:
        return wait_move("the file dialog is not drawn yet")
    chosen = now.position.parts >= 2
    return (None if chosen else _type(instruction, now)) or _name(instruction, now)


def _type(instruction: SaveAs, now: Situation) -> Move | None:
    """The file type by the name's ending, where the dialog has a list of types to open."""
    ending = posixpath.splitext(instruction.path)[1].casefold()
    chooser = now.screen.beside("File type", _LISTS)
    if not ending or ending in _USUAL_TYPES or chooser is None:
        return None
    entries = (item for item in now.screen.items if _is_type(item.name, ending))
    entry = next(entries, None)
    if entry is not None:
        return Move("choose the file type", f"pyautogui.click({entry.x}, {entry.y})", part=2)
    if now.position.parts == 1 and now.position.looks >= _MAX_TYPE_LOOKS:
        return None
    if "checked" in chooser.states:
        # The list is open, but a crowded screen lists only a part of what it shows.
        description = f'table cell "{_TYPE_NAMES.get(ending, f"({ending})")}"'
        source = "pyautogui.click(X_COORD, Y_COORD)"
        return Move("choose the file type", source, description=description, part=2)
    source = f"pyautogui.click({chooser.x}, {chooser.y})"
    return Move("open the list of file types", source, look=True, part=2)


def _is_type(name: str, ending: str) -> bool:
    """Whether a list entry is the type of an ending: ``Text CSV (.csv)``."""
    return name.casefold().endswith((f"({ending})", f"(*{ending})"))


def _name(instruction: SaveAs, now: Situation) -> Move:
    return Move("type the name", _naming(instruction, now.screen), part=3)


def _naming(instruction: SaveAs, screen: Screen) -> str:
    """The whole path over what the name field holds; clicked unless it has the focus."""
    calls = ["pyautogui.hotkey('ctrl', 'a')", f"pyautogui.write({instruction.path!r})"]
    field = _field(screen)
    if field is not None and "focused" not in field.states:
        # Some dialogs hand over the focus late, and keys would still go to the list of types.
        calls = [f"pyautogui.click({field.x}, {field.y})", "pyautogui.sleep(0.4)", *calls]
    # Suggestions that pop up while a name is typed would swallow the next key.
    return "; ".join([*calls, "pyautogui.sleep(0.5)"])


def _field(screen: Screen) -> Item | None:
    return screen.beside("File name", _FIELDS) or screen.beside("Name", _FIELDS)


def _confirm(instruction: SaveAs, now: Situation) -> Move:
    """Save, once the field holds the name: a dialog that fills itself late may have spoilt it."""
    field = _field(now.screen)
    if field is not None and now.position.looks < _MAX_RETYPING:
        shown = field.text or field.name
        whole = shown == instruction.path
        if not whole and not (shown.endswith("…") and instruction.path.startswith(shown[:-1])):
            return Move("type the name again", _naming(instruction, now.screen), look=True)
    button = now.screen.find(Target("Save", "button")) if _file_dialog(now.screen) else None
    if button is None or now.tries:
        return Move("confirm with Enter", "pyautogui.press('enter')")
    source = "pyautogui.click(X_COORD, Y_COORD)"
    return Move("press the Save button", source, description=button.description)


def _settle(now: Situation, name: str) -> Decision:
    """Answer what is asked, and see that the file dialog is gone."""
    screen, looks = now.screen, now.position.looks
    if not screen.known:
        return None
    if looks >= _MAX_ANSWERS:
        return GiveUp(f"saving does not finish; in front is the window “{screen.title}”")
    answer = _answer(screen)
    if answer is not None:
        source = "pyautogui.click(X_COORD, Y_COORD)"
        return Move(f"answer {answer.name}", source, description=answer.description, look=True)
    if _asks(screen):
        return Move("confirm the question", "pyautogui.press('enter')", look=True)
    if _file_dialog(screen):
        return _still_open(screen)
    return _named(screen, name, looks) if name else None


def _named(screen: Screen, name: str, looks: int) -> Decision:
    """Whether a window's title shows that the file has its name."""
    for title in (screen.title, *screen.windows):
        if (other := re.search(re.escape(name) + r"\.\w+", title)) is not None:
            return GiveUp(f"the application saved it as “{other.group()}” instead of “{name}”")
        if name in title:
            return None
    return None if looks else wait_move("see whether a question comes")


def _still_open(screen: Screen) -> Move:
    button = screen.find(Target("Save", "button"))
    if button is None:
        return wait_move("the file dialog is still open")
    source = "pyautogui.click(X_COORD, Y_COORD)"
    return Move("press the Save button", source, description=button.description, look=True)


def _file_dialog(screen: Screen) -> bool:
    titles = (screen.title, *screen.windows)
    return any(screen.with_role("file chooser")) or any(
        _FILE_DIALOG.fullmatch(title.strip()) for title in titles
    )


def _answer(screen: Screen) -> Item | None:
    """The button that keeps to what the task says: replace, and the format of the name."""
    buttons = list(screen.with_role("push button", "button"))
    for pattern in _ANSWERS:
        for button in buttons:
            if pattern.fullmatch(button.name.strip()):
                return button
    if any(_QUESTION.fullmatch(title.strip()) for title in (screen.title, *screen.windows)):
        return next((button for button in buttons if button.name.strip() == "OK"), None)
    return None


def _asks(screen: Screen) -> bool:
    """A question is in front whose buttons are not listed: Enter takes its default."""
    return _QUESTION.fullmatch(screen.title.strip()) is not None or (
        not screen.title and bool(screen.app) and _file_dialog(screen)
    )
