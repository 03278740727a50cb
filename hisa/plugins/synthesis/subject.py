"""The subject of an exploration: an application, page or task file, as a start to repeat."""

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
"""A folder for each subject that ships: ``subject.yaml`` and the files that its setup copies."""


class Subject(BaseModel):
    """A start: an application with its documents open.

    ``setup`` are setup steps of HiSA's own task files, whose ``source`` lies in ``folder``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")
    title: str = Field(min_length=1, max_length=100)
    """The application as a person says it: "the text editor"."""
    domain: str = "general"
    setup: tuple[dict[str, Any], ...]
    main: str  # a part of the main window's title, which is there when the application is ready
    documents: tuple[str, ...] = ()
    """Files that are open, below ``~``; the first is the one that is worked on."""
    save: tuple[str, ...] = ()
    """Keys that save the document without a question; empty: nothing to save."""
    words: tuple[str, ...] = ()
    """Texts for fields, which take turns: words, a number, a date where forms ask for one."""
    leave: tuple[str, ...] = ()
    """Names of controls that are left alone here, besides those that are dangerous anywhere."""
    folder: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the names of its application and its documents."""
        return self.title, self.main, *(path.rpartition("/")[2] for path in self.documents)

    def task(self) -> Task:
        """The start as a task, to be set up by `hisa.tasks.scorer.TaskScorer`."""
        instruction = f"Explore {self.title}."
        return Task(self.name, instruction, self.domain, setup=self.setup, folder=self.folder)


def subject_names() -> list[str]:
    """The subjects that ship."""
    return sorted(path.parent.name for path in SUBJECTS.glob("*/subject.yaml"))


def load_subject(name: str) -> Subject:
    """A subject that ships, or a subject's file.

    Raises: UsageError where there is none of that name, or it is wrong.
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
        reason = f"nothing is known of {name!r}: {allowed} can be explored, or a file"
        raise UsageError(reason, fix="hisa explore mousepad --minutes 5 -o DIR") from error
    except (OSError, yaml.YAMLError, ValueError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error
