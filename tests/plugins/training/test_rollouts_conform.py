"""Pages and machines as one contract, and what is special about machines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.config import Settings, load
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.suites import open_suite
from hisa.plugins.training.episodes import Draw
from hisa.plugins.training.machine_rollouts import MachineRollouts, no_sample
from tests.plugins.benchmarks.bench_suite.forms import PARTS, write_task
from tests.plugins.benchmarks.tasks.pages import needs_pages
from tests.plugins.training.rollouts_suite import RolloutsSuite, Source

GROUP = [Draw("ada", 5, "g", 0), Draw("ada", 5, "g", 1), Draw("bob", 6)]
BROKEN = Draw("broken-9", 7)


def settings(kind: str = "desktop", steps: int = 2) -> Settings:
    tree = {"run": {"max_steps": steps}, "environment": {"kind": kind}}
    return load(environ={}, overrides=tree)


def forms(folder: Path) -> MachineRollouts:
    for name in ("ada", "bob", "broken-9"):
        write_task(folder / "tasks", name)
    suite = open_suite(f"own:{folder / 'tasks'}")
    return MachineRollouts(suite, settings(), folder / "runs", workers=2, environment=PARTS)


class TestMachines(RolloutsSuite):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[Source]:
        rollouts = forms(tmp_path)
        yield Source(rollouts, GROUP, BROKEN)
        rollouts.close()


@needs_pages
@pytest.mark.browser
@pytest.mark.process
class TestPages(RolloutsSuite):
    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
        page_rollouts = pytest.importorskip("hisa.plugins.training.page_rollouts")
        if not shutil.which("chromium"):
            pytest.skip("needs Chromium: scripts/install-system.sh")
        rollouts = page_rollouts.PageRollouts(["click-test", "click-link"], slots=2, max_steps=3)
        wave = rollouts._wave

        def broken(orders: list[dict[str, object]]) -> object:
            if any(order.get("seed") == BROKEN.seed for order in orders):
                raise page_rollouts.BrowserDied("it was killed")
            return wave(orders)

        monkeypatch.setattr(rollouts, "_wave", broken)
        draws = [
            Draw("click-link", 5, "g", 0),
            Draw("click-link", 5, "g", 1),
            Draw("click-test", 6),
        ]
        yield Source(rollouts, draws, Draw("click-test", BROKEN.seed))
        rollouts.close()


def test_a_machine_that_the_agents_own_act_broke_is_a_sample() -> None:
    assert not no_sample("agent_broke_machine", 4, 0.0, "memory")
    assert no_sample("environment_error", 4, None, "gone") == "environment_error: gone"
    assert no_sample("succeeded", 4, None, "") == "succeeded: there is no score"
    assert no_sample("model_error", 0, 0.0, "no key")


def test_a_machine_that_keeps_what_is_done_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path, "ada")
    with pytest.raises(UsageError, match="keeps what an episode leaves behind"):
        MachineRollouts(open_suite(f"own:{tmp_path}"), settings("display=:1"), tmp_path)
