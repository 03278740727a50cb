"""Rules that solve pages of MiniWoB++: demonstrations to clone, and the best score a page allows.

A rule sees what any policy sees and has the same actions. What it cannot reach, such as a button
under another one, no policy can reach.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hisa.errors import UsageError
from hisa.plugins.training.base import Act, Choice, Draw, Episode, Look, Rollouts
from hisa.plugins.training.pointer_features import instruction_words

__all__ = ["ORACLE_PAGES", "PageOracle", "demonstrations"]

ORACLE_PAGES = (
    "click-button", "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-transfer", "click-dialog", "click-dialog-2", "click-link",
    "click-option", "click-tab", "click-tab-2", "click-test", "click-test-2",
    "click-widget", "enter-password", "enter-text", "enter-text-dynamic", "focus-text",
    "focus-text-2", "login-user",
)  # fmt: skip
"""Pages that the rules solve; ``click-checkboxes-large`` takes up to 13 steps, the others 8."""
_WIDGETS = {"radio": "radio button", "checkbox": "check box", "text": "entry", "textarea": "text"}
_Rule = Callable[[Look, Sequence[str]], Act]


class PageOracle:
    """The rules as a policy: the first rule whose pattern matches the instruction acts."""

    name = "oracle"
    version = 0

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """Returns the rule's act for each look; "done" if no rule matches or has an act."""
        return [Choice(_act(look), 0.0, 0.0) for look in looks]


def demonstrations(
    rollouts: Rollouts, pages: Sequence[str], count: int, seeds: Sequence[int]
) -> list[Episode]:
    """Returns solved episodes of each page, played by the rules.

    Args:
        rollouts: play the pages.
        pages: of `ORACLE_PAGES`.
        count: episodes of each page.
        seeds: of the instances, tried in order.

    Raises:
        UsageError: there are no rules for a page, or the seeds do not give enough episodes.
    """
    if unknown := [page[:100] for page in pages if page not in ORACLE_PAGES]:
        raise UsageError(f"no rules for page {unknown[0]!r}; allowed: {', '.join(ORACLE_PAGES)}")
    shown: list[Episode] = []
    for page in dict.fromkeys(pages):
        solved: list[Episode] = []
        left = list(seeds)
        while left and (lacking := count - len(solved)):
            draws, left = [Draw(page, seed) for seed in left[:lacking]], left[lacking:]
            played = [e for e in rollouts.play(draws, PageOracle(), greedy=True) if e.solved]
            solved += sorted(played, key=lambda episode: draws.index(episode.draw))
        if len(solved) < count:
            numbers = f"{len(seeds)} seeds give only {len(solved)} of {count}"
            raise UsageError(f"{numbers} demonstrations of {page}")
        shown += solved
    return shown


def _act(look: Look) -> Act:
    matches = ((rule, re.match(pattern, look.instruction)) for pattern, rule in _RULES)
    return next((rule(look, match.groups()) for rule, match in matches if match), Act("done"))


def _click(look: Look, role: str = "push button", name: str | None = None) -> Act:
    """Returns a click on the first element of a role and name; "done" if there is none."""
    for index, item in enumerate(look.items):
        if item.role == role and name in (None, item.name):
            return Act("click", index)
    return Act("done")


def _in_turn(look: Look, names: Sequence[str]) -> Act:
    pressed = any(item.focused and item.name == names[0] for item in look.items)
    return _click(look, name=names[1] if pressed else names[0])


def _select(look: Look, names: Sequence[str]) -> Act:
    required = names[0].split(", ")
    for index, item in enumerate(look.items):
        if (
            item.role in ("check box", "radio button")
            and item.name in required
            and not item.checked
        ):
            return Act("click", index)
    return _click(look, name="Submit")


def _focus(look: Look, ordinals: Sequence[str]) -> Act:
    entries = [index for index, item in enumerate(look.items) if item.takes_text]
    entries.sort(key=lambda index: look.items[index].box[1])
    return Act("click", entries[int(ordinals[0] or 1) - 1])


def _type(look: Look, texts: Sequence[str]) -> Act:
    """Types each text into its own entry, in order; then clicks the button."""
    words = instruction_words(look.instruction)
    entries = [index for index, item in enumerate(look.items) if item.takes_text]
    for text, entry in zip(texts, entries, strict=False):
        if not look.items[entry].value and text in words:
            return Act("type", entry, len(words) - 1 - words[::-1].index(text))
    return _click(look)


def _find_link(look: Look, names: Sequence[str]) -> Act:
    tabs = [index for index, item in enumerate(look.items) if item.role == "link"]
    link_click = _click(look, "static", names[0])
    if link_click.kind == "click" or not tabs:
        return link_click
    last = next((n for n, index in enumerate(tabs) if look.items[index].focused), 0)
    return Act("click", tabs[(last + 1) % len(tabs)])


_RULES: tuple[tuple[str, _Rule], ...] = (
    ("Click button (ONE), then click button (TWO)", _in_turn),
    ("Click button (ONE)", lambda look, names: _click(look, name=names[0])),
    ('Click on the link "(.+)"', lambda look, names: _click(look, "static", names[0])),
    ('Click on the "(.+)" button', lambda look, names: _click(look, name=names[0])),
    ("Select (.+) and click Submit", _select),
    (r"Focus into the (?:(\d)\w\w input )?textbox", _focus),
    ('Enter "(.+)" into the text field', _type),
    ('Enter the username "(.+)" and the password "(.+)" into', _type),
    ('Enter the password "((.+))" into both', _type),
    ('Cl.*dialog box.*"x"', lambda look, _: _click(look, name="Close")),
    ('Click the button in the dialog.*"(.+)"', lambda look, names: _click(look, name=names[0])),
    (r"Click on (Tab #\d)", lambda look, names: _click(look, "link", names[0])),
    ('Switch between the tabs to find and click on the link "(.+)"', _find_link),
    ('Click (?:the button|on a "button" widget)', lambda look, _: _click(look)),
    (r'Click on a "(\w+)" widget', lambda look, names: _click(look, _WIDGETS[names[0]])),
)
