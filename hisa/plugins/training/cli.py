"""``hisa train``: cloning, step-level GRPO, a grounder trained on clicks, and their curves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.open_group import OpenGroup
from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError
from hisa.plugins.training.command_parts import (
    PATH,
    RUN,
    is_stated,
    open_run,
    print_progress,
    with_options,
)
from hisa.plugins.training.language_commands import (
    add_bound,
    check,
    lora,
    stored_model,
    train_served_model,
)
from hisa.plugins.training.recipes import recipe_option
from hisa.plugins.training.training_costs import cost
from hisa.plugins.training.training_settings import (
    ClickSettings,
    CloningSettings,
    GrpoSettings,
    build_settings,
    options,
)
from hisa.plugins.training.vlm_command import train_vision_model
from hisa.plugins.training.vlm_settings import VisionSettings

if TYPE_CHECKING:
    from hisa.plugins.training.base import Episode, Rollouts
    from hisa.plugins.training.pointer_policy import PointerPolicy
    from hisa.plugins.training.strata import CloningSet
    from hisa.plugins.training.training_folder import TrainingFolder

__all__ = ["train"]

_DEMONSTRATION_SEEDS = range(500_000, 501_000)
_POLICY = (
    click.argument("pages", nargs=-1, metavar="PAGES..."),
    click.option(
        "--from", "start", metavar="FILE", help="Checkpoint to start from (default: fresh)."
    ),
    click.option("--seed", type=click.IntRange(0, 10_000), default=0, help="Random seed (0)."),
    *RUN,
)


@click.group(
    cls=OpenGroup,
    prefix="train.",
    epilog=examples(
        "hisa train sft click-button click-checkboxes enter-text -o cloned",
        "hisa train grpo click-option --from cloned/checkpoints/last.safetensors -o tuned",
        "hisa train report tuned",
        "hisa train grounder -o grounder",
    ),
)
def train() -> None:
    """Train small policies and language models, and a grounder on clicks, and plot the curves."""


train.add_command(lora)
train.add_command(check)
train.add_command(cost)


@contextmanager
def _run(
    ctx: click.Context, out: Path, values: dict[str, Any], total: str, *, workers: int = 1
) -> Iterator[tuple[TrainingFolder, Any, Any]]:
    """Yields a run's folder, rollouts and policy; the last two are None for a grounder.

    See `open_run`.
    """
    rollouts = policy = None
    with open_run(ctx, out, values, total) as folder:
        try:
            if "pages" in values:
                from hisa.plugins.training.pointer_policy import PointerPolicy

                start, seed = values["start"], values["seed"]
                policy = PointerPolicy.load(Path(start)) if start else PointerPolicy.fresh(seed)
                rollouts = _source(values, out, ctx.meta["hisa.settings"], workers)
            yield folder(), rollouts, policy
        finally:
            if rollouts:
                rollouts.close()


def _source(values: dict[str, Any], out: Path, source: Any, workers: int = 1) -> Rollouts:
    """Returns rollouts on pages, or with --env on a suite's tasks on machines."""
    if not values["pages"]:
        raise UsageError("no pages are given", fix="hisa train sft click-button -o DIR")
    if not values.get("env"):
        from hisa.plugins.training.page_rollouts import PageRollouts

        return PageRollouts(values["pages"])
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import open_suite
    from hisa.plugins.training.machine_rollouts import MachineRollouts

    if len(values["pages"]) != 1:
        raise UsageError(f"--env {values['env']}: give one SUITE, such as own:DIR, not pages")
    changes = {"run": {"max_steps": values["max_steps"]}, "environment": {"kind": values["env"]}}
    settings = load(*source, overrides=changes)
    suite = open_suite(values["pages"][0], values["only"], settings=settings.tasks)
    return MachineRollouts(suite, settings, out / "runs", workers=workers)


