"""Visual Studio Code or its open build: files shown, extensions, settings, keys, tasks, search.

ComputerRL counts 12 functions for Code (appendix B, table 5). These use the ``code`` command and
the editor's own files, if these have no comments. The published editor reads them again as soon as
they change; a window of the open build does so when it is reloaded, see `reload`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from hisa.actions import Press, Sleep, Write
from hisa.errors import ToolFailed
from hisa.machine.patience import patience
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.screen.observation import Observation
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = ["CODE"]

_SECONDS = 110.0
"""Time limit of one call: an emulated machine takes tens of seconds to answer a command."""
_PALETTE = "Type the name of a command"
_RELOAD = "Developer: Reload Window"
_LATER = "An open window may apply it only after code_reload."
_SHOWN = 40.0
"""Seconds until a window's title names what was opened."""

Line = Annotated[int, Field(ge=0, le=10_000_000)]
Value = bool | int | float | str | list[Any] | dict[str, Any] | None


async def _call_code(context: ToolContext, function: str, /, **arguments: Any) -> Any:
    return await call_guest(
        context.environment, "code_program", function, seconds=patience(_SECONDS), **arguments
    )


async def _wait_for_title(context: ToolContext, *names: str) -> str:
    """Waits for a window whose title has the names, and returns that title."""
    limit = time.monotonic() + patience(_SHOWN)
    while True:
        observation = await context.environment.observe()
        for window in observation.windows:
            loading = "/?" in window.title  # the address of a page that is not there yet
            if all(name in window.title for name in names) and not loading:
                return window.title
        if time.monotonic() > limit:
            titles = ", ".join(repr(window.title) for window in observation.windows) or "none"
            raise ToolFailed(f"no window's title has {' and '.join(names)}; windows: {titles}")
        await asyncio.sleep(0.3)


@tool(seconds=180)
async def show(
    context: ToolContext,
    path: str,
    line: Line = 0,
    column: Line = 0,
    window: Literal["", "new", "same", "add"] = "",
) -> str:
    """Open a file, at a line if one is given, or a folder in the editor.

    Inputs:
        path: of the file or folder, which must exist.
        line: from 1; 0: where the editor puts it.
        column: from 1.
        window: a new one, the same one, or add the folder to what the window shows.

    Examples:
        {"path": "~/project", "window": "same"}
        {"path": "~/project/main.py", "line": 12}
    """
    answer = await _call_code(context, "show", path=path, line=line, column=column, window=window)
    if window == "add":
        return f"The editor was told to add {answer['path']} to its window."
    return f"Window {await _wait_for_title(context, answer['name'])!r} shows {answer['path']}"


@tool(reads=True)
async def settings(context: ToolContext, words: str = "", folder: str = "") -> str:
    """List which settings the user or a folder has set; all others have their defaults.

    Inputs:
        words: parts of the names.
        folder: whose .vscode/settings.json; empty: the user's.

    Examples:
        {}
        {"words": "font", "folder": "~/project"}
    """
    answer = await _call_code(context, "settings", words=words, folder=folder)
    lines = [f"{name} = {json.dumps(value)}" for name, value in answer["set"].items()]
    return "\n".join([f"{answer['path']}:", *(lines or ["nothing is set"])])


@tool(effects=("security",))
async def setting(context: ToolContext, name: str, value: Value, folder: str = "") -> str:
    """Set a setting of the editor by its id, for the user or for one folder.

    The editor takes any name; one that it does not know does nothing.

    Inputs:
        name: such as workbench.colorTheme, editor.fontSize, files.autoSave, files.associations.
        value: as JSON.
        folder: writes its .vscode/settings.json; empty: the user's.

    Examples:
        {"name": "editor.fontSize", "value": 18}
        {"name": "workbench.colorTheme", "value": "Default Light Modern"}
        {"name": "files.exclude", "value": {"**/*.pyc": true}, "folder": "~/project"}
    """
    answer = await _call_code(context, "setting", name=name, value=value, folder=folder)
    before = "not set" if answer["before"] is None else json.dumps(answer["before"])
    return f"{answer['path']}: {name} = {json.dumps(answer['now'])}; it was {before}. {_LATER}"


@tool(effects=("security",))
async def unset(context: ToolContext, name: str, folder: str = "") -> str:
    """Remove a setting, so that its default applies again.

    Examples:
        {"name": "editor.fontSize"}
    """
    answer = await _call_code(context, "unset", name=name, folder=folder)
    return f"{answer['path']}: {name} is not set any more; it was {json.dumps(answer['before'])}"


@tool(seconds=180)
async def reload(context: ToolContext) -> str:
    """Reload the window in front, so that settings and keys just written apply.

    Examples:
        {}
    """
    observation = await context.environment.observe()
    if observation.active is None or not CODE.needs.in_front(observation):
        raise ToolFailed("the editor is not in front: click its window first")
    before = observation.active.title
    await context.environment.act([Press(key="f1")])
    if not await _wait_until(context, _has_palette):
        raise ToolFailed("F1 did not bring up the list of commands; look at the screen")
    await context.environment.act([Write(text=_RELOAD), Sleep(seconds=1.0), Press(key="enter")])

    def has_gone(now: Observation) -> bool:
        return all(window.title != before for window in now.windows)

    if not await _wait_until(context, has_gone):
        raise ToolFailed(f"the window's title is still {before!r}: it was not seen to reload")
    return f"Window {await _wait_for_title(context, before.rsplit(' - ', 1)[-1])!r} is reloaded"


