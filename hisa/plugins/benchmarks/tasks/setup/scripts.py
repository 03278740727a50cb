"""Runs a shell script of a task's setup, and finds failures that the script does not report.

Published scripts begin with ``exec 2>/dev/null`` and end with the status of their last command.
bash itself reports what fails in them: a command that is not found, and each command whose failure
the script ignores.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.plugins.machines.machine_apps import window_names
from hisa.protocols import COMMAND_LIMIT, CommandResult
from hisa.tasks.missing_programs import fix_from_output
from hisa.tasks.program_start import LOOKS, POLL_SECONDS, shown_windows, window_looks
from hisa.tasks.task_context import Context

__all__ = ["await_windows", "expect_window", "run_traced"]

_SECONDS = 600.0  # chosen by hand
_MAX_LOG = 200_000
"""Most characters of bash's report; a loop may fail in the same place for ever."""
_ESSENTIAL = frozenset(
    ("cd", "source", ".", "mv", "cp", "ln", "install", "unzip", "tar", "gunzip", "bunzip2", "7z",
     "git", "wget", "curl", "pip", "pip3", "apt", "apt-get", "dpkg", "conda", "npm")
)  # fmt: skip
"""Commands that put something in its place, which a later line of the script needs."""
_ACTIVATES = re.compile(r"\s*conda\s+(?:de)?activate\b")
"""Lines that may fail: they change only where programs are found, and a missing one is reported.

Published scripts have such lines without the function that they call, which bash ignores.
"""
_TRACE = """\
unset BASH_ENV
__hisa() {{ local IFS=$'\\t'; printf '%s\\n' "${{*//$'\\n'/ }}" >>{log}; }}
command_not_found_handle() {{
  __hisa missing "${{BASH_LINENO[0]}}" "$1"
  printf '%s: command not found\\n' "$1" >&2
  return 127
}}
set -E
trap '__hisa failed "$LINENO" "$?" "${{BASH_SOURCE[0]}}" "$BASH_COMMAND"' ERR
trap '__hisa ended "$LINENO" "$?" "$-" "$BASH_COMMAND"' EXIT
"""
"""bash reads this first; a command whose failure the script handles (if, ||, !) is not reported."""


@dataclass(frozen=True)
class _TraceLine:
    kind: str
    line: int
    rest: tuple[str, ...]


async def run_traced(
    context: StepContext, words: Sequence[str], *, name: str, text: str, path: str = ""
) -> None:
    """Run bash on a script or a line, and raise if anything in it failed unnoticed.

    Args:
        context: the task and its machine.
        words: the arguments of bash.
        name: the script's name, for messages.
        text: the script's content.
        path: the script's path on the machine; empty if ``words`` hold a line instead.

    Raises:
        EnvironmentFailed: a command was not found, or failed to put something in its place, the
            script gave up by itself, or it did not end.
    """
    token = secrets.token_hex(6)
    trace, log = f"/tmp/.hisa-trace-{token}", f"/tmp/.hisa-told-{token}"
    environment = context.environment
    seconds = min(COMMAND_LIMIT, patience(_SECONDS))
    await environment.write_file(trace, _TRACE.format(log=log).encode())
    line = f"BASH_ENV={trace} {shlex.join(['/bin/bash', *words])}"
    try:
        result = await environment.execute(line, timeout=seconds)
        log_output = await environment.execute(f"cat {log} 2>/dev/null", limit=_MAX_LOG)
    finally:
        with contextlib.suppress(EnvironmentFailed):
            await environment.execute(f"rm -f {trace} {log}", timeout=10.0)
    if result.timed_out:
        raise EnvironmentFailed(f"{name}: did not end within {seconds:.0f} s")
    problems = list(dict.fromkeys(_problems(_read(log_output.output), text.splitlines(), path)))
    if not problems and result.exit_code in (126, 127):
        message = (result.error or result.output).strip()[-500:]
        problems = [f"ended with {result.exit_code}: {message}"]
    if problems:
        fix = next(filter(None, map(fix_from_output, problems)), "")
        raise EnvironmentFailed(
            f"{name}: {'; '.join(problems[:5])}",
            fix=fix or "check what the script expects of the machine",
        )


