"""``hisa train``: one command a file, imported when it is called."""

import click

from hisa.cli.open_group import OpenGroup
from hisa.cli.out import examples
from hisa.machine.plugins import Command

__all__ = ["train"]

_PLACE = "hisa.plugins.training.cli"
_OWN = {
    "sft": Command(f"{_PLACE}.train_sft:sft", "Clone what rules do on pages."),
    "grpo": Command(f"{_PLACE}.train_grpo:grpo", "Step-level GRPO on pages or machines."),
    "grounder": Command(f"{_PLACE}.train_grounder:grounder", "Train a small grounder by clicks."),
    "report": Command(f"{_PLACE}.training_report:report", "Write a page of the curves of runs."),
}


_EXAMPLES = examples(
    "hisa train sft click-button click-checkboxes enter-text -o cloned",
    "hisa train grpo click-option --from cloned/checkpoints/last.safetensors -o tuned",
    "hisa train report tuned",
    "hisa train grounder -o grounder",
)


@click.group(cls=OpenGroup, own=_OWN, prefix="train.", epilog=_EXAMPLES)
def train() -> None:
    """Train small policies, and a grounder on clicks, and look at the curves."""
