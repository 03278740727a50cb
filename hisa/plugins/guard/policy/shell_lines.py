"""Reads a bash line into its simple commands, and says if it may hold more.

No shell is called, and nothing is expanded. A word with an expansion in it is not known; commands
inside substitutions are commands of the line like any other. In whatever else bash understands
(functions, arithmetic, `case`, here-documents with expansions) the commands are found too, and the
line says that it may hold more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hisa.plugins.guard.policy.text_patterns import words
from hisa.plugins.guard.shell_tree import STATEMENTS, parse_bash, unreadable

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Folders", "Redirect", "ShellLine", "SimpleCommand", "Word", "enter_folder", "read_line"]

Folders = tuple[str | None, ...]
"""The folders in which a command may run; None for a folder that is not known."""

_DEEPEST = 60
"""Most levels of the tree of a line; more than anybody writes by hand."""
_MOST_COMMANDS = 200
"""Most simple commands of a line; likewise."""
_MOST_FOLDERS = 16
"""Most folders in which a command may run to be read; each `cd` may double them."""
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_MARKS = words("; & && || | |& ( ) { } ! if then elif else fi while until do done for in")
"""Tokens between commands."""
_LITERALS = frozenset({"word", "number", "variable_name", "test_operator", "raw_string", "string"})
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_ONE_LINE = _COMMANDS | {"file_redirect", "herestring_redirect"}
_VALUES = _LITERALS | _EXPANSIONS | _SUBSTITUTIONS | {"concatenation"}
_WORDS = _VALUES | {"command_name", "variable_assignment", "[", "]"}
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")
_AT_HOME = "\ue000"
"""Stands for the home folder while a word is read, because a quoted ~ is a file of that name."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the shell passes it on.

    ``known`` is False if that is not known: ``text`` is then what was written. ``glob``: it may
    become several names.
    """

    text: str
    known: bool = True
    glob: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection to a file: ``<`` reads, all others write."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program and its arguments, and the folders in which it may run."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assigned: tuple[str, ...] = ()
    source: str = ""
    folders: Folders = ("~",)


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A line's commands, with those of its substitutions; ``unread`` says why there may be more."""

    commands: tuple[SimpleCommand, ...]
    unread: str = ""


def read_line(text: str, folders: Folders = ("~",)) -> ShellLine:
    """Returns the simple commands of a bash line.

    Args:
        text: one line or several.
        folders: the folders in which it may run.
    """
    reason = unreadable(text)
    if reason:
        return ShellLine((), reason)
    reader = _Reader(text, folders)
    root = parse_bash(reader.data)
    try:
        reader.walk(root)
    except RecursionError:
        return ShellLine((), "its parts are nested too deeply")
    around = reader.data[: root.start_byte] + reader.data[root.end_byte :]
    if root.has_error or around.strip():
        reader.unread = "it is not a complete line of bash"
    return ShellLine(tuple(reader.commands), reader.unread)


