"""Controls Visual Studio Code or its open build by its command line and its files.

Each function takes and returns plain JSON data; see `files_common.serve`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .files_common import Refused, path_of, serve

_COMMANDS = {"code": "Code", "codium": "VSCodium", "code-oss": "Code - OSS"}
"""Command to the folder of its settings under ~/.config."""
_LARGEST = 4 << 20
"""Bytes of the largest file of settings; a person's has some thousand."""
_SECONDS = 100.0
"""Time limit of the command line: its first call starts the open build's server."""


def _command() -> str:
    """Returns the editor's command."""
    for name in _COMMANDS:
        if path := shutil.which(name):
            return path
    raise Refused(f"no editor is installed: none of {', '.join(_COMMANDS)} is a command")


def _user() -> Path:
    """Returns the folder of the user's settings, which may not exist yet."""
    names = (folder for name, folder in _COMMANDS.items() if shutil.which(name))
    return Path.home() / ".config" / next(names, "Code") / "User"


def _run_editor(*words: str) -> str:
    line = [_command(), *words]
    try:
        result = subprocess.run(
            line,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"{Path(line[0]).name} did not end within {_SECONDS:g} s") from error
    if result.returncode:
        message = (result.stderr.strip() or result.stdout.strip())[-400:]
        raise Refused(f"{Path(line[0]).name} refuses (exit status {result.returncode}): {message}")
    return result.stdout


def _require_path(text: str) -> Path:
    path = path_of(text)
    if not path.exists():
        raise Refused(f"there is no {str(path)!r}")
    return path


def show(path: str, line: int, column: int, window: str) -> Any:
    """Opens a file or folder, and returns its name, which the window's title will have.

    Args:
        path: an existing file or folder.
        line: a line of the file, from 1; 0: where the editor puts the cursor.
        column: a column of the line, from 1.
        window: "new", "same", "add" (the folder to what the window shows) or "".
    """
    target = _require_path(path)
    words = {"new": ["-n"], "same": ["-r"], "add": ["--add"], "": []}[window]
    if target.is_dir():
        if line:
            raise Refused(f"{str(target)!r} is a folder; a line is of a file")
        _run_editor(*words, str(target))
    elif line:
        _run_editor(*words, "-g", f"{target}:{line}:{max(column, 1)}")
    else:
        _run_editor(*words, str(target))
    return {"path": str(target), "name": target.name}


def extensions() -> Any:
    """Returns the installed extensions with their versions."""
    lines = _run_editor("--list-extensions", "--show-versions").splitlines()
    pairs = (line.strip().partition("@") for line in lines if "." in line)
    return {name.lower(): version for name, _, version in pairs}


def install(which: str) -> Any:
    """Installs an extension by its name or from a file, and returns what is new."""
    before = extensions()
    word = which
    if which.endswith(".vsix"):
        word = str(_require_path(which))
    elif not re.fullmatch(r"[\w-]+\.[\w.-]+(@[\w.-]+)?", which):
        raise Refused(f"{which!r}: expected PUBLISHER.NAME, or a file that ends in .vsix")
    output = _run_editor("--install-extension", word)
    after = extensions()
    new = {name: version for name, version in after.items() if before.get(name) != version}
    extension = which.partition("@")[0].lower()
    if not new and not (extension in after or "already installed" in output):
        raise Refused(f"{which!r} is not among the extensions afterwards: {output[-400:]}")
    return {"new": new, "count": len(after)}


def uninstall(name: str) -> Any:
    """Uninstalls an extension, and returns the number that are left."""
    if name.lower() not in extensions():
        raise Refused(f"no extension {name!r}; there are {', '.join(extensions()) or 'none'}")
    _run_editor("--uninstall-extension", name)
    after = extensions()
    if name.lower() in after:
        raise Refused(f"extension {name!r} is still installed")
    return len(after)


def _settings_file(name: str, folder: str) -> Path:
    """Returns the path of a file of the user's settings, or of a folder's own."""
    if not folder:
        return _user() / name
    root = _require_path(folder)
    if not root.is_dir():
        raise Refused(f"{str(root)!r} is no folder")
    return root / ".vscode" / name


