"""The tools that a prompt names beside the built-ins: those that fit what is in front.

ComputerRL (appendix C) shows the tools of the application in front. Here a limit holds besides,
whatever is installed: the likeliest tools are shown with their arguments, the next by name alone,
and ``tool_help`` tells of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hisa.models.tokens import estimate_tokens
from hisa.screen.observation import Observation
from hisa.text.prompt_text import guard_tags, one_line
from hisa.tools.base import BaseTool

__all__ = [
    "SIGNATURE_CHARACTERS",
    "SUMMARY_CHARACTERS",
    "TOOLS_ESTIMATE",
    "best",
    "offered_line",
    "offered_text",
]

TOOLS_ESTIMATE = 800
"""Most tokens of all tools in a prompt, by `estimate_tokens`: at most 600 by the vocabularies that
benchmarks/tool_tokens.py counts with. That estimate is half as much again as a real count here."""
SUMMARY_CHARACTERS = 90
"""Characters of a summary beside a signature; chosen by hand: one clause."""
SIGNATURE_CHARACTERS = 200
"""Characters of a signature; a server's tool may have any number of arguments."""
_WORD = re.compile(r"[a-z]{3,}")
_HEAD = "Input: an object of the arguments. `tool_help` with a name or a subject tells more."


def offered_text(tools: Iterable[BaseTool], look: Observation, subject: str, *, room: int) -> str:
    """Returns the list of tools for a prompt; empty where there are none, or no room.

    Args:
        tools: those whose needs hold on the machine.
        look: tells which application is in front.
        subject: what the task is about; its words put tools first.
        room: most tokens, by `estimate_tokens`.
    """
    fitting = [tool for tool in tools if tool.traits.needs.in_front(look)]
    ranked = best(fitting, subject, look)
    if not ranked:
        return ""
    lines = [_HEAD]
    names: list[str] = []
    for index, tool in enumerate(ranked):
        left = len(ranked) - index - 1
        if not names:
            line = offered_line(tool)
            if _cost([*lines, line], _rest(left)) <= room:
                lines.append(line)
                continue
        if _cost([*lines, _by_name([*names, tool.name])], _rest(left)) > room:
            break
        names.append(tool.name)
    if names:
        lines.append(_by_name(names))
    shown = len(lines) - 1 - bool(names) + len(names)
    if not shown:
        return ""
    return "\n".join([*lines, *filter(None, [_rest(len(ranked) - shown)])])


def best(
    tools: Iterable[BaseTool], subject: str, look: Observation | None = None
) -> Sequence[BaseTool]:
    """Returns tools by how well they fit.

    Those for the application in front come first, then those that share the most words with
    ``subject``, then as they were listed.
    """
    words = frozenset(_words(subject))
    listed = list(tools)
    common = _common(listed)

    def rank(item: tuple[int, BaseTool]) -> tuple[bool, int, int]:
        index, tool = item
        needs = tool.traits.needs
        ahead = look is not None and bool(needs.apps) and needs.in_front(look)
        said = frozenset(_words(f"{tool.name} {tool.title} {tool.summary}"))
        return (not ahead, -len((words & said) - common), index)

    return [tool for _, tool in sorted(enumerate(listed), key=rank)]


def _common(tools: Sequence[BaseTool]) -> frozenset[str]:
    """Words that more than a quarter of the tools have, which tell nothing."""
    counts: dict[str, int] = {}
    for tool in tools:
        for word in set(_words(f"{tool.name} {tool.summary}")):
            counts[word] = counts.get(word, 0) + 1
    return frozenset(word for word, count in counts.items() if count * 4 > len(tools) > 4)


def _words(text: str) -> Iterable[str]:
    """Words in small letters, without the endings that change with the grammar."""
    for word in _WORD.findall(text.lower()):
        yield word[:5]


def offered_line(tool: BaseTool) -> str:
    """A tool on one line; whoever wrote the tool cannot close a section of the prompt with it."""
    summary = one_line(tool.summary).rstrip(".")
    summary = (
        summary if len(summary) <= SUMMARY_CHARACTERS else summary[: SUMMARY_CHARACTERS - 1] + "…"
    )
    signature = one_line(tool.signature())
    signature = signature if len(signature) <= SIGNATURE_CHARACTERS else f"{tool.name}(…)"
    return guard_tags(f"{signature}: {summary}")


def _by_name(names: Sequence[str]) -> str:
    return "By name: " + ", ".join(names)


def _rest(count: int) -> str:
    return f"{count} more are not listed." if count else ""


def _cost(lines: Sequence[str], last: str) -> int:
    return estimate_tokens("\n".join([*lines, last] if last else lines))
