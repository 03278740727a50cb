"""The benchmark of several attempts, small: they fail as meant, and no judge beats the oracle."""

from __future__ import annotations

from benchmarks.best_of_n import FORM, JUDGES, NUMBERS, measure, show


async def test_its_attempts_fail_as_meant_and_an_oracle_is_the_most() -> None:
    found = await measure(FORM, 6, seed=0)
    assert found["against_intent"] == 0
    assert 0 < found["failed"] == found["meant_to_fail"] < found["attempts"] == 24
    for size in NUMBERS:
        rates = found["rates"][size]
        assert all(rates[name] <= rates["oracle"] for name in JUDGES)
    assert len(set(found["rates"][1].values())) == 1, "of one attempt everybody takes it"
    assert found["tokens"]["offline"][1] == 0
    assert found["tokens"]["offline"][4] > found["tokens"]["offline"][2] > 0
    show("form", found)
