"""Effects with figures that a machine counted: they are others the next time.

Counts, sizes and status lines have figures that nobody typed and no target has. Such an effect
counts where nothing else tells that its step was done, and then by the change of the figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence, Set

from hisa.actions import Write, parse
from hisa.plugins.replay.program_records import Effect, ProgramStep
from hisa.plugins.replay.surroundings import FIGURES
from hisa.screen.observation import Element

__all__ = ["numberless", "without_own_figures"]

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def numberless(text: str) -> str:
    """The text with a mark in place of each of its numbers, whatever their separators."""
    return _NUMBER.sub(FIGURES, text)


def without_own_figures(
    steps: Sequence[ProgramStep], looks: Sequence[Collection[Element]], words: str
) -> list[ProgramStep]:
    """The steps without effects that read other figures the next time.

    Args:
        steps: of a program.
        looks: for each the elements before it.
        words: of the task, whose figures are known too.
    """
    known = set(_NUMBER.findall("\n".join([words, *map(_words, steps)])))
    return [
        step.model_copy(update={"effects": tuple(_weaker(step.effects, known, elements))})
        for step, elements in zip(steps, looks, strict=True)
    ]


def _words(step: ProgramStep) -> str:
    """The texts that a step types or runs, and those of its targets; no pixels."""
    typed: object = step.action
    if step.tool == "gui_action":
        typed = [action.text for action in parse(step.action) if isinstance(action, Write)]
    named = {"name", "label", "within", "window", "beside"}
    targets = [*step.targets, *([step.focus] if step.focus else [])]
    known = [target.model_dump(mode="json", include=named) for target in targets]
    return json.dumps([typed, known], ensure_ascii=False)


def _weaker(
    effects: Sequence[Effect], known: Set[str], before: Collection[Element]
) -> list[Effect]:
    texts = {e: f"{e.name}\n{e.value}" for e in effects if e.what != "window"}
    own = [e for e, text in texts.items() if not set(_NUMBER.findall(text)) <= known]
    plain = [e for e in effects if e not in own and not _was_renamed(e, own)]
    if any(effect.what != "went" for effect in plain):
        return plain
    return [_by_change(e, before) if e in own else e for e in effects]


def _was_renamed(gone: Effect, own: Sequence[Effect]) -> bool:
    """Whether it is what a thing with such figures was called before."""
    came = [effect.name for effect in own if (effect.what, effect.role) == ("came", gone.role)]
    names = {numberless(gone.name), gone.name}
    return gone.what == "went" and any(gone.name in n or numberless(n) in names for n in came)


def _by_change(effect: Effect, before: Collection[Element]) -> Effect:
    """The effect by its words alone, where they stood there with other figures before."""
    read = {(e.role, numberless(text)) for e in before for text in (e.name, e.text) if text}
    name, value = numberless(effect.name), numberless(effect.value)
    if effect.what == "came" and (effect.role, name) in read:
        return effect.model_copy(update={"name": name})
    if effect.what == "value" and (effect.role, value) in read:
        return effect.model_copy(update={"value": value})
    return effect
