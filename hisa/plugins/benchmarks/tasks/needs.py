"""Which applications a task needs, and whether the machine has them.

They are looked for before a task's setup begins: a task about an application that is not there is
never the agent's failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.getters.chrome_state import PREFERENCES
from hisa.plugins.benchmarks.tasks.opener import opener_of
from hisa.plugins.benchmarks.tasks.step_context import OTHER_NAMES
from hisa.plugins.machines.known_apps import APPS, SUDO, App
from hisa.plugins.machines.machine_apps import apps_of_words, is_installed_by, split_words
from hisa.plugins.machines.machine_apps import require_apps as require
from hisa.protocols import Environment, Task
from hisa.tasks.task_context import host_file

__all__ = ["asked_getters", "command_lines", "needed_apps", "needed_programs", "require_apps"]

_RUNS = frozenset(("launch", "execute", "command", "execute_with_verification"))
_STARTS = _RUNS | {"google_chrome_browser", "chrome_open_tabs"}
_ASKED: Mapping[str, frozenset[str]] = {
    "a terminal": frozenset(("vm_terminal_output",)),
    "VLC": frozenset(("vlc_config", "vlc_playing_info")),
    "GIMP": frozenset(("gimp_config_file",)),
    "Visual Studio Code": frozenset(("vscode_config",)),
    "Chromium": frozenset(
        (
            *PREFERENCES,
            *("open_tabs_info", "active_tab_info", "active_url_from_accessTree", "cookie_data"),
            *("active_tab_url_parse", "active_tab_html_parse", "url_dashPart", "history"),
            "url_path_parse",
        )
    ),
}
"""Getters that look into an application, by its title."""
_RUNS_SUDO = re.compile(r"(?:^|[;&|(`])\s*sudo\s")
"""As a command, not as a word that one looks for."""
_CALLED = re.compile(r"(?:^|[|&;]\s+|\$\(\s*|`)([A-Za-z][\w.+-]{1,79})(?=[\s;|)&`]|$)", re.M)
"""Where a line of a shell calls a program, quotation marks left out."""
_EXECUTE: Mapping[str, Any] = {"type": "execute"}
_SCRIPTS = {"script_and_execute": "src", "vm_script_output": "src"}


def needed_apps(task: Task) -> tuple[App, ...]:
    """Applications that a task names: in its list, by what it starts and opens, and by its getters.

    What is done before scoring counts too. One that the task's own setup installs is left out.
    """
    texts = "\n".join([json.dumps(list(task.setup), default=str), *_scripts(task)])
    found = {app.title: app for app in _named(task) if not is_installed_by(app, texts)}
    return tuple(found.values())


def _named(task: Task) -> Iterator[App]:
    names = {name.lower() for name in task.apps}
    asked = frozenset(_asked(task.check))
    for app in APPS:
        if names.intersection(app.called) or asked & _ASKED.get(app.title, frozenset()):
            yield app
    for raw in _steps(task):
        for words in command_lines(raw):
            yield from apps_of_words(words)
    for getter in asked_getters(task.check):
        lines = _script(task, getter.get("type"), getter).splitlines()
        commands = [*command_lines({**_EXECUTE, "parameters": getter}), *map(str.split, lines)]
        for words in commands:
            yield from (app for app in apps_of_words(words) if app.title != SUDO)
            if any(_RUNS_SUDO.search(text) for text in (" ".join(words), *words)):
                yield next(app for app in APPS if app.title == SUDO)
    for script in _scripts(task):
        for line in script.splitlines():
            yield from (app for app in apps_of_words(line.strip().split()) if app.title != SUDO)


def _steps(task: Task) -> Iterator[Mapping[str, Any]]:
    """The steps of the setup, and those before scoring."""
    yield from task.setup
    after = task.check.get("postconfig") if task.check else None
    for raw in after if isinstance(after, list | tuple) else ():
        if isinstance(raw, Mapping):
            yield raw


def _asked(check: Mapping[str, Any] | None) -> Iterator[str]:
    """Names of the getters by which a task is scored."""
    for getter in asked_getters(check):
        yield str(getter.get("type"))


def asked_getters(check: Mapping[str, Any] | None, *keys: str) -> Iterator[Mapping[str, Any]]:
    """The getters of a check: of its results and its expectations, or of one of these."""
    for key in keys or ("result", "expected"):
        given = check.get(key) if check else None
        for one in given if isinstance(given, list | tuple) else (given,):
            if isinstance(one, Mapping):
                yield one


def command_lines(raw: Mapping[str, Any]) -> Iterator[list[str]]:
    """The command lines of a setup step, as words."""
    kind, given = raw.get("type"), raw.get("parameters")
    if isinstance(raw.get("launch"), str):
        yield split_words(raw["launch"])
    elif kind == "open" and isinstance(given, Mapping):
        yield opener_of(str(given.get("path"))).split()
    elif kind in ("google_chrome_browser", "chrome_open_tabs"):
        yield ["google-chrome"]
    elif kind in _STARTS and isinstance(given, Mapping):
        yield _words(given.get("command"))


def _words(command: Any) -> list[str]:
    return split_words(command) if isinstance(command, str) else [str(w) for w in command or ()]


def _scripts(task: Task) -> Iterator[str]:
    """The scripts of the setup, which go on where ``sudo`` is refused."""
    for raw in task.setup:
        yield _script(task, raw.get("type"), raw.get("parameters"))


def _script(task: Task, kind: object, given: object) -> str:
    """The text of the script that a step or a getter runs; empty: none, or not there."""
    source = given.get(_SCRIPTS.get(str(kind), "")) if isinstance(given, Mapping) else None
    if not isinstance(source, str):
        return ""
    try:
        return host_file(task.folder, source).read_text("utf-8", errors="replace")
    except UsageError:
        return ""  # told by `hisa.plugins.benchmarks.tasks.problems`


def needed_programs(task: Task) -> tuple[str, ...]:
    """Programs that setup and check run by their names alone, besides those of `needed_apps`.

    One that the setup installs, that the task names, or that a shell finds by a path is left out.
    """
    texts = "\n".join([json.dumps(list(task.setup), default=str), *_scripts(task)])
    named = {name: App(name, name, (name, *OTHER_NAMES.get(name, ()))) for name in _run(task)}
    ours = {name for app in APPS for name in (app.commands[0], *_alike(app))}
    return tuple(
        name for name, app in named.items() if name not in ours and not is_installed_by(app, texts)
    )


def _alike(app: App) -> Iterator[str]:
    """Commands of an application in whose place another of them is started."""
    for name in app.commands:
        if {*app.commands} <= {name, *OTHER_NAMES.get(name, ())}:
            yield name


def _run(task: Task) -> Iterator[str]:
    for raw in _steps(task):
        given = raw.get("parameters")
        if raw.get("type") not in _RUNS or not isinstance(given, dict):
            continue
        words = _words(given.get("command"))
        if words and not given.get("shell") and re.fullmatch(r"[A-Za-z0-9_.+-]{1,80}", words[0]):
            yield words[0]
    for getter in asked_getters(task.check):
        command = getter.get("command")
        text = _script(task, getter.get("type"), getter)
        text += f"\n{command if isinstance(command, str) else _line(command)}"
        names = _CALLED.findall(re.sub(r"'[^']*'", " ", text).replace('"', " "))
        yield from (name for name in names if name.lower() not in task.instruction.lower())


def _line(command: Any) -> str:
    """The line of ``bash -c LINE``; else the first word of a command."""
    words = _words(command)
    return words[2] if words[1:2] in (["-c"], ["-lc"]) and len(words) > 2 else "".join(words[:1])


async def require_apps(task: Task, environment: Environment) -> None:
    """See that the machine has the applications that a task needs.

    Raises:
        EnvironmentFailed: it lacks some; each is named with the package that has it.
    """
    await require(task, environment, needed_apps(task))
