"""Training of small policies: cloning, step-level GRPO, Entropulse, and a click-reward grounder."""

from hisa.machine.plugins import Command

__all__ = ["TRAIN"]

TRAIN = Command(
    "hisa.plugins.training.cli:train",
    "Train small policies on pages and a grounder on clicks, and plot the curves.",
    after="synth",
)
