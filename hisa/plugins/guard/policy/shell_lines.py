"""Reads a bash line into its simple commands; what it cannot read for sure, it says so.

No shell is asked, and nothing is expanded. A word with an expansion in it is not known; commands
inside substitutions are commands of the line like any other. Whatever else bash would understand
(functions, arithmetic, `case`, here-documents with expansions) makes the rest of the line unread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from hisa.plugins.guard.policy.matching import words

__all__ = ["Redirect", "ShellLine", "SimpleCommand", "Word", "read_line"]

_DEEPEST = 8
"""Substitutions inside one another; more than anybody writes by hand."""
_LONGEST = 20_000
"""Characters of a line; so many are read in less than a tenth of a second."""
_MOST_COMMANDS = 200
"""Simple commands of a line; likewise."""
_BLANK, _META = " \t", " \t\n;&|()<>"
_SKIPPED = words("! { } if then else elif fi while until do done time")
"""Words where a command could stand that only steer those around them."""
_UNREADABLE = words("case esac select function coproc [[ ]]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_HOME = re.compile(r"\$(?:HOME(?![A-Za-z0-9_])|\{HOME\})")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{[A-Za-z_][A-Za-z0-9_]*\})")
_AT_HOME = "\ue000"
"""Stands for the home folder while a word is read: a quoted ~ is a file of that name."""
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the shell passes it on.

    ``known`` is False where that cannot be told: ``text`` is then what was written. ``glob``: it
    may become several names.
    """

    text: str
    known: bool = True
    glob: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection to a file: ``<`` reads, all others write."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program and its arguments; ``nested`` where it stands in a substitution."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assigned: tuple[str, ...] = ()
    source: str = ""
    then: str = ""
    """The operator after it."""
    nested: bool = False


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A line's commands, those of its substitutions too; ``unread`` says why there may be more."""

    commands: tuple[SimpleCommand, ...]
    unread: str = ""


class _Unread(Exception):
    """Something that is not read; the text says what."""


def read_line(text: str) -> ShellLine:
    """Returns the simple commands of a bash line."""
    if "\0" in text or _AT_HOME in text:
        return ShellLine((), "it holds a character that no command needs")
    if len(text) > _LONGEST:
        return ShellLine((), f"it has more than {_LONGEST:,} characters")
    reader = _Reader(text)
    try:
        reader.commands_until("")
    except _Unread as error:
        return ShellLine(tuple(reader.found), str(error))
    return ShellLine(tuple(reader.found))


@dataclass
class _Gathered:
    """The command that is being read."""

    start: int
    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    looping: bool = False

    @property
    def empty(self) -> bool:
        return not (self.words or self.redirects or self.assigned or self.looping)


