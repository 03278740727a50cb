"""Which tasks of a pool give a gradient, by the groups that a policy has played on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from hisa.plugins.benchmarks.bench.stats import Estimate, rate_over_tasks
from hisa.plugins.training.advantages import by_group, step_rewards, z_scores
from hisa.plugins.training.episodes import Episode

__all__ = ["Calibration", "calibrate"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A task's shares of episodes solved and of groups whose steps' rewards differ.

    Wilson's 95% intervals are over groups (``n``), those left out in which every machine failed.
    """

    solved: Estimate
    spread: Estimate

    @property
    def gives_gradient(self) -> bool | None:
        """Whether a group had spread, of those played; None: none was."""
        return None if self.spread.value is None else self.spread.value > 0


def calibrate(episodes: Iterable[Episode]) -> dict[str, Calibration]:
    """Returns the calibration of each task; raises as `advantages.by_group` does."""
    solved, spread = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for group in by_group(episodes).values():
        task, played = group[0].draw.task, [member for member in group if member.is_sample]
        rewards = [reward for member in played for reward in step_rewards(member)]
        won = sum(member.solved for member in played)
        solved[task] += [won / len(played)] if rewards else []
        spread[task] += [float(z_scores(rewards) is not None)] if rewards else []
    return {
        task: Calibration(*map(rate_over_tasks, (solved[task], spread[task]))) for task in solved
    }
