"""Checks of a vision-language trainer before its first update, each on the trainer's own calls.

Engines lose pictures between a rollout and the trainer, or mix up the rows of a batch, and the loss
falls all the same. Here the pixels that enter the vision tower are turned back into pictures and
compared with what was sent, and the same tokens are scored with the right picture, another one, and
none.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps

from hisa.plugins.training.gate_results import GateResult
from hisa.plugins.training.vlm_policy import Row, VisionPolicy
from hisa.plugins.training.vlm_questions import Question

__all__ = [
    "check_malformed_replies",
    "check_pixels",
    "check_sampler",
    "check_vision",
    "measure_pixels",
]

_CHECKED = 4
"""Questions of the checks; each is scored eight times."""

_LEVELS = 2.0
"""Most mean difference, of 255, between a picture that was sent and one that arrived: bfloat16
rounds a level by less than one."""
_BEYOND_NOISE = 10
"""How many times the noise a picture must change a log-probability."""
_LEAST_NOISE = 1e-5
"""Of a log-probability summed over a reply, float32."""
_PER_TOKEN = {"cpu": 1e-3, "cuda": 0.1}
"""Most mean difference of a token's log-probability between sampler and trainer, in nats, by
device. float32 was seen to differ by 1e-6; bfloat16 has the bound of `gates`."""


class _Lost(Exception):
    """Pictures do not arrive as they were sent; the message says how."""


class PixelGains(NamedTuple):
    """What pictures change, in nats of a reply's log-probability, over some questions."""

    noise: float  # most difference between a row in a batch and the row alone
    change: float  # mean difference that another picture makes, or none: the lesser of the two
    other: float  # mean log-probability with the right picture minus that with another one
    none: float  # the same minus that without a picture


def check_vision(
    policy: VisionPolicy, questions: Sequence[Question], longest: int
) -> list[GateResult]:
    """Runs all checks on a few questions of different pictures.

    Args:
        policy: changed in nothing.
        questions: to train on; the first ones of different pictures are used.
        longest: most tokens of a reply.
    """
    pictures = {question.png: question for question in reversed(questions)}
    few = list(pictures.values())[-_CHECKED:]
    torch.manual_seed(0)
    return [
        check_pixels(policy, few),
        check_sampler(policy, few, longest),
        check_malformed_replies(policy, few),
    ]


def check_pixels(policy: VisionPolicy, questions: Sequence[Question]) -> GateResult:
    """Checks that pictures reach the model when it replies and when replies are scored.

    Args:
        policy: changed in nothing.
        questions: a few, of several pictures where there are several.
    """
    name = "pixels"
    try:
        gains = measure_pixels(policy, questions)
    except _Lost as error:
        return GateResult(name, False, str(error))
    detail = (
        f"the right picture is worth {gains.other:+.3g} nats against another one, "
        f"{gains.none:+.3g} against none; a picture changes {gains.change:.2g}, noise is "
        f"{gains.noise:.2g} ({len(questions)} replies)"
    )
    return GateResult(name, gains.change >= _BEYOND_NOISE * gains.noise, detail)


def measure_pixels(policy: VisionPolicy, questions: Sequence[Question]) -> PixelGains:
    """Returns what the right picture, another one and none are worth for the right replies."""
    rows: list[Row] = [
        (question, policy.encode(policy.form.write(question.box, question.description)))
        for question in questions
    ]
    with torch.no_grad():
        with _arriving(policy, questions):
            policy.ask(questions, longest=1, greedy=True)
        with _arriving(policy, questions):
            right = policy.log_probs(rows)
        alone = torch.cat([policy.log_probs([row]) for row in rows])
        others = [(_with_other_picture(questions, at), ids) for at, (_, ids) in enumerate(rows)]
        other, none = policy.log_probs(others), policy.log_probs(rows, blind=True)
    change = min(float((right - without).abs().mean()) for without in (other, none))
    noise = max(_LEAST_NOISE, float((right - alone).abs().max()))
    gains = [float((right - without).mean()) for without in (other, none)]
    return PixelGains(noise, change, *gains)


