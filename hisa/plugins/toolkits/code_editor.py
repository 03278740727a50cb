"""Visual Studio Code or its open build: files shown, extensions, settings, keys, tasks, search.

ComputerRL counts 12 functions for Code (appendix B, table 5). These use the ``code`` command and
the editor's own files, where these have no comments. The published editor reads those again as soon
as they change; a window of the open build does once it is loaded again, see `reload`.
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
"""Of one call: an emulated machine takes tens of seconds to answer a command."""
_PALETTE = "Type the name of a command"
_RELOAD = "Developer: Reload Window"
_LATER = "A window that is open may take it only after code_reload."
_SHOWN = 40.0
"""Seconds until a window's title names what was opened."""

Line = Annotated[int, Field(ge=0, le=10_000_000)]
Value = bool | int | float | str | list[Any] | dict[str, Any] | None


async def _code(context: ToolContext, function: str, /, **given: Any) -> Any:
    return await call_guest(
        context.environment, "code_program", function, seconds=patience(_SECONDS), **given
    )


async def _titled(context: ToolContext, *names: str) -> str:
    """The title of the window that has the names, once there is one."""
    limit = time.monotonic() + patience(_SHOWN)
    while True:
        look = await context.environment.observe()
        for window in look.windows:
            loading = "/?" in window.title  # the address of a page that is not there yet
            if all(name in window.title for name in names) and not loading:
                return window.title
        if time.monotonic() > limit:
            told = ", ".join(repr(window.title) for window in look.windows) or "none"
            raise ToolFailed(f"no window's title has {' and '.join(names)}; windows: {told}")
        await asyncio.sleep(0.3)


@tool(seconds=180)
async def show(
    context: ToolContext,
    path: str,
    line: Line = 0,
    column: Line = 0,
    window: Literal["", "new", "same", "add"] = "",
) -> str:
    """Open a file, at a line where one is given, or a folder in the editor.

    Inputs:
        path: of the file or folder, which must be there.
        line: from 1; 0: where the editor puts it.
        column: from 1.
        window: a new one, the same one, or add the folder to what the window shows.

    Examples:
        {"path": "~/project", "window": "same"}
        {"path": "~/project/main.py", "line": 12}
    """
    told = await _code(context, "show", path=path, line=line, column=column, window=window)
    if window == "add":
        return f"The editor was told to add {told['path']} to its window."
    return f"Window {await _titled(context, told['name'])!r} shows {told['path']}"


@tool(reads=True)
async def settings(context: ToolContext, words: str = "", folder: str = "") -> str:
    """Tell which settings are set, of the user or of a folder; all others have their defaults.

    Inputs:
        words: parts of the names.
        folder: whose .vscode/settings.json; empty: the user's.

    Examples:
        {}
        {"words": "font", "folder": "~/project"}
    """
    told = await _code(context, "settings", words=words, folder=folder)
    lines = [f"{name} = {json.dumps(value)}" for name, value in told["set"].items()]
    return "\n".join([f"{told['path']}:", *(lines or ["nothing is set"])])


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
    told = await _code(context, "setting", name=name, value=value, folder=folder)
    before = "not set" if told["before"] is None else json.dumps(told["before"])
    return f"{told['path']}: {name} = {json.dumps(told['now'])}; it was {before}. {_LATER}"


@tool(effects=("security",))
async def unset(context: ToolContext, name: str, folder: str = "") -> str:
    """Take a setting out, so that its default holds again.

    Examples:
        {"name": "editor.fontSize"}
    """
    told = await _code(context, "unset", name=name, folder=folder)
    return f"{told['path']}: {name} is not set any more; it was {json.dumps(told['before'])}"


