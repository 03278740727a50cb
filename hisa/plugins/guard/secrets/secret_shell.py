"""Puts secrets into command lines, so that no shell ever reads a value as source.

In a line for bash a name becomes the expansion of a variable, quoted as its place needs it. In a
command that no shell reads, a word gets the value itself. Unclear cases are refused.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hisa.errors import ActionRefused
from hisa.plugins.guard.shell_tree import STATEMENTS, parse_bash, unreadable
from hisa.text.redact.named_secrets import PLACEHOLDER

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["ShellLine", "Use", "fill_words", "shell_line"]

_VARIABLE = "HISA_SECRET_"
_MARK = "HISAmark"
"""Stands for a name, with its number, while a line is parsed."""
_COMMANDS = frozenset({"command", "declaration_command", "variable_assignment"})
_STATEMENTS = frozenset({"redirected_statement", "for_statement"})
"""Statements that are a command by themselves if no part of them is."""
_QUOTES: Mapping[str, tuple[str, str]] = {
    "word": ('"', '"'),
    "raw_string": ("'\"", "\"'"),
    "ansi_c_string": ("'\"", "\"$'"),
    "string_content": ("", ""),
}
"""Quotes that are put around a variable, by the node in which a name stands."""
_PLAIN = (
    STATEMENTS
    | _COMMANDS
    | _QUOTES.keys()
    | {"concatenation", "string", "command_substitution", "process_substitution"}
    | {"file_redirect", "herestring_redirect"}
)
"""Nodes in which a value stays a value; in others it could be read as source."""
_SOURCE = re.compile(
    # Not "bash script.sh", which gets a value as any program does.
    r"(?:^|[\s/;|&(])(?:(?:ba|da|z|k|a|c|tc|fi|mk)?sh|su)\s(?:.*\s)?-\w*c\b"
    r"|(?:^|[\s/;|&(])(?:python[\d.]*|perl|ruby|node|php|lua)\s(?:.*\s)?-\w*[cerE]\b"
    r"|(?:^|[\s/;|&(])(?:eval|trap|let|alias|declare|typeset|local|ssh|awk|gawk|mawk|sed)\s",
    re.DOTALL,
)
"""Commands that read a word as source, in which a value could mean anything."""


@dataclass(frozen=True)
class Use:
    """A secret that a command line names, and the single command of the line that names it."""

    name: str
    command: str


@dataclass(frozen=True)
class ShellLine:
    """A line for bash in which variables stand for secrets.

    ``variables`` has the names of the secrets in the order in which `prelude` reads them.
    """

    source: str
    uses: tuple[Use, ...]
    variables: tuple[str, ...]

    def prelude(self, path: str) -> str:
        """Returns bash source that reads the variables from a file and deletes its folder.

        Args:
            path: the file with the values, a NUL after each; it is alone in its folder.
        """
        numbers = range(len(self.variables))
        reads = "".join(f"IFS= read -r -d '' {_VARIABLE}{number}; " for number in numbers)
        folder = path.rpartition("/")[0]
        return f"{{ {reads}}} < {shlex.quote(path)}; rm -rf -- {shlex.quote(folder)}\n"


def shell_line(source: str) -> ShellLine:
    """Returns a line for bash with a variable in place of each secret's name.

    Raises:
        ActionRefused: a name stands where a value cannot be put in safely.
    """
    if not PLACEHOLDER.search(source):
        return ShellLine(source, (), ())
    if reason := unreadable(source) or (f"it contains {_MARK}" if _MARK in source else ""):
        raise _unclear(reason)
    names = list(dict.fromkeys(PLACEHOLDER.findall(source)))
    matches = list(PLACEHOLDER.finditer(source))
    numbers = iter(range(len(matches)))
    marked = PLACEHOLDER.sub(lambda _: f"{_MARK}{next(numbers):04}", source).encode()
    root = parse_bash(marked)
    if root.has_error:
        raise _unclear("it is not a complete line of bash")
    uses, out, at = list[Use](), list[bytes](), 0
    for number, match in enumerate(matches):
        mark = f"{_MARK}{number:04}".encode()
        start = marked.index(mark)
        before, after, command = _place(root, marked, start, start + len(mark))
        variable = f"{before}${{{_VARIABLE}{names.index(match[1])}}}{after}"
        out += (marked[at:start], variable.encode())
        at = start + len(mark)
        uses.append(Use(match[1], _remove_marks(command, matches)))
    source = b"".join([*out, marked[at:]]).decode()
    return ShellLine(source, tuple(uses), tuple(names))


def _remove_marks(text: str, matches: Sequence[re.Match[str]]) -> str:
    return re.sub(rf"{_MARK}(\d{{4}})", lambda mark: matches[int(mark[1])][0], text)


def _place(root: Node, marked: bytes, start: int, end: int) -> tuple[str, str, str]:
    """Returns the quotes before and after a variable in place of a mark, and its command.

    Raises:
        ActionRefused: its value could be read as source there.
    """
    node = root.descendant_for_byte_range(start, end)
    if node is None or node.type not in _QUOTES or marked[start - 1 : start] == b"\\":
        raise _unclear("a name is beside a backslash, in a comment or in an expansion")
    for inner, outer in _upwards(node):
        text = marked[outer.start_byte : outer.end_byte].decode()
        if outer.type not in _PLAIN or text.startswith("`") or inner.type == "command_name":
            raise _unclear(f"a name is part of its {outer.type.replace('_', ' ').lower()}")
        if outer.type in _COMMANDS:
            _refuse_source(text)
    command = _command_of(node)
    return (*_QUOTES[node.type], marked[command.start_byte : command.end_byte].decode())


def _command_of(node: Node) -> Node:
    """Returns the single command that a word is part of, with its redirections."""
    while node.parent is not None and node.type not in _COMMANDS | _STATEMENTS:
        node = node.parent
    while node.parent is not None and node.parent.type in ("command", "redirected_statement"):
        node = node.parent
    return node


def _upwards(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yields a node with its parent, then the parent with its own, up to the root."""
    while node.parent is not None:
        yield node, node.parent
        node = node.parent