def _read(log_text: str) -> Iterator[_TraceLine]:
    for line in log_text.splitlines():
        kind, _, rest = line.partition("\t")
        number, *more = rest.split("\t")
        if kind in ("missing", "failed", "ended") and number.isdigit() and more:
            yield _TraceLine(kind, int(number), tuple(more))


def _problems(records: Iterator[_TraceLine], lines: Sequence[str], path: str) -> Iterator[str]:
    missing = set()
    for record in records:
        match record.kind, record.rest:
            case "missing", ("conda",) if _ACTIVATES.match(_line(lines, record.line)):
                missing.add(record.line)
            case "missing", (program,) if not _expects_failure(lines, record.line):
                missing.add(record.line)
                yield f"line {record.line}: {program}: command not found"
            case "failed", (status, source, *command) if source == path or not path:
                words = " ".join(command).split()
                if _matters(status, words) and record.line not in missing:
                    yield f"line {record.line}: ended with {status}: {' '.join(words)[:200]}"
            case "ended", (status, flags, *command) if status not in ("0", "126", "127"):
                command_text = " ".join(command)
                if command_text.startswith("exit") or "e" in flags:
                    yield f"the script gave up with {status}: {command_text[:200]}"


def _matters(status: str, words: Sequence[str]) -> bool:
    """Whether a failure that the script ignores keeps it from its purpose."""
    return status in ("126", "127") or (bool(words) and _first_program(words) in _ESSENTIAL)


def _first_program(words: Sequence[str]) -> str:
    rest = [word for word in words if word not in ("sudo", "-S", "-E", "command")]
    return rest[0].lstrip("\\") if rest else ""


def _expects_failure(lines: Sequence[str], number: int) -> bool:
    """Whether a line handles the failure of its own command."""
    line = _line(lines, number)
    return "||" in line or re.match(r"\s*(if|elif|while|until|!)\s", line) is not None


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


_PARTS = re.compile(r"[\n;&|]+")
_BEFORE = re.compile(r"\s*(?:(?:sudo|exec|nohup|env|setsid|[A-Za-z_]\w*=\S*)\s+)*")
"""What may precede the name of a program."""


async def expect_window(context: Context, text: str, result: CommandResult) -> None:
    """Check that a command that failed has opened the window of the application that it starts.

    Args:
        context: the task and its machine.
        text: lines of bash; if they start no application with a window, any status will do.
        result: the result of these lines, which have ended.

    Raises:
        EnvironmentFailed: the status is not 0, and there is no such window.
    """
    names = {name for alternatives in _opened_by(text) for name in alternatives}
    if result.exit_code == 0 or not names:
        return
    for _ in range(LOOKS):
        window_texts = await shown_windows(context)
        if any(name in window_texts for name in names):
            return
        await context.pause(POLL_SECONDS)
    words = (result.error or result.output).strip()[-300:]
    raise EnvironmentFailed(
        f"{text[:200]!r} ended with {result.exit_code} and opened no window{': ' if words else ''}"
        f"{words}",
        fix=fix_from_output(words),
    )


async def await_windows(context: Context, text: str) -> None:
    """Wait until each application that a script starts shows a window, 30 s at most.

    Published scripts end as soon as they have started a program; a run that began then would not
    see its window yet. A window that does not appear is no failure: the program may have been
    started for something else.

    Args:
        context: the task and its machine.
        text: the script; only programs that lines without indentation start are waited for.
    """
    lines = [line for line in text.splitlines() if line[:1].isalpha()]
    awaited = set(_opened_by("\n".join(lines)))
    for _ in range(window_looks() if awaited else 0):
        window_texts = await shown_windows(context)
        if all(any(name in window_texts for name in names) for names in awaited):
            return
        await context.pause(POLL_SECONDS)


def _opened_by(text: str) -> Iterator[tuple[str, ...]]:
    """Yields words of the window of each application that lines of bash start."""
    for part in _PARTS.split(text):
        if names := window_names(_BEFORE.sub("", part, count=1)):
            yield names
