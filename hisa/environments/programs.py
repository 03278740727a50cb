"""Lists a machine's programs from its menu entries: names, and the commands that start them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.machine.patience import patience
from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import Environment
from hisa.text.prompt_text import one_line

__all__ = ["installed_programs", "program_list"]

_MOST_TOKENS = 160
"""Limit for the whole list: a tenth of a screenshot's tokens, paid once."""
_SECONDS = 10.0
"""Time limit for reading some dozen small files; chosen by hand."""
_MOST_OUTPUT = 60_000
"""Most characters of all entries together; chosen by hand."""
_LONGEST_NAME = 60
"""Most characters of a name; chosen by hand."""
_LONGEST_COMMAND = 120
"""Longer commands are left out: a cut one would be another command; chosen by hand."""
_SILENT = (
    "convert", "curl", "exiftool", "ffmpeg", "git", "gsettings", "jq", "pandoc", "pdftotext",
    "python3", "soffice", "sqlite3", "xdotool",
)  # fmt: skip
"""Programs that tasks need and few menus show; chosen by hand."""
_PLAIN = re.compile(r"[\w.+-]+", re.ASCII)
_CODE = re.compile(r"\s*%[a-zA-Z]")
"""Stands for files and addresses in the command of an entry."""
_LIST = (
    "grep -hE '^(\\[|Name=|Exec=|NoDisplay=|Hidden=|Terminal=|Categories=)' "
    "/usr/share/applications/*.desktop /usr/local/share/applications/*.desktop "
    "~/.local/share/applications/*.desktop 2>/dev/null"
)


async def installed_programs(environment: Environment, note: Callable[[str], None]) -> str:
    """Returns the machine's programs and its home folder in one line; empty if it lists none.

    A failure does not end the run: a machine that cannot list its programs may do everything else,
    and one that is gone fails at the next request.

    Args:
        environment: the machine whose programs are listed.
        note: gets the reason if the machine did not list them.
    """
    if "execute" not in environment.capabilities:
        return ""
    try:
        entries = dict(_programs(await _read_output(environment, _LIST)))
        shown = {_program(command) for command in entries}
        names = " ".join(sorted({*shown, *_SILENT}))
        look = f'for name in {names}; do command -v "$name" >/dev/null && echo "$name"; done'
        printed = (await _read_output(environment, f"{look}; printf '~%s\\n' ~")).splitlines()
    except (EnvironmentFailed, ActionRefused) as error:
        note(f"the planner gets no list of installed programs: {error}")
        return ""
    silent = ", ".join(name for name in _SILENT if name in printed and name not in shown)
    home = next((one_line(line[1:])[:_LONGEST_COMMAND] for line in printed if line[:1] == "~"), "")
    parts = [program_list({c: name for c, name in entries.items() if _program(c) in printed})]
    parts += [f"without a menu entry: {silent}"] * bool(silent)
    return "; ".join(filter(None, [*parts, f"home folder: {home}" * bool(home)]))


async def _read_output(environment: Environment, command: str) -> str:
    seconds = patience(_SECONDS)
    result = await environment.execute(command, timeout=seconds, limit=_MOST_OUTPUT)
    if result.timed_out:
        raise EnvironmentFailed(f"{environment.name}: no list of programs within {seconds:.0f} s")
    return result.output


def program_list(programs: Mapping[str, str]) -> str:
    """Returns one line of programs sorted by command, as many as fit.

    Args:
        programs: the name of each program by its command.
    """
    by_program: dict[str, dict[str, str]] = {}
    for command, name in sorted(programs.items()):
        program, _, options = command.partition(" ")
        by_program.setdefault(program, {})[options] = name
    parts = [_describe_program(program, ways) for program, ways in by_program.items()]

    def text(count: int) -> str:
        rest = f" and {len(parts) - count} more" if count < len(parts) else ""
        return ", ".join(parts[:count]) + rest

    shown_count = longest(len(parts), lambda count: estimate_tokens(text(count)) <= _MOST_TOKENS)
    return text(shown_count) if shown_count else ""


def _describe_program(program: str, ways: Mapping[str, str]) -> str:
    """Returns the program with its options, or with the words that only its name has."""
    if len(ways) > 1:
        columns = zip(*(options.split() for options in ways), strict=False)
        shared = [words[0] for words in takewhile(lambda words: len({*words}) == 1, columns)]
        rest = (" ".join(options.split()[len(shared) :]) for options in ways)
        return f"{' '.join([program, *shared])} [{', '.join(filter(None, rest))}]"
    (options,) = ways
    command = f"{program} {options}".rstrip()
    command_words = command.lower().split()
    words = " ".join(word for word in ways[options].split() if word.lower() not in command_words)
    return f"{command} ({words})" if words else command


def _programs(lines: str) -> Iterator[tuple[str, str]]:
    """Yields command and name of each entry that a menu shows and that is no settings page."""
    for section in re.split(r"^\[", lines, flags=re.MULTILINE):
        head, _, body = section.partition("]\n")
        entry = dict(line.split("=", 1) for line in reversed(body.splitlines()) if "=" in line)
        command = _command(entry.get("Exec", ""))
        hidden = "true" in (entry.get("NoDisplay"), entry.get("Hidden"), entry.get("Terminal"))
        settings = "Settings" in entry.get("Categories", "").split(";")
        if head == "Desktop Entry" and command and not hidden and not settings:
            yield command, one_line(entry.get("Name", ""))[:_LONGEST_NAME]


def _command(line: str) -> str:
    """Returns the command of an entry, without the program's folder; empty if it is unusable."""
    try:
        path, *options = shlex.split(_CODE.sub("", line))
    except ValueError:  # nothing, or an open quotation
        return ""
    program = path.rpartition("/")[2]
    command = one_line(shlex.join([program, *options]))
    return command if _PLAIN.fullmatch(program) and len(command) <= _LONGEST_COMMAND else ""


def _program(command: str) -> str:
    return command.partition(" ")[0]
