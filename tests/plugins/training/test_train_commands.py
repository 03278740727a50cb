"""``hisa train sft`` and ``hisa train grpo``, on a bandit in place of pages."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

from hisa.cli import main
from hisa.plugins.training.base import Draw, Episode, Policy
from hisa.plugins.training.curves import MetricsRow, read_metrics
from hisa.plugins.training.pointer_policy import PointerPolicy
from tests.plugins.training.look_bandit import WORDS, Bandit, TablePolicy

SMALL = ["--groups", "4", "--group-size", "2", "--evaluate-every", "0"]


class Pages(Bandit):
    """A bandit that a person stops, by Ctrl-C, at its second play where it is told to."""

    stops = False
    plays = 0

    def __init__(self, pages: Sequence[str]) -> None:
        super().__init__()

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        type(self).plays += 1
        if self.stops and self.plays == 2:
            raise KeyboardInterrupt
        return super().play(draws, policy, greedy=greedy)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> type[Pages]:
    def demonstrations(
        rollouts: Pages, pages: Sequence[str], count: int, seeds: Sequence[int]
    ) -> list[Episode]:
        draws = [Draw(page, seed) for page in pages for seed in range(40)]
        return [episode for episode in rollouts.play(draws, TablePolicy()) if episode.solved]

    monkeypatch.setattr("hisa.plugins.training.page_oracles.demonstrations", demonstrations)
    monkeypatch.setattr("hisa.plugins.training.page_rollouts.PageRollouts", Pages)
    monkeypatch.setattr(Pages, "plays", 0)
    return Pages


def hisa(*words: str) -> int:
    """Returns the exit status of the command line."""
    with pytest.raises(SystemExit) as ended:
        main(["train", *words])
    return int(ended.value.code or 0)


def test_cloning_keeps_the_checkpoint_of_one_epoch_from_which_grpo_starts(
    pages: type[Pages], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cloned, tuned = str(tmp_path / "cloned"), str(tmp_path / "tuned")
    assert hisa("sft", *WORDS, "-o", cloned, "--epochs", "2") == 0
    rows = read_metrics(tmp_path / "cloned").rows
    assert [(row.phase, row.greedy is not None) for row in rows] == [("sft", True)] * 2
    versions = [
        PointerPolicy.load(tmp_path / "cloned" / "checkpoints" / f"{name}.safetensors").version
        for name in ("one-epoch", "last")
    ]
    assert versions == [1, 2]
    start = f"{cloned}/checkpoints/one-epoch.safetensors"
    assert hisa("grpo", *WORDS, "-o", tuned, "--from", start, "--updates", "1", *SMALL) == 0
    assert read_metrics(tmp_path / "tuned").rows[0].version == 1
    assert "grpo 1 of 1: " in capsys.readouterr().err


def test_grounder_training_resumes_at_its_last_update(tmp_path: Path) -> None:
    out = str(tmp_path / "pointing")
    assert hisa("grounder", "-o", out, "--cold-start", "2", "--updates", "2") == 0
    assert hisa("grounder", "-o", out, "--resume", "--updates", "3") == 0
    assert len(read_metrics(tmp_path / "pointing").rows) == 5


def test_a_run_stopped_by_a_person_names_the_command_that_goes_on(
    pages: type[Pages], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    pages.stops = True
    try:
        assert hisa("grpo", *WORDS, "-o", out, "--updates", "2", *SMALL) == 130
    finally:
        pages.stops = False
    assert f"hisa train grpo -o {out} --resume" in capsys.readouterr().err
    assert hisa("grpo", "-o", out, "--resume", "--lr", "1") == 2
    assert "omit these options: lr" in capsys.readouterr().err
    assert hisa("grpo", "-o", out, "--resume", "--updates", "3") == 0
    assert [row.update for row in read_metrics(tmp_path / "run").rows] == [0, 1, 2, 3]
    assert hisa("grpo", *WORDS, "-o", out) == 2
    assert "holds a training run" in capsys.readouterr().err


def test_policies_that_are_named_play_by_strata(
    pages: type[Pages], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "fresh.safetensors"
    PointerPolicy.fresh(3).save(policy)
    words = ("--policy", str(policy), "--demonstrations", "3", "--epochs", "1")
    assert hisa("sft", *WORDS, "-o", str(tmp_path / "run"), *words) == 0
    printed = capsys.readouterr().err
    assert "instances in stratum partial: " in printed
    assert "steps by pool of pointer" in printed


@pytest.mark.process
def test_help_imports_no_torch() -> None:
    code = (
        "import sys; from hisa.cli import cli\n"
        "for name in ((), ('sft',), ('grounder',), ('grpo',), ('lora',), ('check',)):\n"
        "    cli.main(['train', *name, '--help'], standalone_mode=False)\n"
        "assert not {'torch', 'transformers', 'peft', 'gguf'} & sys.modules.keys()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "hisa train grpo -o tuned --resume --updates 200" in result.stdout


@pytest.mark.process
@pytest.mark.parametrize("apart", [[], ["--max-age", "1"]])
def test_grpo_trains_on_the_tasks_of_a_suite_on_machines(
    apart: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = Path(__file__).parents[3] / "examples" / "two_buttons"
    few = ["--groups", "2", "--group-size", "2", "--max-steps", "2", "--evaluate-every", "0"]
    words = ["grpo", f"own:{suite}", "--env", "desktop", *few, "--updates", "1", "-o", "desks"]
    assert hisa(*words, *apart) == 0
    row = read_metrics(tmp_path / "desks").rows[-1]
    assert (row.update, row.groups, row.episodes) == (1, 2, 4)
    assert set(row.tasks) == {"keep-the-draft", "discard-the-draft"}
    assert len(list((tmp_path / "desks" / "runs").glob("*/run.json"))) >= 4


def test_a_run_without_spread_is_reported_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = {"reward": 0.0, "n": 4, "groups": 1, "spread_groups": 0}
    row = MetricsRow.model_validate({"update": 1, "groups": 1, "tasks": {"page-a": part}})
    (tmp_path / "metrics.jsonl").write_text(row.model_dump_json() + "\n")
    assert hisa("report", str(tmp_path)) == 0
    printed = capsys.readouterr().out
    assert "page-a: solved 0.00 (0.00 to 0.49) of 4 episodes" in printed
    assert "no gradient" in printed
