"""The files of a proved task: in HiSA's own format, in OSWorld's, and its provenance."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from hisa.errors import UsageError
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Candidate, Instruction, Proof, Triple
from hisa.protocols import Task
from hisa.tasks.hisa_format import OWN, Check, SetupStep
from hisa.tasks.task_context import host_file, quote_word
from hisa.text.safe_text import encodable
from hisa.version import __version__

__all__ = ["act_in_words", "as_yaml", "main_triple", "osworld_tree", "task_of", "write_goal"]
__all__ += ["write_task"]

_WRITTEN = frozenset(
    {"task.yaml", "provenance.json", "reference.json", "osworld.json", "instruction.json"}
)
"""Names of files written beside a task; no file of its setup may have one."""
_ACT_WORDS = {
    "click": "Click", "double_click": "Double-click", "right_click": "Right-click",
    "type": "Type into", "scroll": "Turn the wheel over", "press": "Press",
}  # fmt: skip


def _tree(exploration: Exploration, candidate: Candidate) -> dict[str, Any]:
    """Returns the task as keys and values of HiSA's own task files."""
    tree = candidate.model_dump(include={"id", "instruction", "check"})
    tree |= {"domain": exploration.subject.domain, "setup": exploration.subject.setup}
    order = ("id", "domain", "instruction", "setup", "check")
    text = json.dumps({key: tree[key] for key in order}, ensure_ascii=False)
    plain: dict[str, Any] = json.loads(encodable(text))
    return plain


def task_of(exploration: Exploration, candidate: Candidate) -> Task:
    """Returns the task of a candidate, to be set up and scored by `hisa.tasks.scorer.TaskScorer`.

    Raises: UsageError if its check or its setup is invalid in HiSA's own format.
    """
    folder = Path(exploration.subject.folder or exploration.folder)
    return OWN.read(folder / "task.yaml", _tree(exploration, candidate))


def write_task(folder: Path, exploration: Exploration, candidate: Candidate, proof: Proof) -> None:
    """Writes a proved task as ``folder/ID/``, whole or not at all; replaces an earlier one.

    Args:
        folder: of the tasks.
        exploration: that it was made from.
        candidate: the task, as it was proved.
        proof: goes into ``provenance.json``.

    Raises:
        UsageError: a file of its setup is missing, or has a reserved name.
        OSError: it cannot be written.
    """
    task, tree = task_of(exploration, candidate), _tree(exploration, candidate)
    part, task_folder = folder / f".{candidate.id}.part", folder / candidate.id
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    osworld, origin = osworld_tree(task), _provenance(exploration, candidate, proof)
    plain = {"provenance.json": origin, "reference.json": _reference(candidate)}
    if isinstance(osworld, str):
        origin["osworld"] = osworld
    else:
        origin["osworld"] = "osworld.json"
        plain["osworld.json"] = osworld
    texts = {name: json.dumps(value, indent=1) + "\n" for name, value in plain.items()}
    for name, text in {"task.yaml": as_yaml(tree), **texts}.items():
        (part / name).write_text(text, "utf-8")
    _copy_setup(task, part)
    shutil.rmtree(task_folder, ignore_errors=True)
    part.rename(task_folder)


def write_goal(folder: Path, exploration: Exploration, instruction: Instruction) -> None:
    """Writes a broader goal as ``folder/ID/``: a task without a check, and its instruction.

    Args:
        folder: of the goals.
        exploration: that it was made from.
        instruction: of the goal; also written as ``instruction.json``.

    Raises: as `write_task`.
    """
    subject = exploration.subject
    digest = hashlib.sha256(f"{instruction.writer}\n{instruction.high}".encode()).hexdigest()[:10]
    tree = {"id": f"{subject.name}-goal-{digest}", "domain": subject.domain}
    plain = json.loads(json.dumps(tree | {"instruction": instruction.high, "setup": subject.setup}))
    task = OWN.read(Path(subject.folder or exploration.folder) / "task.yaml", plain)
    task_folder = folder / plain["id"]
    task_folder.mkdir(parents=True, exist_ok=True)
    _copy_setup(task, task_folder)
    (task_folder / "instruction.json").write_text(
        instruction.model_dump_json(indent=1) + "\n", "utf-8"
    )
    (task_folder / "task.yaml").write_text(as_yaml(plain), "utf-8")


