"""The reward of each step (ComputerRL, 3.2): 1 in a solved episode, else 0.

The paper rewards each correctly formatted action of a solved trajectory "that contributes to the
solution" and does not say how that is decided. Here every well-formed step of a solved episode
counts as contributing. Nothing is discounted, and no reward passes from one step to another.
"""

from __future__ import annotations

from hisa.plugins.training.episodes import Episode

__all__ = ["step_rewards"]


def step_rewards(episode: Episode) -> tuple[float, ...]:
    """Returns the reward of each step, 0.0 or 1.0, in order.

    Raises:
        ValueError: the episode's machine failed; it has no reward, not even 0.
    """
    if not episode.is_sample:
        raise ValueError(f"the machine of {episode.draw.task!r} failed: no sample, so no reward")
    return tuple(float(episode.solved and sample.well_formed) for sample in episode.samples)
