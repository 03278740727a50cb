"""A getter for the elements on the screen, in the XML that OSWorld's rules select from."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.screen.observation import Element
from hisa.tasks.pieces import GETTERS, Parameters

__all__ = ["to_markup", "unsupported_queries"]

_BASE = "https://accessibility.ubuntu.example.org/ns"
_STATE, _COMPONENT = f"{{{_BASE}/state}}", f"{{{_BASE}/component}}"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_BEYOND = re.compile(r"\b(?:attr|doc|docattr|txt|val|act)[|:]|::|>|\+|~(?!=)|(?<!/)/(?!/)")
_NOT_IN_A_TAG = re.compile(r"[^a-z0-9-]+")


@GETTERS("accessibility_tree", Parameters)
async def accessibility_tree(context: StepContext, params: Parameters) -> str:
    """Returns the elements as XML: a frame, its programs, their windows, and their elements.

    Below a window, the elements are siblings in the order of the screen.
    """
    observation = await context.environment.observe(elements=True)
    if observation.elements is None or not observation.complete:
        raise EnvironmentFailed(
            "not all elements on the screen are known, so it is not known what the windows show",
            fix="hisa doctor",
        )
    return to_markup(observation.elements)


def unsupported_queries(rules: object) -> list[str]:
    """Returns the selectors and paths that ask for what this XML does not hold.

    These are a toolkit's own attributes, such as ``attr|id``, and how the elements of a window are
    nested or ordered: a rule about them would find nothing, whatever is shown.
    """
    queries: list[str] = []
    for rule in rules if isinstance(rules, list) else []:
        if isinstance(rule, dict) and "xpath" in rule:
            queries.append(str(rule["xpath"]))
        elif isinstance(rule, dict) and isinstance(rule.get("selectors"), list):
            queries += map(str, rule["selectors"])
    return [text for text in queries if _BEYOND.search(_QUOTED.sub("", text))]


def to_markup(elements: tuple[Element, ...]) -> str:
    """Returns elements as XML."""
    root = ElementTree.Element("desktop-frame", {"name": "main"})
    above: dict[tuple[str, ...], ElementTree.Element] = {}
    for element in elements:
        app, window = (element.app,), (element.app, element.window)
        if app not in above:
            above[app] = _below(root, "application", element.app)
        if window not in above:
            above[window] = _below(above[app], "frame", element.window)
        if element.role == "frame" and element.name == element.window:
            _describe(above[window], element)
        else:
            tag = _NOT_IN_A_TAG.sub("-", element.role) or "unknown"
            _describe(_below(above[window], tag, element.name), element)
    return ElementTree.tostring(root, encoding="unicode")


def _below(parent: ElementTree.Element, tag: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {"name": _clean(name)})


def _describe(node: ElementTree.Element, element: Element) -> None:
    node.text = _clean(element.text) or None
    for state in sorted(element.states):
        node.set(_STATE + (_NOT_IN_A_TAG.sub("-", state) or "unknown"), "true")
    box = element.box
    node.set(f"{_COMPONENT}screencoord", f"({round(box.left)}, {round(box.top)})")
    node.set(f"{_COMPONENT}size", f"({round(box.width)}, {round(box.height)})")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("", text)