@tool(seconds=180)
async def reload(context: ToolContext) -> str:
    """Load the window in front again, so that settings and keys just written hold.

    Examples:
        {}
    """
    look = await context.environment.observe()
    if look.active is None or not CODE.needs.in_front(look):
        raise ToolFailed("the editor is not in front: click its window first")
    before = look.active.title
    await context.environment.act([Press(key="f1")])
    if not await _until(context, _has_palette):
        raise ToolFailed("F1 did not bring up the list of commands; look at the screen")
    await context.environment.act([Write(text=_RELOAD), Sleep(seconds=1.0), Press(key="enter")])

    def has_gone(now: Observation) -> bool:
        return all(window.title != before for window in now.windows)

    if not await _until(context, has_gone):
        raise ToolFailed(f"the window's title is still {before!r}: it was not seen to load again")
    return f"Window {await _titled(context, before.rsplit(' - ', 1)[-1])!r} is loaded again"


def _has_palette(look: Observation) -> bool:
    return any(_PALETTE in f"{each.name} {each.text}" for each in look.elements or ())


async def _until(context: ToolContext, holds: Callable[[Observation], bool]) -> bool:
    """Whether something holds of a look within some seconds."""
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
    told = await _code(context, "extensions")
    return "\n".join(f"{name} {version}" for name, version in told.items()) or "no extensions"


@tool(effects=("install",), seconds=300)
async def install(context: ToolContext, which: str) -> str:
    """Install an extension by PUBLISHER.NAME, or from a .vsix file.

    Examples:
        ms-python.python
        ~/Downloads/theme.vsix
    """
    told = await _code(context, "install", which=which)
    new = ", ".join(f"{name} {version}" for name, version in told["new"].items())
    return f"New: {new or 'nothing, it was there'}; {told['count']} extensions"


@tool(effects=("install",), seconds=300)
async def uninstall(context: ToolContext, name: str) -> str:
    """Uninstall an extension.

    Examples:
        ms-python.python
    """
    return f"{name} is gone; {await _code(context, 'uninstall', name=name)} extensions are left"


@tool(reads=True)
async def keys(context: ToolContext) -> str:
    """List the user's own keyboard shortcuts.

    Examples:
        {}
    """
    told = await _code(context, "keys")
    return "\n".join(json.dumps(each) for each in told) or "no keys of the user's own"


@tool()
async def bind(
    context: ToolContext, key: str, command: str, when: str = "", args: Value = None
) -> str:
    """Give a command of the editor a keyboard shortcut; "-command" takes a default one away.

    Inputs:
        key: such as "ctrl+alt+n", or "ctrl+k ctrl+n" for two after one another.
        command: its id, such as workbench.action.files.newUntitledFile.
        when: the condition, such as "editorTextFocus".

    Examples:
        {"key": "ctrl+alt+n", "command": "workbench.action.files.newUntitledFile"}
        {"key": "ctrl+d", "command": "-editor.action.addSelectionToNextFindMatch"}
    """
    told = await _code(context, "bind", key=key, command=command, when=when, args=args)
    lines = (json.dumps(each) for each in told)
    return "\n".join(["The user's own for this key:", *lines, _LATER])


@tool()
async def unbind(context: ToolContext, key: str, command: str = "") -> str:
    """Take the user's own shortcuts of a key out, or only that for a command.

    Examples:
        {"key": "ctrl+alt+n"}
    """
    return f"{await _code(context, 'unbind', key=key, command=command)} taken out"


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
        label: its name; a task of the same name goes.
        group: build or test makes it the default one of that key.

    Examples:
        {"folder": "~/project", "label": "Build", "command": "make", "group": "build"}
    """
    new: dict[str, Any] = {"label": label, "type": "shell", "command": command}
    new |= {} if group == "none" else {"group": {"kind": group, "isDefault": True}}
    told = await _code(context, "entry", kind="tasks", folder=folder, new=new)
    return f"{told['path']}: {', '.join(map(str, told['names']))}"


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
        name: of the configuration; one of the same name goes.
        debugger: its type, such as "debugpy" or "node".
        options: further fields: "program", "args", "cwd", "env"; "request" is "launch" by default.

    Examples:
        {"folder": "~/project", "name": "Run", "debugger": "node", "options": {"program": "a.js"}}
    """
    new = {"request": "launch", **options, "name": name, "type": debugger}
    told = await _code(context, "entry", kind="launch", folder=folder, new=new)
    return f"{told['path']}: {', '.join(map(str, told['names']))}"


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
