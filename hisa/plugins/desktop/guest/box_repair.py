"""Corrects boxes that applications report wrongly, if their surroundings show the error."""

from __future__ import annotations

from .node import BoundingBox, Node, flatten

__all__ = ["straighten_boxes"]


def straighten_boxes(window: Node) -> None:
    """Moves boxes in LibreOffice's root pane, which it reports as if there were no menu bar above.

    The pane is as large as the panel that holds it, so their two corners give the distance. The
    parts that the toolkit itself draws in the pane (the name box, font fields, the formula line,
    the new-sheet button, the side bar) are reported correctly: moved along, they would extend
    beyond their parents.
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
    """Move each box along with its parent, unless more of it is inside the parent unmoved."""
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
