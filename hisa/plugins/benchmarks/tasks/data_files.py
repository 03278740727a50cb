"""Tells data among task files from the task files."""

from __future__ import annotations

from pathlib import Path

from hisa.errors import UsageError
from hisa.tasks.taskfile import MAX_FILE, read_tree

__all__ = ["is_data_file"]


def is_data_file(path: Path) -> bool:
    """Whether a file among task files is their data: an expected result, settings, a list.

    JSON beside ``ID/ID.json`` or ``task.yaml`` is data, such as the same task in another format.
    Any other file that cannot be read is not, unless it is JSON and too large for a task file.
    """
    own = (path.parent / f"{path.parent.name}.json", path.parent / "task.yaml")
    if path not in own and path.suffix.lower() == ".json" and any(map(Path.is_file, own)):
        return True
    try:
        tree = read_tree(path)
    except UsageError:
        return path.suffix.lower() == ".json" and _too_large(path)
    if not isinstance(tree, dict):
        return True
    steps = tree.get("config")
    stepped = isinstance(steps, list) and any(isinstance(s, dict) and "type" in s for s in steps)
    return not (tree.keys() & {"instruction", "evaluator"} or stepped)


def _too_large(path: Path) -> bool:
    try:
        return path.stat().st_size > MAX_FILE
    except OSError:
        return False
