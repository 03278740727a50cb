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

    ``looks`` has for each step the elements before it, ``words`` is all that the task says.
    """
    known = set(_NUMBER.findall("\n".join([words, *map(_words, steps)])))
    return [
        step.model_copy(update={"effects": tuple(_weaker(step.effects, known, elements))})
        for step, elements in zip(steps, looks, strict=True)
    ]


def _words(step: ProgramStep) -> str:
    """The texts that a step types or runs, and those of its targets; no pixels."""
    acts = parse(step.action) if step.tool == "gui_action" else ()
    texts = [act.text for act in acts if isinstance(act, Write)] or ([] if acts else [step.action])
    named = {"name", "label", "within", "window", "beside"}
    known = step.model_dump(mode="json", include={"targets": {"__all__": named}, "focus": named})
    return json.dumps([texts, known], ensure_ascii=False)


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
    same = (gone.name in name or numberless(name) == numberless(gone.name) for name in came)
    return gone.what == "went" and any(same)


def _by_change(effect: Effect, before: Collection[Element]) -> Effect:
    """The effect by its words alone, where they stood there with other figures before."""
    part = {"came": "name", "value": "value"}.get(effect.what, "")
    words = numberless(getattr(effect, part, ""))
    read = (text for e in before if e.role == effect.role for text in (e.name, e.text))
    known = words and words in map(numberless, read)
    return effect.model_copy(update={part: words}) if known else effect
