"""Neighbouring instructions that are one act: a cell's entry, pointing in a formula, a fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hisa.offline.pointing import MENUS
from hisa.offline.records import Click, Drag, GoTo, Instruction, Press, Target, Type
from hisa.offline.sheets import EDIT, fill, is_cell

__all__ = ["join"]


@dataclass
class _Formula:
    """A formula that is being typed: a click on a cell puts the cell's address into it."""

    text: str
    target: Target | None
    sheet: str = ""

    def take(self, step: Instruction) -> bool:
        """Whether the step is a part of writing the formula."""
        match step:
            case Type(text, None):
                self._add(text)
            case Click(Target(name, "tab")):
                self.sheet = name
            case Click(Target(name, "cell")) if is_cell(name):
                self._point(name)
            case GoTo(cells, "cell"):
                self._point(cells)
            case _:
                return step == EDIT
        return True

    def _point(self, cells: str) -> None:
        place = cells.replace("$", "")
        self._add(f"${self.sheet}.{place}" if self.sheet else place)

    def _add(self, text: str) -> None:
        """At the end; into empty brackets, which are there to be filled."""
        at = len(self.text) - self.text.endswith("()")
        self.text = self.text[:at] + text + self.text[at:]


@dataclass
class _Joiner:
    done: list[Instruction] = field(default_factory=list)
    cell: str = ""
    """The cell that was gone to last."""
    corner: str = ""
    """The cell whose corner is held."""

    def add(self, step: Instruction) -> None:
        step = self._in_menu(self._placed(step))
        match step:
            case Click(Target(name, "corner")):
                self.corner = name or self.cell
                return
            case Drag(Target(name, kind), Target(last, _)) if self._drags(name, kind):
                self.done.extend(fill(name or self.corner, last) or [step])
                return
            case Type(_, None) if self.cell and self._at_cell():
                step = replace(step, target=Target(self.cell, "cell"))
                self.done.pop()
            case _ if _formats(step) and self._typed():
                self.done.append(GoTo(self.cell))
            case _:
                pass
        self.cell = _cell(step) or self.cell
        self.done.append(step)

    def _placed(self, step: Instruction) -> Instruction:
        """What stands beside a thing of which there are several: beside the one just clicked."""
        match step, self.done[-1:]:
            case Type(_, Target(_, _, near) as target), [
                Click(Target(name, _, str(where)) as before)
            ]:
                if where and near.endswith(f' "{name}"'):
                    side = near.removesuffix(f'"{name}"')
                    return replace(step, target=replace(target, near=f"{side}{before}"))
        return step

    def _in_menu(self, step: Instruction) -> Instruction:
        """Read "click Insert, and choose Chart" as a menu and its entry."""
        match step, self.done[-1:]:
            case Click(Target(name, "", "")), [Click(Target(menu, "" | "button", ""), "left", 1)]:
                if menu.lower() in MENUS:
                    self.done[-1] = Click(Target(menu, "menu"))
                    return replace(step, target=Target(name, "menu item"))
        return step

    def _drags(self, name: str, kind: str) -> bool:
        return bool(self.corner) and (not name or kind == "cell")

    def _at_cell(self) -> bool:
        return bool(self.done) and _cell(self.done[-1]) == self.cell

    def _typed(self) -> bool:
        """Whether the last act was an entry into a cell, which leaves it for the next one."""
        return bool(self.done) and isinstance(self.done[-1], Type) and bool(self.cell)


def _formats(step: Instruction) -> bool:
    """Whether a step formats what is selected: "type X in A1 and make it bold"."""
    match step:
        case Press(("ctrl", "b" | "i" | "u" | "e")) | Click(Target(_, "arrow of button")):
            return True
        case _:
            return False


def _cell(step: Instruction) -> str:
    match step:
        case Type(_, Target(name, "cell")):
            return name.replace("$", "")
        case Click(Target(name, "cell"), "left", 1) if is_cell(name):
            return name.replace("$", "")
        case _:
            return ""


def join(steps: Iterable[Instruction]) -> Sequence[Instruction]:
    """The instructions with what belongs together made one."""
    joiner = _Joiner()
    for step in _formulas(steps):
        joiner.add(step)
    return joiner.done


def _formulas(steps: Iterable[Instruction]) -> Iterator[Instruction]:
    """Formulas written whole, each from its "=" to the key that ends it."""
    formula: _Formula | None = None
    for step in steps:
        if formula is not None:
            if formula.take(step):
                continue
            yield Type(formula.text, formula.target)
            formula = None
        if isinstance(step, Type) and step.text.startswith("=") and _in_sheet(step.target):
            formula = _Formula(step.text, step.target)
        else:
            yield step
    if formula is not None:
        yield Type(formula.text, formula.target)


def _in_sheet(target: Target | None) -> bool:
    return target is None or target.kind == "cell"
