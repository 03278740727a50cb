"""Rules that solve pages of MiniWoB++: demonstrations to clone, and the best score a page allows.

A rule sees what any policy sees, the look alone, and acts as any policy acts; so what it misses,
such as a button that lies under another, is out of every policy's reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from hisa.errors import UsageError
from hisa.plugins.training.base import Rollouts
from hisa.plugins.training.episodes import Act, Choice, Draw, Episode, Look
from hisa.plugins.training.instruction_words import instruction_words

__all__ = ["ORACLE_PAGES", "PageOracle", "best_scores", "demonstrations"]

ORACLE_PAGES = (
    "click-button",
    "click-button-sequence",
    "click-checkboxes",
    "click-checkboxes-large",
    "click-checkboxes-transfer",
    "click-collapsible-nodelay",
    "click-dialog",
    "click-dialog-2",
    "click-link",
    "click-option",
    "click-tab",
    "click-tab-2",
    "click-test",
    "click-test-2",
    "click-widget",
    "enter-password",
    "enter-text",
    "enter-text-dynamic",
    "focus-text",
    "focus-text-2",
    "login-user",
)
"""Pages that the rules know; ``click-checkboxes-large`` takes up to 13 steps, the others 8."""
_WIDGETS = {
    "radio": "radio button",
    "checkbox": "check box",
    "text": "entry",
    "textarea": "text",
    "button": "push button",
}
_Rule = Callable[[Look, Sequence[str]], Act]


class PageOracle:
    """The rules as a policy: the first whose pattern fits the instruction acts."""

    name = "oracle"
    version = 0

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """Returns the rule's act for each look; "done" where no rule fits or none finds a way."""
        return [Choice(_act(look), 0.0, 0.0) for look in looks]


def best_scores(
    rollouts: Rollouts, pages: Iterable[str], seeds: Sequence[int]
) -> dict[str, tuple[int, int]]:
    """Returns of each page how many of the seeds the rules solve, and of how many.

    Episodes whose page failed are not counted.

    Raises:
        UsageError: no rule knows a page.
    """
    scores = dict.fromkeys(_known(pages), (0, 0))
    draws = [Draw(page, seed) for page in scores for seed in seeds]
    for episode in rollouts.play(draws, PageOracle(), greedy=True):
        if episode.is_sample:
            solved, total = scores[episode.draw.task]
            scores[episode.draw.task] = (solved + episode.solved, total + 1)
    return scores


def demonstrations(
    rollouts: Rollouts, pages: Iterable[str], count: int, seeds: Sequence[int]
) -> list[Episode]:
    """Returns as many solved episodes of each page, of the first seeds that the rules solve.

    Raises:
        UsageError: no rule knows a page, or the seeds do not give enough.
    """
    solved: dict[str, list[Episode]] = {page: [] for page in _known(pages)}
    begun = 0
    while lacking := {p: count - len(own) for p, own in solved.items() if len(own) < count}:
        batch = seeds[begun : begun + max(lacking.values())]
        if not batch:
            names = ", ".join(lacking)
            raise UsageError(f"{len(seeds)} seeds give too few demonstrations of {names}")
        begun += len(batch)
        draws = [Draw(page, seed) for page in lacking for seed in batch]
        for episode in rollouts.play(draws, PageOracle(), greedy=True):
            if episode.solved:
                solved[episode.draw.task].append(episode)
    order = {seed: number for number, seed in enumerate(seeds)}
    return [
        episode
        for own in solved.values()
        for episode in sorted(own, key=lambda episode: order[episode.draw.seed])[:count]
    ]


def _known(pages: Iterable[str]) -> list[str]:
    names = list(pages)
    for page in names:
        if page not in ORACLE_PAGES:
            raise UsageError(f"no rules for {page[:100]!r}; there are for {', '.join(ORACLE_PAGES)}")
    return names


def _act(look: Look) -> Act:
    for pattern, rule in _RULES:
        if match := re.search(pattern, look.instruction):
            return rule(look, match.groups())
    return Act("done")


def _click(look: Look, role: str = "", name: str | None = None) -> Act:
    """A click on the first element of a role and of a name; "done": there is none."""
    for index, item in enumerate(look.items):
        if (not role or item.role == role) and (name is None or item.name == name):
            return Act("click", index)
    return Act("done")


def _button(look: Look, names: Sequence[str]) -> Act:
    return _click(look, "push button", names[0])


def _sequence(look: Look, names: Sequence[str]) -> Act:
    pressed = any(item.focused and item.name == names[0] for item in look.items)
    return _click(look, "push button", names[1] if pressed else names[0])


def _link(look: Look, names: Sequence[str]) -> Act:
    return _click(look, "static", names[0])


def _select(look: Look, names: Sequence[str]) -> Act:
    wanted = names[0].split(", ")
    for index, item in enumerate(look.items):
        if item.role in ("check box", "radio button") and item.name in wanted and not item.checked:
            return Act("click", index)
    return _click(look, "push button", "Submit")


def _focus(look: Look, ordinals: Sequence[str]) -> Act:
    entries = [index for index, item in enumerate(look.items) if item.takes_text]
    entries.sort(key=lambda index: look.items[index].box[1])
    return Act("click", entries[int(ordinals[0] or 1) - 1])


def _type(look: Look, texts: Sequence[str]) -> Act:
    """Each text into an entry of its own, in their order; then the button."""
    words = instruction_words(look.instruction)
    entries = [index for index, item in enumerate(look.items) if item.takes_text]
    for text, entry in zip(texts, entries, strict=False):
        if not look.items[entry].value and text in words:
            return Act("type", entry, len(words) - 1 - words[::-1].index(text))
    return _click(look, "push button")


def _dialog(look: Look, names: Sequence[str]) -> Act:
    return _click(look, "push button", "Close" if names[0] == "x" else names[0])


def _tab(look: Look, names: Sequence[str]) -> Act:
    return _click(look, "link", names[0])


def _find_link(look: Look, names: Sequence[str]) -> Act:
    here = _link(look, names)
    if here.kind == "click":
        return here
    tabs = [index for index, item in enumerate(look.items) if item.role == "link"]
    last = next((n for n, index in enumerate(tabs) if look.items[index].focused), 0)
    return Act("click", tabs[(last + 1) % len(tabs)]) if tabs else Act("done")


def _widget(look: Look, kinds: Sequence[str]) -> Act:
    return _click(look, _WIDGETS[kinds[0]])


def _expand(look: Look, _: Sequence[str]) -> Act:
    opened = any(item.checked for item in look.items if item.role == "page tab")
    return _click(look, "push button", "Submit") if opened else _click(look, "page tab")


_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"^Click button (ONE), then click button (TWO)", _sequence),
    (r"^Click button (ONE)", _button),
    (r'^Click on the link "(.+)"', _link),
    (r'^Click on the "(.+)" button', _button),
    (r"^Select (.+) and click Submit", _select),
    (r"^Focus into the (?:(\d)\w\w input )?textbox", _focus),
    (r'^Enter "(.+)" into the text field', _type),
    (r'^Enter the username "(.+)" and the password "(.+)" into', _type),
    (r'^Enter the password "((.+))" into both', _type),
    (r'^Close the dialog box by clicking the "(x)"', _dialog),
    (r'^Click the button in the dialog box labeled "(.+)"', _dialog),
    (r"^Click on (Tab #\d)", _tab),
    (r'^Switch between the tabs to find and click on the link "(.+)"', _find_link),
    (r'^Click on a "(\w+)" widget', _widget),
    (r"^Click the button", lambda look, _: _click(look, "push button")),
    (r"^Expand the section below", _expand),
)
