"""Finds the elements at points of the screen, with the focused ones and all their ancestors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["find_elements_at"]


def find_elements_at(
    elements: Sequence[dict[str, Any]], points: Sequence[tuple[float, float]]
) -> list[dict[str, Any]]:
    """Returns the elements in their order, each with its parent's index in the new list.

    Args:
        elements: the elements as JSON values, each with the index of its parent.
        points: points in pixels of the screen.
    """
    numbers: set[int] = set()
    for number, element in enumerate(elements):
        left, top, right, bottom = element["box"]
        is_hit = any(left <= x < right and top <= y < bottom for x, y in points)
        if is_hit or "focused" in element["states"]:
            while number >= 0 and number not in numbers:
                numbers.add(number)
                number = elements[number]["parent"]
    places = {old: new for new, old in enumerate(sorted(numbers))}
    return [elements[old] | {"parent": places.get(elements[old]["parent"], -1)} for old in places]
