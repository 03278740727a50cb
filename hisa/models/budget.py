"""Hard limits on money, tokens and wall-clock time, checked before each request leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from hisa.errors import BudgetExceeded
from hisa.models.profile import Price
from hisa.models.profiles import REFERENCE
from hisa.models.spending import Ledger, Totals

__all__ = ["REFERENCE_PRICE", "Budget", "without_price"]

REFERENCE_PRICE = REFERENCE.price or Price(input=0, output=0)
"""The price at which tokens of unknown price are counted."""


def without_price(usd: float, models: Iterable[str]) -> str:
    """Returns a line on how a limit in dollars applies to models without a known price."""
    price = REFERENCE_PRICE
    return (
        f"the price of {', '.join(models)} is not known: for the limit of ${usd:g} its tokens are "
        f"counted at ${price.input:g} in and ${price.output:g} out per million "
        f"({REFERENCE.name}, the most expensive model with a known price, {price.date}); "
        "set models.ROLE.profile=local if the server is free, or a profile file with the price"
    )


class Budget:
    """The limits of a run; None: no limit.

    The ledger knows what was spent, so a resumed run continues from its recorded events. A call is
    refused if the money or tokens spent, plus those of requests in flight, plus this request's
    estimated input exceed the limit: only replies in flight can go beyond it.

    The clock is monotonic: setting the computer's clock moves no deadline, and on Linux the time
    for which the machine was suspended does not count.

    Tokens of unknown price count at the price of `REFERENCE`, so that a run ends too early rather
    than too late.

    Args:
        usd: limit in US dollars.
        tokens: limit of tokens in and out together.
        seconds: limit of wall-clock time from the construction of this object.
        clock: returns seconds; only differences matter.
        used_seconds: seconds already used by earlier parts of a resumed run.
    """

    def __init__(
        self,
        usd: float | None = None,
        tokens: int | None = None,
        *,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        used_seconds: float = 0.0,
    ) -> None:
        self.usd = usd
        self.tokens = tokens
        self.seconds = seconds
        self._clock = clock
        self._started = clock() - used_seconds
        self.in_flight: dict[str, tuple[float, int]] = {}
        """Estimated dollars and tokens of each unanswered request, by its turn."""

    @property
    def used_seconds(self) -> float:
        """Wall clock used so far."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        """Wall clock left; None: no limit."""
        return None if self.seconds is None else max(0.0, self.seconds - self.used_seconds)

    def check_wait(self, seconds: float) -> None:
        """Check that a wait of so many seconds ends before the deadline.

        Raises:
            BudgetExceeded: it does not.
        """
        if self.seconds is not None and self.used_seconds + seconds >= self.seconds:
            raise self.out_of_time()

    def admit(self, turn: str, ledger: Ledger, *, usd: float, tokens: int) -> None:
        """Reserve a request's estimated cost, until it is removed from `in_flight`.

        Args:
            turn: name of the request.
            ledger: what was spent so far.
            usd: estimated dollars of the request's input.
            tokens: estimated tokens of the request's input.

        Raises:
            BudgetExceeded: it does not fit; nothing is reserved.
        """
        self.check_wait(0.0)
        self._check_usd(ledger.total, usd)
        self._check_tokens(ledger.total.tokens, tokens)
        self.in_flight[turn] = usd, tokens

    def out_of_time(self) -> BudgetExceeded:
        """Returns the error for a passed deadline."""
        limit = self.seconds or 0.0
        return BudgetExceeded(
            f"time limit of {limit:g} s reached: {self.used_seconds:.1f} s used",
            fix=f"allow more with --set run.budget_seconds={2 * limit:g}",
        )

    def _check_usd(self, total: Totals, estimate: float) -> None:
        limit = self.usd
        if limit is None:
            return
        assumed = REFERENCE_PRICE.usd(total.unpriced_in, total.unpriced_out)
        spent = total.usd + assumed
        reserved = sum(dollars for dollars, _ in self.in_flight.values())
        if spent >= limit or spent + reserved + estimate > limit:
            counted = f" and ${assumed:.4f} counted for {total.unpriced} calls of unknown price"
            raise BudgetExceeded(
                f"money limit of ${limit:g} reached: ${total.usd:.4f} spent"
                f"{counted if total.unpriced else ''}, "
                f"the next request is estimated at ${estimate:.4f} before its answer",
                fix=f"allow more with --budget-usd {2 * limit:g}",
            )

    def _check_tokens(self, spent: int, estimate: int) -> None:
        limit = self.tokens
        if limit is None:
            return
        reserved = sum(tokens for _, tokens in self.in_flight.values())
        if spent >= limit or spent + reserved + estimate > limit:
            raise BudgetExceeded(
                f"token limit of {limit} reached: {spent} spent, "
                f"the next request is estimated at {estimate} before its answer",
                fix=f"allow more with --set run.budget_tokens={2 * limit}",
            )
