"""What a check before the first update has shown, and the refusal to train if one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hisa.errors import UsageError

__all__ = ["GateResult", "require_gates"]


class GateResult(NamedTuple):
    """The result of a check; ``passed`` is None if what it was given does not show it."""

    name: str
    passed: bool | None
    detail: str

    def __str__(self) -> str:
        """Returns a line for a person."""
        state = {True: "passed", False: "FAILED", None: "not shown"}[self.passed]
        return f"{state:<9} {self.name}: {self.detail}"


def require_gates(gates: Iterable[GateResult], report: Callable[[GateResult], None]) -> None:
    """Reports all results, and refuses to train if a check failed.

    Args:
        gates: the results.
        report: gets each of them.

    Raises:
        UsageError: one failed; nothing was trained.
    """
    results = list(gates)
    for gate in results:
        report(gate)
    if failed := [gate for gate in results if gate.passed is False]:
        reason = f"nothing was trained: {failed[0].name}: {failed[0].detail}"
        raise UsageError(reason, fix="hisa train check --help")
