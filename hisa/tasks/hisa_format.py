"""HiSA's own task files: their keys, their setup, their checks.

id: shopping-list
instruction: Open the text editor. Type "milk". Save the file as "~/list.txt".
domain: text_editor
setup:
  - write: {path: ~/notes.txt, text: "hello"}
  - run: mkdir -p ~/Documents
  - launch: mousepad ~/notes.txt
  - wait_window: {title: notes.txt}
check:
  - {file: ~/list.txt, contains: milk, weight: 0.3}
  - {python: "check.py:shopping", weight: 0.7}
results: [~/list.txt]
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hisa.config import TaskSettings
from hisa.environments.clean_commands import bash, python
from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.patience import patience
from hisa.protocols import ExitStatus, FileRefused, Task
from hisa.tasks.domains import guess_domain
from hisa.tasks.limits import ANSWER, CHECK_SECONDS, MAX_RESULT, too_much
from hisa.tasks.missing_programs import fix_from_output
from hisa.tasks.partial_credit import Graded, partial_score, require_all_weights
from hisa.tasks.place_file import place
from hisa.tasks.program_start import start
from hisa.tasks.shown_element import ONE_ALONE, Names, ShownElement, why_not_shown
from hisa.tasks.task_context import Context, host_file
from hisa.tasks.task_format import Grade, NotScored, Problem, TaskFormat
from hisa.tasks.windows import Named, await_window
from hisa.text.counts import all_of
from hisa.text.validation import explain

__all__ = [
    "OWN",
    "Check",
    "HisaFormat",
    "HisaTaskFile",
    "SetupStep",
    "check_problems",
    "host_file_problems",
    "step_problems",
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


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

    title: Annotated[str, Field(min_length=1, max_length=1000)]
    seconds: float = Field(30.0, gt=0, le=300)


class SetupStep(_Strict):
    """One step: exactly one of the keys."""

    write: WriteFile | None = None
    copy_file: CopyFile | None = Field(None, alias="copy")
    run: str | None = None
    """A command that must end with 0."""
    launch: str | None = None
    """A program to start in the background; it must keep running or open a window."""
    wait_window: WaitWindow | None = None

    @model_validator(mode="after")
    def _one_key(self) -> SetupStep:
        if len(self.model_fields_set) != 1:
            raise ValueError("a step has exactly one of write, copy, run, launch, wait_window")
        return self


class Check(_Strict):
    """What must hold at the end: of a file, a command's output, a function, or an element."""

    file: str | None = None
    command: str | None = None
    """Must end with exit status 0."""
    python: Annotated[str, Field(pattern=r"^[^:\x00]+\.py:[A-Za-z_]\w*$")] | None = None
    """``FILE.py:FUNCTION`` beside the task file; runs on the machine, returns a bool or 0 to 1."""
    element: ShownElement | None = None
    equals: str | None = None
    """Compared after stripping white space at both ends."""
    contains: Names = ()
    excludes: Names = ()
    weight: Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)] | None = None
    """Its part in the partial score; the weights of a list need not sum to 1."""
    needs: Literal["all"] | None = None
    """"all": it counts in the partial score only if every other check holds."""

    @model_validator(mode="after")
    def _one_subject(self) -> Check:
        subjects = (self.file, self.command, self.python, self.element)
        if sum(value is not None for value in subjects) != 1:
            raise ValueError("a check has exactly one of file, command, python and element")
        if self.element is not None and not (self.element.role or self.element.name):
            raise ValueError("an element has at least one of role and name")
        compared = self.equals is not None or self.contains or self.excludes
        if compared and (self.python or self.element):
            raise ValueError("equals, contains and excludes go only with file or command")
        return self


_ResultPath = Annotated[str, Field(max_length=4096, pattern=r"^(~/|/)[^\x00-\x1f]*[^\x00-\x1f/]$")]
"""Absolute or below the home folder: a relative path would have nothing to be relative to."""


class HisaTaskFile(_Strict):
    """A whole task file."""

    instruction: str = Field(min_length=1, max_length=20_000)
    id: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    domain: str | None = Field(None, pattern=r"^[a-z0-9_]{1,50}$")
    setup: tuple[SetupStep, ...] = ()
    check: Annotated[tuple[Check, ...], ONE_ALONE] = ()
    results: Annotated[tuple[_ResultPath, ...], ONE_ALONE, Field(max_length=100)] = ()
    """The run's results to keep: files and folders of the machine."""

    @model_validator(mode="after")
    def _all_weights(self) -> HisaTaskFile:
        require_all_weights([check.weight for check in self.check])
        return self


