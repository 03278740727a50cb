"""A toolkit: tools that belong together, announced by one entry point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hisa.tools.base import Tool
from hisa.tools.traits import NO_NEEDS, Needs

__all__ = ["Toolkit"]


@dataclass(frozen=True)
class Toolkit:
    """Tools of one application or subject, announced in the entry-point group ``hisa.tools``.

    A function ``read`` of the toolkit ``calc`` is the tool ``calc_read``.
    """

    name: str
    """The prefix of its tools' names."""
    title: str
    """As a person says it: "LibreOffice Calc"."""
    functions: tuple[Callable[..., Any], ...]
    needs: Needs = NO_NEEDS
    """What all its tools need."""

    def tools(self, source: str = "") -> tuple[Tool, ...]:
        """Returns its tools in the order of the functions, the most useful first.

        Raises:
            DeveloperError: a function has no docstring, or a parameter without a type.
        """
        return tuple(
            Tool(function, source=source, kit=self.name, title=self.title, needs=self.needs)
            for function in self.functions
        )
