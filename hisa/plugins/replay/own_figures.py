"""Effects with figures that nobody typed, as counts: they count where nothing else tells."""

from __future__ import annotations

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
    """The steps, by the elements before each and the task's words, without such effects."""
    known = set(_NUMBER.findall("\n".join([words, *map(_words, steps)])))
    return [
        step.model_copy(update={"effects": tuple(_kept(step.effects, known, elements))})
        for step, elements in zip(steps, looks, strict=True)
    ]


def _words(step: ProgramStep) -> str:
    """The texts that a step types or runs, and those of its targets; no pixels."""
    acts = parse(step.action) if step.tool == "gui_action" else ()
    texts = [act.text for act in acts if isinstance(act, Write)] or ([] if acts else [step.action])
    named = {"name", "label", "within", "window", "beside"}
    return f"{texts} {step.model_dump(include={'targets': {'__all__': named}, 'focus': named})}"


def _kept(effects: Sequence[Effect], known: Set[str], before: Collection[Element]) -> list[Effect]:
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