@train.command(
    epilog=examples(
        "hisa train sft click-button click-checkboxes enter-text -o cloned",
        "hisa train sft click-link -o two --policy rules "
        "--policy cloned/checkpoints/last.safetensors",
    )
)
@with_options(_POLICY)
@click.option(
    "--demonstrations", type=click.IntRange(1, 1000), default=6, help="Episodes per page (6)."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="FILE|rules",
    help="Plays instead of rules; repeatable.",
)
@options(CloningSettings)
@click.pass_context
def sft(ctx: click.Context, /, out: Path, **values: Any) -> None:
    """Clone rules that play PAGES of MiniWoB++: their solved episodes.

    The rules play on seeds from 500,000.

    DIR gets checkpoints/one-epoch.safetensors, from which the paper starts RL, and
    last.safetensors after all epochs. Both are evaluated greedily on seeds from 900,000.

    With --policy, checkpoints play instead of the rules ("rules" may be one of them), in strata
    (ComputerRL, 3.1): instances that were solved sometimes are played again by a policy tuned on
    the solved episodes; for instances never solved, a policy is drawn anew for every action.
    """
    with _run(ctx, out, values, "epochs") as (folder, rollouts, policy):
        from hisa.plugins.training.curves import MetricsRow
        from hisa.plugins.training.grpo import evaluate, evaluation_draws, with_greedy
        from hisa.plugins.training.sft import adamw, clone
        from hisa.plugins.training.strata import cloning_set

        settings = build_settings(CloningSettings, values)
        optimizer = adamw(policy, settings.lr)
        completed_epochs = folder.restore(policy, optimizer)
        if folder.state is None:
            folder.write(0, policy, optimizer, episodes=_collect_episodes(rollouts, policy, values))
        samples = cloning_set(folder.successes()).samples

        def after_epoch(epoch: int, loss: float, entropy: float) -> None:
            """Stores the ``epoch`` (from 1) with its mean ``loss`` and ``entropy``, in nats."""
            row = MetricsRow(update=epoch, phase="sft", version=policy.version, loss=loss)
            row.entropy, row.steps = entropy, len(samples)
            if epoch in (1, settings.epochs):
                with_greedy(row, evaluate(rollouts, policy, evaluation_draws(values["pages"], 20)))
            names = ["one-epoch"] if epoch == 1 else []
            folder.write(epoch, policy, optimizer, rows=[row], checkpoints=names)
            print_progress(settings.epochs, row)

        clone(policy, samples, settings, optimizer, after_epoch, completed_epochs)
        say(f"{folder.checkpoint('last')}: cloned from {len(samples)} steps")


def _collect_episodes(
    rollouts: Rollouts, policy: PointerPolicy, values: dict[str, Any]
) -> list[Episode]:
    """Returns demonstrations by rules, or episodes of the named policies, by strata."""
    from hisa.plugins.training.base import Draw
    from hisa.plugins.training.page_oracles import PageOracle, demonstrations
    from hisa.plugins.training.sft import clone
    from hisa.plugins.training.strata import cloning_set, collect

    count = values["demonstrations"]
    if not values["policies"]:
        return demonstrations(rollouts, values["pages"], count, _DEMONSTRATION_SEEDS)

    def tune(solved: CloningSet) -> PointerPolicy:
        tuned = policy.copy()
        clone(tuned, solved.samples, build_settings(CloningSettings, values))
        return tuned

    load = type(policy).load
    players = [PageOracle() if name == "rules" else load(Path(name)) for name in values["policies"]]
    draws = [Draw(page, seed) for page in values["pages"] for seed in _DEMONSTRATION_SEEDS[:count]]
    strata, episodes = collect(rollouts, players, draws, tune, seed=values["seed"])
    for stratum in ("full", "partial", "none", "unseen"):
        say_error(f"instances in stratum {stratum}: {len(getattr(strata, stratum))}")
    say_error(", ".join(f"{name} {n}" for name, n in cloning_set(episodes).counts.items()))
    return episodes


