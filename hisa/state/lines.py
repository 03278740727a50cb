"""The line that stands for a step in the history, within a hard limit of tokens.

``Step 3: gui_action | Thought: … | Description: … | Input: … | Result: …``
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import GroundedCall, ToolCall
from hisa.state.kept_values import holds_value
from hisa.state.token_limits import cut_at_sentence, cut_at_word
from hisa.text.prompt_text import by_number, field_text, guard_fields

__all__ = ["call_description", "call_input", "history_line"]

_READ = 20_000
"""Characters of a field that are looked at; no limit on tokens lets more through."""

_THOUGHT_TOKENS = 32
"""The beginning of a thought for which the input is shortened: where the planner stands."""

_VALUED_TOKENS = 48
"""What a thought with values keeps at the result's cost: two or three sentences."""

_RESULT_TOKENS = 70
"""What the result keeps then: its verdict and its first sentences. Both chosen by hand: with what a
click has else they fill a line."""

_INPUT_TOKENS = 28
"""What the input keeps at the result's cost: a click or a drag with its coordinates."""

_VALUE = re.compile(r"""\d|["'“‘«][^"'“”‘’«»]+["'”’»]""")
"""A number or a quoted text: what a planner may have noted in a thought to find it there again."""

_SENTENCES = re.compile(r"(?<=[.!?;…])\s+")

_LITERAL = re.compile(r"""(['"])((?:\\.|(?!\1)[^\\]){33,}?)\1""")
"""A quoted text of more than 32 characters."""


def call_description(call: GroundedCall) -> str:
    """Returns the description of the target on one line; of both ends of a drag.

    Of a sequence it is that of each call that was planned, by number.
    """
    each = [_description(one) for one in call.call.sequence]
    return field_text(each[0] if len(each) == 1 else by_number(each))


def _description(call: ToolCall) -> str:
    ends = (call.description, call.description_2)
    return " -> ".join(end for end in ends if end)[:_READ]


def call_input(call: GroundedCall) -> str:
    """Returns the input on one line: source in image pixels, a command, or arguments as JSON.

    Of a sequence it is that of each call that was made, by number.
    """
    each = [_input(one) for one in call.sequence]
    return each[0] if not call.call.following else by_number(each)


def _input(call: GroundedCall) -> str:
    value = call.input
    text = value if isinstance(value, str) else json.dumps(dict(value), ensure_ascii=False)
    rows = (row.strip() for row in text[:_READ].splitlines())
    return guard_fields("; ".join(row for row in rows if row))


def history_line(step: int, call: GroundedCall, result: str, *, limit: int) -> str:
    """The line in at most ``limit`` tokens.

    What was thought and typed gives way to what was seen: first the thought, but for its beginning
    and the sentences that tell values, then long quoted texts and long inputs, then the end of a
    long result if it failed or the thought tells values, then the description and what is left of
    the thought.
    Of the input as much stays as a click has with its coordinates; only then the result is cut.
    """
    head = f"Step {step}: {_tools(call.call)}"
    thought = field_text(call.call.thought[:_READ])
    description = call_description(call)
    source = call_input(call)
    result = field_text(result[:_READ])

    def line(thought: str, description: str, source: str, result: str) -> str:
        fields = (("Thought", thought), ("Description", description), ("Input", source))
        shown = [head, *(f"{label}: {text}" for label, text in fields if text)]
        return " | ".join([*shown, f"Result: {result}"])

    opening = _cut_thought(thought, _THOUGHT_TOKENS)
    if estimate_tokens(line(opening, description, source, result)) > limit:
        source = _leaner(source, call.call.tool, limit)
        least = cut_at_word(source, _INPUT_TOKENS)
        source = _at_least(source, least, limit, lambda text: line(opening, "", text, result))
    if (thought and holds_value(thought)) or result.startswith("Failed."):
        valued = _cut_thought(thought, _VALUED_TOKENS)
        least = cut_at_sentence(result, _RESULT_TOKENS)
        result = _at_least(
            result,
            least,
            limit,
            lambda text: line(valued, description, source, text),
            cut_at_sentence,
        )
    thought = _squeezed(
        thought, limit, lambda text: line(text, description, source, result), _cut_thought
    )
    description = _squeezed(description, limit, lambda text: line(thought, text, source, result))
    verdict, end, _ = result.partition(".")
    result = (
        _squeezed(
            result, limit, lambda text: line(thought, description, source, text), cut_at_sentence
        )
        or verdict + end
    )
    return cut_at_word(line(thought, description, source, result), limit)


def _tools(call: ToolCall) -> str:
    """The name of the tool; of a sequence those of all its tools, each once."""
    names = ", ".join(dict.fromkeys(each.tool for each in call.sequence))
    return f"sequence of {names}" if call.following else call.tool


def _cut_thought(thought: str, tokens: int) -> str:
    """The beginning, and the sentences that tell values; their last words, if they are too long.

    These take half at most, if the beginning has to be cut for them.
    """
    kept = cut_at_word(thought, tokens)
    if kept == thought:
        return thought
    first, *others = _SENTENCES.split(thought)
    valued = [sentence for sentence in others if _VALUE.search(sentence)]
    if not valued:
        return kept
    gap = "" if valued == others[: len(valued)] else "… "
    told = f"{first} {gap}{' '.join(valued)}"
    if estimate_tokens(told) <= tokens:
        return told
    end = _end_within(" ".join(valued), tokens // 2)
    if not _VALUE.search(end):
        return kept
    opening = cut_at_word(thought, tokens - estimate_tokens(end) - 2)
    return f"{opening} {end}" if opening else kept


def _end_within(text: str, tokens: int) -> str:
    """The last words within ``tokens``; an ellipsis before them where they are not all."""
    if estimate_tokens(text) <= tokens:
        return text
    words = text.split()
    shown = longest(
        len(words) - 1, lambda n: estimate_tokens("… " + " ".join(words[-n:])) <= tokens
    )
    return "… " + " ".join(words[-shown:]) if shown else ""


def _leaner(source: str, tool: str, limit: int) -> str:
    """The input with long quoted texts shortened; a third of a line where it is a command."""
    source = _LITERAL.sub(_shortened, source)
    return source if tool == "gui_action" else cut_at_word(source, limit // 3)


def _shortened(match: re.Match[str]) -> str:
    quote, text = match.groups()
    return f"{quote}{text[:24].rstrip(' ' + chr(92))}…{quote}"


def _at_least(
    text: str,
    least: str,
    limit: int,
    line: Callable[[str], str],
    cut: Callable[[str, int], str] = cut_at_word,
) -> str:
    """The text, cut if that makes room, but not below ``least`` of it."""
    return max(_squeezed(text, limit, line, cut), least, key=len)


def _squeezed(
    text: str,
    limit: int,
    line: Callable[[str], str],
    cut: Callable[[str, int], str] = cut_at_word,
) -> str:
    """The longest cut of ``text`` with which the line keeps the limit; empty where none does."""
    if estimate_tokens(line(text)) <= limit:
        return text
    most = min(limit, estimate_tokens(text))
    room = longest(most, lambda tokens: estimate_tokens(line(cut(text, tokens))) <= limit)
    return cut(text, room) if room >= 4 else ""