def check_sampler(policy: VisionPolicy, questions: Sequence[Question], longest: int) -> GateResult:
    """Checks that replies are drawn with the log-probabilities that the trainer computes.

    Constrained replies, another temperature or a cut-off tail make them differ.

    Args:
        policy: changed in nothing.
        questions: a few.
        longest: most tokens of a reply.
    """
    replies = [own[0] for own in policy.ask(questions, longest=longest)]
    rows = [(question, reply.ids) for question, reply in zip(questions, replies, strict=True)]
    with torch.no_grad():
        scored: list[list[float]] = policy.score(rows).tolist()
    gaps = [
        abs(own - sampled)
        for tokens, reply in zip(scored, replies, strict=True)
        for own, sampled in zip(tokens, reply.logprobs, strict=False)  # short replies are padded
    ]
    gap, bound = sum(gaps) / len(gaps), _PER_TOKEN[policy.base.device.type]
    detail = f"sampler and trainer differ by {gap:.2g} nats a token in the mean (bound {bound:g})"
    return GateResult("log-probs", gap <= bound, detail)


def check_malformed_replies(policy: VisionPolicy, questions: Sequence[Question]) -> GateResult:
    """Checks that right replies whose last character is missing are malformed, with reward 0."""
    paid = 0
    for question in questions:
        cut = policy.form.write(question.box, question.description)[:-1]
        reward = policy.form.reward(cut, question.box)
        paid += reward.formed or reward.total != 0
    detail = f"{paid} of {len(questions)} replies without their last character have a reward"
    return GateResult("malformed replies", not paid, detail)


@contextmanager
def _arriving(policy: VisionPolicy, questions: Sequence[Question]) -> Iterator[None]:
    """Checks that the pictures entering the vision tower are those of the questions, in order.

    Raises:
        _Lost: they are others, or none.
    """
    arrived = list[NDArray[np.float64]]()

    def look(_tower: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        grids = named["grid_thw"].tolist()
        pixels = args[0] if args else named["hidden_states"]
        parts = pixels.float().split([across * down for _, across, down in grids])
        arrived.extend(_rebuild(policy, *pair) for pair in zip(parts, grids, strict=True))

    hook = policy.base.model.visual.register_forward_pre_hook(look, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
    if len(arrived) != len(questions):
        raise _Lost(f"{len(arrived)} pictures of {len(questions)} reach the model")
    for question, picture in zip(questions, arrived, strict=True):
        sent = np.asarray(Image.open(io.BytesIO(question.png)).convert("RGB"), np.float64)
        if sent.shape != picture.shape or np.abs(sent - picture).mean() > _LEVELS:
            raise _Lost(f"another picture than that of {question.place} reaches the model")


def _rebuild(policy: VisionPolicy, patches: torch.Tensor, grid: list[int]) -> NDArray[np.float64]:
    """Returns the picture of normalised patches, 0 to 255 [height, width, 3]."""
    settings = policy.processor.image_processor
    merge, side = settings.merge_size, settings.patch_size
    rows, columns = grid[1] // merge, grid[2] // merge
    cut = patches.cpu().double().numpy()
    cut = cut.reshape(rows, columns, merge, merge, 3, settings.temporal_patch_size, side, side)
    picture = cut[:, :, :, :, :, 0].transpose(0, 2, 5, 1, 3, 6, 4)
    picture = picture.reshape(rows * merge * side, columns * merge * side, 3)
    normal = picture * np.array(settings.image_std) + np.array(settings.image_mean)
    rebuilt: NDArray[np.float64] = normal / settings.rescale_factor
    return rebuilt


def _with_other_picture(questions: Sequence[Question], at: int) -> Question:
    """Returns a question with the picture of another one, at its own size, or its own inverted."""
    own = questions[at]
    png = next((q.png for q in [*questions[at:], *questions[:at]] if q.png != own.png), None)
    picture = Image.open(io.BytesIO(png or own.png)).convert("RGB")
    picture = picture.resize((own.size.width, own.size.height)) if png else ImageOps.invert(picture)
    content = io.BytesIO()
    picture.save(content, "PNG")
    return Question(content.getvalue(), own.size, own.description, own.box, own.place)
