"""Gates before the first update: what must hold of recorded turns, or training learns nonsense.

The log-probs of the trainer are those of the server; the replies were drawn from the policy's whole
distribution; malformed replies are samples, with reward 0. ``hisa train check`` runs them alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch

from hisa.plugins.training.base import Episode, ReplySample
from hisa.plugins.training.gate_results import GateResult, require_gates
from hisa.plugins.training.language_policy import LanguagePolicy, TokenScores
from hisa.plugins.training.turn_batches import TurnEncoder, UnfitTurn, is_malformed
from hisa.runs.turns import Turn

__all__ = [
    "FirstUpdateGates",
    "check_logprobs",
    "check_malformed",
    "check_sampling",
    "check_surprise",
    "check_turns",
    "sampling_problem",
    "score_samples",
]

_FARTHEST = 4.0
"""Standard errors between surprise and entropy that pass: one honest check of 16,000 is farther."""
_PLAIN: dict[str, tuple[float, ...]] = {
    "temperature": (1.0,),
    "top_p": (1.0,),
    "top_k": (0, -1),
    "min_p": (0.0,),
    "repetition_penalty": (1.0,),
    "repeat_penalty": (1.0,),
    "frequency_penalty": (0.0,),
    "presence_penalty": (0.0,),
}
"""Fields of a request to the values at which replies are drawn from the whole distribution."""
_CONSTRAINTS = (
    *("response_format", "grammar", "json_schema", "structured_outputs", "logit_bias", "tools"),
    *("guided_json", "guided_regex", "guided_choice", "guided_grammar"),
)


def sampling_problem(turn: Turn) -> str:
    """Returns why the reply to a request was not drawn from the policy as it is; empty if it was.

    Constrained replies are drawn from another distribution than the log-probs describe, as are
    those at another temperature or with a part of the tokens cut off.
    """
    body = turn.request
    if field := next((name for name in _CONSTRAINTS if body.get(name)), ""):
        return f"its replies were constrained ({field})"
    for name, plain in _PLAIN.items():
        if name in body and body[name] not in plain:
            return f"its replies were sampled with {name} {body[name]}, not {plain[0]:g}"
    if "temperature" not in body:
        return "its replies were sampled at a temperature that the request does not say"
    return ""


def check_sampling(turns: Iterable[Turn]) -> GateResult:
    """Checks the requests: nothing constrains the replies, and nothing changes the sampling."""
    every = list(turns)
    problems = [problem for turn in every if (problem := sampling_problem(turn))]
    if problems:
        return GateResult(
            "sampling", False, f"{len(problems)} of {len(every)} turns: {problems[0]}"
        )
    return GateResult("sampling", bool(every) or None, f"{len(every)} requests change nothing")


def score_samples(policy: LanguagePolicy, samples: Sequence[ReplySample]) -> list[TokenScores]:
    """Returns what a policy says of the replies, without gradients; a pass takes seconds."""
    with torch.inference_mode():
        return [policy.score(sample) for sample in samples]


def check_logprobs(
    scores: Sequence[TokenScores], samples: Sequence[ReplySample], *, bound: float = 0.05
) -> GateResult:
    """Checks that the trainer's log-probs equal the server's, token by token.

    Args:
        scores: of the samples, by the weights that were served.
        samples: of recorded turns.
        bound: of the mean difference, in nats.
    """
    name = "log-probs"
    if not samples:
        return GateResult(name, None, "no turn has token ids and log-probs")
    pairs = zip(scores, samples, strict=True)
    differences = torch.cat([own.logprobs - torch.tensor(s.logprobs) for own, s in pairs])
    mean, most = float(differences.abs().mean()), float(differences.abs().max())
    detail = (
        f"{len(differences)} tokens of {len(samples)} replies differ from the server's by "
        f"{mean:.4f} nats in the mean (bound {bound:g}), {most:.3f} at most"
    )
    return GateResult(name, mean <= bound, detail)


def check_surprise(scores: Sequence[TokenScores]) -> GateResult:
    """Checks by the replies themselves that they were drawn at temperature 1 from all tokens.

    The surprise -log p of a drawn token is the entropy in the mean. A server that cuts off the tail
    or lowers the temperature, whatever the request says, gives replies that surprise too little.
    """
    name = "drawn from the whole distribution"
    surprise = -sum(float(own.logprobs.sum()) for own in scores)
    entropy = sum(float(own.entropies.sum()) for own in scores)
    variance = sum(float(own.variances.sum()) for own in scores)
    tokens = sum(len(own.logprobs) for own in scores)
    if not variance:
        return GateResult(name, None, f"{tokens} tokens, of which none was a choice")
    distance = (surprise - entropy) / math.sqrt(variance)
    detail = (
        f"surprise {surprise / tokens:.3f} nats a token, entropy {entropy / tokens:.3f}: "
        f"{distance:+.1f} standard errors (at most {_FARTHEST:g})"
    )
    return GateResult(name, abs(distance) <= _FARTHEST, detail)


def check_malformed(refused: int, samples: Iterable[ReplySample]) -> GateResult:
    """Checks that each refused reply is a sample, which then has no reward.

    Args:
        refused: replies that the planner refused, and empty ones.
        samples: of the same runs.
    """
    without = sum(not sample.well_formed for sample in samples)
    detail = f"{refused} replies were refused, {without} samples have reward 0 for their form"
    return GateResult(
        "malformed replies", refused == without if refused or without else None, detail
    )


def check_turns(
    policy: LanguagePolicy, encoder: TurnEncoder, turns: Sequence[Turn], *, bound: float = 0.05
) -> list[GateResult]:
    """Runs all gates on answered turns of one role, by the weights that wrote them.

    Args:
        policy: with the weights that were served.
        encoder: makes the samples.
        turns: recorded ones.
        bound: see `check_logprobs`.
    """
    samples, reasons = list[ReplySample](), list[str]()
    for turn in turns:
        try:
            samples.append(encoder.sample(turn))
        except UnfitTurn as error:
            reasons.append(str(error))
    details = f"{len(samples)} of {len(turns)} turns are samples"
    if reasons:
        details += f"; the first other: {reasons[0]}"
    scores = score_samples(policy, samples)
    return [
        GateResult("turns", not reasons if turns else None, details),
        check_sampling(turns),
        check_logprobs(scores, samples, bound=bound),
        check_surprise(scores),
        check_malformed(sum(map(is_malformed, turns)), samples),
    ]


class FirstUpdateGates:
    """Checks the episodes of the first update of a process, before it is made.

    Args:
        policy: that played them.
        refused: returns the number of replies that the planners refused.
        bound: see `check_logprobs`.
        report: gets each `GateResult`.
    """

    def __init__(
        self,
        policy: LanguagePolicy,
        refused: Callable[[], int],
        bound: float,
        report: Callable[[GateResult], None],
    ) -> None:
        self._policy, self._refused, self._bound, self._report = policy, refused, bound, report
        self._passed = False

    def __call__(self, episodes: Iterable[Episode]) -> None:
        """Runs the gates unless they have passed.

        Raises:
            UsageError: one failed; nothing was trained.
        """
        samples = [s for e in episodes for s in e.samples if isinstance(s, ReplySample)]
        if self._passed or not samples:
            return
        scores = score_samples(self._policy, samples)
        gates = (
            check_logprobs(scores, samples, bound=self._bound),
            check_surprise(scores),
            check_malformed(self._refused(), samples),
        )
        require_gates(gates, self._report)
        self._passed = True
