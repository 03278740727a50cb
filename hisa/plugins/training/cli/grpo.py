"""``hisa train grpo``: step-level GRPO on pages, with Entropulse."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, say
from hisa.plugins.training.cli.sft import run_options, training

if TYPE_CHECKING:
    from hisa.plugins.training.asynchronous import AsynchronousTraining

__all__ = ["grpo"]

_EXAMPLES = examples(
    "hisa train grpo click-link click-test-2 click-button -o scratch",
    "hisa train grpo click-option enter-text -o tuned --from cloned/checkpoints/last.safetensors",
    "hisa train grpo -o tuned --resume --updates 200",
    "hisa train grpo click-checkboxes -o pulsed --lr 1e-3 --updates 80 --pulse-at 41",
    "hisa train grpo click-link click-tab -o apart --asynchronous --max-age 2 --workers 4",
    "hisa train report tuned",
)
_COUNT = click.IntRange(1)


@click.command(epilog=_EXAMPLES)
@run_options
@click.option("--updates", type=_COUNT, default=100, help="In all (100).")
@click.option("--groups", type=_COUNT, default=24, help="Of one update, over all pages (24).")
@click.option("--group-size", type=click.IntRange(2), default=8, help="Episodes of one seed (8).")
@click.option("--lr", type=float, default=2e-4, help="Constant rate of AdamW (0.0002).")
@click.option("--kl", type=float, default=0.0003, help="Weight of the KL to the start (0.0003).")
@click.option("--clip", type=click.FloatRange(0, 1), default=0.2, help="Of the ratio (0.2).")
@click.option("--clip-high", type=float, metavar="X", help="Upwards; as --clip. DAPO has 0.28.")
@click.option("--passes", type=_COUNT, default=4, help="Over the steps of an update (4).")
@click.option("--evaluate-every", type=click.IntRange(0), default=5, help="Updates; 0: never (5).")
@click.option(
    "--pulse-at", type=int, default=0, metavar="N", help="Update N is Entropulse's phase."
)
@click.option("--arm", type=click.Choice(["pulse", "control", "higher-clip"]), default="pulse")
@click.option("--asynchronous", is_flag=True, help="Play on while the policy is updated.")
@click.option("--max-age", type=click.IntRange(0), default=1, help="Of an episode, in updates (1).")
@click.option("--workers", type=_COUNT, default=1, help="Processes that play on (1).")
@click.option("--ray", is_flag=True, help="Ray's tasks in place of processes.")
@click.pass_context
def grpo(ctx: click.Context, /, out: Path, **how: Any) -> None:
    """Train a policy on PAGES of MiniWoB++ by step-level GRPO (ComputerRL, 3.2).

    Each group plays one new instance of a page, on seeds below 500,000. Greedy scores are of 20
    seeds a page from 900,000; checkpoints/best.safetensors is the first with the best of them. A
    report is to measure it on seeds from 1,000,000, which no training sees.

    Update N of --pulse-at is supervised (Entropulse, 3.3): successes of all versions are cloned,
    and the KL is then taken to the result. --arm control only resets the reference, and
    higher-clip raises the upper clip to 0.28 as well.

    With --asynchronous, workers play in processes of their own. An episode is begun only where it
    can be used at most --max-age updates after its first action, and is weighed by truncated
    importance; evaluations are made between updates, as ever.
    """
    with training(ctx, out, how, "updates") as (folder, rollouts, policy, after):
        from hisa.plugins.training.step_training import GrpoSettings, StepTraining

        own = {name: how[name] for name in how if name in GrpoSettings.__dataclass_fields__}
        parts = (folder, policy, rollouts, how["pages"], GrpoSettings(**own), after)
        run = _asynchronous(parts, how) if how["asynchronous"] else StepTraining(*parts)
        run.run()
        best = "never taken" if run.best is None else f"{run.best:.2f}"
        say(f"{folder.checkpoint('best')}: greedy score {best}, seeds from 900,000")


def _asynchronous(parts: tuple[Any, ...], how: dict[str, Any]) -> AsynchronousTraining:
    from hisa.plugins.training.asynchronous import AsynchronousTraining
    from hisa.plugins.training.episode_buffer import Terms
    from hisa.plugins.training.page_rollouts import PageRollouts
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.rollout_workers import Crew

    policy = partial(PointerPolicy.load, parts[0].checkpoint("last"))
    crew = Crew(partial(PageRollouts, how["pages"]), policy, how["workers"])
    terms = Terms(how["groups"], how["max_age"])
    return AsynchronousTraining(*parts, crew=crew, terms=terms, ray=how["ray"])
