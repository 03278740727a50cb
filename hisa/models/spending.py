"""What was spent, by role: computed from the run's `ModelCalled` events only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from hisa.events import Event, ModelCalled

__all__ = ["Ledger", "Totals"]


@dataclass(slots=True)
class Totals:
    """Sums over calls. ``usd`` is the cost of calls of known price; ``unpriced`` counts the others.

    ``unpriced_in`` and ``unpriced_out`` are the tokens of those others. As far as servers report
    it, ``cached_in`` of ``tokens_in`` came from a cache, and ``reasoning_out`` of ``tokens_out``
    was reasoning.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    images: int = 0
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    unpriced_in: int = 0
    unpriced_out: int = 0
    cached_in: int = 0
    reasoning_out: int = 0

    @property
    def fresh_in(self) -> int:
        """Input tokens that did not come from a cache."""
        return self.tokens_in - self.cached_in

    @property
    def tokens(self) -> int:
        """Tokens in and out together."""
        return self.tokens_in + self.tokens_out

    def add(self, event: ModelCalled) -> None:
        """Count one call."""
        self.calls += 1
        self.tokens_in += event.tokens_in
        self.tokens_out += event.tokens_out
        self.images += event.images
        self.usd += event.usd or 0.0
        if event.usd is None:
            self.unpriced += 1
            self.unpriced_in += event.tokens_in
            self.unpriced_out += event.tokens_out
        self.seconds += event.seconds
        self.cached_in += event.cached_in
        self.reasoning_out += event.reasoning_out

    def __add__(self, other: Totals) -> Totals:
        """Returns the sums over both."""
        return Totals(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int | float]:
        """Returns plain numbers, with dollars to six decimals and seconds to three."""
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "fresh_in": self.fresh_in,
            "cached_in": self.cached_in,
            "tokens_out": self.tokens_out,
            "reasoning_out": self.reasoning_out,
            "images": self.images,
            "usd": round(self.usd, 6),
            "unpriced": self.unpriced,
            "seconds": round(self.seconds, 3),
        }


class Ledger:
    """Totals by role and over all roles."""

    def __init__(self) -> None:
        self.total = Totals()
        self.roles: dict[str, Totals] = {}

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Ledger:
        """Build the ledger of a run from its events."""
        ledger = cls()
        for event in events:
            ledger.add(event)
        return ledger

    def add(self, event: Event) -> None:
        """Count an event; all but `ModelCalled` are ignored."""
        if isinstance(event, ModelCalled):
            self.total.add(event)
            self.roles.setdefault(event.role, Totals()).add(event)
