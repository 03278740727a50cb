"""Corrects boxes that applications report wrongly, where their surroundings show how."""

from __future__ import annotations

from .node import BoundingBox, Node, flatten

__all__ = ["straighten_boxes"]


def straighten_boxes(window: Node) -> None:
    """LibreOffice places what is in its root pane as if there were no menu bar above it.

    The pane is as large as the panel that holds it, so the two corners tell by how much. The
    parts that the toolkit draws by itself in the middle of it (the name box, font fields, the
    formula line, the new-sheet button, the side bar) are told where they are: moved along, they
    would stick out of what holds them.
    """
    for parent in flatten(window):
        for pane in parent.children:
            if pane.role != "root pane" or pane.box is None or parent.box is None:
                continue
            across, down = parent.box[0] - pane.box[0], parent.box[1] - pane.box[1]
            same = _move_box(pane.box, across, down) == parent.box
            if same and (across or down):
                _shift(pane, across, down)


def _shift(pane: Node, across: int, down: int) -> None:
    """Move each box along with what holds it, unless it lies further inside that as told."""
    stack: list[tuple[Node, BoundingBox | None, bool]] = [(pane, None, True)]
    while stack:
        node, holder, moves = stack.pop()
        if node.box is not None:
            moved = _move_box(node.box, across, down)
            if moves and holder is not None:
                moves = _count_shared_pixels(moved, holder) >= _count_shared_pixels(
                    node.box, holder
                )
            if moves:
                node.box, node.moved = moved, (across, down)
        inner = node.box or holder
        stack += [(child, inner, moves) for child in node.children]


def _move_box(box: BoundingBox, across: int, down: int) -> BoundingBox:
    left, top, right, bottom = box
    return left + across, top + down, right + across, bottom + down


def _count_shared_pixels(box: BoundingBox, other: BoundingBox) -> int:
    """Returns the pixels that two boxes have in common."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    return max(0, width) * max(0, height)
