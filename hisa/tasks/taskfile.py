"""Makes tasks of files and of texts."""

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
"""Bytes of a task file."""


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:5]
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return "-".join([*words, digest])


def task_from_text(text: str, *, domain: str = "") -> Task:
    """A task that is only an instruction; it is not scored.

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
    """Read a file of JSON or YAML.

    Raises:
        UsageError: it cannot be read, is too large, or is neither.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}: larger than {MAX_FILE} bytes; not a task file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    kind = "JSON" if path.suffix.lower() == ".json" else "YAML"
    try:
        return json.loads(text) if kind == "JSON" else read_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid {kind}: {error}") from error


def load_task(place: Path | str, *, seed: int = 0) -> Task:
    """The task of a file, whose keys decide whose it is, or of a name such as ``miniwob:NAME``.

    Args:
        place: a file; where it is a text, also ``FORMAT:NAME`` with a format that is announced.
        seed: of what a named task draws; files have no use for it.

    Raises:
        UsageError: what is wrong with which key, or no such task.
        PluginFailed: the package that has the format fails.
    """
    if isinstance(place, str) and (task := task_named(place, seed=seed)) is not None:
        return task
    path = Path(place)
    return task_of_file(path, _read(path))
