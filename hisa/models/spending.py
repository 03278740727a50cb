"""What was spent, by role: a view of the run's `ModelCalled` events and of nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from hisa.events import Event, ModelCalled
from hisa.models.profiles import Price, Profile
from hisa.protocols import Emit, Model, ModelReply, ModelRequest, Usage

__all__ = ["Ledger", "MeteredModel", "Totals"]


@dataclass(slots=True)
class Totals:
    """Sums over calls. ``usd`` counts the calls whose price is known; ``unpriced`` the others.

    ``unpriced_in`` and ``unpriced_out`` are the tokens of those others. As far as servers tell,
    ``cached_in`` of ``tokens_in`` came from a cache and ``reasoning_out`` of ``tokens_out`` was
    thought and not said.
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
        """Input tokens that came from no cache."""
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
        """The sums over both."""
        return Totals(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_dict(self) -> dict[str, int | float]:
        """Plain numbers, dollars to six and seconds to three digits."""
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
        """The ledger of a run that is read back."""
        ledger = cls()
        for event in events:
            ledger.add(event)
        return ledger

    def add(self, event: Event) -> None:
        """Count an event; all but `ModelCalled` are passed over."""
        if isinstance(event, ModelCalled):
            self.total.add(event)
            self.roles.setdefault(event.role, Totals()).add(event)

    def as_dict(self) -> dict[str, Any]:
        """``{"total": {…}, "roles": {role: {…}}}``, as in run.json."""
        roles = {role: totals.as_dict() for role, totals in sorted(self.roles.items())}
        return {"total": self.total.as_dict(), "roles": roles}


def _cost(price: Price | None, usage: Usage) -> float | None:
    if price is None:
        return None
    return price.usd(usage.tokens_in, usage.tokens_out, usage.cached_in)


class MeteredModel:
    """Emits a `ModelCalled` for every reply of the inner model, empty ones included.

    Args:
        inner: any model.
        profile: gives the price.
        emit: takes the events.
        clock: seconds.
        effort: tells how hard a request asks the model to think.
    """

    def __init__(
        self,
        inner: Model,
        profile: Profile,
        *,
        emit: Emit,
        clock: Callable[[], float] = time.monotonic,
        effort: Callable[[ModelRequest], str] = lambda _: "",
    ) -> None:
        self.name, self._inner = inner.name, inner
        self._effort = effort
        self._profile = profile
        self._emit = emit
        self._clock = clock

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The inner model's reply."""
        started = self._clock()
        reply = await self._inner.complete(request)
        self._emit(self._event(request, reply, self._clock() - started))
        return reply

    def _event(self, request: ModelRequest, reply: ModelReply, seconds: float) -> ModelCalled:
        usage, price = reply.usage, self._profile.price
        return ModelCalled(
            role=request.role,
            model=self.name,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            images=request.images,
            text_chars=len(request.text),
            usd=_cost(price, usage),
            seconds=seconds,
            finish=reply.finish,
            reply=reply.text,
            cached_in=usage.cached_in,
            reasoning_out=usage.reasoning_out,
            effort=self._effort(request),
        )
