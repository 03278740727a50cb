"""The tools that a prompt lists besides the built-ins: those that fit the task and the screen.

ComputerRL (appendix C) shows the tools of the application in front. Here the list also has a limit,
however much is installed: the likeliest tools have a summary, at least eight have their arguments,
and the next only their names; ``tool_help`` describes any.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice

from hisa.models.tokens import estimate_tokens, longest
from hisa.screen.observation import Observation
from hisa.text.prompt_text import guard_tags, one_line
from hisa.text.words import tokens
from hisa.tools.base import BaseTool
from hisa.tools.traits import Needs

__all__ = [
    "SIGNATURE_CHARACTERS",
    "SUMMARY_CHARACTERS",
    "TOOLS_ESTIMATE",
    "best",
    "fits_of",
    "fitting",
    "in_front",
    "likeliest",
    "offered_line",
    "offered_text",
    "safe_signature",
]

TOOLS_ESTIMATE = 500
"""Most tokens of all tools in a prompt, by the estimate, which is 1.5 times the real count here
(measured by benchmarks/tool_tokens.py)."""
SUMMARY_CHARACTERS = 90
"""Most characters of a summary after a signature; chosen by hand: one clause."""
_SUMMARY_SHARE = 0.45
"""Share of the room for tools with a summary; chosen by hand: about three tools."""
_WITH_ARGUMENTS = 10
"""Most tools that are listed with arguments, if there is room."""
_ARGUMENTS = 3
"""Most arguments that are listed: the required ones, then the first others."""
SIGNATURE_CHARACTERS = 200
"""Most characters of a signature; a server's tool may have any number of arguments."""
_LONGEST_SIGNATURE = 800
"""Most characters of a signature in an error; twice the longest of HiSA's toolkits."""
_WORD = re.compile(r"[a-z]{3,}")
_HEAD = (
    "Input: an object of the arguments. tool_help tells of any; those not listed may be called too."
)


def offered_text(ranked: Sequence[BaseTool], *, room: int) -> str:
    """Returns the list of tools for a prompt; empty if there are none, or no room.

    Args:
        ranked: the tools, the likeliest first.
        room: most tokens of the list.
    """
    lines = [_HEAD]
    is_short = len(ranked) <= _WITH_ARGUMENTS
    own = [tool for tool in ranked if not tool.trusted]  # a model cannot know these
    with_summary: list[BaseTool] = []
    for tool in ranked if is_short else own:
        line = offered_line(tool)
        limit = room if is_short else room * _SUMMARY_SHARE
        if not _fits([*lines, line, *_rest(len(ranked) - len(lines))], limit):
            break
        lines.append(line)
        with_summary.append(tool)
    rest = [tool for tool in ranked if tool not in with_summary]

    def build_lines(arguments: int, count: int) -> list[str]:
        named = [_with_arguments(tool) for tool in rest[:arguments]]
        named += [tool.name for tool in rest[arguments:count]]
        return [*lines, *_by_kit(rest[:count], named), *_rest(len(rest) - count)]

    most = min(len(rest), max(0, _WITH_ARGUMENTS - len(lines) + 1))
    arguments = longest(most, lambda size: _fits(build_lines(size, size), room))
    count = longest(len(rest), lambda size: _fits(build_lines(min(size, arguments), size), room))
    return "\n".join(build_lines(arguments, count)) if count or len(lines) > 1 else ""


def in_front(tools: Iterable[BaseTool], observation: Observation) -> list[BaseTool]:
    """Returns the tools whose application is in front; equal needs are checked only once."""
    answers: dict[Needs, bool] = {}
    listed = []
    for tool in tools:
        needs = tool.traits.needs
        if needs not in answers:
            answers[needs] = needs.in_front(observation)
        if answers[needs]:
            listed.append(tool)
    return listed


def likeliest(listed: Sequence[BaseTool], scores: Sequence[float]) -> Sequence[BaseTool]:
    """Orders the tools: in turn one that fits the task, and two of the application in front.

    A toolkit lists its most useful tools first, and few tasks name the tool that they need.

    Args:
        listed: the tools, as they are listed.
        scores: for each, how well it fits the task; see `fits_of`.
    """

    def rank(at: int) -> tuple[bool, float, bool, int]:
        return not listed[at].traits.needs.apps, -scores[at], listed[at].trusted, at

    ranked = [listed[at] for at in sorted(range(len(listed)), key=rank)]
    ahead = [tool for tool in listed if tool.traits.needs.apps or tool.traits.needs.windows]
    ahead.sort(key=lambda tool: (not tool.traits.needs.windows, tool.trusted))
    by_fit, by_list = iter(ranked), iter([*ahead, *ranked])
    by_name: dict[str, BaseTool] = {}
    while len(by_name) < len(ranked):
        source = by_list if len(by_name) % 3 else by_fit
        tool = next(tool for tool in source if tool.name not in by_name)
        by_name[tool.name] = tool
    return list(by_name.values())


