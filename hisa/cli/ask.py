"""Asks a person at the terminal, and reads the answer."""

from __future__ import annotations

import asyncio
import sys
import time

import click

from hisa.config import RunSettings
from hisa.environments.confirmation import Answer, Ask, Question
from hisa.machine.terminal_input import drop_typed, wait_for_line
from hisa.text.safe_text import safe_text
from hisa.tools.person import Inquire, Inquiry

__all__ = [
    "ask_in_words",
    "format_question",
    "inquirer",
    "person",
    "read_answer",
    "read_choice",
    "terminal_ask",
]

_KINDS = {
    "acts": "act with pointer and keyboard", "commands": "run a command", "files": "write a file",
    "safety": "do what its maker wants you to confirm", "policy": "do what your policy asks about",
}  # fmt: skip
_ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("o", "once", "y", "yes"), Answer("once")),
    **dict.fromkeys(("a", "always"), Answer("kind")),
    **dict.fromkeys(("s", "stop"), Answer("stop")),
    **dict.fromkeys(("", "n", "no"), Answer("refuse")),
}
_PROMPT = "o: once, a: always for this kind, s: stop the run, Enter: refuse, or a word to the agent"
_EACH_PROMPT = _PROMPT.replace("a: always for this kind, ", "")
_PAGED_LINES = 40
"""Longer questions go through a pager: most terminals show fewer lines, and what has scrolled away
was not read."""


def format_question(question: Question) -> str:
    """Returns the whole question, each line of the agent's text marked as the agent's.

    Nothing is left out. Characters that steer a terminal, or that are invisible, are shown as
    numbers.
    """
    lines = safe_text(question.subject).replace("\t", "\\t").split("\n")
    marked = "\n".join(f"  | {line}" for line in lines)
    return f"The agent wants to {_KINDS[question.action]}:\n{marked}"


def read_answer(text: str) -> Answer:
    """Parse a typed answer; any other words refuse, and are passed on to the agent."""
    word = text.strip()
    return _ANSWERS.get(word.lower(), Answer("refuse", word))


def person(settings: RunSettings) -> Ask | None:
    """Returns what asks the person at the terminal.

    None if standard input is no terminal, or ``run.confirm`` is "never".
    """
    return terminal_ask if settings.confirm != "never" and sys.stdin.isatty() else None


async def terminal_ask(question: Question) -> Answer:
    """Ask a person at the terminal without blocking the event loop."""
    return await asyncio.to_thread(_ask, question)


def _ask(question: Question) -> Answer:
    text = format_question(question)
    if text.count("\n") > _PAGED_LINES and sys.stderr.isatty():
        click.echo_via_pager(text)
    click.echo(f"\n{text}", err=True)
    if sys.stdin.isatty():  # what was typed before the question appeared does not answer it
        drop_typed()
    try:
        prompt = _EACH_PROMPT if question.action == "safety" else _PROMPT
        line = click.prompt(prompt, default="", show_default=False, err=True)
    except click.Abort:
        return Answer("stop")
    return read_answer(str(line))


def inquirer() -> Inquire | None:
    """Returns what puts the agent's questions to the person at the terminal; None without one."""
    return _terminal_inquire if sys.stdin.isatty() else None


async def _terminal_inquire(inquiry: Inquiry) -> str | None:
    return await asyncio.to_thread(ask_in_words, inquiry)


def ask_in_words(inquiry: Inquiry) -> str | None:
    """Ask, and read lines until one is an answer or the time is up."""
    drop_typed()
    click.echo(f"\n{_format_inquiry(inquiry)}", err=True)
    deadline = time.monotonic() + inquiry.seconds
    while (left := deadline - time.monotonic()) > 0:
        if not wait_for_line(left):
            break
        line = sys.stdin.readline()
        if not line:
            return None
        answer = read_choice(line, inquiry)
        if answer is not None:
            return answer
        click.echo(
            f"  type a number from 1 to {len(inquiry.choices)}, or one of the choices", err=True
        )
    click.echo("  nobody answered in time", err=True)
    return None


def _format_inquiry(inquiry: Inquiry) -> str:
    hands = inquiry.kind == "hand_over"
    lines = ["The agent hands the machine over to you:" if hands else "The agent asks:"]
    lines += [f"  | {line}" for line in safe_text(inquiry.text).split("\n")]
    lines += [f"  {n}) {safe_text(text)}" for n, text in enumerate(inquiry.choices, 1)]
    within = f"within {inquiry.seconds:g} s"
    if hands:
        lines.append(f"When you are done, press Enter or type a word to the agent ({within})")
    else:
        default = f"; Enter: {safe_text(inquiry.default)}" if inquiry.default else ""
        lines.append(f"Your answer ({within}{default}):")
    return "\n".join(lines)


def read_choice(line: str, inquiry: Inquiry) -> str | None:
    """Returns the answer in a typed line; None if it is none of the choices."""
    answer = line.strip()
    if not answer and inquiry.kind == "question":
        return inquiry.default or None
    if not inquiry.choices or answer in inquiry.choices:
        return answer
    by_number = {str(number): text for number, text in enumerate(inquiry.choices, 1)}
    return by_number.get(answer)
