"""A program: what was done once, written down so that it can be read, checked and done again.

A *target* is told by what stays of it: role, name, what holds it, what stands in its row. An
*effect* is what a step changed on the screen, and must change again. All of it is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from hisa.actions import Write, parse, to_source
from hisa.errors import UsageError
from hisa.text.prompt_text import one_line

__all__ = ["Effect", "Parameter", "Program", "ProgramStep", "Proof", "Target"]
__all__ += ["FORMS", "filled", "mark", "read_program", "stands", "with_mark", "with_parameters"]
__all__ += ["write_program"]

FORMS: Mapping[str, Callable[[str], str]] = {
    "": lambda value: value,
    "|home": lambda value: re.sub(r"^/(home/[^/]+|root)/", "~/", value),
    "|file": lambda value: value.rpartition("/")[2],
    "|stem": lambda value: value.rpartition("/")[2].rpartition(".")[0] or value,
}
"""What a screen and a check make of a value: a path below ~, a file's name, that without its end.

The mark of a form is its name: ``{{name|file}}``."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_COMMANDS = frozenset({"command", "run", "script", "execute", "launch", "python"})
"""Keys of a task's setup and check whose texts a shell reads."""
_KINDS = frozenset({"role", "what", "tool", "risk", "picture"})
"""Keys of steps whose words are of a program's own, and no values."""
_PLAIN = re.compile(r"[\w .,/~-]*")
_LARGEST = 4 << 20  # bytes of a program; a step takes about 1 KiB
Text = Annotated[str, StringConstraints(max_length=4000)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Target(_Record):
    """An element as it was: enough to know it again, and to know another one from it.

    ``within`` names what holds it, outermost first; ``beside`` are the texts of its row or dialog,
    by which it is told from ``alike`` others of the same role and name (`surroundings.says`);
    ``nth`` is its place among those. ``dialog`` says whether a dialog holds it.
    ``box`` is in pixels of the screen that the program was made on. ``words`` describe it for a
    grounder.
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
    picture: str = ""  # file of the folder: what it looked like, where it has no name
    words: Text = ""


class Effect(_Record):
    """What a step changes: an element comes, goes, or has this value or these states; a window."""

    what: Literal["came", "went", "value", "states", "window"]
    role: str = ""
    name: Text = ""
    value: Text = ""  # of "value"; the states that it has by then, joined by blanks; a title


class ProgramStep(_Record):
    """One action, what it is done to, why, and what must come of it.

    ``action`` is PyAutoGUI source whose place is that of the target on the screen of ``Program``,
    or a command or tool's input where ``tool`` is not "gui_action". ``targets`` has one for each
    place of the action; ``focus`` is what had the keyboard where it has none. ``risk`` says what it
    deletes, sends or runs: no picture finds its targets.
    """

    action: Any
    tool: str = "gui_action"
    targets: tuple[Target, ...] = ()
    focus: Target | None = None
    purpose: Text = ""
    risk: Text = ""
    effects: tuple[Effect, ...] = ()


class Parameter(_Record):
    """A value that may be another one the next time. ``origin`` says how it was found."""

    value: Text
    origin: Text = ""
    secret: bool = False


class Proof(_Record):
    """The second run that a program is stored after. ``by`` tells what its end was judged by."""

    run: str
    by: Literal["check", "effects"]
    at: str


class Program(_Record):
    """What was done once. ``screen`` is in pixels, ``task`` a `hisa.runs.manifest.TaskRecord`.

    ``proposed`` are parameters that nobody has accepted yet: they change nothing.
    """

    format: Literal["hisa program 1"] = "hisa program 1"
    name: str = Field(pattern=rf"^{NAME.pattern}$")
    instruction: Text
    source: tuple[str, ...] = ()  # ids of the runs that it was made from
    screen: tuple[int, int]
    task: Mapping[str, Any]
    parameters: Mapping[str, Parameter] = {}
    proposed: Mapping[str, Parameter] = {}
    steps: tuple[ProgramStep, ...]
    proof: Proof | None = None
    repaired: tuple[str, ...] = ()


def filled(program: Program, values: Mapping[str, str]) -> Program:
    """The program with values in place of its parameters' marks, ``{{name}}`` and its `FORMS`.

    A value is text that is typed, found or compared: it is never a part of a command.

    Raises:
        UsageError: a name that it does not have; a value that a command of setup or check holds,
            with signs that a shell reads.
    """
    if unknown := [name for name in values if name not in program.parameters]:
        known = ", ".join(program.parameters) or "none"
        raise UsageError(
            f"{program.name} has no parameter {unknown[0]!r}; it has: {known}",
            fix="hisa replay --list",
        )
    taken = {name: values.get(name, known.value) for name, known in program.parameters.items()}
    tree = _replaced(program.model_dump(mode="json"), taken)
    for step, plain in zip(program.steps, tree["steps"], strict=True):
        plain["action"] = _filled_action(step, taken)
    return Program.model_validate(tree)


def _filled_action(step: ProgramStep, values: Mapping[str, str]) -> Any:
    """An action with values in what it types; a command stays as it was."""
    if not isinstance(step.action, str):
        return _replaced(step.action, values)
    if step.tool != "gui_action" or "{{" not in step.action:
        return step.action
    typed = (
        replace(action, text=_replaced(action.text, values))
        if isinstance(action, Write)
        else action
        for action in parse(step.action)
    )
    return to_source(tuple(typed))


def mark(name: str, form: str = "") -> str:
    """The text that stands in a program in place of a parameter's value."""
    return "{{" + name + form + "}}"


def _replaced(tree: Any, values: Mapping[str, str], key: str = "") -> Any:
    if isinstance(tree, str):
        used = [name for name in values if "{{" + name in tree] if key in _COMMANDS else []
        if unsafe := [name for name in used if not _PLAIN.fullmatch(values[name])]:
            raise UsageError(
                f"{unsafe[0]} = {values[unsafe[0]]!r} becomes a part of a command; allowed are "
                "letters, figures, blanks and . , / _ - ~",
                fix=f"--set {unsafe[0]}=value",
            )
        for name, value in values.items():
            for form, made in FORMS.items():
                tree = tree.replace(mark(name, form), made(value))
        return tree
    if isinstance(tree, Mapping):
        keep = {"parameters", "proposed"}
        return {k: v if k in keep else _replaced(v, values, k) for k, v in tree.items()}
    return (
        [_replaced(part, values, key) for part in tree] if isinstance(tree, list | tuple) else tree
    )


def with_parameters(program: Program, parameters: Mapping[str, Parameter]) -> Program:
    """The program with marks in place of the parameters' values, in steps, task and effects."""
    tree = program.model_dump(mode="json")
    task = tree["task"]
    marked = {"steps": tree["steps"]} | {k: task[k] for k in ("setup", "check") if k in task}
    words = {"instruction": program.instruction}
    for name, known in sorted(parameters.items(), key=lambda item: -len(item[1].value)):
        words = with_mark(words, known.value, mark(name))
        for form, made in FORMS.items():
            if not form or len(made(known.value)) > 1:
                marked = with_mark(marked, made(known.value), mark(name, form))
    steps = marked.pop("steps")
    parts = words | {"steps": steps, "task": task | marked | words}
    taken = {**program.parameters, **parameters}
    left = {name: known for name, known in program.proposed.items() if name not in parameters}
    tree |= parts | {
        "parameters": {name: known.model_dump(mode="json") for name, known in taken.items()},
        "proposed": {name: known.model_dump(mode="json") for name, known in left.items()},
    }
    return Program.model_validate(tree)


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text as a whole word."""
    return bool(value) and _word(value).search(text) is not None


def _word(value: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w{{|]){re.escape(value)}(?![\w}}])")


def with_mark(tree: Any, value: str, mark: str) -> Any:
    """Put a mark where the value stands as a whole word; of an action, in what it types."""
    if isinstance(tree, Mapping) and "action" in tree:
        rest = {key: part for key, part in tree.items() if key != "action"}
        return {"action": _marked_action(tree, value, mark)} | with_mark(rest, value, mark)
    if isinstance(tree, str):
        return _word(value).sub(lambda _: mark, tree)
    if isinstance(tree, Mapping):
        return {k: v if k in _KINDS else with_mark(v, value, mark) for k, v in tree.items()}
    return (
        [with_mark(part, value, mark) for part in tree] if isinstance(tree, list | tuple) else tree
    )


def _marked_action(step: Mapping[str, Any], value: str, mark: str) -> Any:
    action = step["action"]
    if not isinstance(action, str):
        return with_mark(action, value, mark)
    if step.get("tool", "gui_action") != "gui_action":
        return action  # a command stays as it was
    typed = (
        replace(part, text=with_mark(part.text, value, mark)) if isinstance(part, Write) else part
        for part in parse(action)
    )
    return to_source(tuple(typed))


def read_program(place: Path) -> Program:
    """The program of a folder.

    Raises:
        UsageError: there is none, or it is damaged; names the place in it.
    """
    file = place / "program.yaml"
    try:
        with file.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST >> 20} MiB")
        return Program.model_validate(yaml.safe_load(text))
    except FileNotFoundError as error:
        raise UsageError(f"no program at {place}", fix="hisa replay --list") from error
    except (OSError, ValueError, ValidationError, yaml.YAMLError) as error:
        reason = one_line(str(error))[:300]
        raise UsageError(
            f"{file}: no program: {reason}", fix=f"hisa compile RUN -o {place}"
        ) from error


def write_program(program: Program, place: Path) -> Path:
    """Write it at once, or not at all; returns the file."""
    from hisa.plugins.synthesis.task_files import as_yaml

    place.mkdir(parents=True, exist_ok=True)
    part, file = place / ".program.part", place / "program.yaml"
    part.write_text(as_yaml(program.model_dump(mode="json", exclude_defaults=True)), "utf-8")
    part.replace(file)
    return file
