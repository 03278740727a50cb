"""The gates before GRPO, each with a break that it catches, and GRPO on replies of llama.cpp."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft", reason="needs the extra train-lm: hisa install train-lm")
pytest.importorskip("xllamacpp", reason="needs llama.cpp: hisa install gguf")

import torch

torch.set_num_threads(1)

from hisa.config import load  # noqa: E402
from hisa.errors import ModelUnavailable, UsageError  # noqa: E402
from hisa.plugins.benchmarks.bench.suites import open_suite  # noqa: E402
from hisa.plugins.gguf import llama_server  # noqa: E402
from hisa.plugins.training.base import Draw, Episode, ReplySample  # noqa: E402
from hisa.plugins.training.curves import read_metrics  # noqa: E402
from hisa.plugins.training.gates import (  # noqa: E402
    FirstUpdateGates,
    check_logprobs,
    check_malformed,
    check_sampling,
    check_surprise,
    check_turns,
    score_samples,
)
from hisa.plugins.training.grpo import StepTraining  # noqa: E402
from hisa.plugins.training.language_policy import LanguagePolicy  # noqa: E402
from hisa.plugins.training.language_rollouts import (  # noqa: E402
    LanguageRollouts,
    LlamaAdapters,
    VllmAdapters,
)
from hisa.plugins.training.training_folder import TrainingFolder  # noqa: E402
from hisa.plugins.training.training_settings import GrpoSettings  # noqa: E402
from hisa.plugins.training.turn_batches import TurnEncoder, UnfitTurn  # noqa: E402
from hisa.protocols import ModelReply, TurnTokens  # noqa: E402
from tests.plugins.benchmarks.bench_suite.forms import PARTS, write_task  # noqa: E402
from tests.plugins.training.language_parts import as_turn, ask  # noqa: E402
from tests.plugins.training.tiny_qwen import write_tiny_qwen  # noqa: E402

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_qwen(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="module")
def policy(tiny: Path) -> LanguagePolicy:
    return LanguagePolicy.open(f"gguf:{tiny}", rank=4)


@pytest.fixture(scope="module")
def replies(tiny: Path) -> list[ModelReply]:
    return ask(f"gguf:{tiny}", range(12))


def test_recorded_replies_pass_every_gate(
    policy: LanguagePolicy, replies: list[ModelReply]
) -> None:
    turns = [as_turn(reply) for reply in replies]
    gates = check_turns(policy, TurnEncoder(policy.tokenizer), turns, bound=0.01)
    assert [gate.passed for gate in gates] == [True, True, True, True, None], gates


def test_the_token_that_ends_a_reply_has_a_log_prob_too(policy: LanguagePolicy, tiny: Path) -> None:
    ended = [r for r in ask(f"gguf:{tiny}", range(6), max_tokens=300) if r.finish == "stop"]
    encoder = TurnEncoder(policy.tokenizer)
    assert ended
    assert all(encoder.sample(as_turn(reply)).reply[-1] in encoder.ends for reply in ended)


def test_other_weights_or_another_template_fail_the_gate_of_log_probs(
    policy: LanguagePolicy, replies: list[ModelReply], tmp_path: Path
) -> None:
    encoder = TurnEncoder(policy.tokenizer)
    samples = [encoder.sample(as_turn(reply)) for reply in replies]
    other = LanguagePolicy.open(f"gguf:{write_tiny_qwen(tmp_path / 'other.gguf', seed=2)}")
    assert not check_logprobs(score_samples(other, samples), samples, bound=0.01).passed
    shifted = [replace(sample, prompt=(*sample.prompt[1:], 10)) for sample in samples]
    assert not check_logprobs(score_samples(policy, shifted), shifted, bound=0.01).passed
    turn = as_turn(replies[0])
    system = [{"role": "system", "content": "be brief"}, *turn.request["messages"]]
    with pytest.raises(UnfitTurn, match="prompt of another length"):
        encoder.sample(turn.model_copy(update={"request": {"messages": system}}))


@pytest.mark.parametrize("change", [{"top_p": 0.5}, {"temperature": 0.5}])
def test_a_server_that_samples_otherwise_is_caught_by_its_replies(
    policy: LanguagePolicy, tiny: Path, change: dict[str, float]
) -> None:
    encoder = TurnEncoder(policy.tokenizer)
    turns = [as_turn(reply) for reply in ask(f"gguf:{tiny}", range(8), **change)]
    samples = [encoder.sample(turn) for turn in turns]
    assert check_logprobs(score_samples(policy, samples), samples).passed, (
        "the log-probs alone do not show it"
    )
    assert check_surprise(score_samples(policy, samples)).passed is False
    declared = [turn.model_copy(update={"request": turn.request | change}) for turn in turns]
    gate = check_sampling(declared)
    assert gate.passed is False
    assert next(iter(change)) in gate.detail


@pytest.mark.parametrize(
    ("request_fields", "words"),
    [
        ({"response_format": {"type": "json_schema"}}, "constrained"),
        ({"top_k": 40}, "top_k 40"),
        ({"repetition_penalty": 1.05}, "repetition_penalty"),
    ],
)
def test_a_request_that_changes_the_replies_is_refused(
    replies: list[ModelReply], request_fields: dict[str, Any], words: str
) -> None:
    gate = check_sampling([as_turn(replies[0]), as_turn(replies[1], **request_fields)])
    assert gate.passed is False
    assert words in gate.detail


def test_malformed_replies_that_are_no_samples_are_missed(
    policy: LanguagePolicy, replies: list[ModelReply]
) -> None:
    encoder = TurnEncoder(policy.tokenizer)
    turns = [as_turn(replies[0]), as_turn(replies[1], refused="no JSON")]
    samples = [encoder.sample(turn) for turn in turns]
    episode = Episode(Draw("a", 0), tuple(samples), 1.0, True)
    assert episode.rewards == (1.0, 0.0)
    empty = encoder.sample(turns[0].model_copy(update={"reply": ""}))
    assert not empty.well_formed
    assert check_malformed(1, samples).passed
    assert check_malformed(1, samples[:1]).passed is False
    gates = FirstUpdateGates(policy, lambda: 2, 0.1, lambda gate: None)
    with pytest.raises(UsageError, match="nothing was trained: malformed replies"):
        gates([episode])


def test_a_reply_whose_tokens_the_server_lost_is_no_sample(
    policy: LanguagePolicy, replies: list[ModelReply]
) -> None:
    encoder, turn = TurnEncoder(policy.tokenizer), as_turn(replies[0])
    assert turn.tokens
    assert turn.tokens.reply_ids
    assert turn.tokens.logprobs
    fewer = TurnTokens(None, turn.tokens.reply_ids[:-1], turn.tokens.logprobs[:-1])
    with pytest.raises(UnfitTurn, match="only some tokens"):
        encoder.sample(turn.model_copy(update={"tokens": fewer}))
    with pytest.raises(UnfitTurn, match="no token ids"):
        encoder.sample(turn.model_copy(update={"tokens": None}))


class ServedBandit:
    """Asks the served model, and rewards replies with few capital letters."""

    tasks = ("calm",)

    def __init__(self, server: LlamaAdapters, encoder: TurnEncoder) -> None:
        self._server, self._encoder = server, encoder

    def play(
        self, draws: Sequence[Draw], policy: LanguagePolicy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        served = self._server.serve(policy)["model"]
        seeds = [draw.seed * 100 + draw.member for draw in draws]
        for draw, reply in zip(draws, ask(served, seeds, max_tokens=12), strict=True):
            try:
                sample = self._encoder.sample(as_turn(reply), policy.version)
            except UnfitTurn as error:
                yield Episode(draw, (), None, False, failure=str(error))
                continue
            solved = sum(letter.isupper() for letter in reply.text) < 3
            yield Episode(draw, (sample,), float(solved), solved, policy=served)

    def close(self) -> None:
        pass


def test_grpo_hands_its_weights_to_llama_cpp_and_raises_the_chance_of_rewarded_replies(
    tiny: Path, tmp_path: Path
) -> None:
    policy = LanguagePolicy.open(f"gguf:{tiny}", rank=4)
    encoder = TurnEncoder(policy.tokenizer)
    settings = GrpoSettings(
        updates=2, groups=4, group_size=4, lr=3e-3, evaluate_every=0, passes=1, steps_at_once=1
    )
    server = LlamaAdapters(f"gguf:{tiny}", tmp_path / "served")
    first = policy.copy()
    episodes: list[Episode] = []
    folder = TrainingFolder(tmp_path / "run", {})
    gates = FirstUpdateGates(policy, lambda: 0, 0.01, lambda gate: None)

    def before_update(played: Sequence[Episode]) -> None:
        gates(played)
        episodes.extend(played)

    bandit = ServedBandit(server, encoder)
    run = StepTraining(
        folder,
        policy,
        bandit,
        bandit.tasks,
        replace(settings, decoupled=True),
        before_update=before_update,
    )
    run.run()
    assert list(folder.successes()) == sorted(
        (episode for episode in episodes if episode.solved),
        key=lambda e: (e.draw.group, e.draw.member),
    ), "as Entropulse reads them"
    folder.close()
    assert policy.version == 2
    rows = read_metrics(tmp_path / "run").rows
    assert [row.update for row in rows] == [0, 1, 2]
    assert rows[1].loss is not None
    assert rows[1].reply_length is not None
    assert {sample.version for e in episodes for sample in e.samples} == {0, 1}

    def mean(weights: LanguagePolicy, solved: bool) -> float:
        samples = [s for e in episodes for s in e.samples if e.solved == solved]
        with torch.no_grad():
            return float(
                weights.log_probs([s for s in samples if isinstance(s, ReplySample)])[0].mean()
            )

    gained, lost = (mean(policy, solved) - mean(first, solved) for solved in (True, False))
    assert gained > lost
    before, after = (
        ask(model, [1], temperature=0.0)[0].text
        for model in (f"gguf:{tiny}", str(server.serve(policy)["model"]))
    )
    assert before != after
    resumed = LanguagePolicy.open(f"gguf:{tiny}", rank=4)
    folder = TrainingFolder(tmp_path / "run", {}, resume=True)
    StepTraining(folder, resumed, bandit, bandit.tasks, settings)
    folder.close()
    assert all(map(torch.equal, resumed.network, policy.network))


def test_entropulse_clones_what_the_model_solved_by_the_same_trainer(
    tiny: Path, tmp_path: Path
) -> None:
    policy = LanguagePolicy.open(f"gguf:{tiny}", rank=4)
    bandit = ServedBandit(
        LlamaAdapters(f"gguf:{tiny}", tmp_path / "served"), TurnEncoder(policy.tokenizer)
    )
    settings = GrpoSettings(
        updates=2,
        groups=2,
        group_size=4,
        evaluate_every=0,
        pulse_at=2,
        pulse_lr=3e-3,
        passes=1,
        steps_at_once=1,
        decoupled=True,
    )
    folder = TrainingFolder(tmp_path / "run", {})
    first = policy.copy()
    run = StepTraining(folder, policy, bandit, bandit.tasks, settings)
    run.run()
    solved = [s for e in folder.successes() for s in e.samples if isinstance(s, ReplySample)]
    folder.close()
    assert [row.phase for row in read_metrics(tmp_path / "run").rows][-1] == "pulse"
    with torch.no_grad():
        gains = policy.log_probs(solved)[0] - first.log_probs(solved)[0]
    assert float(gains.mean()) > 0
    assert all(map(torch.equal, run.reference.network, policy.network))


def form_rollouts(
    policy: LanguagePolicy, tiny: Path, folder: Path, **planner: float
) -> LanguageRollouts:
    """The form in memory, filled in by the tiny model in two steps at most."""
    write_task(folder / "tasks", "ada")
    changes = {
        "run": {"max_steps": 2},
        "models": {"planner": {"max_tokens": 30, "threads": 1, **planner}},
        "environment": {"kind": "desktop"},
    }
    return LanguageRollouts(
        open_suite(f"own:{folder / 'tasks'}"),
        load(environ={}, overrides=changes),
        folder / "runs",
        server=LlamaAdapters(f"gguf:{tiny}", folder / "served"),
        encoder=TurnEncoder(policy.tokenizer),
        environment=PARTS,
    )


def test_a_run_of_the_served_model_is_an_episode_with_its_malformed_replies(
    policy: LanguagePolicy, tiny: Path, tmp_path: Path
) -> None:
    rollouts = form_rollouts(policy, tiny, tmp_path)
    (episode,) = rollouts.play([Draw("ada", 3, "g", 0)], policy)
    rollouts.close()
    assert not episode.failure
    assert episode.score == 0
    assert episode.samples
    assert not any(sample.well_formed for sample in episode.samples)
    assert rollouts.refused == len(episode.samples)
    samples = [s for s in episode.samples if isinstance(s, ReplySample)]
    assert check_logprobs(score_samples(policy, samples), samples).passed


def test_settings_that_change_the_sampling_end_the_training_before_an_update(
    policy: LanguagePolicy, tiny: Path, tmp_path: Path
) -> None:
    rollouts = form_rollouts(policy, tiny, tmp_path, top_p=0.5)
    with pytest.raises(UsageError, match=r"sampled with top_p 0\.5, not 1: not a sample"):
        list(rollouts.play([Draw("ada", 3, "g", 0)], policy))
    rollouts.close()


def test_a_killed_server_costs_no_episode(
    policy: LanguagePolicy, tiny: Path, tmp_path: Path
) -> None:
    rollouts = form_rollouts(policy, tiny, tmp_path)
    play = rollouts.play([Draw("ada", 3, "g", 0), Draw("ada", 3, "g", 1)], policy)
    first = next(play)
    pids = [server.pid for server in llama_server._servers.values() if server.pid]
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    (second,) = play
    rollouts.close()
    assert [episode.failure for episode in (first, second)] == ["", ""]
    assert second.samples


def test_a_vllm_server_gets_each_adapter_once_and_gives_up_the_last(
    policy: LanguagePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted: list[tuple[str, dict[str, str]]] = []
    server = VllmAdapters("http://127.0.0.1:9/v1/", tmp_path)
    with pytest.raises(ModelUnavailable, match="load_lora_adapter"):
        server.serve(policy)
    monkeypatch.setattr(server, "_post", lambda route, body: posted.append((route, dict(body))))
    newer = policy.copy()
    newer.version += 1
    names = [server.serve(p)["model"] for p in (policy, policy, newer)]
    assert names == ["hisa-00000", "hisa-00000", "hisa-00001"]
    assert [route for route, _ in posted] == ["load_lora_adapter"] * 2 + ["unload_lora_adapter"]
    assert (Path(posted[0][1]["lora_path"]) / "adapter_model.safetensors").is_file()