def _copy_setup(task: Task, part: Path) -> None:
    """Copies the files of a task's setup into its folder."""
    for name in dict.fromkeys(step["copy"]["source"] for step in task.setup if "copy" in step):
        target = part / name
        if not target.resolve().is_relative_to(part.resolve()) or name in _WRITTEN:
            raise UsageError(f"task {task.id!r}: a file of its setup cannot be named {name!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(host_file(task.folder, name), target)


class _Readable(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


_Readable.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def as_yaml(tree: object) -> str:
    """Returns plain values as YAML that is easy to read."""
    return str(yaml.dump(tree, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100))


def _triples(exploration: Exploration, candidate: Candidate) -> list[Triple]:
    return [triple for triple in exploration.triples if triple.number in candidate.triples]


def main_triple(exploration: Exploration, candidate: Candidate) -> Triple | None:
    """Returns the triple that a candidate's task ends with; None if the exploration lacks it."""
    return next(reversed(_triples(exploration, candidate)), None)


def _provenance(exploration: Exploration, candidate: Candidate, proof: Proof) -> dict[str, Any]:
    return {
        "subject": exploration.subject.model_dump(mode="json", exclude={"folder"}),
        "candidate": candidate.model_dump(mode="json"),
        "triples": [triple.model_dump(mode="json") for triple in _triples(exploration, candidate)],
        "proof": proof.model_dump(mode="json"),
        "versions": {"hisa": __version__},
    }


def act_in_words(act: Act) -> str:
    """Returns an act as a person says it: ``Click the menu item "Copy" in Edit``."""
    words = [_ACT_WORDS[act.kind]]
    if act.kind == "type":
        words = ["Type", json.dumps(act.text, ensure_ascii=False), *["into"] * bool(act.role)]
    if act.role:
        words.append(f'the {act.role} "{act.name}"' if act.name else f"the {act.role}")
    if act.within:
        words.append(f"in {' > '.join(act.within)}")
    if act.keys:
        words.append("and press " * (act.kind != "press") + "+".join(act.keys))
    return " ".join(words)


def _reference(candidate: Candidate) -> dict[str, Any]:
    """Returns the acts, each with a description in words."""
    steps = []
    for act in candidate.acts:
        plain = act.model_dump(mode="json", exclude_defaults=True)
        steps.append({"description": act_in_words(act), "act": plain})
    return {"acts": steps}


def _steps(task: Task, folder: str) -> Iterator[dict[str, Any]]:
    """Yields each step of the setup in OSWorld's format."""
    for raw in task.setup:
        step = SetupStep.model_validate(raw)
        if step.launch is not None:
            yield {"type": "launch", "parameters": {"command": step.launch, "shell": True}}
        elif step.copy_file is not None:
            source, path = step.copy_file.source, step.copy_file.path
            files = [{"local_path": f"{folder}/{source}", "path": path}]
            yield {"type": "upload_file", "parameters": {"files": files}}
        else:
            command = {"command": ["/bin/bash", "-c", _line(step)]}
            yield {"type": "execute", "parameters": command}


def _line(step: SetupStep) -> str:
    """Returns the bash command of a step that ends by itself."""
    if step.write is not None:
        path, text = (
            quote_word(step.write.path),
            base64.b64encode(step.write.text.encode()).decode(),
        )
        return f'mkdir -p "$(dirname {path})" && printf %s {text} | base64 -d > {path}'
    if step.wait_window is not None:
        look = f"wmctrl -l | grep -qF -- {quote(step.wait_window.title)}"
        seconds = round(step.wait_window.seconds)
        return f"for i in $(seq {seconds}); do {look} && exit 0; sleep 1; done; exit 1"
    return step.run or ""


def _checks(task: Task) -> list[str | None]:
    """Returns each check as bash that exits with 0 if it passes; None if only HiSA can check it."""
    lines: list[str | None] = []
    for raw in (task.check or {})["all"]:
        check = Check.model_validate(raw)
        command = check.command if check.file is None else f"cat -- {quote_word(check.file)}"
        run = f"text=$(/bin/bash -c {quote(command or '')}; ended=$?; printf .; exit $ended)"
        tests = [run, "text=${text%.}"]
        if check.equals is not None:
            blank = "*([[:space:]])"
            tests.append(f"[[ $text == {blank}{quote(check.equals.strip())}{blank} ]]")
        tests += [f"[[ $text == *{quote(part)}* ]]" for part in check.contains]
        tests += [f"[[ $text != *{quote(part)}* ]]" for part in check.excludes]
        lines.append(None if command is None else " && ".join(tests))
    return lines


def osworld_tree(task: Task) -> dict[str, Any] | str:
    """Returns the task as OSWorld's task JSON, or the reason why there is none.

    The files of its setup are expected in ``evaluation_examples/examples/hisa/ID``.
    """
    checks = _checks(task)
    if None in checks:
        return "a check reads the screen, for which OSWorld has no getter"
    config = [*_steps(task, f"evaluation_examples/examples/hisa/{task.id}")]
    if any(len(str(step)) > 100_000 for step in config):
        return "a text of the setup is too long for a command line"
    commands = [["/bin/bash", "-c", f"{line}; printf %s $?"] for line in checks]
    evaluator = {
        "func": ["exact_match"] * len(commands),
        "conj": "and",
        "result": [{"type": "vm_command_line", "command": command} for command in commands],
        "expected": [{"type": "rule", "rules": {"expected": "0"}}] * len(commands),
    }
    return {
        "id": task.id,
        "snapshot": task.domain,
        "instruction": task.instruction,
        "source": "explored and proved by HiSA",
        "config": config,
        "evaluator": evaluator,
        "trajectory": "trajectories/",
        "related_apps": [],
        "proxy": False,
    }
