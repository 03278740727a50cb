"""The net that detects controls: a small pyramid of convolutions with one map at a quarter size."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn
from torch.nn import functional

from hisa.plugins.eyes.detector import OUTER_ROLES, ROLES, STATES

__all__ = ["DetectorNet", "compute_losses"]

_HEATS = len(ROLES) + 1
"""Heat maps: one a role, and one for any role."""
_WIDTHS = (16, 32, 64, 96, 128)
"""Channels at strides 2, 4, 8, 16 and 32. Dense 3x3 convolutions: on CPUs they run at ten times the
operations a second of depth-wise ones when trained."""
_MERGED, _HEAD = 48, 64
_GROUPS = tuple(
    [n for n, role in enumerate(ROLES) if (role in OUTER_ROLES) == outer] for outer in (False, True)
)
"""Channels of the inner and of the outer roles."""
_RARE, _USUAL_SIDE = -4.0, 2.5
"""First biases: a control in 50 cells, and sides 12 pixels away (logarithm)."""


def _convolve(inner: int, outer: int, *, stride: int = 1, step: int = 1) -> nn.Module:
    convolution = nn.Conv2d(inner, outer, 3, stride, step, dilation=step, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outer), nn.ReLU(inplace=True))


class _Residual(nn.Module):
    """Two convolutions beside a shortcut; ``step`` spreads their cells to see further."""

    def __init__(self, width: int, step: int = 1) -> None:
        super().__init__()
        self.first, self.second = (_convolve(width, width, step=step) for _ in range(2))

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, cells + self.second(self.first(cells)))


class _Merge(nn.Module):
    """Adds a coarse map to a finer one."""

    def __init__(self, coarse: int, fine: int, outer: int) -> None:
        super().__init__()
        self.coarse, self.fine = (nn.Conv2d(inner, outer, 1) for inner in (coarse, fine))
        self.join = nn.Sequential(nn.ReLU(inplace=True), _convolve(outer, outer))

    def forward(self, coarse: torch.Tensor, fine: torch.Tensor) -> torch.Tensor:
        enlarged = functional.interpolate(self.coarse(coarse), scale_factor=2.0, mode="nearest")
        return cast(torch.Tensor, self.join(enlarged + self.fine(fine)))


def _stage(inner: int, outer: int, *steps: int) -> nn.Module:
    residuals = (_Residual(outer, step) for step in steps)
    return nn.Sequential(_convolve(inner, outer, stride=2), *residuals)


class DetectorNet(nn.Module):
    """Takes pixels [n, height, width, 3] of 0 to 255 and returns raw maps [n, channels, h/4, w/4].

    The sides must be multiples of 32. For the channels see `hisa.plugins.eyes.detector.read_maps`.
    The steps of the coarsest residuals let a cell see some 900 pixels: dialogs are that wide.
    """

    def __init__(self) -> None:
        super().__init__()
        half, quarter, eighth, coarse, coarsest = _WIDTHS
        self.stem = nn.Sequential(
            _convolve(3, half, stride=2), _convolve(half, quarter, stride=2), _Residual(quarter)
        )
        self.eighth = _stage(quarter, eighth, 1, 1)
        self.coarse = _stage(eighth, coarse, 1, 1)
        self.coarsest = _stage(coarse, coarsest, 2, 3)
        self.merge_coarse = _Merge(coarsest, coarse, eighth)
        self.merge_eighth = _Merge(eighth, eighth, eighth)
        self.merge_quarter = _Merge(eighth, quarter, _MERGED)
        self.head = _convolve(_MERGED, _HEAD)
        self.out = nn.Conv2d(_HEAD, _HEATS + 8 + len(STATES), 1)
        with torch.no_grad():
            self.out.bias[:_HEATS] = _RARE
            self.out.bias[_HEATS : _HEATS + 8] = _USUAL_SIDE

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Returns raw maps; see the class."""
        quarter = self.stem(pixels.permute(0, 3, 1, 2).float() / 64 - 2)
        eighth = self.eighth(quarter)
        coarse = self.coarse(eighth)
        cells = self.merge_coarse(self.coarsest(coarse), coarse)
        cells = self.merge_quarter(self.merge_eighth(cells, eighth), quarter)
        cells = self.head(cells)
        with torch.autocast("cpu", enabled=False):  # 8 bits are too few for logarithms of sides
            return cast(torch.Tensor, self.out(cells.float()))


def compute_losses(
    maps: torch.Tensor,
    heat: torch.Tensor,
    sides: torch.Tensor,
    weights: torch.Tensor,
    states: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Returns the losses "heat", "role", "box" and "state", of which the sum is trained.

    "heat" learns where centres are. "role" compares the roles at all cells of a box with one
    another, which a heat map learns at a single cell; rare roles count more.

    Args:
        maps: the net's raw maps [n, channels, h, w].
        heat: the true maps, here and below, as `detector_data.draw_maps` makes them.
        sides: logarithms of distances in pixels.
        weights: how much a cell of a box counts.
        states: 1 where a state is seen.
    """
    sizes = (_HEATS, 8, len(STATES))
    scores, distances, state_scores = maps.permute(0, 2, 3, 1).split(sizes, -1)
    chance, log_chance = scores.sigmoid(), functional.logsigmoid(scores)
    right = (1 - chance) ** 2 * log_chance
    wrong = (1 - heat) ** 4 * chance**2 * (log_chance - scores)
    has_box = weights.amax(-1) > 0  # cells without one cost nothing
    true, at = sides[has_box], weights[has_box]
    guess = distances[has_box].unflatten(-1, (2, 4))
    apart = _compare_boxes(guess, true) + 0.25 * (guess - true).abs().sum(-1)
    doubt = functional.binary_cross_entropy_with_logits(
        state_scores[has_box], states[has_box], reduction="none"
    )
    roles = [
        _compare_roles(scores[..., group], heat[..., group], weights[..., number])
        for number, group in enumerate(_GROUPS)
    ]
    losses = {
        "heat": -torch.where(heat == 1, right, wrong).sum(),
        "role": torch.stack(roles).sum(),
        "box": 2 * (apart * at).sum(),
        "state": (doubt.sum(-1) * at.amax(-1)).sum(),
    }
    return {name: loss / weights.sum().clamp(min=1) for name, loss in losses.items()}


def _compare_roles(scores: torch.Tensor, heat: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns the summed cross entropy of the roles of a group; all arguments are as above."""
    has_box = weights > 0
    true, at = heat[has_box], weights[has_box]
    true = true / true.sum(-1, keepdim=True).clamp(min=1e-6)
    counts = (true * at[:, None]).sum(0)
    rarity = (counts.sum() / (counts + 1)).sqrt()
    rarity = rarity / ((rarity * counts).sum() / counts.sum().clamp(min=1)).clamp(min=1e-6)
    return -(true * scores[has_box].log_softmax(-1) * rarity * at[:, None]).sum()


def _compare_boxes(guess: torch.Tensor, true: torch.Tensor) -> torch.Tensor:
    """Returns 1 less the generalised overlap of boxes, given as logarithms of their sides."""
    first, second = guess.clamp(max=8).exp(), true.exp()
    shared, around = torch.minimum(first, second), torch.maximum(first, second)
    areas = [
        (side[..., 0] + side[..., 2]) * (side[..., 1] + side[..., 3])
        for side in (first, second, shared, around)
    ]
    union = areas[0] + areas[1] - areas[2]
    return 2 - areas[2] / union - union / areas[3]
