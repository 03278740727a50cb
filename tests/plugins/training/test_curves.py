"""Metrics of training runs: hand-computed, read from torn files, and drawn as a page."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.stats import t95
from hisa.plugins.training.base import Act, Draw, Episode, Look, Sample
from hisa.plugins.training.curves import (
    METRICS_FILE,
    MetricsRow,
    Point,
    Run,
    TaskMetrics,
    episode_metrics,
    figure,
    read_metrics,
    read_runs,
)

HOSTILE = "</text><script>alert(1)</script>\x1b[31m"


def episode(group: str, *, solved: bool, steps: int = 1, failed: bool = False) -> Episode:
    samples = tuple(
        Sample(Look("x", ()), Act("click", 0), entropy=float(number), version=3)
        for number in range(steps)
    )
    score = None if failed else float(solved)
    return Episode(Draw("task", 1, group), samples, score, solved, truncated=steps == 3)


def write(folder: Path, rows: list[MetricsRow], tail: str = "") -> Path:
    folder.mkdir(parents=True)
    text = "".join(f"{row.model_dump_json()}\n" for row in rows)
    (folder / METRICS_FILE).write_text(text + tail, "utf-8")
    return folder


def run_rows(reward: float = 0.5) -> list[MetricsRow]:
    rows = [
        MetricsRow(update=0, phase="sft", loss=2.0),
        MetricsRow(update=1, phase="sft", loss=1.0),
    ]
    for update in range(2, 9):
        row = MetricsRow(update=update, reward=reward, kl=0.1 * update, ppo_kl=-0.01 * update)
        rows.append(row.model_copy(update={"phase": "pulse"} if update == 5 else {}))
    rows[-1].greedy, rows[-1].greedy_n = 0.75, 20
    return rows


def test_metrics_of_episodes_are_those_computed_by_hand() -> None:
    episodes = [
        episode("a", solved=True, steps=1),
        episode("a", solved=False, steps=3),
        episode("b", solved=False, steps=2),
        episode("b", solved=False, failed=True),
    ]
    row = MetricsRow(update=1, **episode_metrics(episodes, version=5))
    assert (row.episodes, row.steps, row.groups, row.failed_episodes) == (3, 6, 2, 1)
    assert (row.reward, row.best_of_n, row.margin) == (0.25, 0.5, 0.25)
    assert (row.truncated, row.turns, row.reply_length) == (0.25, 2.0, 2.0)
    assert row.entropy == pytest.approx((0 + 0 + 1 + 2 + 0 + 1) / 6)
    assert (row.age_mean, row.age_p95) == (2.0, 2.0)
    assert row.tasks["task"].model_dump() == {
        "reward": pytest.approx(1 / 3),
        "n": 3,
        "greedy": None,
        "greedy_n": 0,
        "groups": 2,
        "spread_groups": 1,
    }


@pytest.mark.parametrize(
    ("tail", "left_out"),
    [
        ('{"update": 9, "rew', 1),
        ('{"format": 2, "update": 9}\n', 1),
        ('[1]\n\n{"update": -1}\n{"update": 1' + 400 * "0" + "}\n\xff", 4),
    ],
)
def test_lines_that_are_no_rows_are_counted(tmp_path: Path, tail: str, left_out: int) -> None:
    metrics = read_metrics(write(tmp_path / "run", run_rows(), tail))
    assert [row.update for row in metrics.rows] == list(range(9))
    assert metrics.left_out == left_out


def test_an_update_made_again_counts_once_and_numbers_that_are_none_are_left_out(
    tmp_path: Path,
) -> None:
    tail = '{"update": 8, "reward": 0.9, "kl": NaN, "entropy": Infinity}\n'
    metrics = read_metrics(write(tmp_path / "run", run_rows(), tail))
    assert (len(metrics.rows), metrics.rows[-1].reward) == (9, 0.9)
    run = Run("run", [metrics])
    assert [point.update for point in run.points("kl")] == [2, 3, 4, 5, 6, 7]
    assert run.points("entropy") == []


def test_several_seeds_have_their_mean_and_interval_where_all_have_a_value(tmp_path: Path) -> None:
    for seed, rewards in enumerate(((0.2, 0.4), (None, 0.6), (None, 0.8))):
        rows = [MetricsRow(update=at, reward=reward) for at, reward in enumerate(rewards)]
        write(tmp_path / str(seed), rows)
    (run,) = read_runs([tmp_path])
    half = t95(2) * 0.2 / 3**0.5
    (point,) = run.points("reward")
    assert point == pytest.approx((1, 0.6, 0.6 - half, 0.6 + half))
    assert run._replace(seeds=run.seeds[:1]).points("reward") == [Point(0, 0.2), Point(1, 0.4)]


def test_the_figure_loads_nothing_and_escapes_names(tmp_path: Path) -> None:
    for seed in range(2):
        write(tmp_path / "pulse <b>" / f"seed-{seed}", run_rows(), "{")
    write(tmp_path / "control", run_rows(0.1))
    text = figure(read_runs([tmp_path / "pulse <b>", tmp_path / "control"]))
    ElementTree.fromstring(text)
    assert "<b>" not in text
    assert "<script" not in text
    assert "href" not in text
    assert text.count("<g ") == 5, "reward, KL, PPO-KL, greedy, loss"


def test_the_command_draws_the_curves_and_prints_the_last_numbers(tmp_path: Path) -> None:
    rows = run_rows()
    rows[3].tasks = {HOSTILE: TaskMetrics(reward=0.5, n=4)}
    folder = write(tmp_path / "run", rows, "{")
    ran = CliRunner().invoke(cli, ["train", "report", str(folder)])
    assert ran.exit_code == 0, ran.output
    assert "run: seeds 1, last update 8, lines left out 1" in ran.stdout
    assert (folder / "curves.svg").read_text("utf-8").startswith("<svg")
    ran = CliRunner().invoke(cli, ["train", "report", str(folder), "-o", str(tmp_path / "a.svg")])
    assert "greedy           0.75, update 8" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert (tmp_path / "a.svg").exists()


def test_folders_without_a_row_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "empty", [], "{")
    for folder in (tmp_path / "empty", tmp_path / "nothing"):
        with pytest.raises(UsageError, match=f"{folder.name}: no metrics.jsonl with rows"):
            read_runs([folder])
    with pytest.raises(UsageError, match="7 folders: a figure shows at most 6"):
        read_runs([tmp_path] * 7)
