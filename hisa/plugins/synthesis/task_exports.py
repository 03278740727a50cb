"""A proved task as OSWorld's task JSON, for people without HiSA.

A check holds where its command ends with 0 and the output is as the check says, without white space
at both ends for ``equals``, as `hisa.tasks.hisa_format` has it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from shlex import quote
from typing import Any

from hisa.protocols import Task
from hisa.tasks.hisa_format import Check, SetupStep
from hisa.tasks.task_context import quoted

__all__ = ["osworld_tree"]


def _steps(task: Task, folder: str) -> Iterator[dict[str, Any]]:
    """Each step of the setup as OSWorld's."""
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
    """The bash of a step that waits for its end."""
    if step.write is not None:
        path, text = quoted(step.write.path), base64.b64encode(step.write.text.encode()).decode()
        return f'mkdir -p "$(dirname {path})" && printf %s {text} | base64 -d > {path}'
    if step.wait_window is not None:
        look = f"wmctrl -l | grep -qF -- {quote(step.wait_window.title)}"
        seconds = round(step.wait_window.seconds)
        return f"for i in $(seq {seconds}); do {look} && exit 0; sleep 1; done; exit 1"
    return step.run or ""


def _checks(task: Task) -> list[str | None]:
    """Each check as bash that ends with 0 where it holds; None where only HiSA can look."""
    lines: list[str | None] = []
    for raw in (task.check or {})["all"]:
        check = Check.model_validate(raw)
        command = check.command if check.file is None else f"cat -- {quoted(check.file)}"
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
    """The task as OSWorld's task JSON, or the reason why there is none.

    Files of its setup are looked up in ``examples/hisa/ID`` below ``evaluation_examples``.
    """
    checks = _checks(task)
    if None in checks:
        return "a check looks at the screen, which OSWorld has no getter for"
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