@dataclass
class _Taken:
    """The parts of a simple command that were read so far."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, text: str, folders: Folders) -> None:
        self.data = text.encode()
        self.commands: list[SimpleCommand] = []
        self.unread = ""
        self._depth = 0
        self._folders = dict.fromkeys(folders)
        self._here = folders

    def _note(self, reason: str) -> None:
        self.unread = self.unread or reason

    def _text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")

    # -------------------------------------------------------------- statements

    def walk(self, node: Node) -> None:
        """Read a node's commands; the next one may run in ``_here``."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self._note("its commands are nested too deeply")
            return
        if node.type in _COMMANDS or node.type == "variable_assignment":
            self._command(node, ())
        elif node.type == "list":
            self._list(node)
        elif node.type == "redirected_statement":
            self._read_redirected(node)
        elif node.type == "comment":
            if self._depth > 2 or self.data[node.end_byte : node.end_byte + 1] not in (b"", b"\n"):
                self._note("it has a comment in a command")
        elif node.is_named:
            if node.type not in STATEMENTS:
                self._note(f"its {node.type.replace('_', ' ').lower()} is not read")
            self._children(node)
        self._depth -= 1

    def _children(self, node: Node) -> None:
        self._require_blank_gaps(node)
        for child in node.children:
            if child.is_missing or not (
                child.is_named or child.type in _MARKS or child.type == "\n"
            ):
                self._note(f"it has {child.type!r} where that is not read")
            elif child.type in _VALUES:
                self._word(child)  # the variable or a value of a loop
                if child.type == "variable_name" and node.type == "for_statement":
                    name = child.text.decode() if child.text else ""
                    self.commands.append(SimpleCommand((), assigned=(name,), source=f"for {name}"))
            else:
                self.walk(child)
                self._here = self._any_folder()

    def _list(self, node: Node) -> None:
        """Read commands with `&&` and `||`: after `cd x &&` the next one certainly runs in x."""
        self._require_blank_gaps(node)
        certain = True
        for child in node.children:
            if child.type in ("&&", "||"):
                certain = certain and child.type == "&&"
                self._here = self._here if certain else self._any_folder()
            else:
                self.walk(child)
        self._here = self._here if certain else self._any_folder()

    def _any_folder(self) -> Folders:
        return tuple(self._folders) if len(self._folders) <= _MOST_FOLDERS else (None,)

    def _require_blank_gaps(self, node: Node) -> None:
        """Note if a node has text outside of its children, or two words touch."""
        children = node.children
        starts = [*(child.start_byte for child in children), node.end_byte]
        ends = [node.start_byte, *(child.end_byte for child in children)]
        pairs = zip(ends, starts, strict=True)
        gaps = [self._text(a, b).replace("\\\n", "") for a, b in pairs]
        if any(gap.strip() for gap in gaps):
            self._note("a part of it is not read")
        if node.type in _ONE_LINE and any("\n" in gap for gap in gaps):
            self._note("a command goes on in the next line")
        for left, right in pairwise(children):
            touching = left.end_byte == right.start_byte
            if touching and (left.type in ("!", "{") or {left.type, right.type} <= _WORDS):
                self._note("a part of it is not read")

    # -------------------------------------------------------------- commands

    def _read_redirected(self, node: Node) -> None:
        self._require_blank_gaps(node)
        redirects = [child for child in node.children if child.type in _REDIRECTS]
        others = [child for child in node.children if child.type not in _REDIRECTS]
        if len(others) == 1 and others[0].type in _COMMANDS:
            self._command(others[0], redirects, statement=node)
            return
        self._command(None, redirects, statement=node)
        for child in others:
            self.walk(child)
        self._here = self._any_folder()

    def _command(
        self, node: Node | None, redirects: Iterable[Node], *, statement: Node | None = None
    ) -> None:
        """Take a simple command, and read the commands in its words and redirections."""
        taken = _Taken()
        if node is not None and node.type == "variable_assignment":
            taken.assigned.append(self._read_assignment(node))
        elif node is not None:
            self._require_blank_gaps(node)
            for part in node.children:
                self._take(part, taken, declares=node.type == "declaration_command")
        for redirect in redirects:
            self._redirect(redirect, taken)
        source = statement or node
        command = SimpleCommand(
            tuple(taken.words),
            tuple(taken.redirects),
            tuple(taken.assigned),
            "" if source is None else self._text(source.start_byte, source.end_byte),
            self._here,
        )
        if len(self.commands) >= _MOST_COMMANDS:
            self._note(f"it has more than {_MOST_COMMANDS} commands")
        elif taken.words or taken.redirects or taken.assigned:
            self.commands.append(command)
        self._here = _after(command)
        self._folders |= dict.fromkeys(self._here)

    def _take(self, part: Node, taken: _Taken, *, declares: bool) -> None:
        """Take a part of a simple command."""
        if part.type == "variable_assignment":
            taken.assigned.append(self._read_assignment(part))
            if declares:
                taken.words.append(Word(self._text(part.start_byte, part.end_byte)))
        elif part.type in _REDIRECTS:
            self._redirect(part, taken)
        elif part.type == "command_name":
            taken.words += [self._word(child) for child in part.children]
        else:
            taken.words += self._words(part)

    def _words(self, node: Node) -> list[Word]:
        """Returns the words of a node: one, or those of a test in brackets."""
        if node.type in ("unary_expression", "binary_expression", "negation_expression"):
            return [word for child in node.children for word in self._words(child)]
        if not node.is_named and node.type not in ("$", "[[", "]]", "(", ")"):
            return [Word(node.type)]
        return [self._word(node)]

    def _read_assignment(self, node: Node) -> str:
        """Returns the name of a variable that is set, and reads its value."""
        self._require_blank_gaps(node)
        name, *value = (child for child in node.children if child.is_named)
        variable = self._text(name.start_byte, name.end_byte)
        if name.type != "variable_name" or not re.fullmatch(r"[A-Za-z_]\w*", variable, re.ASCII):
            self._note("it sets a variable whose name is filled in later")
            self.walk(name)
        for child in value:
            self._word(child)
        return variable

    # -------------------------------------------------------------- redirections

    def _redirect(self, node: Node, taken: _Taken) -> None:
        """Read a redirection; further words that the parser put into it belong to the command."""
        if node.type == "heredoc_redirect":
            self._heredoc(node, taken)
            return
        self._require_blank_gaps(node)
        stream, *target_nodes = node.children
        if stream.type == "file_descriptor":
            before = self._text(max(0, stream.start_byte - 1), stream.end_byte)
            if not re.fullmatch(r"[\s;&|()]?\d+", before):
                self._note("it copies a stream that is not read")
            stream, *target_nodes = target_nodes
        operator = stream
        targets = [self._word(child) for child in target_nodes]
        if operator.type in ("<&-", ">&-"):
            taken.words += targets
            return
        taken.words += targets[1:]
        if not targets:
            self._note("a redirection has no target")
        elif node.type == "file_redirect":
            copies = operator.type in ("<&", ">&")
            if copies and not re.fullmatch(r"\d+-?|-", targets[0].text):
                self._note("it copies a stream that is not read")
            if not copies:
                taken.redirects.append(Redirect(operator.type.replace("&", ""), targets[0]))

    def _heredoc(self, node: Node, taken: _Taken) -> None:
        self._require_blank_gaps(node)
        mark, closed = "", False
        for child in node.children:
            text = self._text(child.start_byte, child.end_byte)
            if child.type == "heredoc_start":
                mark = text
            elif child.type == "heredoc_end":
                closed = text.strip() == re.sub(r"[\"'\\]", "", mark)
            elif child.type == "heredoc_body":
                quoted = re.search(r"[\"'\\]", mark)
                lines = {line.strip() for line in text.split("\n")}
                if re.sub(r"[\"'\\]", "", mark) in lines:
                    self._note("a here-document ends before its end")
                if not quoted and re.search(r"[$`\\]", text):
                    self._note("a here-document has expansions")
                    self._children(child)
            elif child.type in _REDIRECTS:
                self._redirect(child, taken)
            elif child.type in _LITERALS or child.type == "concatenation":
                if "\n" in self._text(node.start_byte, child.start_byte):
                    self._note("a here-document is not read")
                taken.words.append(self._word(child))
            elif child.is_named and child.type != "file_descriptor":
                self.walk(child)
        if not closed:
            self._note("a here-document does not end")

    # -------------------------------------------------------------- words

    def _word(self, node: Node) -> Word:
        """Returns a word, and reads the commands in it."""
        pieces = node.children if node.type == "concatenation" else [node]
        if any(a.end_byte != b.start_byte for a, b in pairwise(pieces)):
            self._note("a part of it is not read")
        word, bare = Word(""), ""
        for piece in pieces:
            part = self._piece(piece)
            literal = piece.type in ("word", "number")
            text = self._text(piece.start_byte, piece.end_byte)
            bare += re.sub(r"\\.", "x", text, flags=re.DOTALL) if literal else "x"
            word = Word(word.text + part.text, word.known and part.known, word.glob or part.glob)
        written = self._text(node.start_byte, node.end_byte)
        if not word.known or _BRACES.search(bare) or _AT_HOME in word.text[1:]:
            return Word(written, known=False, glob=word.glob)
        if word.text.startswith("~") and not bare.startswith("~"):
            return replace(word, text=f"./{word.text}")
        return replace(word, text=word.text.replace(_AT_HOME, "~"))

    def _piece(self, node: Node) -> Word:
        text = self._text(node.start_byte, node.end_byte)
        if node.type in ("word", "number", "variable_name", "test_operator", "[", "]"):
            bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
            if re.search(r"[\s;&|()<>\"'`$\\]", bare):
                self._note("a word is not read")
            glob = text not in "[]" and any(mark in bare for mark in "*?[")
            return Word(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), glob=glob)
        if node.type == "raw_string":
            return Word(text[1:-1])
        if node.type == "string":
            return self._string(node)
        if node.type in _EXPANSIONS:
            return self._expansion(node, text)
        if node.type in _SUBSTITUTIONS:
            if text.startswith("`") and "\\" in text:
                self._note("a substitution is not read")
            self._children_of_substitution(node)
            return Word(text, known=False)
        if node.type in ("declare", "typeset", "export", "readonly", "local", "unset"):
            return Word(text)
        if node.type != "brace_expression":
            self._note(f"its {node.type.replace('_', ' ').lower()} is not read")
            for child in node.children:
                self.walk(child)
        return Word(text, known=False)

    def _children_of_substitution(self, node: Node) -> None:
        """Read the commands of a substitution, which run in a shell of their own."""
        inside = [child for child in node.children if child.is_named]
        marks = [child for child in node.children if not child.is_named]
        if any(mark.type not in ("$(", ")", "`", "<(", ">(", *_MARKS) for mark in marks):
            self._note("a substitution is not read")
        self._require_blank_gaps(node)
        around = self._here
        for child in inside:
            if child.type in _REDIRECTS:
                self._command(None, [child])
            else:
                self.walk(child)
                self._here = self._any_folder()
        self._here = around

    def _string(self, node: Node) -> Word:
        """Returns the text in double quotes as a word."""
        word, at, end = Word(""), node.start_byte + 1, node.end_byte - 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            inner = self._piece(child)
            text = word.text + _unescape(self._text(at, child.start_byte)) + inner.text
            word, at = Word(text, word.known and inner.known), child.end_byte
        return replace(word, text=word.text + _unescape(self._text(at, end)))

    def _expansion(self, node: Node, text: str) -> Word:
        if text in ("$HOME", "${HOME}"):
            return Word(_AT_HOME)
        if not re.fullmatch(r"\$(\w+|[@*#?$!-])|\$\{\w+\}", text):
            self._note("it has an expansion that is not read")
            for child in node.children:
                if child.is_named:
                    self._piece(child)
        return Word(text, known=False)


def _unescape(text: str) -> str:
    return re.sub(r"\\([$`\"\\\n])", lambda match: match[1].strip("\n"), text)


def _after(command: SimpleCommand) -> Folders:
    """Returns the folders in which the next command runs if this one succeeds."""
    words, folders = command.words, command.folders
    if not words or words[0].text not in ("cd", "pushd", "popd"):
        return folders
    where = words[1] if len(words) > 1 else Word("~")
    is_known = len(words) <= 2 and words[0].text != "popd"
    return enter_folder(where, folders) if is_known else (*folders, None)


def enter_folder(where: Word, folders: Folders) -> Folders:
    """Returns the folders in which a command runs after a ``cd`` that succeeds."""
    if not where.known or where.glob or where.text.startswith("-"):
        return (*folders, None)
    if where.text[:1] in ("/", "~"):
        return (where.text,)
    return tuple(None if folder is None else f"{folder}/{where.text}" for folder in folders)