@train.command(
    epilog=examples(
        "hisa train grpo click-option -o tuned --from cloned/checkpoints/last.safetensors",
        "hisa train grpo -o tuned --resume --updates 200",
        "hisa train grpo click-checkboxes -o pulsed --lr 1e-3 --updates 80 --pulse-at 41",
        "hisa train grpo click-link click-tab -o apart --max-age 2 --workers 4",
        "hisa train grpo own:tasks --env desktop "
        "--groups 2 --group-size 4 --max-steps 4 --updates 1 --evaluate-every 0 -o desks",
        "hisa train grpo miniwob --task click-button --env desktop --model gguf:coder-0.5b "
        "--from cloned/checkpoints/best.safetensors --groups 4 --group-size 4 -o spoken",
    )
)
@with_options(_POLICY)
@recipe_option("computerrl-grpo")
@options(GrpoSettings)
@click.option(
    "--max-age", type=click.IntRange(0), default=0, help="Of an episode, in updates; 0: off (0)."
)
@click.option("--workers", type=click.IntRange(1), default=1, help="Processes, or machines (1).")
@click.option("--model", metavar="NAME", help="Train a language model: gguf:NAME or hf:FOLDER.")
@click.option("--server", metavar="PLACE", help="Serves it: gguf:FILE, or the address of vLLM.")
@click.option("--rank", type=click.IntRange(1, 256), default=16, help="Of its adapter (16).")
@click.option(
    "--ray", metavar="ADDRESS", help="Runs of --model on a Ray cluster: HOST:PORT, auto or local."
)
@add_bound
@click.option("--env", metavar="KIND", help="Machines instead of pages: desktop, vm:NAME, …")
@click.option("--task", "only", multiple=True, metavar="ID", help="Only these tasks of SUITE.")
@click.option(
    "--max-steps", type=click.IntRange(1), default=15, help="Steps of a machine's episode (15)."
)
@click.pass_context
def grpo(ctx: click.Context, /, out: Path, **values: Any) -> None:
    """Train a policy by step-level GRPO (ComputerRL, 3.2) on PAGES of MiniWoB++.

    With --env, train on the tasks of one SUITE instead of pages, such as own:DIR, whose task files
    end in .yaml. Each episode is a run on its own machine, kept in DIR/runs, and takes seconds to
    minutes, so start with few groups. A task that is always or never solved gives no gradient:
    hisa train report shows for which tasks the groups had a spread of rewards.

    Each group plays one new instance, on seeds below 500,000. Greedy scores use 20 seeds per page
    from 900,000, or one episode per task; checkpoints/best.safetensors is the first with the best
    score. Report results on seeds from 1,000,000, which no training uses.

    With --pulse-at N, update N is supervised (Entropulse, 3.3): successes of all versions are
    cloned, and the result is the new reference of the KL. --arm control only resets the reference;
    higher-clip also raises the upper clip to 0.28.

    With --max-age over 0, workers play in their own processes while the policy is updated. An
    episode starts only if it will be used at most that many updates after its first action, and
    is weighted by truncated importance; evaluations still run between updates.

    With --model, train an adapter of a language model on the tasks of a SUITE. llama.cpp here, or
    a vLLM server, answers with the newest adapter; its log-probs weigh each reply by truncated
    importance. Before the first update the checks of hisa train check are made. Without --lr the
    rate is 2e-5, and each update makes one step. With --ray, --workers actors of a cluster make the
    runs; all nodes need HiSA, see DIR and the suite under the same paths, and reach --server.
    """
    if values["model"] or (values["resume"] and stored_model(out)):
        if not is_stated(ctx, "lr"):
            values["lr"] = 2e-5
        return train_served_model(ctx, out, values)
    if values["ray"]:
        reason = (
            "--ray: a small policy plays in this process; only a served model is asked from afar"
        )
        raise UsageError(reason, fix="--model NAME --server http://HOST:8000/v1")
    machines = 1 if values["max_age"] else values["workers"]
    with _run(ctx, out, values, "updates", workers=machines) as (folder, rollouts, policy):
        from hisa.plugins.training.grpo import StepTraining
        from hisa.plugins.training.rollout_workers import RolloutWorkers

        more = {"evaluation_seeds": 1} if values["env"] else {}  # a machine has no other instances
        settings, workers = build_settings(GrpoSettings, values | more), None
        if values["max_age"]:
            source = partial(_source, values, out, ctx.meta["hisa.settings"])
            workers = RolloutWorkers(source, values["workers"], values["max_age"])
        after = partial(print_progress, settings.updates)
        parts = (folder, policy, rollouts, rollouts.tasks, settings, after)
        run = StepTraining(*parts, workers=workers)
        run.run()
        if run.best is None:
            return say(f"{folder.checkpoint('last')}: not evaluated (--evaluate-every)")
        return say(f"{folder.checkpoint('best')}: greedy score {run.best:.2f} on tuning seeds")


