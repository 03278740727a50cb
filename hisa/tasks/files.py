"""Task files of our own: a small YAML with an instruction, a setup and a check.

id: shopping-list
instruction: Open the text editor. Type "milk". Save the file as "~/list.txt".
domain: text_editor
setup:
  - write: {path: ~/notes.txt, text: "hello"}
  - run: mkdir -p ~/Documents
  - launch: mousepad ~/notes.txt
  - wait_window: {title: notes.txt}
check:
  - {file: ~/list.txt, contains: milk}
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.tasks.domains import guess_domain

__all__ = ["Check", "SetupStep", "load_task", "task_from_text"]

MAX_FILE = 1_000_000
"""Bytes of a task file."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WriteFile(_Strict):
    """Put text into a file of the machine."""

    path: str
    text: str


class CopyFile(_Strict):
    """Put a file from beside the task file on the machine."""

    source: str
    path: str


class WaitWindow(_Strict):
    """Wait until a window's title contains a text."""

    title: str
    seconds: float = Field(30.0, gt=0, le=300)


class SetupStep(_Strict):
    """One step: exactly one of the keys."""

    write: WriteFile | None = None
    copy_file: CopyFile | None = Field(None, alias="copy")
    run: str | None = None
    """A command that must end with 0."""
    launch: str | None = None
    """A program to start in the background."""
    wait_window: WaitWindow | None = None

    @model_validator(mode="after")
    def _one_key(self) -> SetupStep:
        if len(self.model_fields_set) != 1:
            raise ValueError(
                "a setup step has exactly one of write, copy, run, launch, wait_window"
            )
        return self


class Check(_Strict):
    """What must hold at the end: something about a file, or about a command's output."""

    file: str | None = None
    command: str | None = None
    """Must end with exit status 0."""
    equals: str | None = None
    """Compared without white space at both ends."""
    contains: Annotated[
        tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)
    ] = ()
    excludes: Annotated[
        tuple[str, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)
    ] = ()

    @model_validator(mode="after")
    def _one_subject(self) -> Check:
        if (self.file is None) == (self.command is None):
            raise ValueError("a check has exactly one of file and command")
        return self


class _TaskFile(_Strict):
    instruction: str = Field(min_length=1, max_length=20_000)
    id: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    domain: str | None = Field(None, pattern=r"^[a-z0-9_]{1,50}$")
    setup: tuple[SetupStep, ...] = ()
    check: Annotated[
        tuple[Check, ...], BeforeValidator(lambda v: (v,) if isinstance(v, Mapping) else v)
    ] = ()


def _slug(text: str) -> str:
    words = re.findall(r"[a-z0-9]+", text.lower())[:5]
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return "-".join([*words, digest])


def task_from_text(text: str, *, domain: str = "") -> Task:
    """A task that is only an instruction; it is not scored.

    Raises:
        UsageError: the text is empty.
    """
    instruction = text.strip()
    if not instruction:
        raise UsageError("the task is empty", fix='hisa run "Open the text editor. …"')
    return Task(
        id=_slug(instruction),
        instruction=instruction,
        domain=domain or guess_domain(instruction),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_FILE:
            raise UsageError(f"{path}: larger than {MAX_FILE} bytes; not a task file")
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{path}: a task file is a mapping with at least 'instruction'")
    return value


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()
    )


def load_task(path: Path) -> Task:
    """Read a task file.

    Raises:
        UsageError: what is wrong with which key.
    """
    tree = _read(path)
    try:
        file = _TaskFile.model_validate(tree)
    except ValidationError as error:
        raise UsageError(
            f"{path}: {_explain(error)}", fix="see examples/shopping_list.yaml for every key"
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
    )
