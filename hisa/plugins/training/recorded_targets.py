"""Targets of recorded screens: the named elements of a run's looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hisa.errors import UsageError
from hisa.events import Observed
from hisa.plugins.training.widget_pages import Box, Target
from hisa.runs.kept_elements import read_elements
from hisa.runs.read import ELEMENTS, EVENTS, Run, load_run
from hisa.screen.observation import Screenshot

__all__ = ["recorded_targets"]


def recorded_targets(folder: Path) -> Iterator[Target]:
    """Yields the targets of a run, or of the runs in a folder at any depth, look by look.

    Raises:
        UsageError: there is no run, or it is damaged.
    """
    logs = sorted(folder.rglob(EVENTS))
    if not logs:
        raise UsageError(f"{folder}: no run with {EVENTS} is in it", fix="--data widgets")
    for log in logs:
        run = load_run(log.parent)
        looks = {(e.image, e.elements_sha256): e for e in run.events if isinstance(e, Observed)}
        for look in looks.values():
            if look.elements_sha256:
                yield from _of_look(run, look)


def _of_look(run: Run, look: Observed) -> Iterator[Target]:
    """The elements that show, and whose name and role no other on the screen has."""
    path = run.image(look.image)
    try:
        elements = read_elements(run.folder / ELEMENTS / f"{look.elements_sha256}.json")
        picture = Screenshot.from_png(path.read_bytes() if path else b"").pixels
    except (OSError, ValueError) as error:
        raise UsageError(f"{run.folder}: the look {look.image[:8]}: {error}") from error
    across, down = picture.width / look.screen_width, picture.height / look.screen_height
    boxes = tuple(
        Box(e.box.left * across, e.box.top * down, e.box.right * across, e.box.bottom * down)
        for e in elements
    )
    words = [f"{element.name.strip()} {element.role}" for element in elements]
    known = Counter(words)
    for element, text, box in zip(elements, words, boxes, strict=True):
        inside = 0 <= box.left < box.right <= picture.width
        inside = inside and 0 <= box.top < box.bottom <= picture.height
        shows = "showing" in element.states or not element.states
        if element.name.strip() and known[text] == 1 and inside and shows:
            place, tree = f"{run.id} {look.image[:8]}: {text}", f"{run.id} {look.elements_sha256}"
            yield Target(picture, text, box, place, boxes, tree)
