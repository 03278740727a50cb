"""Makes tasks from files and from texts."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import yaml

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.tasks.domains import guess_domain
from hisa.tasks.find_format import task_named, task_of_file
from hisa.text.safe_text import encodable
from hisa.text.yaml_text import read_yaml

__all__ = ["MAX_FILE", "load_task", "read_tree", "task_from_text"]

MAX_FILE = 1_000_000
"""Most bytes of a task file."""


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:5]
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return "-".join([*words, digest])


def task_from_text(text: str, *, domain: str = "") -> Task:
    """Makes a task that is only an instruction; it is not scored.

    Raises:
        UsageError: the text is empty.
    """
    instruction = encodable(text).strip()  # an argument may hold any bytes
    if not instruction:
        raise UsageError("the task is empty", fix='hisa run "Open the text editor. …"')
    return Task(
        id=_slug(instruction),
        instruction=instruction,
        domain=encodable(domain) or guess_domain(instruction),
    )


def _read(path: Path) -> dict[str, Any]:
    value = read_tree(path)
    if not isinstance(value, dict):
        raise UsageError(f"{path}: a task file is a mapping with at least 'instruction'")
    return value


def read_tree(path: Path) -> Any:
    """Reads a JSON or YAML file.

    Raises:
        UsageError: the file cannot be read, is too large, or is neither.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}: larger than {MAX_FILE:,} bytes; not a task file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    kind = "JSON" if path.suffix.lower() == ".json" else "YAML"
    try:
        return json.loads(text) if kind == "JSON" else read_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid {kind}: {error}") from error


def load_task(place: Path | str, *, seed: int = 0) -> Task:
    """Loads the task of a file, or of a name such as ``miniwob:NAME``.

    Args:
        place: a file, whose keys decide its format; a text may also be ``FORMAT:NAME`` with a
            format that is announced.
        seed: for a named task's random choices; files do not use it.

    Raises:
        UsageError: a key is wrong, or there is no such task.
        PluginFailed: the package that has the format fails.
    """
    if isinstance(place, str) and (task := task_named(place, seed=seed)) is not None:
        return task
    path = Path(place)
    return task_of_file(path, _read(path))
