"""The subject of an exploration: an application, page or task file, set up the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.protocols import Task
from hisa.text.yaml_text import read_yaml

__all__ = ["SUBJECTS", "Subject", "load_subject", "subject_names"]

SUBJECTS = Path(__file__).with_name("subjects")
"""One folder for each subject that ships: ``subject.yaml`` and the files that its setup copies."""


class Subject(BaseModel):
    """What an exploration starts from: an application with its documents open.

    ``setup`` has setup steps as in HiSA's own task files; their ``source`` files are in ``folder``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    title: str = Field(min_length=1, max_length=100)
    """The application as a person calls it: "the text editor"."""
    domain: str = "general"
    setup: tuple[dict[str, Any], ...]
    main: str  # a part of the main window's title; the application is ready once it shows
    documents: tuple[str, ...] = ()
    """Open files, below ``~``; the first one is the one worked on."""
    save: tuple[str, ...] = ()
    """Keys that save the document without a dialog; empty: nothing to save."""
    words: tuple[str, ...] = ()
    """Texts typed into fields, in turn: words, a number, a date if forms ask for one."""
    leave: tuple[str, ...] = ()
    """Names of controls to leave alone here, besides those that are dangerous everywhere."""
    folder: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the application and its documents."""
        return self.title, self.main, *(path.rpartition("/")[2] for path in self.documents)

    def task(self) -> Task:
        """Returns the start as a task, to be set up by `hisa.tasks.scorer.TaskScorer`."""
        instruction = f"Explore {self.title}."
        return Task(self.name, instruction, self.domain, setup=self.setup, folder=self.folder)


def subject_names() -> list[str]:
    """Returns the names of the subjects that ship."""
    return sorted(path.parent.name for path in SUBJECTS.glob("*/subject.yaml"))


def load_subject(name: str) -> Subject:
    """Returns a subject that ships, or the subject in a file.

    Raises: UsageError if there is no subject of that name, or its file is invalid.
    """
    path = SUBJECTS / name / "subject.yaml"
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = Path(name)
    try:
        keys = read_yaml(path.read_text("utf-8"))
        folder = str(path.resolve().parent)
        return Subject.model_validate({"name": path.parent.name, **keys, "folder": folder})
    except FileNotFoundError as error:
        allowed = ", ".join(subject_names())
        reason = f"no subject {name!r}; allowed are {allowed}, or the path of a subject.yaml"
        raise UsageError(reason, fix="hisa explore mousepad --minutes 5 -o DIR") from error
    except (OSError, yaml.YAMLError, ValueError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error
