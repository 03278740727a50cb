"""Puts secrets into command lines, so that no shell ever reads a value as source.

In a line for bash a name becomes the expansion of a variable, quoted as the place asks for; a word
of a command that no shell reads gets the value itself. What cannot be told for certain is refused.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hisa.errors import ActionRefused
from hisa.text.redact.named_secrets import PLACEHOLDER

__all__ = ["ShellLine", "Use", "fill_words", "shell_line"]

_VARIABLE = "HISA_SECRET_"
_BREAKS = ";|&\n"
_PLAIN_EXPANSION = re.compile(r"\$\{[^'\"`$(){}\\]*\}")
_SUM = re.compile(r"\$?\(\([^'\"`{}\\]*?\)\)")
_HEREDOC = re.compile(r"<<-?(?!<)")
_CASE = re.compile(r"case\s")
_SOURCE = re.compile(
    # Not "bash script.sh", which gets a value as any program does.
    r"(?:^|[\s/;|&(])(?:(?:ba|da|z|k|a|c|tc|fi|mk)?sh|su)\s(?:.*\s)?-\w*c\b"
    r"|(?:^|[\s/;|&(])(?:python[\d.]*|perl|ruby|node|php|lua)\s(?:.*\s)?-\w*[cerE]\b"
    r"|(?:^|[\s/;|&(])(?:eval|trap|let|alias|declare|typeset|local|ssh|awk|gawk|mawk|sed)\s",
    re.DOTALL,
)
"""Commands that read a word as source of their own, in which a value could mean anything."""


@dataclass(frozen=True)
class Use:
    """A place where a command line names a secret, and the one command that it is a part of."""

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
            path: of a file in a folder of its own, which holds the values, a NUL after each.
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
    return _Reader(source).read()


def fill_words(
    words: Sequence[str], values: Mapping[str, str]
) -> tuple[list[str], tuple[Use, ...]]:
    """Returns the words of a command with values in place of names, and what is named where.

    A word that is JSON stays JSON: the value goes into its texts.

    Raises:
        ActionRefused: a name stands in the source of another program, or in the command's own name.
    """
    line = shlex.join(words)
    named = [name for word in words for name in PLACEHOLDER.findall(word)]
    if not named:
        return list(words), ()
    _refuse_source(" ".join(words))
    if PLACEHOLDER.search(words[0]):
        raise ActionRefused("a secret cannot be the name of a command")
    filled = [_filled(word, values) for word in words]
    return filled, tuple(Use(name, line) for name in dict.fromkeys(named))


def _filled(word: str, values: Mapping[str, str]) -> str:
    def put(text: str) -> str:
        return PLACEHOLDER.sub(lambda found: values[found[1]], text)

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
    found = _SOURCE.search(command)
    if found:
        raise ActionRefused(
            f"a secret cannot stand in the source of another program ({found[0].strip()!r}): its "
            "value would be read as that program's language; run the command itself"
        )


def _unclear(what: str) -> ActionRefused:
    return ActionRefused(
        f"a command that names a secret has to be plain: {what}; put the name into an ordinary word"
    )


@dataclass
class _Level:
    """One level of a command line: its top, or what stands in ``$(…)``."""

    kind: str
    start: int
    pending: list[str] = field(default_factory=list)
    """Secrets named in the command that is being read."""


class _Reader:
    """Reads bash source as far as quotes, substitutions and the ends of commands go."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._out: list[str] = []
        self._stack = [_Level("top", 0)]
        self._uses: list[Use] = []
        self._variables: list[str] = []
        self._put = 0

    def read(self) -> ShellLine:
        while self._at < len(self._source):
            self._one()
        if len(self._stack) != 1:
            raise _unclear(f"something is open at its end ({self._stack[-1].kind})")
        self._end_command(len(self._source))
        if self._put != len(PLACEHOLDER.findall(self._source)):
            raise _unclear("a name stands beside a backslash, in a comment or in an expansion")
        return ShellLine("".join(self._out), tuple(self._uses), tuple(self._variables))

    def _one(self) -> None:
        """Read one character, or what belongs together."""
        match self._stack[-1].kind:
            case "single quotes":
                self._quoted("'", before="'\"", after="\"'")
            case "$'…'":
                self._quoted("'", before="'\"", after="\"$'", escapes=True)
            case "double quotes":
                self._in_double()
            case _:
                self._bare()

    def _take(self, length: int = 1) -> None:
        self._out.append(self._source[self._at : self._at + length])
        self._at += length

    def _looks(self, text: str) -> bool:
        return self._source.startswith(text, self._at)

    def _secret(self, before: str = "", after: str = "") -> bool:
        """Put in a variable where a name stands."""
        found = PLACEHOLDER.match(self._source, self._at)
        if found is None:
            return False
        name = found[1]
        if name not in self._variables:
            self._variables.append(name)
        variable = f"${{{_VARIABLE}{self._variables.index(name)}}}"
        self._out.append(f"{before}{variable}{after}")
        self._at = found.end()
        self._put += 1
        level = next(level for level in reversed(self._stack) if level.kind in ("top", "$(…)"))
        level.pending.append(name)
        return True

    def _quoted(self, end: str, *, before: str, after: str, escapes: bool = False) -> None:
        if self._secret(before, after):
            return
        if escapes and self._looks("\\"):
            self._take(2)
            return
        if self._looks(end):
            self._stack.pop()
        self._take()

    def _in_double(self) -> None:
        if self._secret():
            return
        if self._looks("\\"):
            self._take(2)
        elif self._looks('"'):
            self._stack.pop()
            self._take()
        elif not self._expansion():
            self._take()

    def _expansion(self) -> bool:
        """Read what begins with ``$`` or a backtick."""
        if self._looks("`"):
            raise _unclear("it has backticks; write $(…)")
        for opening, pattern in (("$((", _SUM), ("${", _PLAIN_EXPANSION)):
            if self._looks(opening):
                found = pattern.match(self._source, self._at)
                if found is None or PLACEHOLDER.search(found[0]):
                    raise _unclear(f"{opening}… is more than a plain expansion")
                self._take(len(found[0]))
                return True
        if self._looks("$("):
            self._take(2)
            self._stack.append(_Level("$(…)", self._at))
            return True
        return False

    def _bare(self) -> None:
        if self._secret('"', '"'):
            return
        if self._looks("\\"):
            self._take(2)
        elif self._looks("#") and self._begins_word():
            end = self._source.find("\n", self._at)
            self._take((len(self._source) if end < 0 else end) - self._at)
        elif not self._opens() and not self._expansion():
            self._closes_or_ends()

    def _opens(self) -> bool:
        """Read the beginning of something quoted or grouped."""
        if self._looks("<<<"):
            self._take(3)
            return True
        if _HEREDOC.match(self._source, self._at):
            raise _unclear("it has a here-document")
        if _CASE.match(self._source, self._at) and self._begins_word() and len(self._stack) > 1:
            raise _unclear("it has a case within $(…)")
        for opening, kind in (("$'", "$'…'"), ('$"', "double quotes"), ("'", "single quotes")):
            if self._looks(opening):
                self._take(len(opening))
                self._stack.append(_Level(kind, self._at))
                return True
        if self._looks('"'):
            self._take()
            self._stack.append(_Level("double quotes", self._at))
            return True
        if self._looks("(("):
            raise _unclear("it has arithmetic in ((…))")
        if self._looks("("):
            if self._source[self._at - 1 : self._at] not in ("<", ">", "="):
                self._end_command(self._at)
            self._take()
            self._stack.append(_Level("$(…)", self._at))
            return True
        return False

    def _closes_or_ends(self) -> None:
        letter = self._source[self._at]
        before = self._source[self._at - 1 : self._at]
        if letter == ")":
            self._end_command(self._at)
            if len(self._stack) > 1:
                self._stack.pop()
            else:
                self._stack[0].start = self._at + 1
            self._take()
            return
        redirects = letter == "&" and (before in "<>" or self._source[self._at + 1 :][:1] == ">")
        if letter in _BREAKS and not (redirects and before):
            self._end_command(self._at)
            self._stack[-1].start = self._at + 1
        self._take()

    def _begins_word(self) -> bool:
        before = self._source[self._at - 1 : self._at] if self._at else ""
        return not before or before in " \t\n;|&()"

    def _end_command(self, end: int) -> None:
        """Note what the command names that ends here."""
        level = self._stack[-1]
        command = self._source[level.start : end].strip()
        if level.pending:
            _refuse_source(command)
        self._uses += [Use(name, command) for name in level.pending]
        level.pending.clear()
        level.start = end
