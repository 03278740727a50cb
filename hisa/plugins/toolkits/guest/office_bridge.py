"""Connects to the LibreOffice that runs on the desktop, and to the document that the person sees.

A program that changes documents is a module beside this one: functions marked `looks` or `changes`
and, at its end, ``serve({"read": read, …})``. A function gets a `Desk` and returns plain JSON data.
Its changes are one step of the undo list; if it fails halfway, they are undone.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uno  # type: ignore[import-not-found]

from .office_dialogs import front_title, modal_dialogs

__all__ = [
    "Desk",
    "Faulty",
    "Refused",
    "Unchanged",
    "UnoError",
    "changes",
    "looks",
    "serve",
    "setting",
    "works",
]

UnoError: Any = uno.getClass("com.sun.star.uno.Exception")
_Disposed: Any = uno.getClass("com.sun.star.lang.DisposedException")
_PIPE = "hisa-toolkits"
_LOOK = 1.0
"""Seconds between looks for a dialog while a call lasts; most are over before the first."""
_FULL = 20
"""Steps at which an undo list may be full and no longer grow; LibreOffice keeps 100 by default, and
a person may set fewer."""
_SILENT = 20.0
"""Seconds until an office that does not answer counts as hung: one answers in 0.01 s, an emulated
one within 2 s, and one that loads a large file needs several."""
_KINDS = {
    "calc": ("com.sun.star.sheet.SpreadsheetDocument", "spreadsheet"),
    "impress": ("com.sun.star.presentation.PresentationDocument", "presentation"),
    "draw": ("com.sun.star.drawing.DrawingDocument", "drawing"),
    "writer": ("com.sun.star.text.GenericTextDocument", "text document"),
    "math": ("com.sun.star.formula.FormulaProperties", "formula"),
    "base": ("com.sun.star.sdb.OfficeDatabaseDocument", "database"),
    "chart": ("com.sun.star.chart2.ChartDocument", "chart that is being edited"),
}


class Refused(Exception):
    """The call cannot be done as it is; the model reads this text."""


class Unchanged(str):
    """An answer of a function that found nothing to change."""

    __slots__ = ()


class Faulty(str):
    """An answer of a function that did its work with a wrong result; it is not a success."""

    __slots__ = ()


@dataclass(frozen=True)
class Desk:
    """What a function may use: the office, and the document in front of it."""

    context: Any
    document: Any

    def service(self, name: str) -> Any:
        """Returns a new object of the office's service manager."""
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    @property
    def controller(self) -> Any:
        """The document's view."""
        return self.document.CurrentController

    def dispatch(self, command: str, **settings: Any) -> Any:
        """Run a command of the menus, such as ``.uno:Undo``, in the document's window."""
        helper = self.service("com.sun.star.frame.DispatchHelper")
        values = tuple(setting(name, value) for name, value in settings.items())
        return helper.executeDispatch(self.controller.Frame, command, "", 0, values)


def setting(name: str, value: Any) -> Any:
    """Returns a named value of UNO's."""
    named_value = uno.createUnoStruct("com.sun.star.beans.PropertyValue")
    named_value.Name, named_value.Value = name, value
    return named_value


Function = Callable[..., Any]


def looks(kind: str) -> Callable[[Function], Function]:
    """Mark a function that only reads a document of that kind: "calc", "writer", "impress"."""
    return _with_desk(kind, lambda desk, function, arguments: function(desk, **arguments))


def works(kind: str) -> Callable[[Function], Function]:
    """Mark a function that adds no step to the undo list: save, undo, choose what is shown."""

    def run(desk: Desk, function: Function, arguments: Mapping[str, Any]) -> Any:
        _require_no_dialog()
        with _Watch():
            return function(desk, **arguments)

    return _with_desk(kind, run)


def changes(kind: str, title: str) -> Callable[[Function], Function]:
    """Mark a function whose changes become one step of the undo list.

    Args:
        kind: of the document: "calc", "writer", "impress".
        title: what the step is called in the Edit menu.
    """

    def run(desk: Desk, function: Function, arguments: Mapping[str, Any]) -> Any:
        _require_no_dialog()
        if desk.document.isReadonly():
            raise Refused(f"{_name(desk.document)} is open read-only; save it under another name")
        with _Watch(), _Step(desk.document, title) as step:
            answer = _call_function(desk, function, arguments)
        if step.recorded or isinstance(answer, Unchanged):
            return answer
        return type(answer)(f"{answer} (undo does not take this back)")

    return _with_desk(kind, run)


