"""The wrappers around an agent's parts, and what a run without a person pays for them."""

from __future__ import annotations

from typing import Any

import pytest

from hisa.environments.confirm import Answer, ConfirmedEnvironment
from hisa.plugins.live.watched.gate import Gate
from hisa.plugins.live.watched.parked_parts import ParkedEnvironment, ParkedState
from hisa.plugins.live.watched.typed_secrets import TypedSecrets
from hisa.protocols import ActsWhereUnchanged, Concluding, Detachable, StateView
from hisa.testing import FakeEnvironment
from hisa.tools.base import AsksItself

KINDS = (ActsWhereUnchanged, Concluding, Detachable, AsksItself)


class Staged(FakeEnvironment):
    """An environment with abilities of its own."""

    over = "the page ended it"

    async def conclude(self, status: str, message: str) -> None:
        """Nothing to do."""

    def belongs_to(self, run: str) -> dict[str, Any]:
        """Returns whose it is."""
        return {"run": run}

    async def detach(self) -> None:
        """Nothing to let go of."""


class Remembering:
    """A state with four lines, of which a summary stands for two."""

    def view(self, look: object = None) -> StateView:
        """Returns them."""
        return StateView(refined="So far.", lines=("1", "2", "3", "4"), steps=("3", "4"))


async def ask(question: object) -> Answer:
    """Nobody is asked."""
    raise AssertionError(question)


@pytest.mark.parametrize(
    "inner",
    [
        FakeEnvironment(),
        Staged(),
        ConfirmedEnvironment(FakeEnvironment(), ask=ask, emit=lambda event: None),
    ],
)
def test_a_wrapper_is_whatever_the_inner_one_is(inner: Any) -> None:
    typed = TypedSecrets.__new__(TypedSecrets)
    wrapped: list[Any] = [ParkedEnvironment(inner, Gate()), typed.around(inner)]
    for outer in wrapped:
        assert [isinstance(outer, kind) for kind in KINDS] == [isinstance(inner, k) for k in KINDS]
        assert outer.capabilities == inner.capabilities
        assert getattr(outer, "over", "") == getattr(inner, "over", "")


async def test_a_run_that_goes_on_tells_what_persons_did_before() -> None:
    gate = Gate()
    gate.lines += [(0, "before all"), (1, "long ago"), (3, "lately"), (9, "at the end")]
    state: Any = ParkedState(Remembering(), gate)
    view = state.view()
    assert view.notice == ""  # it was read then
    assert view.refined == "So far.\nAfter step 1, long ago"
    assert view.steps == ("3 After this step, lately", "4 After this step, at the end")
    gate.lines += [(4, "just now")]
    assert state.view().notice == "just now Go on from the screen as it is now."
    assert state.view().notice == ""


async def test_a_run_that_nobody_steers_is_looked_at_no_more_than_it_looks() -> None:
    form, gate = FakeEnvironment(), Gate()
    outer: Any = ParkedEnvironment(form, gate)
    await outer.observe(elements=True)
    await outer.act([])
    assert form.looked == [True]
    assert gate.newest is not None
