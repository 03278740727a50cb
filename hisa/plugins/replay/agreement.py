"""What two runs of a program agree on: what came but once was the machine's own."""

from __future__ import annotations

from collections.abc import Sequence

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import Program, Target
from hisa.plugins.replay.surroundings import OTHERS, figureless
from hisa.plugins.replay.target_ladder import WINDOW
from hisa.state.facts import letters

__all__ = ["agreed"]


def agreed(first: Program, second: Program) -> Program:
    """The first program with what both have.

    Raises:
        UsageError: they have other steps, or an act is told by what only one of them had.
    """
    if len(first.steps) != len(second.steps):
        counts = f"{len(first.steps)} and {len(second.steps)}"
        raise UsageError(f"the two runs have {counts} actions", fix="hisa compile RUN")
    steps = []
    for one, other in zip(first.steps, second.steps, strict=True):
        pairs = zip(one.targets, other.targets, strict=True)
        update = {
            "targets": tuple(_target(*pair) for pair in pairs),
            "focus": _focus(one.focus, other.focus),
            "effects": tuple(effect for effect in one.effects if effect in other.effects),
        }
        steps.append(one.model_copy(update=update))
    return first.model_copy(update={"steps": tuple(steps)})


def _target(first: Target, second: Target) -> Target:
    words = f"the act on {first.role} {first.name or first.label}"
    unnamed = not first.name and first.label != second.label
    if first.name != second.name or unnamed:
        other = second.name or second.label
        raise UsageError(f"the second run did {words} on {other}", fix="hisa compile RUN")
    beside = _beside(first.beside, second.beside)
    ordered = (first.nth, first.alike) == (second.nth, second.alike)
    several = max(first.alike, second.alike) > 1
    if several and set(beside) <= {OTHERS} and (beside or not ordered):
        reason = f"nothing that stays tells {words} from its like"
        raise UsageError(reason, fix="hisa compile RUN")
    update = {
        part: type(getattr(first, part))()
        for part in ("label", "window", "words", "within")
        if getattr(first, part) != getattr(second, part)
    }
    return first.model_copy(update={**update, "beside": beside})


def _focus(first: Target | None, second: Target | None) -> Target | None:
    """The place of keys: a window, where one of the runs knew no more."""
    if first is None or second is None:
        return first or second
    windows = [target for target in (first, second) if target.role == WINDOW]
    if len({letters(target.name) for target in windows}) > 1:
        titles = ", ".join(f"“{target.name[:60]}”" for target in windows)
        raise UsageError(f"the same keys go to other windows: {titles}", fix="hisa compile RUN")
    return windows[0] if windows else _target(first, second)


def _beside(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Texts of a row that both have; other figures in one may be any, and so may other texts."""
    kept = [text for text in first if text in second]
    bare = set(map(figureless, second))
    loose = (figureless(text) for text in first if text not in kept and figureless(text) != text)
    kept += [text for text in loose if text in bare]
    more = max(len(first), len(second)) > len(kept)
    return (*kept, OTHERS) if more else tuple(kept)
