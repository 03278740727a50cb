"""The programs of a machine, as its menu entries tell: names, and the commands that start them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import takewhile

from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import Environment
from hisa.text.prompt_text import one_line

__all__ = ["installed_programs", "program_list"]

_MOST_TOKENS = 160
"""Of the whole list: a tenth of a picture, paid once."""
_REST = 5
"""Tokens of the words for what does not fit."""
_SECONDS = 10.0
"""For reading some dozen small files; chosen by hand."""
_MOST_OUTPUT = 60_000
"""Characters of all entries together; chosen by hand."""
_LONGEST = 60
"""Characters of a name or a command; chosen by hand."""
_CODE = re.compile(r"\s*%[a-zA-Z]")
"""Stands for files and addresses in the command of an entry."""
_LIST = (
    "grep -hE '^(\\[|Name=|Exec=|NoDisplay=|Hidden=|Terminal=|Categories=)' "
    "/usr/share/applications/*.desktop /usr/local/share/applications/*.desktop "
    "~/.local/share/applications/*.desktop 2>/dev/null"
)


async def installed_programs(environment: Environment) -> str:
    """The machine's programs in one line, as commands with their names; empty where none is told.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    if "execute" not in environment.capabilities:
        return ""
    found = await environment.execute(_LIST, timeout=_SECONDS, limit=_MOST_OUTPUT)
    entries = dict(_programs(found.output))
    names = " ".join(sorted({shlex.quote(command.split()[0]) for command in entries}))
    look = f'for name in {names}; do command -v "$name" >/dev/null && echo "$name"; done'
    there = (await environment.execute(look, timeout=_SECONDS)).output.split() if names else []
    return program_list({c: name for c, name in entries.items() if c.split()[0] in there})


def program_list(programs: Mapping[str, str]) -> str:
    """One line of programs by command, as many as fit.

    Args:
        programs: names by command.
    """
    by_program: dict[str, dict[str, str]] = {}
    for command, name in sorted(programs.items()):
        program, _, options = command.partition(" ")
        by_program.setdefault(program, {})[options] = name
    told = [_shown(program, ways) for program, ways in by_program.items()]
    kept = longest(
        len(told), lambda count: estimate_tokens(", ".join(told[:count])) <= _MOST_TOKENS
    )
    rest = f" and {len(told) - kept} more" if kept < len(told) else ""
    return ", ".join(told[:kept]) + rest if kept else ""


def _shown(program: str, ways: Mapping[str, str]) -> str:
    """The program with its options, or with what its name says and the command does not."""
    if len(ways) > 1:
        columns = zip(*(options.split() for options in ways), strict=False)
        shared = [words[0] for words in takewhile(lambda words: len({*words}) == 1, columns)]
        rest = (" ".join(options.split()[len(shared) :]) for options in ways)
        return f"{' '.join([program, *shared])} [{', '.join(filter(None, rest))}]"
    (options,) = ways
    command = f"{program} {options}".rstrip()
    said = command.lower().split()
    words = " ".join(word for word in ways[options].split() if word.lower() not in said)
    return f"{command} ({words})" if words else command


def _programs(lines: str) -> Iterator[tuple[str, str]]:
    """Command and name of each entry that a menu shows and that is no page of settings."""
    for section in re.split(r"^\[", lines, flags=re.MULTILINE):
        head, _, body = section.partition("]\n")
        entry = dict(line.split("=", 1) for line in reversed(body.splitlines()) if "=" in line)
        command = _safe(_CODE.sub("", entry.get("Exec", "")))
        hidden = "true" in (entry.get("NoDisplay"), entry.get("Hidden"), entry.get("Terminal"))
        settings = "Settings" in entry.get("Categories", "").split(";")
        if head == "Desktop Entry" and command and not hidden and not settings:
            path, *options = command.split(" ")
            yield " ".join([path.rpartition("/")[2], *options]), _safe(entry.get("Name", ""))


def _safe(text: str) -> str:
    """An entry's word for a prompt: whoever made the machine wrote it."""
    return one_line(text)[:_LONGEST]
