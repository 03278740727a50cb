"""The tools that a prompt names beside the built-ins: those that fit what is in front.

ComputerRL (appendix C) shows the tools of the application in front. Here a limit holds besides,
whatever is installed: the likeliest tools are shown with their arguments, the next by name alone,
and ``tool_help`` tells of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hisa.models.tokens import estimate_tokens, longest
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
_WHOLE = 0.6
"""Share of the room for tools that are shown with their arguments; the rest is for names. Chosen by
hand: some four with a summary, and the names of most of a toolkit."""
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
    lines = [_HEAD]
    for tool in ranked:
        line = offered_line(tool)
        if not _fits([*lines, line], room * _WHOLE):
            break
        lines.append(line)
    whole = len(lines) - 1
    named = _most_named(ranked[whole:], lines, room)
    if not whole + named:
        return ""
    lines += _by_name(ranked[whole : whole + named])
    return "\n".join([*lines, *_rest(len(ranked) - whole - named)])


def _most_named(tools: Sequence[BaseTool], lines: Sequence[str], room: float) -> int:
    """Returns how many of the tools fit by name below the lines."""

    def fits(count: int) -> bool:
        told = [*lines, *_by_name(tools[:count]), *_rest(len(tools) - count)]
        return _fits(told, room)

    return longest(len(tools), fits)


def best(
    tools: Iterable[BaseTool], subject: str, look: Observation | None = None
) -> Sequence[BaseTool]:
    """Returns tools by how well they fit.

    Those for the application in front come first, then those that share the most words with
    ``subject``, then those of plug-ins, then as they were listed.
    """
    words = frozenset(_words(subject))
    listed = list(tools)
    common = _common(listed)

    def rank(item: tuple[int, BaseTool]) -> tuple[bool, int, bool, int]:
        index, tool = item
        needs = tool.traits.needs
        ahead = look is not None and bool(needs.apps) and needs.in_front(look)
        said = frozenset(_words(f"{tool.name} {tool.title} {tool.summary}"))
        return (not ahead, -len((words & said) - common), tool.trusted, index)

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


def _by_name(tools: Sequence[BaseTool]) -> list[str]:
    """Names by toolkit, which is said once: ``By name, calc_: write, fill``."""
    kits: dict[str, list[str]] = {}
    for tool in tools:
        prefix = f"{tool.kit}_" if tool.kit and tool.name.startswith(f"{tool.kit}_") else ""
        kits.setdefault(prefix, []).append(one_line(tool.name.removeprefix(prefix)))
    told = [f"{kit}: {', '.join(names)}".removeprefix(": ") for kit, names in kits.items()]
    return [f"By name, {'; '.join(told)}"] if told else []


def _rest(count: int) -> list[str]:
    return [f"{count} more are not listed."] if count else []


def _fits(lines: Sequence[str], room: float) -> bool:
    return estimate_tokens("\n".join(lines)) <= room
