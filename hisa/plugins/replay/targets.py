"""The ladder by which a target is found again, and what tells it from its like.

Element, text, neighbours, picture: a rung is taken where exactly one thing of the screen fits it.
What stands in the row of a thing is a part of what it is: a look-alike in another row is not it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hisa.plugins.replay.program_records import Target
from hisa.plugins.synthesis.doing import above, called, holders, usable
from hisa.screen.geometry import Point
from hisa.screen.lies_at import element_at
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.roles import FIELDS, LAYOUT, MULTI_LINE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Found", "Missing", "find_target", "focus_is", "target_of"]

Rung = Literal["element", "text", "neighbours", "picture"]

_ROWS = frozenset({"table row", "list item", "tree item", "row", "article"})
"""Roles of what holds the parts of one entry."""
_CONTENT = frozenset(
    {"table cell", "list item", "label", "static", "text", "heading", "paragraph", "link"}
    | {"tree item", "icon", "image", "column header", "row header"}
)
"""Roles of what an entry says; the buttons in a row are alike in every row."""
_BUTTONS = frozenset({"push button", "button", "toggle button", "link", "menu item", "page tab"})
"""Roles that programs exchange for each other from one version to the next."""
_MOST = 8  # texts of a row
_LEVELS = 3  # from a thing up to what holds its row
_PEAK, _SECOND = 0.95, 0.85
"""Correlation with a picture that is it, and that another place must stay under; by hand."""


@dataclass(frozen=True)
class Found:
    """A target on a look.

    ``point`` is in screen space; ``element`` is None where a picture fits.
    """

    rung: Rung
    point: Point
    element: Element | None


@dataclass(frozen=True)
class Missing:
    """Why a target is not to be acted on; it may come to be, by waiting."""

    reason: str


def target_of(element: Element, look: Observation, *, words: str = "", picture: str = "") -> Target:
    """A target as `find_target` knows it again."""
    elements = look.elements or ()
    same = _same(element.role, called(element), holders(element, elements), look)
    box = element.box
    return Target(
        role=element.role, name=called(element)[:4000], label=element.label[:4000],
        within=holders(element, elements), window=element.window[:4000],
        beside=tuple(_row(element, elements)), alike=len(same), words=words[:4000],
        nth=next((at for at, other in enumerate(same) if other is element), 0), picture=picture,
        box=(round(box.left), round(box.top), round(box.right), round(box.bottom)),
    )  # fmt: skip


def find_target(
    target: Target, look: Observation, place: Point | None, folder: Path
) -> Found | Missing:
    """The one thing on a look that a target is, or why none is.

    Args:
        target: what is looked for.
        look: with elements.
        place: where in the target's box the action was, in pixels of the program's screen; None:
            its middle.
        folder: of the program, with its pictures.
    """
    elements = look.elements or ()
    rungs: Sequence[tuple[Rung, Iterable[Element]]] = (
        ("element", _same(target.role, target.name, target.within, look)),
        ("text", _by_text(target, look)),
        ("neighbours", _by_neighbours(target, look)),
    )
    reason = f"{_words(target)} is not there"
    for rung, candidates in rungs:
        known = list(candidates)
        if not known:
            continue
        fitting = [element for element in known if _fits_row(target, element, elements)]
        if not fitting:
            beside = ", ".join(target.beside[:3])
            return Missing(f"{_words(target)} beside {beside} is not there; another row has one")
        chosen = fitting[0] if len(fitting) == 1 else _by_order(target, fitting)
        if chosen is None:
            return Missing(
                f"{len(fitting)} things fit {_words(target)}, and nothing tells them apart"
            )
        if not usable(chosen, look):
            cover = element_at(chosen.box.centre, look)
            covered = f" is covered by {cover.role} “{called(cover)[:60]}”" if cover else ""
            reason = f"{_words(target)}{covered or ' cannot be used now'}"
            return Missing(reason)
        return Found(rung, _inside(chosen, target, place), chosen)
    if target.picture and (point := _by_picture(target, look, folder)) is not None:
        return Found("picture", point, None)
    return Missing(reason)


def focus_is(target: Target, look: Observation) -> str:
    """Returns why keys would go elsewhere than they went; empty where they would not."""
    elements = look.elements or ()
    focused = [element for element in elements if "focused" in element.states]
    for element in focused:
        same = (element.role, holders(element, elements)) == (target.role, target.within)
        named = called(element) == target.name or element.label == target.label != ""
        if same and (named or (element.role in FIELDS | MULTI_LINE and target.alike == 1)):
            return ""
    held = f"{focused[0].role} “{called(focused[0])[:60]}”" if focused else "nothing that is known"
    return f"the keyboard belongs to {held}, not to {_words(target)}"


def _words(target: Target) -> str:
    name = target.name or target.label
    return f"{target.role} “{name[:60]}”" if name else f"{target.role} without a name"


# ---------------------------------------------------------------- rungs


def _shown(look: Observation) -> Iterator[Element]:
    for element in look.elements or ():
        if not element.states or {"showing", "visible"} & element.states:
            yield element


def _same(role: str, name: str, within: tuple[str, ...], look: Observation) -> list[Element]:
    elements = look.elements or ()
    same = [
        element
        for element in _shown(look)
        if (element.role, called(element)) == (role, name) and holders(element, elements) == within
    ]
    return sorted(same, key=lambda element: (element.box.top, element.box.left))


def _by_text(target: Target, look: Observation) -> list[Element]:
    """Things of the same kind and words, whatever holds them by now and however it is spelled."""
    wanted = _folded(target.name or target.label)
    if not wanted:
        return []
    kinds = _BUTTONS if target.role in _BUTTONS else frozenset({target.role})
    kinds = FIELDS if target.role in FIELDS else kinds
    return [
        element
        for element in _shown(look)
        if element.role in kinds and wanted in (_folded(called(element)), _folded(element.label))
    ]


def _by_neighbours(target: Target, look: Observation) -> list[Element]:
    """Nameless things of the same kind in a row that says the same."""
    if target.name or not target.beside:
        return []
    return [element for element in _shown(look) if element.role == target.role]


def _folded(text: str) -> str:
    return re.sub(r"[\s_.…:*]+", " ", text).strip().casefold()


def _by_order(target: Target, fitting: Sequence[Element]) -> Element | None:
    """Of things that nothing tells apart the one of the same place, where as many are there."""
    if len(fitting) != target.alike or target.beside:
        return None
    ordered = sorted(fitting, key=lambda element: (element.box.top, element.box.left))
    return ordered[target.nth]


def _inside(element: Element, target: Target, place: Point | None) -> Point:
    """The same spot of a thing, whatever its size by now."""
    left, top, right, bottom = target.box
    box = element.box
    if place is None or right <= left or bottom <= top:
        return Point(*box.centre.rounded(), "screen")
    across, down = (place.x - left) / (right - left), (place.y - top) / (bottom - top)
    if not (0 <= across <= 1 and 0 <= down <= 1):
        return Point(*box.centre.rounded(), "screen")
    if element.role not in LAYOUT and box.width * box.height < 10_000:
        across = down = 0.5  # a small control is met in its middle
    return Point(
        *Point(box.left + across * box.width, box.top + down * box.height).rounded(), "screen"
    )


# ---------------------------------------------------------------- the row of a thing


def _row(element: Element, elements: Sequence[Element]) -> list[str]:
    """What the entry says that a thing belongs to; empty where it belongs to none."""
    holder = _entry(element, elements)
    if holder is None:
        return []
    words: dict[str, None] = {}
    for other in elements:
        if other is element or other.role not in _CONTENT or other.window != element.window:
            continue
        if holder is not other and not any(up is holder for up in above(other, elements)):
            continue
        if any(up is element for up in above(other, elements)):
            continue
        if other.box.top <= element.box.centre.y <= other.box.bottom and called(other).strip():
            words.setdefault(" ".join(called(other).split())[:200])
    words.pop(" ".join(called(element).split())[:200], None)
    return list(words)[:_MOST]


def _entry(element: Element, elements: Sequence[Element]) -> Element | None:
    """What holds the row of a thing: an entry, or the nearest parts with others of its height."""
    for level, holder in enumerate(above(element, elements)):
        if holder.role in _ROWS:
            return holder
        if level >= _LEVELS:
            return None
        wide = holder.box.width > 1.5 * element.box.width
        if wide and holder.box.height <= 2.5 * max(element.box.height, 12):
            return holder
    return None


def _fits_row(target: Target, element: Element, elements: Sequence[Element]) -> bool:
    """Whether the row says what it said; figures alone, such as times, may be others."""
    if not target.beside:
        return True
    row = set(_row(element, elements))
    telling = [text for text in target.beside if re.search(r"[^\W\d]", text)] or target.beside
    return all(text in row for text in telling)


# ---------------------------------------------------------------- pictures


def _by_picture(target: Target, look: Observation, folder: Path) -> Point | None:
    """The middle of the one place that looks like a target's picture, in screen space."""
    import numpy as np

    try:
        cut = Screenshot.from_png((folder / target.picture).read_bytes())
    except (OSError, ValueError):
        return None
    scene = np.asarray(look.screenshot.pixels.convert("L"), np.float64)
    piece = np.asarray(cut.pixels.convert("L"), np.float64)
    if piece.shape[0] >= scene.shape[0] or piece.shape[1] >= scene.shape[1] or piece.std() < 4:
        return None
    scores = _correlation(scene, piece)
    at = np.unravel_index(int(scores.argmax()), scores.shape)
    best = float(scores[at])
    near = np.s_[
        max(0, at[0] - piece.shape[0] // 2) : at[0] + piece.shape[0] // 2 + 1,
        max(0, at[1] - piece.shape[1] // 2) : at[1] + piece.shape[1] // 2 + 1,
    ]
    scores[near] = -1
    if best < _PEAK or float(scores.max()) > _SECOND:
        return None
    middle = Point(float(at[1]) + piece.shape[1] / 2, float(at[0]) + piece.shape[0] / 2, "image")
    return Point(*look.convert(middle, "screen").rounded(), "screen")


def _correlation(scene: NDArray[np.float64], piece: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalised cross-correlation at every place where a piece lies inside a scene: -1..1."""
    import numpy as np

    high, wide = piece.shape
    shape = scene.shape[0] + high - 1, scene.shape[1] + wide - 1
    centred = piece - piece.mean()
    spectrum = np.fft.rfft2(scene, shape) * np.fft.rfft2(centred[::-1, ::-1], shape)
    product = np.fft.irfft2(spectrum, shape)[high - 1 : scene.shape[0], wide - 1 : scene.shape[1]]
    sums = [np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1) for values in (scene, scene**2)]
    total, square = (
        s[high:, wide:] - s[:-high, wide:] - s[high:, :-wide] + s[:-high, :-wide] for s in sums
    )
    spread = np.sqrt(np.maximum(square - total**2 / piece.size, 1e-6))
    scores: NDArray[np.float64] = product / (spread * np.sqrt((centred**2).sum()))
    return scores