def fitting(ranked: Sequence[BaseTool], subject: str, most: int) -> Sequence[BaseTool]:
    """Returns the likeliest tools that share two telling words with a subject.

    One shared word may be chance.

    Args:
        ranked: the tools, the likeliest first.
        subject: the text of the task.
        most: most tools to return.
    """
    words = tokens(subject)
    shared = (t for t in ranked if len(words & tokens(f"{t.name} {t.summary}")) > 1)
    return [*islice(shared, most)]


def best(tools: Iterable[BaseTool], subject: str) -> Sequence[BaseTool]:
    """Returns tools by how well they fit.

    Those that share the most telling words with ``subject`` come first, then those of plug-ins,
    then as they were listed.
    """
    listed = list(tools)
    scores = fits_of(listed, subject)
    ranks = sorted(range(len(listed)), key=lambda at: (-scores[at], listed[at].trusted, at))
    return [listed[at] for at in ranks]


def fits_of(tools: Sequence[BaseTool], subject: str) -> list[float]:
    """Returns for each tool the weight of the words that it shares with a subject."""
    words = _words(subject)
    terms = [_words(f"{tool.name} {tool.title} {tool.documentation}") for tool in tools]
    counts = Counter(chain.from_iterable(terms))  # a word that all tools have weighs nothing
    weights = {word: math.log((len(terms) + 1) / counts[word]) for word in words & counts.keys()}
    scores = []
    for tool, own in zip(tools, terms, strict=True):
        shared = [*(own & words), *(_words(tool.name) & words)]
        scores.append(math.fsum([weights[word] for word in shared]))
    return scores


@lru_cache(maxsize=2048)
def _words(text: str) -> frozenset[str]:
    """Returns the words of a text in lower case, cut so that grammatical endings do not matter."""
    return frozenset([word[:5] for word in _WORD.findall(text.lower())])


def offered_line(tool: BaseTool) -> str:
    """Returns a tool on one line, in which the tool's author cannot close a prompt's section."""
    summary = one_line(tool.summary).rstrip(".")
    summary = (
        summary if len(summary) <= SUMMARY_CHARACTERS else summary[: SUMMARY_CHARACTERS - 1] + "…"
    )
    signature = safe_signature(tool)
    signature = signature if len(signature) <= SIGNATURE_CHARACTERS else f"{tool.name}(…)"
    return f"{signature}: {guard_tags(summary)}"


def safe_signature(tool: BaseTool) -> str:
    """Returns a tool's signature as part of a prompt, cut only if it is absurdly long."""
    signature = guard_tags(one_line(tool.signature()))
    return signature if len(signature) <= _LONGEST_SIGNATURE else guard_tags(f"{tool.name}(…)")


def _with_arguments(tool: BaseTool) -> str:
    """Returns the tool's name with its required arguments, and the first of the others."""
    needed = tuple(tool.parameters.get("required", ()))
    others = [name for name in tool.parameters.get("properties", {}) if name not in needed]
    left = max(0, _ARGUMENTS - len(needed))
    arguments = [*needed[: 2 * _ARGUMENTS], *(f"{name}?" for name in others[:left])]
    more = len(needed) > 2 * _ARGUMENTS or len(others) > left
    return f"{tool.name}({', '.join([*arguments, *(['…'] if more else [])])})"


def _by_kit(tools: Sequence[BaseTool], named: Sequence[str]) -> list[str]:
    """Returns names grouped by toolkit: ``calc_: write(cell, values), fill``."""
    kits: dict[str, list[str]] = {}
    for tool, entry in zip(tools, named, strict=True):
        prefix = f"{tool.kit}_" if tool.kit and entry.startswith(f"{tool.kit}_") else ""
        kits.setdefault(prefix, []).append(one_line(entry.removeprefix(prefix)))
    lines = [f"{kit}: {', '.join(names)}".removeprefix(": ") for kit, names in kits.items()]
    return [guard_tags(line) for line in lines]


def _rest(count: int) -> list[str]:
    return [f"{count} more are not listed."] if count else []


def _fits(lines: Sequence[str], room: float) -> bool:
    return estimate_tokens("\n".join(lines)) <= room
