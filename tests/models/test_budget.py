from __future__ import annotations

import asyncio

import pytest

from hisa.errors import BudgetExceeded
from hisa.models.budget import Budget
from hisa.models.profiles import REFERENCE, Profile, find
from hisa.models.role_model import CallContext, RoleModel
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_input
from hisa.protocols import ModelReply, ModelRequest
from hisa.testing.scripted import FunctionModel, ScriptedModel
from tests.models.support import Clock, ask, picture, spent

_PRICED = find("gpt-5")


def _model(
    inner: ScriptedModel | FunctionModel,
    budget: Budget,
    *calls: object,
    profile: Profile = _PRICED,
) -> RoleModel:
    ledger = Ledger()
    for usd in calls:
        ledger.add(spent(usd=usd))
    return RoleModel(inner, CallContext(budget=budget, ledger=ledger), profile=profile)


async def test_money_is_checked_before_anything_is_sent() -> None:
    inner = ScriptedModel(["never asked for"])
    with pytest.raises(BudgetExceeded, match=r"\$0\.02 .*\$0\.0300 spent") as caught:
        await _model(inner, Budget(0.02), 0.01, 0.02).complete(ask())
    assert inner.requests == []
    assert caught.value.fix == "allow more with --budget-usd 0.04"


async def test_the_requests_own_cost_counts() -> None:
    inner = ScriptedModel(["fits", "never asked for"])
    request = ask(image=picture())
    cost = 1.25 * estimate_input(request, image_tokens=_PRICED.image_tokens) / 1e6
    await _model(inner, Budget(0.01 + cost * 1.01), 0.01).complete(request)
    with pytest.raises(BudgetExceeded):
        await _model(inner, Budget(0.01 + cost * 0.99), 0.01).complete(request)
    assert len(inner.requests) == 1


async def test_tokens_are_checked_before_anything_is_sent() -> None:
    inner = ScriptedModel(["fits", "never asked for"])
    need = estimate_input(ask(), image_tokens=0)
    await _model(inner, Budget(None, 15 + need), 0.0).complete(ask())
    with pytest.raises(BudgetExceeded, match=r"token limit.*15 spent") as caught:
        await _model(inner, Budget(None, 14 + need), 0.0).complete(ask())
    assert len(inner.requests) == 1
    assert "run.budget_tokens=" in caught.value.fix


async def test_requests_in_flight_are_counted() -> None:
    both, release = asyncio.Event(), asyncio.Event()

    async def answer(request: ModelRequest) -> ModelReply:
        if len(inner.requests) == 2:
            both.set()
        await release.wait()
        return ModelReply("yes")

    inner = FunctionModel(answer)
    need = estimate_input(ask(), image_tokens=0)
    model = _model(inner, Budget(None, 2 * need))
    calls = [asyncio.ensure_future(model.complete(ask())) for _ in range(5)]
    await both.wait()
    release.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [ModelReply] * 2 + [BudgetExceeded] * 3
    assert (await model.complete(ask())).text == "yes"


async def test_a_failed_request_holds_nothing_back() -> None:
    inner = ScriptedModel([ValueError("broken"), "yes"])
    model = _model(inner, Budget(None, estimate_input(ask(), image_tokens=0)))
    with pytest.raises(ValueError, match="broken"):
        await model.complete(ask())
    assert (await model.complete(ask())).text == "yes"


async def test_time_is_checked_before_anything_is_sent() -> None:
    clock, inner = Clock(), ScriptedModel(["in time", "never asked for"])
    model = _model(inner, Budget(seconds=60, clock=clock))
    clock.now += 59
    await model.complete(ask())
    clock.now += 1
    with pytest.raises(BudgetExceeded, match="time limit of 60 s") as caught:
        await model.complete(ask())
    assert len(inner.requests) == 1
    assert "run.budget_seconds=120" in caught.value.fix


async def test_an_answer_is_not_awaited_beyond_the_deadline() -> None:
    cancelled = False

    async def hang(request: ModelRequest) -> ModelReply:
        nonlocal cancelled
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled = True
            raise
        return ModelReply("")

    # A guard: a deadline that is not kept fails here instead of hanging.
    with pytest.raises(BudgetExceeded, match="time limit"):
        async with asyncio.timeout(60):
            await _model(FunctionModel(hang), Budget(seconds=0.05)).complete(ask())
    assert cancelled


async def test_dollars_without_a_price_are_a_limit_of_tokens() -> None:
    """Counted at what the dearest known model costs: rather too early than too late."""
    assert REFERENCE.price
    ledger, inner = Ledger(), ScriptedModel(["fits", "never asked for"])
    context = CallContext(budget=Budget(1.0), ledger=ledger)
    model = RoleModel(inner, context, profile=find("anything"))
    await model.complete(ask())
    tokens = int(0.99e6 / REFERENCE.price.input)
    ledger.add(spent(tokens_in=tokens, tokens_out=0, usd=None))
    ledger.add(spent(usd=0.02))
    with pytest.raises(BudgetExceeded, match=r"\$0\.0200 spent and \$0\.99\d+ counted for 2 calls"):
        await model.complete(ask())
    assert len(inner.requests) == 1