def _call_function(desk: Desk, function: Function, arguments: Mapping[str, Any]) -> Any:
    """Returns the function's answer; if the office refuses, the error names protected sheets."""
    try:
        return function(desk, **arguments)
    except UnoError as error:
        sheets = getattr(desk.document, "Sheets", None)
        protected = (
            [name for name in sheets.ElementNames if sheets.getByName(name).isProtected()]
            if sheets is not None
            else []
        )
        if protected:
            raise Refused(
                f"{_describe_refusal(error)}; these sheets are protected: {protected}"
            ) from None
        raise


def serve(functions: Mapping[str, Function]) -> None:
    """Run the call of the command line, and print its answer as `call_guest` reads it."""
    name, text = sys.argv[1:3]
    arguments = json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    try:
        output = functions[name](**arguments)
        answer = {"error" if isinstance(output, Faulty) else "value": output}
    except Refused as error:
        answer = {"error": str(error)}
    except UnoError as error:
        answer = {"error": _describe_refusal(error)}
    _print_answer(answer)


def _describe_refusal(error: Any) -> str:
    if isinstance(error, _Disposed) and "bridge" in str(error.Message):
        return (
            "the connection to LibreOffice broke in the middle of the call, as in a crash;"
            " look at the screen, open the document again if it is gone, and see what was done"
        )
    kind = type(error).__name__.rsplit(".", 1)[-1]
    message = str(error.Message).strip().split("\n", 1)[0]
    message = "" if message.startswith("at .") else message  # a place in its source
    return f"LibreOffice refuses ({kind}){': ' if message else ''}{message}"


