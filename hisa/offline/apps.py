"""Applications by the names people use: how to start each, and how to know its window."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

__all__ = ["App", "find_app", "launch_command", "open_command"]

_CHROMIUM = (
    "--no-sandbox",
    "--test-type",
    "--no-first-run",
    "--disable-gpu",
    "--password-store=basic",
    "--force-renderer-accessibility",
)
_OFFICE = ("--norestore", "--nologo")
_SUITE = ("libreoffice", "soffice")


@dataclass(frozen=True, slots=True)
class App:
    """One application.

    ``names`` are what it is called, lower case; ``windows`` are words in its window's title or
    application name, lower case; of ``programs`` the first installed one is started with
    ``flags``. ``sort`` is what lessons call it.
    """

    names: tuple[str, ...]
    windows: tuple[str, ...]
    programs: tuple[str, ...]
    sort: str = "application"
    flags: tuple[str, ...] = ()
    known: bool = True


_APPS = (
    App(
        ("text editor", "editor", "notepad", "plain text editor", "simple text editor"),
        ("mousepad", "gedit", "text editor", "xed", "kate", "leafpad", "featherpad", "l3afpad"),
        ("mousepad", "gedit", "gnome-text-editor", "xed", "kate", "featherpad", "leafpad"),
        "text editor",
    ),
    App(("mousepad",), ("mousepad",), ("mousepad",), "text editor"),
    App(("gedit",), ("gedit",), ("gedit",), "text editor"),
    App(
        (
            "libreoffice calc",
            "calc",
            "spreadsheet",
            "spreadsheet program",
            "spreadsheet application",
            "spreadsheet editor",
            "office calc",
            "openoffice calc",
        ),
        ("libreoffice calc", "libreoffice-calc"),
        _SUITE,
        "spreadsheet",
        ("--calc", *_OFFICE),
    ),
    App(
        ("libreoffice writer", "writer", "word processor"),
        ("libreoffice writer", "libreoffice-writer"),
        _SUITE,
        "word processor",
        ("--writer", *_OFFICE),
    ),
    App(
        ("libreoffice impress", "impress", "presentation program"),
        ("libreoffice impress", "libreoffice-impress"),
        _SUITE,
        "presentation program",
        ("--impress", *_OFFICE),
    ),
    App(
        ("libreoffice",),
        ("libreoffice",),
        _SUITE,
        "office suite",
        _OFFICE,
    ),
    App(
        ("terminal", "terminal emulator", "command line", "console", "gnome terminal", "shell"),
        ("terminal", "xterm", "konsole", "rxvt", "kitty", "alacritty"),
        ("gnome-terminal", "xfce4-terminal", "konsole", "x-terminal-emulator", "xterm"),
        "terminal",
    ),
    App(
        ("browser", "web browser", "internet browser", "chromium", "chrome", "google chrome"),
        ("chromium", "chrome", "firefox"),
        ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser"),
        "browser",
        _CHROMIUM,
    ),
    App(("firefox", "mozilla firefox"), ("firefox",), ("firefox", "firefox-esr"), "browser"),
    App(
        ("file manager", "files", "file browser", "nautilus", "thunar"),
        ("files", "thunar", "nautilus", "pcmanfm", "dolphin", "nemo"),
        ("thunar", "nautilus", "pcmanfm", "nemo", "dolphin"),
        "file manager",
    ),
    App(
        ("calculator",),
        ("calculator", "galculator", "kcalc", "xcalc"),
        ("gnome-calculator", "galculator", "kcalc", "mate-calc", "xcalc"),
        "calculator",
    ),
)
_BY_NAME = {name: app for app in _APPS for name in app.names}
_NOISE = re.compile(
    r"^(?:the|a|an|new|your|default)\s+|\s+(?:app|application|program|window)$", re.I
)


def find_app(name: str) -> App:
    """The application of that name; an unknown one is its own command (``known`` is False)."""
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
    """A bash line that starts the first installed program of an application, with ``file``.

    It ends at once: 0 when something was started, 127 with a message where nothing is installed.
    It is kept short, since a long input crowds the rest of its step out of the history.
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
    """A bash line that opens a file with the application the desktop has for it."""
    path = _path(file)
    message = shlex.quote("no program to open files with is installed: xdg-open")
    return (
        "command -v xdg-open >/dev/null"
        f" && {{ setsid -f xdg-open {path} >/dev/null 2>&1; exit; }}"
        f"; echo {message} >&2; exit 127"
    )


def _path(file: str) -> str:
    """Quoted for the shell; a leading ``~/`` stays the home folder."""
    return f'"$HOME"/{shlex.quote(file[2:])}' if file.startswith("~/") else shlex.quote(file)
