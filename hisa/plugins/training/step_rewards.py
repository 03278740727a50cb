"""The reward of each step (ComputerRL, 3.2): 1 in a solved episode, else 0.

The paper rewards correctly formatted actions of a solved trajectory that "contribute to the
solution", and does not say which do: here all that are well-formed. Nothing is discounted.
"""

from __future__ import annotations

from hisa.plugins.training.episodes import Episode

__all__ = ["step_rewards"]


def step_rewards(episode: Episode) -> tuple[float, ...]:
    """Returns 0.0 or 1.0 for each step; raises ValueError where the machine failed: no sample."""
    if not episode.is_sample:
        raise ValueError(f"the machine of {episode.draw.task!r} failed: there is no reward")
    return tuple(float(episode.solved and sample.well_formed) for sample in episode.samples)
