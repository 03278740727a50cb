"""Proved tasks for people without HiSA: OSWorld's task JSON, and two shell scripts.

Bash lines of one check serve both: it holds where its command ends with 0 and the output is as the
check says, without white space at both ends for ``equals``, as `hisa.tasks.hisa_format` has it.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from typing import Any

from hisa.protocols import Task
from hisa.tasks.hisa_format import Check, SetupStep
from hisa.tasks.task_context import quoted

__all__ = ["check_script", "osworld_tree", "setup_script"]

_ENDED = "[ended with 0]"
_LONGEST = 60_000
"""Characters of a text that is put on a machine by a command line."""
_OUTPUT = """\
output() { text=$(/bin/bash -c "$1"; status=$?; printf .; exit $status) && text=${text%.}; }
trim() {
  text="${text#"${text%%[![:space:]]*}"}"
  text="${text%"${text##*[![:space:]]}"}"
}
"""


def _step_line(step: SetupStep) -> str:
    """The bash line of a step that waits for its end; empty for those that differ by the reader."""
    if step.write is not None:
        path, coded = quoted(step.write.path), base64.b64encode(step.write.text.encode()).decode()
        return f'mkdir -p "$(dirname {path})" && printf %s {coded} | base64 -d > {path}'
    if step.wait_window is not None:
        look = f"wmctrl -l | grep -qF -- {shlex.quote(step.wait_window.title)}"
        seconds = round(step.wait_window.seconds)
        return f"for i in $(seq {seconds}); do {look} && exit 0; sleep 1; done; exit 1"
    return step.run or ""


def _command(check: Check) -> str | None:
    """The command that gives the text of a check; None where only HiSA can look."""
    if check.file is not None:
        return f"cat -- {quoted(check.file)}"
    return check.command


def _checks(task: Task) -> list[tuple[Check, str | None]]:
    checks = [Check.model_validate(raw) for raw in (task.check or {})["all"]]
    return [(check, _command(check)) for check in checks]


def osworld_tree(task: Task, *, group: str) -> dict[str, Any] | str:
    """The task as OSWorld's task JSON, or the reason why there is none.

    Args:
        task: of HiSA's own format.
        group: the folder below ``evaluation_examples`` in which files of its setup are looked up.
    """
    parts: list[tuple[str, str, dict[str, Any]]] = []
    for check, command in _checks(task):
        if command is None:
            return "a check looks at the screen or runs a function, which OSWorld has no getter for"
        parts += [(command, *rule) for rule in _rules(check)]
    steps = [SetupStep.model_validate(raw) for raw in task.setup]
    if any(step.write is not None and len(step.write.text) > _LONGEST for step in steps):
        return f"a text of the setup is longer than {_LONGEST} characters"
    results = [
        {"type": "vm_command_line", "command": ["/bin/bash", "-c", _shown(command, func)]}
        for command, func, _ in parts
    ]
    return {
        "id": task.id,
        "snapshot": task.domain,
        "instruction": task.instruction,
        "source": "explored and proved by HiSA",
        "config": [_config(step, f"evaluation_examples/{group}/{task.id}") for step in steps],
        "trajectory": "trajectories/",
        "related_apps": [],
        "evaluator": {
            "func": [func for _, func, _ in parts],
            "conj": "and",
            "result": results,
            "expected": [{"type": "rule", "rules": rules} for _, _, rules in parts],
        },
        "proxy": False,
    }


def _rules(check: Check) -> list[tuple[str, dict[str, Any]]]:
    """The metric of each part of a check, with its rules."""
    rules: list[tuple[str, dict[str, Any]]] = []
    if check.equals is not None:
        rules.append(("exact_match", {"expected": f"{check.equals.strip()}\n{_ENDED}"}))
    if check.contains or check.excludes or not rules:
        include = {"include": [*check.contains, _ENDED], "exclude": list(check.excludes)}
        rules.append(("check_include_exclude", include))
    return rules


def _shown(command: str, func: str) -> str:
    """Bash that prints what a command says and that it ended well; only how it ended where not."""
    trim = "trim; " if func == "exact_match" else ""
    ended = f"printf '%s\\n%s' \"$text\" {shlex.quote(_ENDED)}"
    call = f"output {shlex.quote(command)}"
    return f'{_OUTPUT}if {call}; then {trim}{ended}; else echo "[ended with $?]"; fi'


def _config(step: SetupStep, folder: str) -> dict[str, Any]:
    parameters: Mapping[str, Any]
    if step.copy_file is not None:
        source, path = f"{folder}/{step.copy_file.source}", step.copy_file.path
        kind, parameters = "upload_file", {"files": [{"local_path": source, "path": path}]}
    elif step.launch is not None:
        kind, parameters = "launch", {"command": step.launch, "shell": True}
    else:
        kind, parameters = "execute", {"command": ["/bin/bash", "-c", _step_line(step)]}
    return {"type": kind, "parameters": parameters}


def setup_script(task: Task) -> str:
    """Bash that brings a desktop to the task's start; it lies beside the files that it copies."""
    lines = ["#!/bin/bash", "# The start of the task, in the session of the desktop's user."]
    lines += ['here=$(cd "$(dirname "$0")" && pwd)', 'cd "$HOME" || exit 1']
    for number, raw in enumerate(task.setup, 1):
        step = SetupStep.model_validate(raw)
        if step.copy_file is not None:
            path, source = quoted(step.copy_file.path), shlex.quote(step.copy_file.source)
            line = f'mkdir -p "$(dirname {path})" && cp -- "$here"/{source} {path}'
        elif step.launch is not None:
            line = f"setsid /bin/bash -c {shlex.quote(step.launch)} > /dev/null 2>&1 &"
            lines.append(line)
            continue
        else:
            line = f"/bin/bash -c {shlex.quote(_step_line(step))}"
        lines.append(f"{line} || {{ echo 'setup step {number} failed' >&2; exit 1; }}")
    return "\n".join(lines) + "\n"


def check_script(task: Task) -> str:
    """Bash that ends with 0 where every check holds, 1 where one does not, 2 if it cannot tell."""
    lines = [
        "#!/bin/bash",
        "# Ends with 0 where the task is done.",
        'cd "$HOME" || exit 2',
        _OUTPUT,
    ]
    checks = _checks(task)
    for number, (check, command) in enumerate(checks, 1):
        if command is None:
            lines.append(f"echo 'check {number} can be made by HiSA only' >&2; exit 2")
            continue
        tests = [f"output {shlex.quote(command)}"]
        tests += [f'[[ "$text" == *{shlex.quote(part)}* ]]' for part in check.contains]
        tests += [f'[[ "$text" != *{shlex.quote(part)}* ]]' for part in check.excludes]
        if check.equals is not None:
            tests += ["trim", f'[ "$text" = {shlex.quote(check.equals.strip())} ]']
        failed = f"{{ echo 'check {number} of {len(checks)} does not hold' >&2; exit 1; }}"
        lines.append(f"{' && '.join(tests)} || {failed}")
    return "\n".join(lines) + "\n"
