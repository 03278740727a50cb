"""The question to a person at the terminal, and what was answered."""

from __future__ import annotations

import asyncio
import sys
import termios

import click

from hisa.environments.confirm import Answer, Ask, Question
from hisa.text.safe_text import safe_text

__all__ = ["person", "read_answer", "shown", "terminal_ask"]

_KINDS = {
    "acts": "act with pointer and keyboard",
    "commands": "run a command",
    "files": "write a file",
    "safety": "do what its maker wants you to confirm",
}
_ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("o", "once", "y", "yes"), Answer("once")),
    **dict.fromkeys(("a", "always"), Answer("kind")),
    **dict.fromkeys(("s", "stop"), Answer("stop")),
    **dict.fromkeys(("", "n", "no"), Answer("refuse")),
}
_PROMPT = "o: once, a: always for this kind, s: stop the run, Enter: refuse, or a word to the agent"
_EACH_PROMPT = _PROMPT.replace("a: always for this kind, ", "")
_PAGED_LINES = 40
"""More than most terminals show at once: what scrolled away was not seen."""


def shown(question: Question) -> str:
    """The whole question; each line of what is asked for is marked, so that it cannot pose as ours.

    Nothing is left out, and what steers a terminal or has no visible form is shown as its number.
    """
    lines = safe_text(question.what).replace("\t", "\\t").split("\n")
    marked = "\n".join(f"  | {line}" for line in lines)
    return f"The agent wants to {_KINDS[question.action]}:\n{marked}"


def read_answer(text: str) -> Answer:
    """Parse a typed answer; any other words are a refusal, and are passed on to the agent."""
    word = text.strip()
    return _ANSWERS.get(word.lower(), Answer("refuse", word))


def person() -> Ask | None:
    """Asks the person at the terminal; None where standard input is none."""
    return terminal_ask if sys.stdin.isatty() else None


async def terminal_ask(question: Question) -> Answer:
    """Ask a person at the terminal; the screen of the agent goes on meanwhile."""
    return await asyncio.to_thread(_ask, question)


def _ask(question: Question) -> Answer:
    text = shown(question)
    if text.count("\n") > _PAGED_LINES and sys.stderr.isatty():
        click.echo_via_pager(text)
    click.echo(f"\n{text}", err=True)
    if sys.stdin.isatty():  # what was typed before the question stood there is no answer to it
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    try:
        prompt = _EACH_PROMPT if question.action == "safety" else _PROMPT
        said = click.prompt(prompt, default="", show_default=False, err=True)
    except click.Abort:
        return Answer("stop")
    return read_answer(str(said))