@train.command(
    epilog=examples(
        "hisa train grounder -o pointing",
        "hisa train grounder -o pointing --resume --updates 3000",
        "hisa train grounder --data runs --clean 0.3 -o screens",
        "hisa train grounder --model hf:GTA1-7B --data runs --clean 0.3 --lora 16 -o tuned",
    )
)
@click.option("--data", metavar="DIR", help="Train on recorded runs instead of drawn pages.")
@click.option(
    "--clean",
    type=click.FloatRange(0, 1),
    metavar="IOU",
    help="Drop annotations of --data below this IoU; the paper uses 0.3.",
)
@recipe_option("gta1-7b", "gta1-32b")
@options(ClickSettings)
@options(VisionSettings)
@with_options(RUN)
@click.pass_context
def grounder(ctx: click.Context, /, out: Path, **values: Any) -> None:
    """Train a network of 83,000 weights to click the target of a description.

    DIR gets settings.json, metrics.jsonl, checkpoints/last.safetensors and, with --clean,
    dropped.png, a sheet of the dropped annotations. All are written every 50 steps.

    With --data, the named elements of the runs' looks are the targets; every tenth look is held
    out. --clean drops an annotation that resembles no element of the other looks that show the
    same thing at that place. An annotation that no other look shows cannot be judged: it is kept
    and counted.

    Without a cold start an entropy bonus of 0.03 is added, or the network collapses on one place.
    It sees a screen as 80x64 pixels: on real screens it does not replace HiSA's own grounder.

    With --model, train a vision-language model of Qwen2.5-VL's class instead, with the settings of
    GTA1's table 7: 250 updates and no cold start, if not stated. --clean then judges annotations by
    what HiSA's detector sees. Before the first update the checks of hisa train check are made. DIR
    also gets model/ or adapter/.
    """
    if values["clean"] is not None and not values["data"]:
        raise UsageError("--clean needs recorded screens", fix="--data DIR")
    if train_vision_model(ctx, out, values):
        return
    with _run(ctx, out, values, "updates") as (folder, _, _):
        from hisa.plugins.training.grounder import ClickTrainer, Pool
        from hisa.plugins.training.widget_pages import training_targets

        trainer = ClickTrainer(build_settings(ClickSettings, values))
        if values["data"]:
            from hisa.plugins.training.box_cleaning import screens

            train_on, held = screens(Path(values["data"]), values["clean"], out)
        else:
            train_on, held = training_targets(values["seed"])
        pools = {name: Pool(targets) for name, targets in held.items()}
        trainer.train(Pool(train_on), pools.get("tuning"), folder)
        for name, pool in pools.items():
            say(f"{name}: {trainer.hits(pool)} of {len(pool)} clicked correctly")
        say(folder.checkpoint("last"))


@train.command(epilog=examples("hisa train report pulse control -o curves.svg"))
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=PATH)
@click.option("-o", "out", metavar="FILE", type=PATH, help="Figure to write (DIR/curves.svg).")
def report(folders: tuple[Path, ...], out: Path | None) -> None:
    """Plot the curves of runs in one figure, and print their last numbers.

    For each page or task it prints the share of sampled episodes solved, over all updates, and how
    many of its groups had a spread of rewards: the others give no gradient.

    A DIR is one run, or has a folder for each of its seeds.
    """
    from hisa.machine.storage import replace_file
    from hisa.plugins.training.curves import figure, read_runs

    runs, path = read_runs(folders), out or folders[0] / "curves.svg"
    try:
        replace_file(path, figure(runs).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{path}: {error}", fix="-o FILE in a folder that exists") from error
    for run in runs:
        for line in run.lines():
            say(line)
    say(path)
