"""Rollouts of a language model: a server answers with the newest adapter, and the log has the rest.

Every episode is a run whose planner asks the server over the OpenAI protocol, at temperature 1,
unconstrained, and with token ids and log-probs. Its samples are read from the run's log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from hisa.config import Settings
from hisa.errors import ModelUnavailable, UsageError
from hisa.events import ModelFailed, PlanRejected
from hisa.plugins.benchmarks.bench.executors.base import Executor
from hisa.plugins.benchmarks.bench.suites import Suite
from hisa.plugins.training.adapter_export import export_gguf, export_peft
from hisa.plugins.training.base import AdapterServer, Draw, ReplySample, RunPlayer
from hisa.plugins.training.gates import sampling_problem
from hisa.plugins.training.language_policy import LanguagePolicy
from hisa.plugins.training.machine_rollouts import RunRollouts, UnreadableSteps
from hisa.plugins.training.turn_batches import TurnEncoder, UnfitTurn
from hisa.protocols import Model, Role
from hisa.runs.run_reader import load_run
from hisa.runs.turns import turns

__all__ = ["LanguageRollouts", "LlamaAdapters", "VllmAdapters"]

_SECONDS = 120.0
"""For a vLLM server to load an adapter of some hundred megabytes."""
_WHOLE_REPLY = 1800.0
"""Seconds without data: llama.cpp's replies with log-probs are not streamed."""


class LlamaAdapters:
    """llama.cpp in a child process, which starts anew with the file of each adapter.

    Args:
        model: the weights, ``gguf:NAME``.
        folder: gets the files; only the newest is left.
    """

    def __init__(self, model: str, folder: Path) -> None:
        self._model, self._folder = model, folder
        self._served: tuple[int, Path] | None = None

    def serve(self, policy: LanguagePolicy) -> dict[str, Any]:
        """See `hisa.plugins.training.base.AdapterServer`."""
        if self._served is None or self._served[0] != policy.version:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = export_gguf(policy, self._folder / f"adapter-{policy.version:05d}.gguf")
            for old in self._folder.glob("adapter-*.gguf"):
                if old != path:
                    old.unlink()
            self._served = policy.version, path.resolve()
        return {"model": f"{self._model},adapter={self._served[1]}", "timeout": _WHOLE_REPLY}


class VllmAdapters:
    """A vLLM server, which loads each adapter while it runs.

    The server is started with ``--enable-lora`` and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, and reads
    the same disk.

    Args:
        address: of its OpenAI protocol, such as ``http://127.0.0.1:8000/v1``.
        folder: gets a folder of `peft` for each adapter.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self._folder = address.rstrip("/"), folder
        self._served: tuple[int, str] | None = None

    def serve(self, policy: LanguagePolicy) -> dict[str, Any]:
        """See `hisa.plugins.training.base.AdapterServer`.

        Raises:
            ModelUnavailable: the server refuses the adapter, or does not answer.
        """
        if self._served is None or self._served[0] != policy.version:
            name = f"hisa-{policy.version:05d}"
            path = export_peft(policy, self._folder / name).resolve()
            self._post("load_lora_adapter", {"lora_name": name, "lora_path": str(path)})
            if self._served is not None:
                self._post("unload_lora_adapter", {"lora_name": self._served[1]})
            self._served = policy.version, name
        return {"model": self._served[1], "base_url": self._address, "profile": "vllm"}

    def _post(self, route: str, body: Mapping[str, str]) -> None:
        url = f"{self._address}/{route}"
        try:
            response = httpx.post(url, json=dict(body), timeout=_SECONDS)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise ModelUnavailable(
                f"{url}: {error}",
                fix="VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve MODEL --enable-lora",
            ) from error


class LanguageRollouts(RunRollouts[LanguagePolicy]):
    """Episodes of a language model; see `RunRollouts`.

    Args:
        suite: its tasks are played.
        settings: of the runs.
        folder: gets the run folders.
        server: serves the policy.
        encoder: makes the samples.
        workers: machines at once; the server answers their requests in turn.
        environment: see `RunRollouts`.
        executor: see `RunRollouts`; its workers must reach the server.
    """

    def __init__(
        self,
        suite: Suite,
        settings: Settings,
        folder: Path,
        *,
        server: AdapterServer,
        encoder: TurnEncoder,
        workers: int = 1,
        environment: str = "",
        executor: Executor | None = None,
    ) -> None:
        more: dict[str, Any] = {"environment": environment, "executor": executor}
        super().__init__(suite, settings, folder, workers=workers, **more)
        self._server, self._encoder = server, encoder
        self._served: list[_ServedPolicy] = []

    @property
    def refused(self) -> int:
        """Number of replies of the last play that the planners refused, by the runs' logs."""
        return sum(player.refused for player in self._served)

    def _players(
        self, draws: Sequence[Draw], policy: LanguagePolicy, greedy: bool
    ) -> list[RunPlayer]:
        served = self._server.serve(policy)
        # All calls of a run would have the same seed, and replies that depend on each other.
        played = {"tokens": True, "constrain": False, "seed": None}
        planner = served | played | {"temperature": float(not greedy)}
        self._served = [
            _ServedPolicy(planner, self._encoder, policy.version, greedy=greedy) for _ in draws
        ]
        return [*self._served]


class _ServedPolicy:
    """The player of one run."""

    models: Mapping[Role, Model] = {}

    def __init__(
        self, planner: dict[str, Any], encoder: TurnEncoder, version: int, *, greedy: bool
    ) -> None:
        self.planner, self.policy_name = planner, str(planner["model"])
        self._encoder, self._version, self._greedy = encoder, version, greedy
        self.refused = 0

    def read_steps(self, run: Path) -> Sequence[ReplySample]:
        """Returns the planner's replies, malformed ones included.

        Raises:
            UnreadableSteps: one of them lacks what reinforcement learning needs.
            UsageError: replies were constrained, or sampled otherwise than at temperature 1.
        """
        samples = list[ReplySample]()
        log = load_run(run)
        for turn in turns(log) if not self._greedy else ():
            if turn.role != "planner" or turn.failure:
                continue
            if problem := sampling_problem(turn):
                raise UsageError(
                    f"run {run}: {problem}: not a sample of the policy", fix="hisa train check RUN"
                )
            try:
                samples.append(self._encoder.sample(turn, self._version))
            except UnfitTurn as error:
                raise UnreadableSteps(str(error)) from error
        self.refused = sum(
            isinstance(event, PlanRejected)
            or (isinstance(event, ModelFailed) and (event.role, event.kind) == ("planner", "empty"))
            for event in log.events
        )
        return samples
