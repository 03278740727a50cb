"""The records of a program: what was done once, to be read, checked and repeated.

A *target* is known by what stays the same: role, name, its containers, the texts of its row. An
*effect* is what a step changed on the screen, and must change again. All of it is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hisa.errors import UsageError
from hisa.text.prompt_text import one_line
from hisa.text.yaml_text import read_yaml

__all__ = ["Effect", "Program", "ProgramStep", "Proof", "Target", "read_program", "write_program"]

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LARGEST = 4 << 20  # bytes of a program; a step takes about 1 KiB
Text = Annotated[str, StringConstraints(max_length=4000)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(_Record):
    """An element as it was: enough to find it again, and to tell it from others.

    ``within`` names its containers, outermost first. ``alike`` is the number of elements with the
    same role and name, and ``nth`` its index among these. ``beside`` are the texts of its row or
    dialog, which tell it from the others (`surroundings.says`). ``dialog`` says whether it is in a
    dialog. ``box`` is in pixels of the screen that the program was made on. ``words`` describe it
    for a grounder.
    """

    role: Text
    name: Text = ""
    label: Text = ""
    within: tuple[Text, ...] = ()
    app: Text = ""
    window: Text = ""
    dialog: bool = False
    beside: tuple[Text, ...] = ()
    nth: int = 0
    alike: int = 1
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    words: Text = ""


class Effect(_Record):
    """What a step changes: an element comes, goes, gets a value or states; or the active window."""

    what: Literal["came", "went", "value", "states", "window"]
    role: str = ""
    name: Text = ""
    value: Text = ""  # a value; states, joined by blanks; the title of a window


class ProgramStep(_Record):
    """One action, its targets, its purpose, and the effects that it must have.

    ``action`` is PyAutoGUI source with points on the screen of the `Program`; if ``tool`` is not
    "gui_action", it is the command or the tool's input. ``targets`` has one for each point of the
    action. If it has no point, ``focus`` is what had the keyboard. ``risk`` says what it deletes,
    sends or runs.
    """

    action: Any
    tool: str = "gui_action"
    targets: tuple[Target, ...] = ()
    focus: Target | None = None
    purpose: Text = ""
    risk: Text = ""
    effects: tuple[Effect, ...] = ()


class Proof(_Record):
    """The second run, after which a program is stored; ``by`` says what judged its end."""

    run: str
    by: Literal["check", "effects"]
    at: str


class Program(_Record):
    """A program; ``screen`` is in pixels, ``task`` a `hisa.runs.manifest.TaskRecord`."""

    format: Literal["hisa program 1"] = "hisa program 1"
    name: str = Field(pattern=rf"^{NAME.pattern}$")
    instruction: Text
    source: tuple[str, ...] = ()  # ids of the runs that it was made from
    screen: tuple[int, int]
    task: Mapping[str, Any]
    steps: tuple[ProgramStep, ...]
    proof: Proof | None = None
    repaired: tuple[str, ...] = ()


def read_program(place: Path) -> Program:
    """Returns the program in a folder.

    Raises:
        UsageError: there is none, or it is damaged; the message says where.
    """
    file = place / "program.yaml"
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST >> 20} MiB")
        return Program.model_validate(read_yaml(text))
    except FileNotFoundError as error:
        raise UsageError(f"no program at {place}", fix="hisa replay") from error
    except (OSError, ValueError, ValidationError, yaml.YAMLError) as error:
        reason = one_line(str(error))[:300]
        raise UsageError(
            f"{file}: not a program: {reason}", fix=f"hisa compile RUN -o {place}"
        ) from error


def write_program(program: Program, place: Path) -> Path:
    """Write a program, completely or not at all; returns the file."""
    from hisa.plugins.synthesis.task_files import as_yaml

    place.mkdir(parents=True, exist_ok=True)
    part, file = place / ".program.part", place / "program.yaml"
    part.write_text(as_yaml(program.model_dump(mode="json", exclude_defaults=True)), "utf-8")
    part.replace(file)
    return file
