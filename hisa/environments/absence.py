"""Decides whether an element that an observation lacks is absent, or only hidden.

Checks of tasks, effects of programs and proofs all ask here. While a dialog is open, a browser
leaves the page behind it out of its tree; a list reports only the rows on the screen, a browser
only the tab in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hisa.protocols import Environment, ReadsHiddenElements
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CUT, DIALOGS

__all__ = ["absence_doubt", "is_hidden", "with_hidden"]

_PAGE = "document web"
_MADE = "manages-descendants"
"""The state of an element that makes its children only when they come into view."""


async def with_hidden(environment: Environment | None, observation: Observation) -> Observation:
    """Adds the elements that are not showing to an observation, if the machine can report them.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    if environment is None or "hidden" not in environment.capabilities:
        return observation
    assert isinstance(environment, ReadsHiddenElements), "announced by its capabilities"
    everywhere = await environment.look_everywhere()
    complete = observation.complete and everywhere.complete
    return replace(observation, everywhere=everywhere.elements, complete=complete)


def is_hidden(observation: Observation, matches: Callable[[Element], bool]) -> bool:
    """Whether an element that matches exists without showing; False if that was not asked."""
    return any(matches(element) for element in observation.everywhere or ())


def absence_doubt(observation: Observation, role: str) -> str:
    """Returns why an element may exist although the observation lacks it; empty: it does not exist.

    Args:
        observation: from `with_hidden`; any other one has nothing that is scrolled out of view.
        role: the role of the element that is looked for; empty: any.
    """
    if not observation.complete:
        return "only some elements were reported"
    elements = observation.elements if observation.everywhere is None else observation.everywhere
    return next(_list_hiding(elements or (), role), "")


def _list_hiding(elements: Sequence[Element], role: str) -> Iterator[str]:
    """Yields a sentence for each element that may hide others."""
    above = [list(_iterate_holders(elements, number)) for number in range(len(elements))]
    below: dict[int, list[int]] = {}
    for number, holders in enumerate(above):
        for holder in holders:
            below.setdefault(holder, []).append(number)
    for number, element in enumerate(elements):
        held = below.get(number, [])
        page = next((up for up in above[number] if elements[up].role == _PAGE), None)
        if element.role == _PAGE and "busy" in element.states:
            yield f"the {_describe(element)} is still loading"
        if "modal" in element.states and page is not None:
            yield f"the {_describe(element)} hides the page behind it"
        if element.role in DIALOGS and above[number] and _is_alone(elements, number, below, page):
            yield f"the {_describe(element)} hides what is behind it"
        if element.role == "frame" and _PAGE in {elements[part].role for part in held}:
            tabs = [elements[part] for part in held if elements[part].role == "page tab"]
            if len(tabs) > 1:
                yield f"the content of the other tabs of {_describe(element)} is not reported"
        if CUT in element.states and role not in DIALOGS:
            yield f"the {_describe(element)} reports only what it shows"
        may_hold_any = element.role.startswith("document") or not held
        makes_cells = _MADE in element.states and role not in DIALOGS
        if makes_cells and (may_hold_any or role in {"", *(elements[part].role for part in held)}):
            yield f"the {_describe(element)} reports only what it shows"


def _is_alone(
    elements: Sequence[Element], dialog: int, below: dict[int, list[int]], page: int | None
) -> bool:
    """Whether all reported controls of the page, or of a window without one, are the dialog's."""
    top = page
    if top is None:  # a browser's own question: its window keeps the toolbars, but no page
        top = next(up for up in _iterate_holders(elements, dialog) if elements[up].parent == -1)
        return all(elements[part].role != _PAGE for part in below[top])
    own = {dialog, *below.get(dialog, ()), *_iterate_holders(elements, dialog)}
    return not any("focusable" in elements[part].states for part in below[top] if part not in own)


def _iterate_holders(elements: Sequence[Element], number: int) -> Iterator[int]:
    """Yields the indexes of an element's ancestors, innermost first; parents precede children."""
    up = elements[number].parent
    while up is not None and 0 <= up < number:
        yield up
        number, up = up, elements[up].parent


def _describe(element: Element) -> str:
    return f"{element.role} “{element.name[:60]}”"
