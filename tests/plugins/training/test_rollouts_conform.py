"""Pages, machines and recorded runs as one contract; and what is special about the last two."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.config import Settings, load
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.jobs import perform
from hisa.plugins.benchmarks.bench.suites import open_suite
from hisa.plugins.training.episodes import Act, Draw
from hisa.plugins.training.machine_rollouts import MachineRollouts, no_sample
from hisa.plugins.training.recorded_rollouts import RecordedRollouts
from tests.plugins.benchmarks.bench_suite.forms import PARTS, job, write_task
from tests.plugins.benchmarks.tasks.pages import needs_pages
from tests.plugins.training.rollouts_suite import RolloutsSuite, Source, Wanderer

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


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs on machines."""
    folder = tmp_path_factory.mktemp("recorded")
    assert len(list(forms(folder).play([*GROUP, BROKEN], Wanderer()))) == 4
    return folder / "runs"


class TestMachines(RolloutsSuite):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[Source]:
        rollouts = forms(tmp_path)
        yield Source(rollouts, GROUP, BROKEN)
        rollouts.close()


class TestRecorded(RolloutsSuite):
    @pytest.fixture
    def source(self, runs: Path) -> Source:
        recorded = RecordedRollouts([runs])
        drawn = {(draw.task, draw.member): draw for draw in recorded.draws}
        draws = [drawn["ada", 0], drawn["ada", 1], drawn["bob", 0]]
        return Source(recorded, draws, drawn["broken-9", 0], asks=False)

    def test_a_recorded_run_is_what_was_played(self, tmp_path: Path) -> None:
        (played,) = forms(tmp_path).play(GROUP[:1], Wanderer())
        rollouts = RecordedRollouts([tmp_path / "runs"])
        (recorded,) = rollouts.play(rollouts.draws)
        keys = ("look", "act", "logprob", "version", "well_formed")
        for one, other in zip(played.samples, recorded.samples, strict=True):
            assert [getattr(one, k) for k in keys] == [getattr(other, k) for k in keys]
        assert (recorded.score, recorded.truncated) == (played.score, played.truncated)
        recorded.require_trainable()

    def test_the_likeliest_acts_were_not_drawn_and_are_no_samples_of_rl(
        self, tmp_path: Path
    ) -> None:
        list(forms(tmp_path).play(GROUP[:1], Wanderer(), greedy=True))
        rollouts = RecordedRollouts([tmp_path / "runs"])
        (episode,) = rollouts.play(rollouts.draws)
        with pytest.raises(UsageError, match="fit for cloning, no sample of RL"):
            episode.require_trainable()


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


@pytest.mark.desktop
@pytest.mark.process
def test_members_of_a_group_play_on_real_desktops(tmp_path: Path) -> None:
    task = {
        "id": "pad",
        "instruction": "Open the View menu.",
        "setup": [{"launch": "mousepad"}, {"wait_window": {"title": "Mousepad", "seconds": 120}}],
        "check": [{"command": "true"}],
    }
    (tmp_path / "pad.yaml").write_text(json.dumps(task))
    suite = open_suite(f"own:{tmp_path}")
    machines = MachineRollouts(suite, settings(steps=1), tmp_path / "runs", workers=2)
    draws = [Draw("pad", 0, "g", member) for member in range(2)]
    one, other = machines.play(draws, Wanderer(), greedy=True)
    machines.close()
    assert (one.score, one.failure, other.failure) == (1.0, "", "")
    assert one.samples[0].look == other.samples[0].look
    assert {"File", "View"} <= {item.name for item in one.samples[0].look.items}


def test_a_machine_that_the_agents_own_act_broke_is_a_sample() -> None:
    assert not no_sample("agent_broke_machine", 4, 0.0, "memory")
    assert no_sample("environment_error", 4, None, "gone") == "environment_error: gone"
    assert no_sample("succeeded", 4, None, "") == "succeeded: there is no score"
    assert no_sample("model_error", 0, 0.0, "no key")


def test_a_machine_that_keeps_what_is_done_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path, "ada")
    with pytest.raises(UsageError, match="keeps what an episode leaves behind"):
        MachineRollouts(open_suite(f"own:{tmp_path}"), settings("display=:1"), tmp_path)


async def test_acts_of_another_planner_on_listed_elements_are_for_cloning(tmp_path: Path) -> None:
    made = job(tmp_path, "ada")
    async for _ in perform(made):
        pass
    shutil.copytree(tmp_path / "runs", tmp_path / "more")
    recorded = RecordedRollouts([tmp_path / "runs", tmp_path / "more"])
    (draw, twin) = recorded.draws
    assert (draw.group, draw.member, twin.member) == ("ada#0", 0, 1)
    (episode,) = recorded.play([draw])
    assert episode.cloning_only
    assert episode.solved
    acts = [(s.act.kind, s.look.items[s.act.item].name) for s in episode.samples[:-1]]
    assert acts == [("click", "Name:"), ("type", "Name:"), ("click", "Save")]
    assert episode.samples[-1].act == Act("done")


@pytest.mark.parametrize(("text", "kept"), [("Berlin", 1), ("Paris", 0)])
def test_a_proved_task_is_read_where_its_acts_can_be_said(
    tmp_path: Path, text: str, kept: int
) -> None:
    write_proof(tmp_path, "a", text)
    write_proof(tmp_path, "b", text, proved=False)
    if not kept:
        with pytest.raises(UsageError, match="no word of the instruction"):
            RecordedRollouts([tmp_path])
        return
    recorded = RecordedRollouts([tmp_path])
    assert recorded.left_out == {"no proof stands behind its task": 1}
    (episode,) = recorded.play(recorded.draws)
    assert [s.act for s in episode.samples] == [Act("click", 0), Act("type", 1, 1)]
    assert (episode.score, episode.cloning_only) == (1.0, True)


def write_proof(root: Path, name: str, text: str, *, proved: bool = True) -> None:
    """A task of two acts as synthesis leaves it, and what was explored."""
    acts = [
        {"kind": "click", "role": "push button", "name": "Go", "window": "w"},
        {"kind": "type", "role": "entry", "name": "City", "window": "v", "text": text},
    ]
    boxes = [[0, 0, 100, 40], [0, 100, 200, 140]]
    elements = [
        {"role": "push button", "name": "Go", "box": boxes[0], "states": ["showing"]},
        {"role": "entry", "name": "City", "box": boxes[1], "states": ["editable", "showing"]},
    ]
    triples = [
        {"before": f"s{i}", "after": f"s{i + 1}", "act": dict(act, window=""), "box": boxes[i]}
        for i, act in enumerate(acts)
    ]
    states = [{"id": f"s{i}", "elements": "e"} for i in range(3)]
    (root / "elements").mkdir(exist_ok=True)
    (root / "elements" / "e.json").write_text(json.dumps(elements))
    for file, rows in (("triples.jsonl", triples), ("states.jsonl", states)):
        (root / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = root / "tasks" / name
    task.mkdir(parents=True)
    candidate = {"id": name, "instruction": "Enter Berlin now."}
    origin = {"proof": {"proved": proved}, "candidate": candidate}
    (task / "provenance.json").write_text(json.dumps(origin))
    (task / "reference.json").write_text(json.dumps({"acts": [{"act": act} for act in acts]}))
