"""The line that stands for a step in the history, within a hard limit of tokens.

``Step 3: gui_action | Thought: … | Description: … | Input: … | Result: …``
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import GroundedCall, ToolCall
from hisa.state.token_limits import cut_at_sentence, cut_at_word
from hisa.text.prompt_text import by_number, field_text, guard_fields

__all__ = ["call_description", "call_input", "history_line"]

_READ = 20_000
"""Characters of a field that are read; no limit on tokens lets more through."""

_GIVES_WAY = (
    ("Thought", 32),
    ("Input", 28),
    ("Result", 70),
    ("Thought", 0),
    ("Description", 0),
    ("Result", 0),
)
"""Fields in the order in which they are cut, and the tokens that are left of each: enough for the
gist of a thought, a click with its coordinates, a verdict with its first sentences. Chosen by
hand."""

_LEAST = 4
"""Tokens below which a field is left out: so short a rest tells nothing."""

_LITERAL = re.compile(r"""(['"])((?:\\.|(?!\1)[^\\]){33,}?)\1""")
"""A quoted text of more than 32 characters."""


def call_description(call: GroundedCall) -> str:
    """Returns the description of the target on one line; for a drag, of both ends.

    For a sequence, the descriptions of all planned calls are numbered.
    """
    descriptions = [_description(part) for part in call.call.sequence]
    return field_text(descriptions[0] if len(descriptions) == 1 else by_number(descriptions))


def _description(call: ToolCall) -> str:
    ends = (call.description, call.description_2)
    return " -> ".join(end for end in ends if end)[:_READ]


def call_input(call: GroundedCall) -> str:
    """Returns the input on one line: source in image pixels, a command, or arguments as JSON.

    For a sequence, the inputs of all executed calls are numbered.
    """
    inputs = [_input(part) for part in call.sequence]
    return inputs[0] if not call.call.following else by_number(inputs)


def _input(call: GroundedCall) -> str:
    value = call.input
    text = value if isinstance(value, str) else json.dumps(dict(value), ensure_ascii=False)
    rows = (row.strip() for row in text[:_READ].splitlines())
    return guard_fields("; ".join(row for row in rows if row))


def history_line(step: int, call: GroundedCall, result: str, *, limit: int) -> str:
    """Returns the line of a step.

    If it is too long, long quoted texts in the input are cut first, then thought and input, and
    last the result.

    Args:
        step: the number of the step.
        call: what was done.
        result: the verdict and what was seen.
        limit: most tokens of the line.
    """
    head = f"Step {step}: {_tools(call.call)}"
    result = field_text(result[:_READ])
    fields = {
        "Thought": field_text(call.call.thought[:_READ]),
        "Description": call_description(call),
        "Input": call_input(call),
        "Result": result,
    }
    if estimate_tokens(_join_fields(head, fields)) > limit:
        fields["Input"] = _LITERAL.sub(_shorten_literal, fields["Input"])
    for label, least in _GIVES_WAY:
        fields[label] = _cut_field(head, fields, label, least=least, limit=limit)
    if not fields["Result"]:
        verdict, end, _ = result.partition(".")
        fields["Result"] = verdict + end
    return cut_at_word(_join_fields(head, fields), limit)


def _join_fields(head: str, fields: Mapping[str, str]) -> str:
    shown = [f"{label}: {text}" for label, text in fields.items() if text or label == "Result"]
    return " | ".join([head, *shown])


def _cut_field(head: str, fields: Mapping[str, str], label: str, *, least: int, limit: int) -> str:
    """Returns the longest cut of a field that keeps the line within the limit.

    It has at least ``least`` tokens, even if the line is then too long.
    """
    if estimate_tokens(_join_fields(head, fields)) <= limit:
        return fields[label]
    text, cut = fields[label], cut_at_sentence if label == "Result" else cut_at_word

    def fits(tokens: int) -> bool:
        return estimate_tokens(_join_fields(head, {**fields, label: cut(text, tokens)})) <= limit

    room = max(least, longest(min(limit, estimate_tokens(text)), fits))
    return cut(text, room) if room >= _LEAST else ""


def _tools(call: ToolCall) -> str:
    """Returns the name of the tool; for a sequence, the names of all its tools, each once."""
    names = ", ".join(dict.fromkeys(part.tool for part in call.sequence))
    return f"sequence of {names}" if call.following else call.tool


def _shorten_literal(match: re.Match[str]) -> str:
    quote, text = match.groups()
    return f"{quote}{text[:24].rstrip(' ' + chr(92))}…{quote}"
