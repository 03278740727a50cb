"""Hooks that skip a test of what its whole file did where not all of the file was done.

A `conftest.py` imports both. Such a test cannot pass where one before it failed, or was left out as
in a run of the failed ones alone; it says nothing then that the others do not say.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator

import pytest

__all__ = ["SUMS_UP", "pytest_runtest_makereport", "pytest_runtest_setup"]

SUMS_UP = "test_every_function_was_called"
_OUTCOMES = pytest.StashKey[dict[str, set[str]]]()
"""Of a file: the outcomes of all phases, by test without its parameters."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note each phase's outcome with the test's file."""
    report = yield
    if (module := item.getparent(pytest.Module)) is not None:
        outcomes = module.stash.setdefault(_OUTCOMES, {})
        outcomes.setdefault(_plain(item.nodeid), set()).add(report.outcome)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before its fixtures, which may start a desktop."""
    module = item.getparent(pytest.Module)
    if item.name != SUMS_UP or module is None:
        return
    outcomes = module.stash.get(_OUTCOMES, {})
    failed = sorted(name for name, phases in outcomes.items() if "failed" in phases)
    left_out = sorted(_tests(module) - outcomes.keys() - {item.nodeid})
    for names, how in ((failed, "failed"), (left_out, "was not run")):
        if names:
            pytest.skip(f"{names[0]} {how}, one of {len(names)}")


def _plain(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def _tests(module: pytest.Module) -> set[str]:
    """Returns the names of all tests in a file, without their parameters."""
    classes = {n: c for n, c in vars(module.obj).items() if n[:4] == "Test" and inspect.isclass(c)}
    holders = {module.nodeid: module.obj}
    holders |= {f"{module.nodeid}::{name}": made for name, made in classes.items()}
    return {
        f"{prefix}::{name}"
        for prefix, holder in holders.items()
        for name in vars(holder)
        if name.startswith("test_")
    }
