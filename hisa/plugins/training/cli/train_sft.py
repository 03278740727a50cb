"""``hisa train sft``, and what it shares with ``hisa train grpo``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hisa.cli.out import examples, say, say_error
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command

if TYPE_CHECKING:
    from hisa.plugins.training.base import Rollouts
    from hisa.plugins.training.curves import MetricsRow
    from hisa.plugins.training.episodes import Episode
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.sft import CloningSettings
    from hisa.plugins.training.strata import CloningSet
    from hisa.plugins.training.training_folder import TrainingFolder

__all__ = ["page_source", "run_options", "sft", "training"]

_DEMONSTRATION_SEEDS = range(500_000, 501_000)
_EXAMPLES = examples(
    "hisa train sft click-button click-checkboxes enter-text -o cloned",
    "hisa train sft login-user -o login --demonstrations 40 --epochs 10",
    "hisa train sft -o cloned --resume",
    "hisa train sft click-link -o two --policy rules --policy cloned/checkpoints/last.safetensors",
    "hisa train grpo click-option click-button --from cloned/checkpoints/last.safetensors -o tuned",
)
_OPTIONS = (
    click.argument("pages", nargs=-1, metavar="PAGES..."),
    click.option(
        "-o",
        "out",
        required=True,
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Folder of the run: settings, metrics, checkpoints.",
    ),
    click.option("--from", "start", metavar="FILE", help="Checkpoint to begin with; a fresh one."),
    click.option("--seed", type=click.IntRange(0, 10_000), default=0, help="Of all draws (0)."),
    click.option("--resume", is_flag=True, help="Go on with the run in DIR after its last update."),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that all training on pages has."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def page_source(how: dict[str, Any], _out: Path) -> Rollouts:
    """Returns the pages that settings name."""
    from hisa.plugins.training.page_rollouts import PageRollouts

    return PageRollouts(how["pages"])


@contextmanager
def training(
    ctx: click.Context, out: Path, how: dict[str, Any], total: str, source: Any = page_source
) -> Iterator[tuple[TrainingFolder, Rollouts, PointerPolicy, Callable[[MetricsRow], None]]]:
    """Yields a run's folder, rollouts of `source`, policy and progress; `how` gets the settings.

    Raises:
        UsageError: there is no torch; or a resumed run is given another setting than `total`.
    """
    try:
        import torch
    except ImportError as error:
        fix = install_command("train")
        raise LibraryLacking(f"training needs torch: {error}", fix=fix) from error
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.training_folder import TrainingFolder

    resume, start = how.pop("resume"), how["start"]
    if resume:
        _take_settings(ctx, out, how, total)
    if not how["pages"]:
        raise UsageError("no pages", fix=f"hisa train {ctx.info_name} click-button -o {out}")
    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    policy = PointerPolicy.load(Path(start)) if start else PointerPolicy.fresh(how["seed"])
    rollouts = source(how, out)
    folder = TrainingFolder(out, how, resume=resume)
    try:
        yield folder, rollouts, policy, lambda row: say_error(_line(row, how[total]))
    except KeyboardInterrupt as error:
        say_error(f"stopped; all whole {total} are kept. Go on with:")
        say_error(f"  hisa train {ctx.info_name} -o {out} --resume")
        raise click.Abort from error
    finally:
        rollouts.close()
        folder.close()


def _take_settings(ctx: click.Context, out: Path, how: dict[str, Any], total: str) -> None:
    """Give `how` the settings of the run in a folder, but `total` where stated."""
    from hisa.plugins.training.training_folder import read_settings

    stated = {n for n in how if ctx.get_parameter_source(n) == ParameterSource.COMMANDLINE}
    if fixed := stated - {total}:
        names = ", ".join(sorted(fixed))
        raise UsageError(f"a resumed run keeps its settings; leave out: {names}")
    kept = read_settings(out)
    how.update({name: kept[name] for name in kept.keys() & how.keys() - stated})


def _line(row: MetricsRow, total: int) -> str:
    """The measures of an update that tell most, those that it has."""
    names = ("loss", "reward", "greedy", "entropy", "kl", "truncated", "age_mean", "seconds")
    measures = [(name, getattr(row, name)) for name in names]
    line = ", ".join(f"{name} {value:.3g}" for name, value in measures if value is not None)
    groups = f", {row.dropped_groups} of {row.groups} groups without spread" if row.groups else ""
    if row.groups and row.dropped_groups == row.groups:
        groups += ": no gradient, nothing was learned"
    return f"{row.phase} {row.update} of {total}: {line}{groups}"


@click.command(epilog=_EXAMPLES)
@run_options
@click.option("--demonstrations", type=click.IntRange(1, 1000), default=6, help="A page (6).")
@click.option(
    "--policy", "policies", multiple=True, metavar="FILE|rules", help="One of several; see above."
)
@click.option("--epochs", type=click.IntRange(1, 10_000), default=30, help="Over all steps (30).")
@click.option("--batch", type=click.IntRange(1), default=16, help="Steps of one update (16).")
@click.option("--lr", type=float, default=1e-3, help="Constant rate of AdamW (0.001).")
@click.pass_context
def sft(ctx: click.Context, /, out: Path, **how: Any) -> None:
    """Clone what rules do on PAGES of MiniWoB++: their solved episodes, on seeds from 500,000.

    DIR gets checkpoints/one-epoch.safetensors, from which the paper starts RL, and
    last.safetensors after all epochs. Both are played greedily on seeds from 900,000.

    With --policy, which may be repeated, checkpoints play instead ("rules" are one of them), by
    strata (ComputerRL, 3.1): instances solved sometimes are played again by a policy tuned on what
    was solved, those never solved by a policy drawn anew for every action.
    """
    with training(ctx, out, how, "epochs") as (folder, rollouts, policy, after):
        from hisa.plugins.training.curves import MetricsRow
        from hisa.plugins.training.grpo import evaluate, evaluation_draws, with_greedy
        from hisa.plugins.training.sft import CloningSettings, adamw, clone
        from hisa.plugins.training.strata import cloning_set

        settings = CloningSettings(how["epochs"], how["batch"], how["lr"], seed=how["seed"])
        optimizer = adamw(policy, settings.lr)
        done = folder.restore(policy, optimizer)
        if folder.state is None:
            folder.write(0, policy, optimizer, episodes=_shown(rollouts, policy, settings, how))
        samples = cloning_set(folder.successes()).samples

        def after_epoch(epoch: int, loss: float, entropy: float) -> None:
            row = MetricsRow(
                update=epoch,
                phase="sft",
                version=policy.version,
                loss=loss,
                entropy=entropy,
                steps=len(samples),
            )
            if epoch in (1, settings.epochs):
                with_greedy(row, evaluate(rollouts, policy, evaluation_draws(how["pages"], 20)))
            names = ["one-epoch"] if epoch == 1 else []
            folder.write(epoch, policy, optimizer, rows=[row], checkpoints=names)
            after(row)

        clone(policy, samples, settings, optimizer, after_epoch, done)
        say(f"{folder.checkpoint('last')}: cloned from {len(samples)} steps")


def _shown(
    rollouts: Rollouts, policy: PointerPolicy, settings: CloningSettings, how: dict[str, Any]
) -> list[Episode]:
    """Demonstrations by rules, or what the policies that were named play, by strata."""
    from hisa.plugins.training.episodes import Draw
    from hisa.plugins.training.page_oracles import PageOracle, demonstrations
    from hisa.plugins.training.sft import clone
    from hisa.plugins.training.strata import cloning_set, collect

    count = how["demonstrations"]
    if not how["policies"]:
        return demonstrations(rollouts, how["pages"], count, _DEMONSTRATION_SEEDS)

    def tune(solved: CloningSet) -> PointerPolicy:
        tuned = policy.copy()
        clone(tuned, solved.samples, settings)
        return tuned

    load = type(policy).load
    players = [PageOracle() if name == "rules" else load(Path(name)) for name in how["policies"]]
    draws = [Draw(page, seed) for page in how["pages"] for seed in _DEMONSTRATION_SEEDS[:count]]
    strata, episodes = collect(rollouts, players, draws, tune, seed=how["seed"])
    for stratum in ("full", "partial", "none", "unseen"):
        say_error(f"instances solved, {stratum}: {len(getattr(strata, stratum))}")
    say_error(", ".join(f"{name} {n}" for name, n in cloning_set(episodes).counts.items()))
    return episodes