class _Reader:
    def __init__(self, text: str, *, depth: int = 0, found: list[SimpleCommand] | None = None):
        self.text = text
        self.at = 0
        self.depth = depth
        self.found: list[SimpleCommand] = [] if found is None else found
        self._bodies: list[tuple[str, bool]] = []
        if depth > _DEEPEST:
            raise _Unread("its substitutions go too deep")

    def commands_until(self, end: str) -> None:
        """Read commands up to an unquoted ``end``, or to the end of the text where it is empty."""
        open_, now = 0, _Gathered(self.at)
        while True:
            self._skip_blanks()
            here = self._peek()
            if not here:
                if end or open_ or self._bodies:
                    raise _Unread("it ends in the middle")
                self._close(now, "")
                return
            if here == ")" and not open_ and end == ")":
                self._close(now, "")
                self.at += 1
                return
            if here in "\n;&|()":
                if (redirect := self._both_streams()) is not None:
                    now.redirects.append(redirect)
                    continue
                operator = self._operator()
                if operator == "(" and not now.empty:
                    raise _Unread("it defines a function, or holds a list in parentheses")
                open_ += {"(": 1, ")": -1}.get(operator, 0)
                if open_ < 0:
                    raise _Unread("a parenthesis closes that was not opened")
                self._close(now, operator)
                now = _Gathered(self.at)
            elif here in "<>" or self._is_numbered():
                self._redirect(now)
            else:
                self._take(now, self._word())

    # -------------------------------------------------------------- commands

    def _take(self, now: _Gathered, word: Word) -> None:
        if now.words or now.looping:
            if not now.looping:
                now.words.append(word)
            return
        plain = word.known and not word.quoted
        if plain and word.text in _SKIPPED:
            return
        if plain and word.text in _UNREADABLE:
            raise _Unread(f"it uses {word.text}")
        if plain and word.text == "for":
            now.looping = True
            return
        written = _ASSIGNMENT.match(word.text)
        if written:
            now.assigned.append(re.split(r"[\[+=]", word.text, maxsplit=1)[0])
        else:
            now.words.append(word)

    def _close(self, now: _Gathered, operator: str) -> None:
        if operator == "\n":
            self._skip_bodies()
        if now.looping or not (now.words or now.redirects or now.assigned):
            return
        if len(self.found) >= _MOST_COMMANDS:
            raise _Unread(f"it has more than {_MOST_COMMANDS} commands")
        self.found.append(
            SimpleCommand(
                tuple(now.words),
                tuple(now.redirects),
                tuple(now.assigned),
                source=self.text[now.start : self.at].strip(" \t\n;&|()"),
                then=operator,
                nested=self.depth > 0,
            )
        )

    def _operator(self) -> str:
        for operator in ("&&", "||", ";;", "|&", ";&"):
            if self.text.startswith(operator, self.at):
                if operator in (";;", ";&"):
                    raise _Unread(f"it uses {operator}")
                self.at += 2
                return operator
        if self.text.startswith("((", self.at):
            raise _Unread("it calculates")
        self.at += 1
        return self.text[self.at - 1]

    # -------------------------------------------------------------- redirections

    def _both_streams(self) -> Redirect | None:
        for operator in ("&>>", "&>"):
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                return Redirect(">>" if operator == "&>>" else ">", self._target())
        return None

    def _is_numbered(self) -> bool:
        """Whether a file descriptor stands here, such as the 2 of ``2>``."""
        found = re.compile(r"[0-9]+(?=[<>])").match(self.text, self.at)
        if found:
            self.at = found.end()
        return found is not None

    def _redirect(self, now: _Gathered) -> None:
        found = re.compile(r"<<<|<<-|<<|<>|<&|<|>>|>\||>&|>").match(self.text, self.at)
        operator = found.group() if found else ""
        if self.text.startswith(("<(", ">("), self.at):
            self._take(now, self._word())
            return
        self.at += len(operator)
        if operator in ("<<", "<<-"):
            target = self._target()
            self._bodies.append((target.text, target.quoted))
            return
        target = self._target()
        copies = operator in ("<&", ">&") and re.fullmatch(r"[0-9]+-?|-", target.text)
        if operator != "<<<" and not copies:
            now.redirects.append(Redirect(operator, target))

    def _target(self) -> Word:
        self._skip_blanks()
        if self._peek() in ("", *_META) and not self.text.startswith(("<(", ">("), self.at):
            raise _Unread("a redirection has no target")
        return self._word()

    def _skip_bodies(self) -> None:
        """Pass over the here-documents that begin on this line."""
        for mark, quoted in self._bodies:
            found = re.compile(rf"^\t*{re.escape(mark)}$", re.MULTILINE).search(self.text, self.at)
            if found is None:
                raise _Unread("a here-document does not end")
            body = self.text[self.at : found.start()]
            if not quoted and ("$" in body or "`" in body):
                raise _Unread("a here-document holds expansions")
            self.at = found.end()
        self._bodies.clear()

    # -------------------------------------------------------------- words

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_blanks(self) -> None:
        while self._peek() and (self._peek() in _BLANK or self.text.startswith("\\\n", self.at)):
            self.at += 1 if self._peek() in _BLANK else 2
        if self._peek() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def _word(self) -> Word:
        word, start, bare = Word(""), self.at, ""
        while (here := self._peek()) and (here not in _META or self._is_substituted()):
            if here in "'\"\\":
                quoted = self._quoted(here)
                word = _joined(word, replace(quoted, quoted=True))
                bare += "x"
            elif here in "$`<>":
                word = _joined(word, self._expanded())
                bare += "x"
            else:
                self.at += 1
                bare += here
                word = _joined(word, Word(here, glob=here in "*?[" and not _lone_test(self, start)))
        if self._peek() == "(" and bare:
            raise _Unread("it defines a function, or uses a pattern in parentheses")
        if _BRACES.search(bare) or _AT_HOME in word.text[1:]:
            word = replace(word, known=False)
        if not word.known:
            return replace(word, text=self.text[start : self.at])
        if word.text.startswith("~") and not bare.startswith("~"):
            return replace(word, text="./" + word.text)
        return replace(word, text=word.text.replace(_AT_HOME, "~"))

    def _is_substituted(self) -> bool:
        return self.text.startswith(("<(", ">("), self.at)

    def _quoted(self, mark: str) -> Word:
        if mark == "\\":
            self.at += 2
            if self.text[self.at - 1 : self.at] == "\n":
                return Word("")
            if self.at > len(self.text):
                raise _Unread("it ends in the middle")
            return Word(self.text[self.at - 1])
        self.at += 1
        if mark == "'":
            end = self.text.find("'", self.at)
            if end < 0:
                raise _Unread("a quotation does not end")
            text, self.at = self.text[self.at : end], end + 1
            return Word(text)
        return self._double_quoted()

    def _double_quoted(self) -> Word:
        word = Word("")
        while (here := self._peek()) != '"':
            if not here:
                raise _Unread("a quotation does not end")
            if here in "$`":
                word = _joined(word, self._expanded())
                continue
            if self.text.startswith("\\\n", self.at):
                self.at += 2
                continue
            if here == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\"):
                self.at += 1
            word = _joined(word, Word(self._peek()))
            self.at += 1
        self.at += 1
        return word

    def _expanded(self) -> Word:
        """An expansion; the commands in it are read. The home folder alone is known."""
        text = self.text
        if home := _HOME.match(text, self.at):
            self.at = home.end()
            return Word(_AT_HOME)
        if text.startswith(("$((", "$[", "$'", '$"'), self.at):
            raise _Unread("it holds an expansion that is not read")
        if text.startswith(("$(", "<(", ">("), self.at):
            self._substitution(self.at + 2)
        elif text.startswith("`", self.at):
            self._backquoted()
        elif variable := _VARIABLE.match(text, self.at):
            self.at = variable.end()
        elif text.startswith("${", self.at):
            raise _Unread("it holds an expansion that is not read")
        else:
            self.at += 1
            return Word("$")
        return Word("", known=False)

    def _substitution(self, start: int) -> None:
        inner = _Reader("", depth=self.depth + 1, found=self.found)
        inner.text, inner.at = self.text, start
        inner.commands_until(")")
        self.at = inner.at

    def _backquoted(self) -> None:
        end = self.text.find("`", self.at + 1)
        body = self.text[self.at + 1 : end]
        if end < 0 or "\\" in body:
            raise _Unread("a substitution is not read")
        _Reader(body, depth=self.depth + 1, found=self.found).commands_until("")
        self.at = end + 1


def _joined(one: Word, other: Word) -> Word:
    return Word(
        one.text + other.text,
        one.known and other.known,
        one.glob or other.glob,
        one.quoted or other.quoted,
    )


def _lone_test(reader: _Reader, start: int) -> bool:
    """Whether the bracket is the command `[` or its end, and no pattern."""
    after = reader.text[reader.at : reader.at + 1]
    return reader.at - 1 == start and (not after or after in _META)
