"""Finds the task that a text names: an existing file, a task of a format, or an instruction."""

from __future__ import annotations

import difflib
import shlex
from contextlib import suppress
from pathlib import Path

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.tasks.find_format import is_named, refuse_unknown
from hisa.tasks.taskfile import load_task, task_from_text

__all__ = ["named_task"]

_MAX_PATH = 4096
"""Bytes of a path, on Linux."""
_SUFFIXES = (".yaml", ".yml", ".json")


def named_task(text: str, *, domain: str = "", seed: int = 0) -> Task:
    """Returns the task that a text names.

    Args:
        text: an existing file, ``FORMAT:NAME`` such as ``miniwob:NAME``, or an instruction.
        domain: the domain of a task that is only an instruction; empty: guessed.
        seed: for a named task's random choices.

    Raises:
        UsageError: no such file, format or task, or the file is not a task.
        PluginFailed: the package that has the format fails.
    """
    if is_named(text):
        return load_task(text, seed=seed)
    path = _as_path(text)
    if path is not None and path.is_file():
        return load_task(path)
    if path is not None and path.is_dir():
        file = min(path.glob("*.yaml"), default=path / "TASK.yaml")
        raise UsageError(
            f"{text!r} is a folder, and a task is one file or a text; to run all tasks of a "
            f"folder: hisa bench run {shlex.quote(f'own:{text}')}",
            fix=f"hisa run {shlex.quote(str(file))}",
        )
    if path is not None and _means_a_file(text, path):
        raise UsageError(f"no task file {text!r}", fix=_suggest_command(path))
    refuse_unknown(text)
    return task_from_text(text, domain=domain)


def _as_path(text: str) -> Path | None:
    """Returns the text as a path that can be looked up; None if it cannot be one."""
    if not text.strip() or "\n" in text or "\0" in text or len(text) > _MAX_PATH:
        return None
    path = Path(text)
    with suppress(RuntimeError):  # "~" and a name that no user has
        path = path.expanduser()
    try:
        path.exists()
    except OSError:
        return None
    return path


def _means_a_file(text: str, path: Path) -> bool:
    """Whether a text that is no existing file was meant as a file, and not as an instruction.

    With white space in it, it must begin as paths do, lie in an existing folder, or be nearly the
    name of an existing file.
    """
    if path.suffix.lower() not in _SUFFIXES:
        return False
    begins_so = text.startswith(("/", "./", "../", "~"))
    in_a_folder = path.parent != Path() and path.parent.is_dir()
    return len(text.split()) == 1 or begins_so or in_a_folder or bool(_find_similar(path))


def _find_similar(path: Path) -> list[str]:
    """Returns task files in the same folder with nearly that name, best first."""
    try:
        names = [file.name for file in path.parent.iterdir() if file.suffix.lower() in _SUFFIXES]
    except OSError:
        return []
    return difflib.get_close_matches(path.name, names, n=3)


def _suggest_command(path: Path) -> str:
    if similar_names := _find_similar(path):
        return f"hisa run {shlex.quote(str(path.with_name(similar_names[0])))}"
    return f"ls {shlex.quote(str(path.parent))}"
