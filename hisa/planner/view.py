"""What the planner reads: the bounded state <I_t, E_t, R_k, P> as text (HiSA, equation 3)."""

from __future__ import annotations

from collections.abc import Iterable

from hisa.observation import Element, Observation
from hisa.protocols import StateView, Task

__all__ = ["element_lines", "state_text"]

MAX_ELEMENTS = 150
_CONTAINERS = frozenset(
    {
        "filler",
        "layered pane",
        "menu bar",
        "page tab list",
        "panel",
        "root pane",
        "scroll pane",
        "separator",
        "split pane",
        "tool bar",
        "viewport",
    }
)
"""Roles that say nothing by themselves."""
_MAX_FIELD = 120


def _section(tag: str, body: str) -> str:
    return f"<{tag}>\n{body}\n</{tag}>" if body else ""


def _short(text: str) -> str:
    """One line that cannot look like a section of the prompt: pages and windows are hostile."""
    flat = " ".join(text.split()).replace("<", "‹")
    return flat if len(flat) <= _MAX_FIELD else flat[: _MAX_FIELD - 1] + "…"


def _element_line(element: Element, observation: Observation) -> str:
    x, y = observation.convert_box(element.box, "image").centre.rounded()
    parts = [f'- {element.role} "{_short(element.name)}"']
    if element.text and element.text != element.name:
        parts.append(f'text="{_short(element.text)}"')
    if element.label:
        parts.append(f'label="{_short(element.label)}"')
    if element.states:
        parts.append("states=" + ",".join(sorted(element.states)))
    parts.append(f"at ({x}, {y})")
    return " ".join(parts)


def _telling(observation: Observation) -> list[Element]:
    """The elements worth telling: no nameless containers; the active window and popups first."""
    active = observation.active
    near = {active.title if active else "", ""}
    telling = [
        element
        for element in observation.elements or ()
        if element.name or element.text or element.label or element.role not in _CONTAINERS
    ]
    return sorted(telling, key=lambda element: element.window not in near)


def element_lines(observation: Observation) -> Iterable[str]:
    """The screen in words: windows first, then at most 150 elements, positions in image pixels."""
    active = observation.active
    if active is not None:
        yield f"window: {_short(active.title)} ({active.app})"
    yield "windows: " + "; ".join(_short(window.title) for window in observation.windows)
    for element in _telling(observation)[:MAX_ELEMENTS]:
        yield _element_line(element, observation)
    if not observation.complete:
        yield "(Not all elements could be read in time: what is not listed may be there.)"


def state_text(task: Task, observation: Observation, view: StateView, *, elements: bool) -> str:
    """The user turn's text. Empty sections are left out.

    Args:
        task: for the instruction.
        observation: for the elements, where asked for.
        view: the bounded state.
        elements: for models whose profile reads elements instead of pixels.
    """
    screen = "\n".join(element_lines(observation)) if elements else ""
    sections = (
        _section("task", task.instruction),
        _section("advice", view.advice),
        _section("refined_context", view.refined),
        _section("execution_history", "\n".join(view.steps)),
        _section("notice", view.notice),
        _section("elements", screen),
    )
    return "\n".join(section for section in sections if section)
