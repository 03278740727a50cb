"""The question to the judge about whole runs: what each did, side by side and bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hisa.models.tokens import estimate_tokens, longest
from hisa.patterns.excerpt import excerpt as steps_within
from hisa.planner.side_by_side import Texts, shortened
from hisa.plugins.benchmarks.attempts.attempt_facts import AttemptFacts
from hisa.protocols import ImagePart, Message, Part, TextPart
from hisa.screen.observation import Screenshot
from hisa.state.token_limits import excerpt_within, whole_lines
from hisa.text.prompt_text import ends, guard_tags, sections
from hisa.text.prompts import render

__all__ = ["REQUEST_TOKENS", "run_question"]

REQUEST_TOKENS = 12_000
"""Upper limit of all text of a request and of its correction, by the upper estimate: some ten steps
of each of 8 attempts, or all of two runs of 30 steps. Pictures come on top, one an attempt."""
_TASK_TOKENS = 2500
_CORRECTION_TOKENS = 700
"""Room that is left for a correction and for the tags around the sections."""
_FILES_TOKENS, _MESSAGE_TOKENS, _HEAD_TOKENS = 350, 120, 20
"""Of one attempt, where not all that differs fits."""
_OWN_CHARS = 400
"""That are left of what differs before whole steps go: a click and two sentences on it."""
_EXPLAINING_CHARS = 600


def run_question(
    shown: Sequence[AttemptFacts],
    instruction: str,
    *,
    pictures: bool = False,
    classes: Mapping[str, str] | None = None,
) -> tuple[Message, Message]:
    """Returns the messages that ask which attempt is taken, or of which class a failure is.

    Args:
        shown: the candidates as they are numbered, from 1.
        instruction: the task's words.
        pictures: show the last look at the screen of each.
        classes: by name with their meaning: the judge picks one of these, for one attempt.
    """
    looks = [_picture(facts) if pictures else None for facts in shown]
    seen = any(look is not None for look in looks)
    prompt = "failure_class" if classes else "best_run"
    count = len(shown)
    system = render(
        prompt, pictures=seen, most=count, classes=classes or {}, chars=_EXPLAINING_CHARS
    )
    task = _within(guard_tags(instruction), _TASK_TOKENS)
    room = REQUEST_TOKENS - estimate_tokens(system) - estimate_tokens(task) - _CORRECTION_TOKENS
    parts: list[Part] = [TextPart(sections({"task": task, "attempts": _attempts(shown, room)}))]
    for number, look in enumerate(looks, 1):
        if look is not None:
            parts += [TextPart(f"The last look of attempt {number}:"), ImagePart(look)]
    return Message("system", (TextPart(system),)), Message("user", tuple(parts))


def _picture(facts: AttemptFacts) -> Screenshot | None:
    if facts.picture is None:
        return None
    try:
        return Screenshot.from_png(facts.picture.read_bytes())
    except (OSError, ValueError):  # as a crash or a person left it; the text stands alone
        return None


def _attempts(shown: Sequence[AttemptFacts], room: int) -> str:
    """Returns all attempts within so many tokens; what is the same in all is shortened first."""

    def text(cut: Texts) -> str:
        bodies = []
        for number, (facts, (*lines, message)) in enumerate(zip(shown, cut, strict=True), 1):
            steps, files = lines[: len(facts.steps)], lines[len(facts.steps) :]
            end = [*files, _end(facts, message)]
            bodies += [*_head(number, facts), *_numbered(steps), *end]
        return "\n".join(bodies)

    def fits(cut: Texts) -> bool:
        return estimate_tokens(text(cut)) <= room

    texts = [[*facts.steps, *facts.files, facts.message] for facts in shown]
    cut = shortened(texts, fits, least=_OWN_CHARS)
    if fits(cut):
        return text(cut)
    share = room // len(shown)
    return "\n".join(_in_share(number, facts, share) for number, facts in enumerate(shown, 1))


def _in_share(number: int, facts: AttemptFacts, share: int) -> str:
    """Returns one attempt within its share of the room: whole steps and lines are left out."""
    files = whole_lines("\n".join(facts.files), _FILES_TOKENS)
    end = [*filter(None, [files]), _end(facts, excerpt_within(facts.message, _MESSAGE_TOKENS))]
    left = share - estimate_tokens("\n".join(end)) - _HEAD_TOKENS
    steps = steps_within(_numbered(facts.steps), max(0, left))
    return "\n".join([*_head(number, facts), *steps, *end])


def _head(number: int, facts: AttemptFacts) -> list[str]:
    return [f"Attempt {number}", f"Steps: {len(facts.steps)}"]


def _numbered(steps: Sequence[str]) -> list[str]:
    return [f"Step {number}: {text}" for number, text in enumerate(steps, 1)]


def _end(facts: AttemptFacts, message: str) -> str:
    return f"Ended: {facts.status}{f': {message}' if message else ''}"


def _within(text: str, tokens: int) -> str:
    """Returns the text, or both ends of it with the number of characters that are left out."""
    if estimate_tokens(text) <= tokens:
        return text
    return ends(text, longest(len(text), lambda size: estimate_tokens(ends(text, size)) <= tokens))