class HisaFormat(TaskFormat):
    """HiSA's own task files."""

    def reads(self, tree: Mapping[str, Any]) -> bool:
        """See `TaskFormat`."""
        return tree.keys() <= HisaTaskFile.model_fields.keys()

    def read(self, path: Path, tree: Mapping[str, Any]) -> Task:
        """See `TaskFormat`."""
        try:
            file = HisaTaskFile.model_validate(tree)
        except ValidationError as error:
            reasons = explain(error, HisaTaskFile, source=partial(_line, path))
            raise UsageError(f"{path}: {reasons}", fix="correct the file") from error
        checks = [check.model_dump(exclude_defaults=True, by_alias=True) for check in file.check]
        return Task(
            id=file.id or path.stem,
            instruction=file.instruction.strip(),
            domain=file.domain or guess_domain(file.instruction),
            setup=tuple(tree.get("setup") or ()),
            check={"all": checks} if checks else None,
            folder=str(path.resolve().parent),
            results=file.results,
        )

    def takes(self, task: Task) -> bool:
        """See `TaskFormat`."""
        foreign = task.apps or any("type" in step for step in task.setup)
        return not foreign and (task.check is None or "all" in task.check)

    def problems(self, task: Task, settings: TaskSettings | None) -> list[Problem]:
        """See `TaskFormat`."""
        return [*(p for raw in task.setup for p in step_problems(task, raw)), *check_problems(task)]

    async def set_up(self, context: Context, step: Mapping[str, Any]) -> None:
        """See `TaskFormat`."""
        setup_step = SetupStep.model_validate(step)
        if setup_step.write is not None:
            await place(context, setup_step.write.path, setup_step.write.text.encode())
        elif setup_step.copy_file is not None:
            data = context.host_file(setup_step.copy_file.source).read_bytes()
            await place(context, setup_step.copy_file.path, data)
        elif setup_step.run is not None:
            result = await context.environment.execute(setup_step.run)
            if result.exit_code != 0 or result.timed_out:
                message = (result.error or result.output).strip()[:500]
                ending = "did not end" if result.timed_out else f"ended with {result.exit_code}"
                raise EnvironmentFailed(
                    f"{setup_step.run!r} {ending}: {message}", fix=fix_from_output(message)
                )
        elif setup_step.launch is not None:
            await start(context, setup_step.launch, must_stay=True)
        elif (wait := setup_step.wait_window) is not None:
            await await_window(context, Named(window_name=wait.title), wait.seconds)

    async def score(self, context: Context, status: ExitStatus) -> Grade:
        """Returns 1.0 if every check holds; otherwise the lowest score, with its reason."""
        graded = [await _check(context, raw) for raw in (context.task.check or {})["all"]]
        partial = partial_score([grade for grade, _ in graded])
        lowest, reason = min(graded, key=lambda pair: pair[0].score)
        if lowest.score == 1.0:
            reason = all_of(len(graded), "check", "holds", "hold")
        return Grade(lowest.score, reason, partial)


OWN = HisaFormat()


def _line(path: Path, place: Sequence[int | str]) -> str:
    """Returns the line of the key at a path of keys, as "line 3"; empty if the file is gone."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return ""
    line = node.start_mark.line if node is not None else 0
    for name in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(name, int):
            node = node.value[name]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == str(name)]
            key, node = pairs[0] if pairs else (None, None)
            line = key.start_mark.line if key is not None else line
    return f"line {line + 1}"


def step_problems(task: Task, raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields what is wrong with a setup step of a HiSA task, or missing for it."""
    try:
        step = SetupStep.model_validate(raw)
    except ValidationError as error:
        yield Problem("piece", f"setup: {explain(error, SetupStep)}")
        return
    if step.copy_file is not None:
        yield from host_file_problems(task, "copy", step.copy_file.source)


def host_file_problems(task: Task, label: str, path: str) -> Iterator[Problem]:
    """Yields the reason why a file beside the task file cannot be used, if there is one.

    Args:
        task: the task that names the file.
        label: the key that names it, for the message.
        path: the file, relative to the task's folder.
    """
    try:
        host_file(task.folder, path)
    except UsageError as error:
        yield Problem("file", f"{label}: {error}")


def check_problems(task: Task) -> Iterator[Problem]:
    """Yields what is wrong with the checks of a HiSA task, or missing for them."""
    if task.check is not None and "all" not in task.check:
        yield Problem("piece", f"check: no known format scores {', '.join(task.check) or 'it'}")
    weights: list[float | None] = []
    for raw in (task.check or {}).get("all", ()):
        try:
            check = Check.model_validate(raw)
        except ValidationError as error:
            yield Problem("piece", f"check: {explain(error, Check)}")
            continue
        weights.append(check.weight)
        if check.python is not None:
            yield from host_file_problems(task, "check", check.python.rpartition(":")[0])
    try:
        require_all_weights(weights)
    except ValueError as error:
        yield Problem("piece", f"check: {error}")