def load(path: Path, kind: type) -> Any:
    """Returns the contents of a file; an empty value if it does not exist.

    Raises:
        Refused: it holds another kind of value, or comments, which a change would lose.
    """
    if path.exists() and path.stat().st_size > _LARGEST:
        raise Refused(f"{path} is larger than {_LARGEST >> 20} MiB")
    text = path.read_text("utf-8-sig") if path.exists() else ""
    if not text.strip():
        return kind()
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Refused(
            f"{path} is not plain JSON, or has comments: {error}; change it in the editor"
        ) from error
    if not isinstance(value, kind):
        raise Refused(f"{path} holds no {'object' if kind is dict else 'list'}")
    return value


def write(path: Path, value: Any) -> None:
    """Writes a file whole, in one step."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(json.dumps(value, indent=4, ensure_ascii=False) + "\n")
    os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else 0o644)
    os.replace(draft, target)


def settings(words: str, folder: str) -> Any:
    """Returns the settings whose names have all the words."""
    path = _settings_file("settings.json", folder)
    stored = load(path, dict)
    sought = words.lower().split()
    matches = {key: stored[key] for key in stored if all(word in key.lower() for word in sought)}
    return {"path": str(path), "set": matches}


def setting(name: str, value: Any, folder: str) -> Any:
    """Sets a setting, and returns its value before and now.

    Args:
        name: the setting's id, such as "editor.fontSize".
        value: plain JSON data.
        folder: the folder whose own settings change; empty: the user's.
    """
    path = _settings_file("settings.json", folder)
    stored = load(path, dict)
    write(path, {**stored, name: value})
    return {"path": str(path), "before": stored.get(name), "now": load(path, dict)[name]}


def unset(name: str, folder: str) -> Any:
    """Removes a setting, so that its default applies."""
    path = _settings_file("settings.json", folder)
    stored = load(path, dict)
    if name not in stored:
        raise Refused(f"{path} does not set {name!r}; it sets {', '.join(stored) or 'nothing'}")
    write(path, {key: value for key, value in stored.items() if key != name})
    return {"path": str(path), "before": stored[name]}


def keys() -> Any:
    """Returns the user's own shortcuts."""
    return load(_settings_file("keybindings.json", ""), list)


def bind(key: str, command: str, when: str, args: Any) -> Any:
    """Adds a shortcut for a command, and returns all those of its key.

    Args:
        key: such as "ctrl+alt+n".
        command: the command's id; with "-" in front, a default key is taken from it.
        when: the condition of the key; empty: always.
        args: what the command is given; None: nothing.
    """
    path = _settings_file("keybindings.json", "")
    bindings = load(path, list)
    new = {"key": key, "command": command}
    new |= {"when": when} if when else {}
    new |= {"args": args} if args is not None else {}
    if new not in bindings:
        write(path, [*bindings, new])
    return [binding for binding in load(path, list) if binding.get("key") == key]


def unbind(key: str, command: str) -> Any:
    """Removes the user's own shortcuts for a command, and returns their number."""
    path = _settings_file("keybindings.json", "")
    bindings = load(path, list)
    rest = [
        binding
        for binding in bindings
        if binding.get("key") != key or command not in ("", binding.get("command"))
    ]
    if len(rest) == len(bindings):
        raise Refused(f"{path} has no key {key!r}{f' for {command!r}' if command else ''}")
    write(path, rest)
    return len(bindings) - len(rest)


_PLACES = {
    "tasks": ("tasks.json", "tasks", "2.0.0"),
    "launch": ("launch.json", "configurations", "0.2.0"),
}
_NAMED = {"tasks": "label", "launch": "name"}


def entry(kind: str, folder: str, new: dict[str, Any]) -> Any:
    """Adds a task or launch configuration, in place of one of the same name.

    Args:
        kind: "tasks" or "launch".
        folder: the folder whose .vscode holds the file.
        new: the entry, with a "label" (tasks) or "name" (launch).
    """
    name, key, version = _PLACES[kind]
    path = _settings_file(name, folder)
    stored = load(path, dict)
    name_key = _NAMED[kind]
    others = [item for item in stored.get(key, []) if item.get(name_key) != new[name_key]]
    write(path, {"version": version, **stored, key: [*others, new]})
    return {"path": str(path), "names": [e.get(name_key) for e in load(path, dict)[key]]}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(show, extensions, install, uninstall, settings, setting, unset),
        *(keys, bind, unbind, entry),
    )
}

if __name__ == "__main__":
    serve(FUNCTIONS)
