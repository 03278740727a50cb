"""Applications by the names people use: how to start each one and recognise its window."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

__all__ = ["App", "find_app", "launch_command", "open_command"]

_CHROMIUM = (
    "--no-sandbox", "--test-type", "--no-first-run", "--disable-gpu", "--password-store=basic",
    "--force-renderer-accessibility",
)  # fmt: skip
_OFFICE = ("--norestore", "--nologo")
_SUITE = "libreoffice, soffice"


@dataclass(frozen=True, slots=True)
class App:
    """One application.

    ``names`` are its names, and ``windows`` words in its window's title or application name, both
    in lower case. The first installed one of ``programs`` is started with ``flags``. ``sort`` is
    its name in lessons.
    """

    names: tuple[str, ...]
    windows: tuple[str, ...]
    programs: tuple[str, ...]
    sort: str = "application"
    flags: tuple[str, ...] = ()
    known: bool = True


def _app(sort: str, names: str, *, windows: str, programs: str, flags: tuple[str, ...] = ()) -> App:
    named, shown, started = (tuple(text.split(", ")) for text in (names, windows, programs))
    return App(named, shown, started, sort, flags)


def _office(sort: str, part: str, names: str) -> App:
    windows = f"libreoffice {part}, libreoffice-{part}"
    names = f"libreoffice {part}, {part}, {sort}, {names}"
    return _app(sort, names, windows=windows, programs=_SUITE, flags=(f"--{part}", *_OFFICE))


_APPS = (
    _app(
        "text editor",
        "text editor, editor, notepad, plain text editor, simple text editor",
        windows="mousepad, gedit, text editor, xed, kate, leafpad, featherpad, l3afpad",
        programs="mousepad, gedit, gnome-text-editor, xed, kate, featherpad, leafpad",
    ),
    _office("spreadsheet", "calc", "spreadsheet program, spreadsheet application, office calc"),
    _office("word processor", "writer", "word processing program"),
    _office("presentation program", "impress", "presentation application"),
    _app("office suite", "libreoffice", windows="libreoffice", programs=_SUITE, flags=_OFFICE),
    _app(
        "terminal",
        "terminal, terminal emulator, command line, console, gnome terminal, shell",
        windows="terminal, xterm, konsole, rxvt, kitty, alacritty",
        programs="gnome-terminal, xfce4-terminal, konsole, x-terminal-emulator, xterm",
    ),
    _app(
        "browser",
        "browser, web browser, internet browser, chromium, chrome, google chrome",
        windows="chromium, chrome, firefox",
        programs="chromium, google-chrome, google-chrome-stable, chromium-browser",
        flags=_CHROMIUM,
    ),
    _app("browser", "firefox, mozilla firefox", windows="firefox", programs="firefox, firefox-esr"),
    _app(
        "file manager",
        "file manager, files, file browser, nautilus, thunar",
        windows="files, thunar, nautilus, pcmanfm, dolphin, nemo",
        programs="thunar, nautilus, pcmanfm, nemo, dolphin",
    ),
    _app(
        "calculator",
        "calculator",
        windows="calculator, galculator, kcalc, xcalc",
        programs="gnome-calculator, galculator, kcalc, mate-calc, xcalc",
    ),
)
_BY_NAME = {name: app for app in _APPS for name in app.names}
_NOISE = re.compile(
    r"^(?:the|a|an|new|your|default)\s+|\s+(?:app|application|program|window)$", re.I
)


def find_app(name: str) -> App:
    """Returns the application of a name; for an unknown one, the name is its command."""
    lower = " ".join(name.lower().split())
    bare = lower
    while (shorter := _NOISE.sub("", bare)) != bare:
        bare = shorter
    app = _BY_NAME.get(lower) or _BY_NAME.get(bare)
    if app is not None:
        return app
    for part in re.split(r"\s*[()]\s*", bare):
        if part in _BY_NAME:
            return _BY_NAME[part]
    word = re.sub(r"[^a-z0-9._+-]+", "-", bare).strip("-.") or "application"
    programs = tuple(dict.fromkeys((word, word.replace("-", ""), word.split("-")[0])))
    return App((bare,), tuple(dict.fromkeys((bare, word))), programs, known=False)


def launch_command(app: App, file: str = "") -> str:
    """Returns a bash line that starts the first installed program of an application, with ``file``.

    It ends at once: with 0 if a program was started, with 127 and a message if none is installed.
    It is short, since a long input leaves no room in the history for the rest of its step.
    """
    arguments = "".join(f" {shlex.quote(flag)}" for flag in app.flags)
    if file:
        arguments += f" {_path(file)}"
    programs = " ".join(map(shlex.quote, app.programs))
    message = shlex.quote(f"not installed: {', '.join(app.programs)}")
    return (
        f"for p in {programs}; do command -v $p >/dev/null"
        f" && {{ setsid -f $p{arguments} >/dev/null 2>&1; exit; }}; done"
        f"; echo {message} >&2; exit 127"
    )


def open_command(file: str) -> str:
    """Returns a bash line that opens a file with the desktop's application for it."""
    path = _path(file)
    message = shlex.quote("no program to open files with is installed: xdg-open")
    return (
        "command -v xdg-open >/dev/null"
        f" && {{ setsid -f xdg-open {path} >/dev/null 2>&1; exit; }}"
        f"; echo {message} >&2; exit 127"
    )


def _path(file: str) -> str:
    """Returns a path quoted for the shell; a leading ``~/`` stays the home folder."""
    return f'"$HOME"/{shlex.quote(file[2:])}' if file.startswith("~/") else shlex.quote(file)