async def _check(context: Context, raw: Mapping[str, Any]) -> tuple[Graded, str]:
    """Returns one check with its score, 0 to 1, and the reason if it fails."""
    check = Check.model_validate(raw)
    if check.python is not None:
        score, reason = await _python(context, check.python)
    else:
        reason = await _problem(context, check)
        score = 0.0 if reason else 1.0
    return Graded(score, check.weight, check.needs == "all"), reason


async def _problem(context: Context, check: Check) -> str:
    """Returns the reason why the check does not hold; empty if it does.

    Raises:
        NotScored: a command does not end, or the screen cannot be read.
    """
    if check.element is not None:
        return await why_not_shown(context.environment, check.element)
    if check.file is not None:
        subject = check.file
        try:
            data = await context.environment.read_file(check.file, limit=MAX_RESULT)
        except FileNotFoundError:
            return f"{check.file}: no such file"
        except FileRefused as error:
            return str(error)
        text = data.decode("utf-8", errors="replace")
    else:
        subject = f"{check.command!r}"
        seconds = patience(CHECK_SECONDS)
        line = bash(check.command or "")
        result = await context.environment.execute(line, timeout=seconds, limit=ANSWER + 1)
        if result.timed_out:
            raise NotScored(f"check {subject} did not end within {seconds:.0f} s")
        if result.exit_code != 0:
            return f"{subject} ended with {result.exit_code}{_quote_error(result.error)}"
        if (check.equals is not None or check.contains or check.excludes) and (
            reason := too_much(result.output)
        ):
            return f"{subject} {reason}"
        text = result.output
    return _mismatch(check, text, subject)


def _quote_error(error: str) -> str:
    """Returns the last line of an error; it may be about the check itself, as a missing program."""
    lines = error.strip().splitlines()
    return f": {lines[-1].strip()[:200]}" if lines else ""


def _mismatch(check: Check, text: str, subject: str) -> str:
    if check.equals is not None and text.strip() != check.equals.strip():
        return f"{subject}: is {text.strip()[:200]!r}, not {check.equals.strip()[:200]!r}"
    for part in check.contains:
        if part not in text:
            return f"{subject}: {part!r} is not in {text[:200]!r}"
    for part in check.excludes:
        if part in text:
            return f"{subject}: {part!r} is in it"
    return ""


_CALL = """
import hashlib, importlib.abc, json, os, site, sys, types
path, digest, function = sys.argv[1:]
with open(path, "rb") as file:
    data = file.read()
if hashlib.sha256(data).hexdigest() != digest:
    sys.exit("the check was changed on the machine")
sys.path += site.getsitepackages()
os.environ["HOME"] = os.environ.pop("HISA_HOME")


class Held(importlib.abc.SourceLoader):
    def get_filename(self, name):
        return path

    def get_data(self, path):
        return data

module = types.ModuleType("task_check")
module.__file__ = path
Held().exec_module(module)
print("\\n" + json.dumps({"score": getattr(module, function)()}))
"""
"""Runs on the machine; the last line printed has the function's return value. It reads nothing in
the home folder before the function itself does, and uses no compiled copy of the file."""


async def _python(context: Context, name: str) -> tuple[float, str]:
    file, _, function = name.rpartition(":")
    data = context.host_file(file).read_bytes()
    path = f"/tmp/hisa-check-{secrets.token_hex(8)}.py"
    await context.environment.write_file(path, data)
    seconds = patience(CHECK_SECONDS)
    line = python(_CALL, path, hashlib.sha256(data).hexdigest(), function, home=False)
    result = await context.environment.execute(line, timeout=seconds, limit=ANSWER)
    await context.environment.execute(f"rm -f {path}")
    if result.exit_code in (126, 127):
        message = result.error.strip()[-300:]
        raise NotScored(f"check {name!r} needs Python on the machine: {message}")
    if result.timed_out:
        raise NotScored(f"check {name!r} did not end within {seconds:.0f} s")
    if result.exit_code != 0:
        message = (result.error or result.output).strip()[-500:]
        raise NotScored(f"check {name!r} raised an error: {message}")
    return _answer(name, result.output)


def _answer(name: str, output: str) -> tuple[float, str]:
    try:
        score = float(json.loads(output.strip().splitlines()[-1])["score"])
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise NotScored(
            f"check {name!r} must return a bool or number: {output[-200:]!r}"
        ) from error
    if not math.isfinite(score):
        raise NotScored(f"check {name!r} returned {score}, which is not a number from 0 to 1")
    return min(1.0, max(0.0, score)), f"{name} returned {score:g}"
