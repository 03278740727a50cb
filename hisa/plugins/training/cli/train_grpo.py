"""``hisa train grpo``: step-level GRPO on pages or on machines, with Entropulse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.out import examples, say
from hisa.errors import UsageError
from hisa.plugins.training.cli.train_sft import page_source, run_options, training

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts
    from hisa.plugins.training.rollout_workers import RolloutWorkers

__all__ = ["grpo"]

_EXAMPLES = examples(
    "hisa train grpo click-link click-test-2 click-button -o scratch",
    "hisa train grpo click-option enter-text -o tuned --from cloned/checkpoints/last.safetensors",
    "hisa train grpo -o tuned --resume --updates 200",
    "hisa train grpo click-checkboxes -o pulsed --lr 1e-3 --updates 80 --pulse-at 41",
    "hisa train grpo click-link click-tab -o apart --asynchronous --max-age 2 --workers 4",
    "hisa train grpo own:tasks --env desktop "
    "--groups 2 --group-size 4 --max-steps 4 --updates 1 --evaluate-every 0 -o desks",
    "hisa train report tuned",
)
_COUNT = click.IntRange(1)


@click.command(epilog=_EXAMPLES)
@run_options
@click.option("--updates", type=_COUNT, default=100, help="In all (100).")
@click.option("--groups", type=_COUNT, default=24, help="Of one update, over all tasks (24).")
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
@click.option("--workers", type=_COUNT, default=1, help="Processes, or machines at once (1).")
@click.option("--env", metavar="KIND", help="Machines in place of pages: desktop, vm:NAME, …")
@click.option("--task", "only", multiple=True, metavar="ID", help="Only these tasks of SUITE.")
@click.option("--max-steps", type=_COUNT, default=15, help="Of an episode on a machine (15).")
@click.pass_context
def grpo(ctx: click.Context, /, out: Path, **how: Any) -> None:
    """Train a policy by step-level GRPO (ComputerRL, 3.2) on PAGES of MiniWoB++.

    With --env it is trained on the tasks of one SUITE in place of pages, such as own:DIR, whose
    task files end in .yaml: each episode is a run on a machine of its own, kept in DIR/runs.
    An episode takes seconds to minutes, so begin with few groups. A task that is always or never
    solved gives no gradient: hisa train report says of which tasks groups had a spread.

    Each group plays one new instance, on seeds below 500,000. Greedy scores are of 20 seeds a page
    from 900,000, or of one episode a task; checkpoints/best.safetensors is the first with the best
    of them. A report is to measure it on seeds from 1,000,000, which no training sees.

    Update N of --pulse-at is supervised (Entropulse, 3.3): successes of all versions are cloned,
    and the KL is then taken to the result. --arm control only resets the reference, and
    higher-clip raises the upper clip to 0.28 as well.

    With --asynchronous, workers play in processes of their own. An episode is begun only where it
    can be used at most --max-age updates after its first action, and is weighed by truncated
    importance; evaluations are made between updates, as ever.
    """
    source = partial(_source, given=ctx.meta["hisa.settings"])
    with training(ctx, out, how, "updates", source) as (folder, rollouts, policy, after):
        from hisa.plugins.training.grpo import GrpoSettings, StepTraining

        own = {name: how[name] for name in how if name in GrpoSettings.__dataclass_fields__}
        own |= {"evaluation_seeds": 1} if how["env"] else {}  # a machine has no other instances
        settings = GrpoSettings(**own)
        apart = _workers(how, source, rollouts, folder.path) if how["asynchronous"] else None
        parts = (folder, policy, rollouts, rollouts.tasks, settings, after)
        run = StepTraining(*parts, workers=apart)
        run.run()
        if run.best is None:
            return say(f"{folder.checkpoint('last')}: no greedy score was taken")
        return say(f"{folder.checkpoint('best')}: greedy score {run.best:.2f}, seeds from 900,000")


def _source(how: dict[str, Any], out: Path, given: Any) -> Rollouts:
    """Pages, or with --env the tasks of a suite on machines."""
    if not how["env"]:
        return page_source(how, out)
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import open_suite
    from hisa.plugins.training.machine_rollouts import MachineRollouts

    if len(how["pages"]) != 1:
        raise UsageError(f"--env {how['env']}: one SUITE, such as own:DIR, not pages")
    changes = {"run": {"max_steps": how["max_steps"]}, "environment": {"kind": how["env"]}}
    settings = load(*given, overrides=changes)
    suite = open_suite(how["pages"][0], how["only"], settings=settings.tasks)
    machines = 1 if how["asynchronous"] else how["workers"]
    return MachineRollouts(suite, settings, out / "runs", workers=machines)


def _workers(
    how: dict[str, Any], source: Callable[..., Any], rollouts: Rollouts, out: Path
) -> RolloutWorkers:
    """Processes that play; each has pages of its own, or one machine."""
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.rollout_workers import Crew, RolloutWorkers

    policy = partial(PointerPolicy.load, out / "checkpoints" / "last.safetensors")
    pages: Callable[..., Rollouts] = type(rollouts)
    crew = Crew(partial(pages, how["pages"]), policy, out / "weights", how["workers"])
    if how["env"]:  # a worker has one machine: what else it took would wait for that
        crew = replace(crew, rollouts=partial(source, how, out), wave=1)
    return RolloutWorkers(crew, how["max_age"])
