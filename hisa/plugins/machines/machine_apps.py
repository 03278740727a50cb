"""Finds the applications that a command line starts, and those that a machine lacks."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.machines.known_apps import APPS, SERVICES, SUDO, App, describe_install
from hisa.protocols import Environment, Task

__all__ = [
    "apps_of_words",
    "find_missing",
    "is_installed_by",
    "require_apps",
    "split_words",
    "window_names",
]

_SECONDS = 30.0  # chosen by hand
_PARTS = {"--calc": "Calc", "--writer": "Writer", "--impress": "Impress"}
_WITHOUT_WINDOW = frozenset(
    ("--headless", "--version", "--install-extension", "--list-extensions", "-I", "--convert-to")
)
_PREFIXES = frozenset(("sudo", "-S", "exec", "nohup", "env", "setsid", "-E"))
_SUDO = re.compile(r"(?:^|[\s;&|('\"])sudo(?:\s|$)")
_TERMINAL_KEYS = re.compile(r"ctrl\W+alt\W+t\b")
"""The keys that open a terminal, in a PyAutoGUI program."""


def split_words(line: str) -> list[str]:
    """Splits a command line into words; at white space if its quotes cannot be read."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def apps_of_words(words: Sequence[str]) -> Iterator[App]:
    """Yields the applications that a command line starts, and sudo if it needs that."""
    if any(_SUDO.search(word) for word in words):
        yield next(app for app in APPS if app.title == SUDO)
    if any(_TERMINAL_KEYS.search(word) for word in words):
        yield next(app for app in APPS if app.title == "a terminal")
    while words and (words[0] in _PREFIXES or re.match(r"[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    if not words:
        return
    name = posixpath.basename(words[0])
    parts = [_PARTS[word] for word in words if word in _PARTS]
    for app in APPS:
        if name in app.commands and (not app.office or app.title in parts):
            yield app


def window_names(line: str) -> tuple[str, ...]:
    """Returns words of the window that a line opens by starting an application; none if none."""
    words = split_words(line)
    if not words or _WITHOUT_WINDOW.intersection(words):
        return ()
    name = posixpath.basename(words[0])
    for app in APPS:
        if name in app.commands:
            return tuple(dict.fromkeys((*app.commands, *map(_shorten_name, app.commands))))
    return ()


def _shorten_name(name: str) -> str:
    """Returns ``chrome`` for ``google-chrome-stable``."""
    return name.replace("google-", "").replace("-stable", "").replace("-browser", "")


def is_installed_by(app: App, texts: str) -> bool:
    """Whether a line of a setup installs an application."""
    names = "|".join(re.escape(name) for name in {*app.commands, app.package.split(",")[0]})
    return re.search(rf"\binstall\b[^\n;&|]*(?<![\w-])({names})(?![\w-])", texts) is not None


async def require_apps(task: Task, environment: Environment, apps: Sequence[App]) -> None:
    """Requires the applications that a task needs, by one command.

    Args:
        task: the task, for the error message.
        environment: the machine.
        apps: the applications that the task needs.

    Raises:
        EnvironmentFailed: some are missing; the message names each with the package that has it.
    """
    missing = await find_missing(apps, environment)
    if missing:
        names = ", ".join(f"{app.title} (package {app.package})" for app in missing)
        raise EnvironmentFailed(
            f"task {task.id!r} needs {names}, which {environment.name} does not have",
            fix=describe_install(*missing),
        )


async def find_missing(apps: Sequence[App], environment: Environment) -> list[App]:
    """Returns those of some applications that a machine lacks, by one command.

    If the machine has no bash, it counts as lacking none: starting them will fail with a reason.
    """
    if not apps:
        return []
    line = _SHELL + "".join(f"{_test(app)} || echo {n}\n" for n, app in enumerate(apps))
    result = await environment.execute(line + "exit 0", timeout=patience(_SECONDS))
    if result.exit_code != 0:
        return []
    return [apps[int(n)] for n in result.output.split() if n.isdigit() and int(n) < len(apps)]


_SHELL = r"""
here() {
  local program line start to=
  program=$(command -v "$1") || return 1
  [ -f "$program" ] && read -r -n 2 start <"$program"
  if [ "$start" = '#!' ]; then
    while IFS= read -r line || [ -n "$line" ]; do
      if [[ $line =~ ^[[:space:]]*exec[[:space:]]+(/[^[:space:]\$]+)([[:space:]]|$) ]]; then
        to=${BASH_REMATCH[1]}
        break
      fi
    done <"$program"
  fi
  [ -z "$to" ] || [ -e "$to" ]
}
office() {
  local program=$(readlink -f "$(command -v libreoffice || command -v soffice)")
  case $program in "") false;; */soffice*) test -e "${program%/*}/$1";; *) true;; esac
}
rights() {
  [ "$EUID" = 0 ] && return
  local line
  while IFS= read -r line; do [[ $line =~ ^NoNewPrivs:.*1 ]] && return 1; done </proc/self/status
  command -v sudo >/dev/null
}
there() { compgen -G "$1" >/dev/null; }
"""
"""A script that hands over to a program counts only if that program exists: it may be HiSA's own,
for a program of another name. Each package of LibreOffice's parts puts a file beside its program; a
snap's files cannot be seen.
"""


def _test(app: App) -> str:
    if app.office:
        return f"office {app.office}"
    if app.title == SUDO:
        return "rights"
    if app.title == SERVICES:
        return "test -d /run/systemd/system"
    tests = [f"here {name}" for name in app.commands]
    tests += [f"test -x /snap/bin/{app.commands[0]}"]
    tests += [f'there "{place}"' for place in app.places]
    return "{ " + " || ".join(tests) + "; }"