def _has_palette(observation: Observation) -> bool:
    return any(
        _PALETTE in f"{element.name} {element.text}" for element in observation.elements or ()
    )


async def _wait_until(context: ToolContext, holds: Callable[[Observation], bool]) -> bool:
    """Whether a look meets the condition within some seconds."""
    limit = time.monotonic() + patience(_SHOWN / 2)
    while time.monotonic() < limit:
        if holds(await context.environment.observe(elements=holds is _has_palette)):
            return True
        await asyncio.sleep(0.1)
    return False


@tool(reads=True, seconds=180)
async def extensions(context: ToolContext) -> str:
    """List the installed extensions with their versions.

    Examples:
        {}
    """
    versions = await _call_code(context, "extensions")
    return "\n".join(f"{name} {version}" for name, version in versions.items()) or "no extensions"


@tool(effects=("install",), seconds=300)
async def install(context: ToolContext, which: str) -> str:
    """Install an extension by PUBLISHER.NAME, or from a .vsix file.

    Examples:
        ms-python.python
        ~/Downloads/theme.vsix
    """
    answer = await _call_code(context, "install", which=which)
    new = ", ".join(f"{name} {version}" for name, version in answer["new"].items())
    return f"New: {new or 'nothing, it was already there'}; {answer['count']} extensions"


@tool(effects=("install",), seconds=300)
async def uninstall(context: ToolContext, name: str) -> str:
    """Uninstall an extension.

    Examples:
        ms-python.python
    """
    return (
        f"{name} is gone; {await _call_code(context, 'uninstall', name=name)} extensions are left"
    )


@tool(reads=True)
async def keys(context: ToolContext) -> str:
    """List the user's own keyboard shortcuts.

    Examples:
        {}
    """
    bindings = await _call_code(context, "keys")
    return "\n".join(json.dumps(binding) for binding in bindings) or "no keys of the user's own"


@tool()
async def bind(
    context: ToolContext, key: str, command: str, when: str = "", args: Value = None
) -> str:
    """Give a command of the editor a keyboard shortcut; "-command" removes a default one.

    Inputs:
        key: such as "ctrl+alt+n", or "ctrl+k ctrl+n" for two in a row.
        command: its id, as below.
        when: the condition, such as "editorTextFocus".
        args: what it is given.

    Examples:
        {"key": "ctrl+alt+n", "command": "workbench.action.files.newUntitledFile"}
        {"key": "ctrl+d", "command": "-editor.action.addSelectionToNextFindMatch"}
    """
    bindings = await _call_code(context, "bind", key=key, command=command, when=when, args=args)
    lines = (json.dumps(binding) for binding in bindings)
    return "\n".join(["The user's own for this key:", *lines, _LATER])


@tool()
async def unbind(context: ToolContext, key: str, command: str = "") -> str:
    """Remove the user's own shortcuts of a key, or only one for a command.

    Examples:
        {"key": "ctrl+alt+n"}
    """
    return f"{await _call_code(context, 'unbind', key=key, command=command)} removed"


@tool()
async def task(
    context: ToolContext,
    folder: str,
    label: str,
    command: str,
    group: Literal["none", "build", "test"] = "none",
) -> str:
    """Write a task of a folder: a shell command that the editor runs when asked to.

    Inputs:
        label: its name; replaces a task of that name.
        group: build or test makes it the default one of that key.

    Examples:
        {"folder": "~/project", "label": "Build", "command": "make", "group": "build"}
    """
    new: dict[str, Any] = {"label": label, "type": "shell", "command": command}
    new |= {} if group == "none" else {"group": {"kind": group, "isDefault": True}}
    answer = await _call_code(context, "entry", kind="tasks", folder=folder, new=new)
    return f"{answer['path']}: {', '.join(map(str, answer['names']))}"


@tool()
async def launch(
    context: ToolContext,
    folder: str,
    name: str,
    debugger: str,
    options: dict[str, Any],
) -> str:
    """Write a launch configuration of a folder for running and debugging.

    Inputs:
        name: of the configuration; replaces one of that name.
        debugger: its type, such as "debugpy" or "node".
        options: further fields: "program", "args", "cwd", "env"; "request" is "launch" by default.

    Examples:
        {"folder": "~/project", "name": "Run", "debugger": "node", "options": {"program": "a.js"}}
    """
    new = {"request": "launch", **options, "name": name, "type": debugger}
    answer = await _call_code(context, "entry", kind="launch", folder=folder, new=new)
    return f"{answer['path']}: {', '.join(map(str, answer['names']))}"


CODE = Toolkit(
    name="code",
    title="Visual Studio Code",
    functions=(
        *(show, setting, settings, unset, reload, extensions, install, uninstall),
        *(keys, bind, unbind, task, launch),
    ),
    needs=Needs(
        capabilities=frozenset({"execute"}), apps=("code", "code-oss", "vscodium", "codium")
    ),
)
"""The toolkit, as the entry point names it."""
