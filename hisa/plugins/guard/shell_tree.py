"""Parses lines of bash with tree-sitter."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["STATEMENTS", "parse_bash", "unreadable"]

_LONGEST = 20_000
"""Most characters of a line; so many are parsed in less than a tenth of a second."""
_ODD = re.compile(r"[^\S \t\n]|[\x00-\x08\x0b-\x1f\x7f\ue000]")
"""Characters that no command needs: blanks that bash takes for letters, and invisible ones."""
_JOINED = re.compile(r"[^\s]\\\n[^\s]")
"""A word that goes on in the next line, which the grammar takes for two words."""

STATEMENTS = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "redirected_statement",
        "subshell",
        "compound_statement",
        "negated_command",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "for_statement",
        "do_group",
    }
)
"""Nodes that only control the commands in them."""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def unreadable(text: str) -> str:
    """Returns why a text is not parsed; empty if it is."""
    if _ODD.search(text):
        return "it has a character that no command needs"
    if len(text) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    return "a word goes on in the next line" if _JOINED.search(text) else ""


def parse_bash(data: bytes) -> Node:
    """Returns the root of the syntax tree of some lines; its offsets are in bytes."""
    return _parser().parse(data).root_node