def fill_words(
    words: Sequence[str], values: Mapping[str, str]
) -> tuple[list[str], tuple[Use, ...]]:
    """Returns the words of a command with values in place of names, and the uses of secrets.

    A word that is JSON stays JSON: the value goes into its texts.

    Raises:
        ActionRefused: a name is in the source of another program, or in the command's own name.
    """
    line = shlex.join(words)
    named = [name for word in words for name in PLACEHOLDER.findall(word)]
    if not named:
        return list(words), ()
    _refuse_source(" ".join(words))
    if PLACEHOLDER.search(words[0]):
        raise ActionRefused("a secret cannot be the name of a command")
    filled = [_fill_word(word, values) for word in words]
    return filled, tuple(Use(name, line) for name in dict.fromkeys(named))


def _fill_word(word: str, values: Mapping[str, str]) -> str:
    def put(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: values[match[1]], text)

    if word.lstrip().startswith(("{", "[")) and not word.startswith("{{secret:"):
        try:
            return json.dumps(_each_text(json.loads(word), put))
        except ValueError:
            pass
    return put(word)


def _each_text(value: object, put: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return put(value)
    if isinstance(value, list):
        return [_each_text(item, put) for item in value]
    if isinstance(value, dict):
        return {key: _each_text(item, put) for key, item in value.items()}
    return value


def _refuse_source(command: str) -> None:
    match = _SOURCE.search(command)
    if match:
        raise ActionRefused(
            f"a secret cannot be in the source of another program ({match[0].strip()!r}): its "
            "value would be read as that program's language; run the command itself"
        )


def _unclear(reason: str) -> ActionRefused:
    return ActionRefused(
        f"a command that names a secret must be plain: {reason}; put the name into an ordinary word"
    )
