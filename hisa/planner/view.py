"""Writes the planner's view, the bounded state <I_t, E_t, R_k, P>, as text (HiSA, equation 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hisa.models.tokens import estimate_tokens, longest
from hisa.protocols import StateView, Task
from hisa.screen.bubbles import in_front
from hisa.screen.cut_lists import left_out
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import LAYOUT
from hisa.text.prompt_text import ends, guard_tags, mark_untrusted, one_line

__all__ = ["element_lines", "state_text"]

MAX_ELEMENTS = 150
"""Most elements in the prompt; chosen by hand."""
_PROGRAMS = "Installed, by command; told only now: "
_MAX_WINDOWS = 8
"""Most windows in the prompt; chosen by hand."""
_UNKNOWN = "unknown (the machine cannot tell)"
_MAX_UNDRAWN = 3
"""Most undrawn windows and controls in a notice; a guest sends no more."""
_MAX_FIELD = 120
"""Most characters of a name or a text in the line of an element; chosen by hand."""


def _section(tag: str, body: str) -> str:
    return f"<{tag}>\n{body}\n</{tag.split(maxsplit=1)[0]}>" if body else ""


def _short(text: str) -> str:
    """Returns one line that cannot look like a section of the prompt: pages may be hostile."""
    flat = one_line(text)
    return flat if len(flat) <= _MAX_FIELD else flat[: _MAX_FIELD - 1] + "…"


def _element_line(element: Element, observation: Observation) -> str:
    x, y = observation.convert_box(element.box, "image").centre.to_pixels()
    parts = [f'- {_short(element.role)} "{_short(element.name)}"']
    if element.text and element.text != element.name:
        parts.append(f'text="{_short(element.text)}"')
    if element.label:
        parts.append(f'label="{_short(element.label)}"')
    if element.states:
        parts.append("states=" + _short(",".join(sorted(element.states))))
    parts.append(f"at ({x}, {y})")
    return " ".join(parts)


def _telling(observation: Observation) -> list[Element]:
    """Returns the elements worth listing, without nameless containers, the active window first."""
    front = in_front(observation)
    telling = [
        element
        for element in observation.elements or ()
        if element.name or element.text or element.label or element.role not in LAYOUT
    ]
    return sorted(telling, key=lambda element: not front(element.window))


def element_lines(observation: Observation) -> Iterable[str]:
    """Yields the screen as lines: windows, then at most 150 elements, in image pixels."""
    active = observation.active
    if active is not None:
        yield f"window: {_short(active.title)} ({_short(active.app)})"
    titles = "; ".join(_short(window.title) for window in observation.windows)
    yield f"windows: {titles if observation.windows_known else _UNKNOWN}"
    for element in _telling(observation)[:MAX_ELEMENTS]:
        yield _element_line(element, observation)
    yield from left_out(observation)


def _windows(observation: Observation) -> Iterable[str]:
    """Yields each window's id, application and title, the front one first.

    The form is that of ComputerRL, appendix C.
    """
    ranked = sorted(observation.windows, key=lambda window: window.active)
    for window in ranked[: -_MAX_WINDOWS - 1 : -1]:
        front = " (in front)" * window.active
        yield f'{_short(window.id)} {_short(window.app)} "{_short(window.title)}"{front}'


def state_text(
    task: Task,
    observation: Observation,
    view: StateView,
    *,
    elements: bool,
    room: int | None = None,
    programs: str = "",
    tools: str = "",
) -> str:
    """Returns the text of the user turn, without empty sections.

    Constant sections come first, then those that grow at their end, then those that are new at
    each step: a server reuses the beginning that a request shares with the previous one.

    Args:
        task: provides the instruction, which is never shortened.
        observation: provides windows, undrawn controls and, if requested, the elements.
        view: the bounded state.
        elements: whether to list the elements, for models that read them instead of pixels.
        room: most tokens of all sections except the elements, which replace the picture. The last
            output is shortened to fit, since all other sections have separate limits. None: no
            limit.
        programs: the installed programs, as text.
        tools: the further tools for this step; they have a separate limit.
    """
    several = len(observation.windows) > 1
    windows = _section(
        mark_untrusted("windows"), "\n".join(_windows(observation)) if several else ""
    )
    machine_text = _section("programs", f"{_PROGRAMS}{programs}" if programs else "")
    machine_text = "\n".join(filter(None, (machine_text, windows)))
    view = replace(view, notice="\n".join(filter(None, (_undrawn(observation), view.notice))))
    text = _state(task, view, tools)
    if room is not None and estimate_tokens(text) > (left := room - estimate_tokens(machine_text)):

        def shorten_output(chars: int) -> str:
            return _state(task, replace(view, output=ends(view.output, chars)), tools)

        size = longest(
            len(view.output), lambda chars: estimate_tokens(shorten_output(chars)) <= left
        )
        text = shorten_output(size) if size else _state(task, replace(view, output=""), tools)
    screen = "\n".join(element_lines(observation)) if elements else ""
    parts = (text, machine_text, _section(mark_untrusted("elements"), screen))
    return "\n".join(part for part in parts if part)


def _undrawn(observation: Observation) -> str:
    """Returns a notice of windows and controls that are not drawn yet; empty if all are."""
    names = ", ".join(map(_short, observation.undrawn[:_MAX_UNDRAWN]))
    return f"Not drawn yet: {names}. Wait before you judge or use it." if names else ""


def _state(task: Task, view: StateView, tools: str) -> str:
    sections = (
        _section("task", guard_tags(task.instruction)),
        _section("advice", view.advice),
        _section("tools", tools),
        _section("refined_context", view.refined),
        _section("notes", view.notes),
        _section("execution_history", "\n".join(view.steps)),
        _section(mark_untrusted("last_output"), view.output),
        _section("notice", view.notice),
    )
    return "\n".join(section for section in sections if section)
