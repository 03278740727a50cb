"""Episodes on pages of MiniWoB++ in Chromium: who solves them, and what fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from hisa.errors import UsageError
from hisa.plugins.training import page_rollouts
from hisa.plugins.training.base import Act, Choice, Draw, Look
from hisa.plugins.training.page_oracles import PageOracle, demonstrations
from hisa.plugins.training.page_rollouts import PageRollouts
from tests.plugins.training.pointer_samples import list_samples

PAGES = ("click-test-2", "click-checkboxes", "click-option", "focus-text-2", "login-user",
    "click-dialog-2", "click-tab-2", "click-button-sequence")  # fmt: skip


class Scripted:
    """A policy that acts by a function of the look."""

    name, version = "scripted", 3

    def __init__(self, act: Callable[[Look], Act]) -> None:
        self.act = act

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        return [Choice(self.act(look), -1.0, 0.5) for look in looks]


@pytest.fixture(scope="module")
def pages() -> Iterator[PageRollouts]:
    rollouts = PageRollouts(PAGES, slots=6)
    yield rollouts
    rollouts.close()


@pytest.mark.browser
def test_the_rules_solve_pages_and_give_demonstrations(pages: PageRollouts) -> None:
    draws = [Draw(page, 700_000 + seed) for page in PAGES for seed in range(4)]
    assert all(episode.solved for episode in pages.play(draws, PageOracle()))
    shown = demonstrations(pages, ["login-user", "click-option"], 2, range(500_000, 500_010))
    assert [e.draw.task for e in shown] == ["login-user"] * 2 + ["click-option"] * 2
    assert [e.draw.seed for e in shown[:2]] == [500_000, 500_001]
    assert all(e.solved and e.policy == "oracle" for e in shown)
    first = list_samples(shown[0])[0]
    assert [item.role for item in first.look.items] == [
        "label",
        "entry",
        "label",
        "password text",
        "push button",
    ]
    typed = first.look.items[first.act.item]
    assert typed.takes_text
    assert all(0 <= share <= 1 for share in typed.box)
    with pytest.raises(UsageError, match="no rules for page 'tic-tac-toe'"):
        demonstrations(pages, ["tic-tac-toe"], 1, [1])
    with pytest.raises(UsageError, match="of 2 demonstrations of login-user"):
        demonstrations(pages, ["login-user"], 2, [500_000])


@pytest.mark.browser
def test_group_plays_a_single_instance_and_solves_only_at_full_score(
    pages: PageRollouts,
) -> None:
    group = [Draw("click-checkboxes", 700_003, "g", member) for member in range(8)]
    submit = Scripted(lambda look: Act("click", len(look.items) - 1))
    episodes = list(pages.play(group, submit))
    assert {episode.draw.member for episode in episodes} == set(range(8))
    assert len({list_samples(episode)[0].look for episode in episodes}) == 1
    assert len({episode.score for episode in episodes}) == 1
    partial = list(pages.play([Draw("click-checkboxes", 700_000 + n) for n in range(12)], submit))
    assert any(0 < (episode.score or 0) < 1 for episode in partial)
    assert all(episode.solved == (episode.score == 1) for episode in partial)
    assert episodes[0].samples[0].version == episodes[0].version == 3


def _always(act: Act, _look: Look) -> Act:
    return act


@pytest.mark.browser
def test_an_episode_ends_at_the_limit_of_steps_or_when_the_policy_is_done(
    pages: PageRollouts,
) -> None:
    draw = Draw("login-user", 700_000)
    (long,) = pages.play([draw], Scripted(lambda _: Act("click", 0)))
    assert (long.score, long.truncated, len(long.samples)) == (0.0, True, 8)
    (short,) = pages.play([draw], Scripted(lambda _: Act("done")))
    assert (short.score, short.truncated, len(short.samples)) == (0.0, False, 1)
    for act in (Act("click", 99), Act("type", 0, 0), Act("type", 1, 99)):
        (odd,) = pages.play([draw], Scripted(partial(_always, act)))
        assert [sample.well_formed for sample in odd.samples] == [False] * 8
        assert len({sample.look for sample in list_samples(odd)}) == 1


@pytest.mark.browser
def test_chromium_is_restarted_and_the_episodes_that_it_took_along_have_no_score() -> None:
    rollouts = PageRollouts(["click-test-2"], slots=3)
    draws, left = [Draw("click-test-2", seed) for seed in range(700_000, 700_008)], [1]

    def killing(look: Look) -> Act:
        if left[0]:
            left[0] -= 1
            assert rollouts._browser is not None
            os.killpg(rollouts._browser.process.pid, signal.SIGKILL)
        return PageOracle().choose([look])[0].act

    try:
        played = list(rollouts.play(draws, Scripted(killing)))
        assert {e.draw for e in played} == set(draws)
        assert [e.is_sample for e in played] == [False] * 3 + [True] * 5
        assert all(e.solved and len(e.samples) == 1 for e in played if e.is_sample)
        left[0] = 100
        failed = list(rollouts.play(draws, Scripted(killing)))
        assert {e.draw for e in failed} == set(draws)
        assert all(e.score is None and not e.solved for e in failed)
        assert all("Chromium" in e.failure for e in failed)
        left[0] = 0
        assert all(e.solved for e in rollouts.play(draws, Scripted(killing)))
    finally:
        rollouts.close()


@pytest.mark.browser
def test_a_page_that_breaks_costs_its_own_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    original = page_rollouts._file

    def file(path: str) -> bytes | None:
        content = original(path)
        if path == "/miniwob/click-test.html" and content:
            return content.replace(
                b"var genProblem = function() {", b"var genProblem = () => { bad;"
            )
        return content

    monkeypatch.setattr(page_rollouts, "_file", file)
    rollouts = PageRollouts(["click-test", "click-test-2"], slots=2)
    try:
        draws = [Draw(page, seed) for seed in range(4) for page in rollouts.tasks]
        for episode in rollouts.play(draws, PageOracle()):
            if episode.draw.task == "click-test":
                assert episode.score is None
                assert "bad is not defined" in episode.failure
            else:
                assert episode.score is not None
    finally:
        rollouts.close()


def test_pages_and_draws_are_checked() -> None:
    with pytest.raises(UsageError, match="no MiniWoB"):
        PageRollouts(["no-such-page"])
    with pytest.raises(UsageError, match="0 pages"):
        PageRollouts([])
    with pytest.raises(UsageError, match="no page 'click-tab'; the pages are click-test"):
        PageRollouts(["click-test"]).play([Draw("click-tab", 1)], PageOracle())


@pytest.mark.browser
@pytest.mark.process
def test_chromium_and_its_profile_go_with_a_process_that_is_killed(
    request: pytest.FixtureRequest,
) -> None:
    # A short place: Chromium's socket lies below it, and its path has 107 characters at most.
    place = Path(tempfile.mkdtemp(prefix="killed-"))
    request.addfinalizer(lambda: shutil.rmtree(place, ignore_errors=True))
    script = """if True:
        import os, signal
        from hisa.plugins.training.base import Draw
        from hisa.plugins.training.page_oracles import PageOracle
        from hisa.plugins.training.page_rollouts import PageRollouts
        rollouts = PageRollouts(["click-test"], slots=1)
        [episode] = rollouts.play([Draw("click-test", 1)], PageOracle())
        assert not episode.failure, episode.failure
        print(rollouts._browser.process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(place)},
        check=False,
    )
    assert result.returncode == -signal.SIGKILL, result.stderr
    shell = Path("/proc", result.stdout.strip())

    def left() -> list[Path]:
        profiles = list(place.glob("hisa-pages-*"))
        try:
            state = (shell / "stat").read_text().rpartition(") ")[2][:1]
        except (FileNotFoundError, ProcessLookupError):
            state = "Z"
        return profiles if state == "Z" else [*profiles, shell]

    for _ in range(300):
        if not left():
            break
        time.sleep(0.1)
    assert left() == []