def _print_answer(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _with_desk(
    kind: str, run: Callable[[Desk, Function, Mapping[str, Any]], Any]
) -> Callable[[Function], Function]:
    def mark(function: Function) -> Function:
        @functools.wraps(function)
        def call(**arguments: Any) -> Any:
            return run(_desk(kind), function, arguments)

        return call

    return mark


def _desk(kind: str) -> Desk:
    """Returns the office, with the document in front, which must be of that kind."""
    watch = threading.Timer(_SILENT, _give_up)
    watch.daemon = True
    watch.start()
    try:
        try:
            return _find_desk(kind)
        except _Disposed:  # an office that is ending; nothing was done yet
            return _find_desk(kind)
    finally:
        watch.cancel()


def _find_desk(kind: str) -> Desk:
    context = _connect()
    desktop = Desk(context, None).service("com.sun.star.frame.Desktop")
    return Desk(context, _find_document(desktop, kind))


def _give_up() -> None:
    _print_answer({"error": f"LibreOffice does not answer for {_SILENT:g} s: it is busy or hangs"})
    os._exit(0)


def _find_document(desktop: Any, kind: str) -> Any:
    document = _find_front_document(desktop)
    if document is not None and _kind(document) == kind:
        return document
    noun = _KINDS[kind][1]
    listed = [candidate for candidate in _documents(desktop) if _kind(candidate) == kind]
    if document is None or not _kind(document):
        problem = f"LibreOffice has no {noun} in front"
    else:
        problem = f"{_name(document)}, a {_KINDS[_kind(document)][1]}, is in front of LibreOffice"
    if not listed:
        raise Refused(f"{problem}; no {noun} is open")
    raise Refused(f"{problem}; bring {', '.join(map(_name, listed))} to the front first")


def _find_front_document(desktop: Any) -> Any:
    """Returns the document of the window in front; else the office's own current document.

    The office learns a moment later than the window manager that another window is in front.
    """
    document = desktop.getCurrentComponent()
    title = front_title(_office())
    frames = [frame for frame in _frames(desktop) if title and frame.Title == title]
    if len(frames) == 1 and frames[0].Controller is not None:
        return frames[0].Controller.Model or document
    return document


def _frames(desktop: Any) -> Iterator[Any]:
    frames = desktop.Frames
    yield from (frames.getByIndex(index) for index in range(frames.Count))


def _documents(desktop: Any) -> Iterator[Any]:
    walk = desktop.Components.createEnumeration()
    while walk.hasMoreElements():
        yield walk.nextElement()


def _kind(document: Any) -> str:
    """Returns one of `_KINDS`; empty for the start page and whatever else is not a document."""
    if not hasattr(document, "supportsService"):
        return ""
    kinds = (kind for kind, (service, _) in _KINDS.items() if document.supportsService(service))
    return next(kinds, "")


def _name(document: Any) -> str:
    return f"“{document.Title}”"


# Connecting ---------------------------------------------------------------------------------------


def _connect() -> Any:
    """Returns the running office's component context, after opening an acceptor if it has none.

    A second ``soffice`` hands its options over to the first and ends; it opens nothing here.
    """
    process = _office()
    context = _resolve(process)
    if context is not None:
        return context
    command = [str(Path(os.readlink(f"/proc/{process}/exe")).parent / "soffice")]
    command += [word for word in _words(process) if word.startswith("-env:UserInstallation")]
    command += [f"--accept=pipe,name={_PIPE};urp;", "--norestore", "--nologo", "--nodefault"]
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    while context is None:  # `_give_up` ends it
        time.sleep(0.02)
        context = _resolve(process)
    return context


def _resolve(process: int) -> Any:
    here = uno.getComponentContext()
    name = "com.sun.star.bridge.UnoUrlResolver"
    resolver = here.ServiceManager.createInstanceWithContext(name, here)
    for address in (f"pipe,name={_PIPE};urp;", *_list_addresses(process)):
        try:
            return resolver.resolve(f"uno:{address.rstrip(';')};StarOffice.ComponentContext")
        except UnoError:
            continue
    return None


def _list_addresses(process: int) -> Iterator[str]:
    """Yields the addresses that the office was started to accept, as by a task's own setup."""
    for word in _words(process):
        option, _, value = word.lstrip("-").partition("=")
        if option == "accept" and value:
            yield value


def _office() -> int:
    """Returns the process of this user's running office; those of other users do not answer."""
    for folder in Path("/proc").iterdir():
        try:
            own = folder.name.isdigit() and folder.stat().st_uid == os.getuid()
            if own and (folder / "comm").read_text().strip() == "soffice.bin":
                return int(folder.name)
        except OSError:
            continue  # it ended meanwhile
    raise Refused("LibreOffice is not running; start it, or open a document in it")


def _words(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")


class _Watch:
    """Ends the program if a dialog comes up: it may wait for an answer for ever."""

    def __enter__(self) -> None:
        self._over = threading.Event()
        threading.Thread(target=self._look, args=(_office(),), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _look(self, process: int) -> None:
        while not self._over.wait(_LOOK):
            titles = modal_dialogs(process)
            if titles and not self._over.is_set():
                names = ", ".join(f"“{title}”" for title in titles)
                message = f"the dialog {names} came up; answer it, then see what was done"
                _print_answer({"error": message})
                os._exit(0)


def _require_no_dialog() -> None:
    titles = modal_dialogs(_office())
    if titles:
        names = ", ".join(f"“{title}”" for title in titles)
        raise Refused(f"the dialog {names} is open in LibreOffice; answer or close it first")


# Undo ---------------------------------------------------------------------------------------------


class _Step:
    """One step of the undo list; it is undone if the work in it fails.

    It is not a generator: contextlib sets the traceback of an error, which UNO's do not allow.
    """

    recorded = False

    def __init__(self, document: Any, title: str) -> None:
        self._manager, self._title = document.UndoManager, title
        self._close_others()
        self._before = self._manager.getAllUndoActionTitles()

    def _close_others(self) -> None:
        """End the step of an earlier call that a dialog cut off; other calls end their own."""
        try:
            self._manager.leaveUndoContext()
        except UnoError:
            return  # there is none

    def __enter__(self) -> _Step:
        self._manager.enterUndoContext(self._title)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._manager.leaveUndoContext()
        after = self._manager.getAllUndoActionTitles()
        grew = len(after) > len(self._before)
        pushed = len(after) >= _FULL and after[1:] == self._before[:-1]
        self.recorded = after[:1] == (self._title,) and (grew or pushed)
        if self.recorded and kind is not None:
            self._manager.undo()
