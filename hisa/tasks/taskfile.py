"""Reads task files: small YAML of our own, and the JSON of OSWorld and Spider2-V as it is."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks import benchmark
from hisa.plugins.benchmarks.tasks.benchmark import explain
from hisa.plugins.gym.gym_page import BROWSERGYM, gym_task
from hisa.plugins.gym.miniwob.task import miniwob_task
from hisa.protocols import Task
from hisa.tasks.domains import guess_domain
from hisa.tasks.hisa_format import Check, HisaTaskFile, SetupStep
from hisa.text.safe_text import encodable

__all__ = ["MINIWOB", "Check", "SetupStep", "is_data_file", "load_task", "task_from_text"]

MINIWOB = "miniwob:"
"""How the name of a page begins where a task file could stand."""
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
    value = _tree(path)
    if not isinstance(value, dict):
        raise UsageError(f"{path}: a task file is a mapping with at least 'instruction'")
    return value


def _tree(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}: larger than {MAX_FILE} bytes; not a task file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    kind = "JSON" if path.suffix.lower() == ".json" else "YAML"
    try:
        return json.loads(text) if kind == "JSON" else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid {kind}: {error}") from error


def is_data_file(path: Path) -> bool:
    """Whether a file among task files is data of theirs: an expected result, settings, a list.

    A file that cannot be read is not, unless it lies in the folder of a task: ``ID/ID.json``.
    """
    own = path.parent / f"{path.parent.name}.json"
    if own.name != path.name and path.suffix.lower() == ".json" and own.is_file():
        return True
    try:
        tree = _tree(path)
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


def load_task(place: Path | str, *, seed: int = 0) -> Task:
    """The task of a file, whose keys decide whose it is, or of a page.

    Args:
        place: a file; where it is a text, also ``miniwob:NAME`` or ``browsergym:NAME``.
        seed: of what a page draws; files have no use for it.

    Raises:
        UsageError: what is wrong with which key, or no such page.
    """
    if isinstance(place, str) and place.startswith(MINIWOB):
        return miniwob_task(place.removeprefix(MINIWOB), seed=seed)
    if isinstance(place, str) and place.startswith(BROWSERGYM):
        return gym_task(place, seed=seed)
    path = Path(place)
    tree = _read(path)
    return benchmark.from_json(path, tree) if benchmark.looks_like(tree) else _own(path, tree)


def _own(path: Path, tree: dict[str, Any]) -> Task:
    try:
        file = HisaTaskFile.model_validate(tree)
    except ValidationError as error:
        raise UsageError(
            f"{path}: {explain(error)}", fix=f"the keys are {', '.join(HisaTaskFile.model_fields)}"
        ) from error
    return Task(
        id=file.id or path.stem,
        instruction=file.instruction.strip(),
        domain=file.domain or guess_domain(file.instruction),
        setup=tuple(tree.get("setup") or ()),
        check={"all": [c.model_dump(exclude_defaults=True) for c in file.check]}
        if file.check
        else None,
        folder=str(path.resolve().parent),
        results=file.results,
    )
