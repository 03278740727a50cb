"""``hisa train lora``, ``hisa train check``, and ``hisa train grpo --model``: language models."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hisa.cli.out import examples, say, say_error
from hisa.errors import UsageError
from hisa.plugins.training.command_parts import (
    RUN,
    open_run,
    print_progress,
    require_part,
    with_options,
)
from hisa.plugins.training.recipes import recipe_option
from hisa.plugins.training.training_settings import (
    GrpoSettings,
    LoraSettings,
    build_settings,
    options,
)

if TYPE_CHECKING:
    from hisa.plugins.training.base import AdapterServer
    from hisa.plugins.training.gate_results import GateResult
    from hisa.plugins.training.language_policy import LanguagePolicy
    from hisa.plugins.training.language_rollouts import LanguageRollouts
    from hisa.plugins.training.training_folder import TrainingFolder
    from hisa.plugins.training.turn_batches import TurnEncoder

_Command = TypeVar("_Command", bound=Callable[..., Any])

__all__ = ["add_bound", "check", "lora", "stored_model", "train_served_model"]

_PLACES = click.argument("places", nargs=-1, metavar="RUNS...")
_START = click.option(
    "--from", "start", metavar="FILE", help="Adapter to start from (default: a new one)."
)
_ROLES = click.option(
    "--role", "roles", multiple=True, default=("planner",), help="Repeatable (planner)."
)


def add_bound(command: _Command) -> _Command:
    """Returns a command with the option ``--bound``."""
    return click.option(
        "--bound",
        type=click.FloatRange(0),
        default=0.05,
        show_default=True,
        help="Most mean difference of a token's log-probs between trainer and server, in nats.",
    )(command)


@click.command(
    epilog=examples(
        "hisa train lora benches/miniwob --model gguf:coder-0.5b -o cloned",
        "hisa run miniwob:click-button --model gguf:coder-0.5b,adapter=cloned/adapter.gguf",
        "hisa train lora rows --model hf:models/qwen --merged -o cloned",
        "hisa train lora -o cloned --resume --epochs 2",
    )
)
@_PLACES
@click.option("--model", metavar="NAME", help="gguf:NAME, gguf:FILE or hf:FOLDER; required.")
@_START
@click.option("--unsolved", is_flag=True, help="Also turns of runs without a score of 1.")
@_ROLES
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    type=click.Choice(["planning", "action", "sequence"]),
    help='Only these rows of "hisa data export"; repeatable (all).',
)
@click.option("--merged", is_flag=True, help="Also write DIR/merged, the model with the adapter.")
@recipe_option("computerrl-cloning", "entropulse", "os-catalyst", "os-genesis")
@options(LoraSettings)
@with_options(RUN)
@click.pass_context
def lora(ctx: click.Context, /, out: Path, **values: Any) -> None:
    """Clone recorded turns into a language model, by a LoRA adapter.

    RUNS are folders of runs, files of "hisa runs export" or folders of "hisa data export". A turn
    is trained on as it was sent: the token ids of the log if the model's tokenizer made them, else
    those of its own chat template; the loss is on the reply alone. Refused, redacted and truncated
    replies are left out and counted, and so are turns with pictures: record runs with
    planner.sees=elements.

    DIR gets checkpoints/best.safetensors (lowest loss on held-out runs) and last.safetensors,
    and the best one as adapter.gguf for --model gguf:NAME,adapter=FILE and as adapter/, a folder
    for vLLM. Ctrl-C and kill -9 lose at most one update.

    The model is in memory in float32: a GGUF file of 0.5 GB takes 2.5 GB, and some more.
    """
    require_part("train-lm", "training a language model")
    from hisa.plugins.training.data_parallel import open_processes

    with (
        open_processes() as processes,
        open_run(ctx, out, values, "epochs", threads=None) as open_folder,
    ):
        from hisa.plugins.training.lora import LoraTraining
        from hisa.plugins.training.turn_batches import TurnEncoder, cloning_turns, read_turns

        if not values["model"] or not values["places"]:
            fix = "hisa train lora RUNS --model gguf:coder-0.5b -o DIR"
            raise UsageError("RUNS and --model are needed", fix=fix)
        settings = build_settings(LoraSettings, values)
        policy = _open_policy(values["model"], values["start"], settings.rank, settings.seed)
        turns = read_turns(
            map(Path, values["places"]),
            solved=not values["unsolved"],
            roles=values["roles"],
            objectives=values["objectives"],
        )
        data = cloning_turns(
            turns,
            TurnEncoder(policy.tokenizer),
            most_tokens=settings.most_tokens,
            hold_out=settings.hold_out,
            seed=settings.seed,
        )
        say_error(f"{len(data.samples)} turns to train on, {len(data.held)} of held-out runs")
        for reason, count in data.counts.most_common():
            say_error(f"  {count} left out: {reason}")
        folder = open_folder()
        training = LoraTraining(folder, policy, data.samples, data.held, settings, processes)
        training.after_update = partial(print_progress, training.updates)
        training.run()
        if processes.number == 0:
            _export(folder, policy, best=training.best is not None, merged=values["merged"])


def _open_policy(model: str, start: str | None, rank: int, seed: int) -> LanguagePolicy:
    from hisa.plugins.training.language_policy import LanguagePolicy

    path = Path(start) if start else None
    return LanguagePolicy.open(model, rank=rank, start=path, seed=seed)


def _export(folder: TrainingFolder, policy: LanguagePolicy, *, best: bool, merged: bool) -> None:
    """Writes the best or last adapter for servers, and prints how to play it."""
    from hisa.plugins.training.adapter_export import export_gguf, export_merged, export_peft

    path, name = folder.checkpoint("best" if best else "last"), policy.name
    policy.restore(path)
    say(f"{path}: the adapter of {name} after {policy.version} updates")
    served = export_peft(policy, folder.path / "adapter")
    try:
        file = export_gguf(policy, folder.path / "adapter.gguf")
        base = name if name.startswith("gguf:") else "gguf:FILE-OF-THE-MODEL"
        say(f"hisa run TASK --model {shlex.quote(f'{base},adapter={file}')}")
    except UsageError as error:
        say_error(f"no GGUF: {error}")
    if merged:
        say(f"merged: {export_merged(policy, folder.path / 'merged')}")
    say(f"vllm serve MODEL --enable-lora --lora-modules cloned={served.resolve()}")


@click.command(
    epilog=examples(
        "hisa --set models.planner.tokens=true --set models.planner.temperature=1 "
        "--set models.planner.constrain=false run miniwob:click-button --model gguf:coder-0.5b",
        "hisa train check runs --model gguf:coder-0.5b",
        "hisa train check looks --model hf:models/GTA1-7B",
    )
)
@_PLACES
@click.option("--model", required=True, metavar="NAME", help="The model that was served.")
@_START
@_ROLES
@click.option("--limit", type=click.IntRange(1), default=50, help="Most turns (50).")
@add_bound
def check(
    places: tuple[str, ...],
    model: str,
    start: str | None,
    roles: Sequence[str],
    limit: int,
    bound: float,
) -> int:
    """Check what must hold before a model is trained by its own replies.

    For a language model, the turns of RUNS must be its own, with --from those of its adapter.
    Checked are: that the log has the server's token ids and log-probs; that requests neither
    constrain replies nor change the sampling; that the trainer's log-probs equal the server's; that
    the replies surprise the model as much as draws from its whole distribution do; and that each
    refused reply is a sample with reward 0.

    For a vision-language model of Qwen2.5-VL's class, the screens of RUNS are targets; without RUNS
    they are drawn. Checked are: that pictures reach the model, and that right ones change its
    log-probs; that replies are drawn with the log-probs that the trainer computes; and that
    malformed replies have reward 0.

    The trainings make the same checks before their first update.

    Exit status: 0 all passed; 1 a check failed; 2 wrong usage.
    \f

    Args:
        places: of the turns, or of the looks.
        model: name of the model.
        start: its adapter's checkpoint; None: it has none.
        roles: of the turns.
        limit: most turns.
        bound: see `check_logprobs`.
    """
    require_part("train-lm", "scoring the replies of a model")
    from hisa.plugins.training.vlm_policy import is_vision_model

    if is_vision_model(model):
        from hisa.plugins.training.vlm_grounder import check_grounder

        if len(places) > 1:
            raise UsageError(f"{len(places)} RUNS: name one folder", fix="hisa train check --help")
        gates = check_grounder(model, *places)
    else:
        gates = _check_turns(places, model, start, roles, limit, bound)
    for gate in gates:
        say(gate)
    return int(any(gate.passed is False for gate in gates))


def _check_turns(
    places: Sequence[str],
    model: str,
    start: str | None,
    roles: Sequence[str],
    limit: int,
    bound: float,
) -> list[GateResult]:
    """Returns the results of the checks on recorded turns; see `check`."""
    from hisa.plugins.training.gates import check_turns
    from hisa.plugins.training.turn_batches import TurnEncoder, read_turns

    if not places:
        raise UsageError("no RUNS are given", fix="hisa train check runs --model NAME")
    turns = list(read_turns(map(Path, places), solved=False, roles=roles))
    answered = [turn for turn in turns if not turn.failure][:limit]
    policy = _open_policy(model, start, 1, 0)
    return check_turns(policy, TurnEncoder(policy.tokenizer), answered, bound=bound)


def stored_model(folder: Path) -> str:
    """Returns the name of the language model that a run trains; empty if it trains none."""
    from hisa.plugins.training.training_folder import read_settings

    return str(read_settings(folder).get("model") or "")


def train_served_model(ctx: click.Context, out: Path, values: dict[str, Any]) -> None:
    """Trains a language model by step-level GRPO; see ``hisa train grpo --help``.

    Args:
        ctx: of the command.
        out: folder of the run.
        values: of its options.

    Raises:
        UsageError: an option does not fit, or a check before the first update fails.
    """
    require_part("train-lm", "training a language model")
    with open_run(ctx, out, values, "updates", threads=None) as open_folder:
        from hisa.plugins.training.gates import FirstUpdateGates
        from hisa.plugins.training.grpo import StepTraining
        from hisa.plugins.training.turn_batches import TurnEncoder

        more: dict[str, Any] = {"passes": 1, "steps_at_once": 1, "decoupled": True}
        settings = replace(
            build_settings(GrpoSettings, values), pulse_lr=5e-5, evaluation_seeds=1, **more
        )
        server = _open_server(out, values)
        policy = _open_policy(values["model"], values["start"], values["rank"], values["seed"])
        rollouts = _open_rollouts(ctx, out, values, server, TurnEncoder(policy.tokenizer))
        folder = open_folder()
        run = StepTraining(
            folder,
            policy,
            rollouts,
            rollouts.tasks,
            settings,
            partial(print_progress, settings.updates),
            before_update=FirstUpdateGates(
                policy, lambda: rollouts.refused, values["bound"], say_error
            ),
        )
        try:
            run.run()
        finally:
            rollouts.close()
        _export(folder, policy, best=run.best is not None, merged=False)


def _open_server(out: Path, values: dict[str, Any]) -> AdapterServer:
    """Returns the server of the model. Raises: UsageError if options do not fit."""
    from hisa.plugins.training.language_rollouts import LlamaAdapters, VllmAdapters

    if len(values["pages"]) != 1 or not values["env"] or values["max_age"]:
        raise UsageError(
            "--model needs one SUITE and --env, and no --max-age: its episodes are runs on "
            "machines, played between updates",
            fix="hisa train grpo miniwob --env desktop --model gguf:coder-0.5b -o DIR",
        )
    place = values["server"] or values["model"]
    if place.startswith("gguf:") and values["ray"]:
        raise UsageError(
            f"--ray with {place}: llama.cpp would answer here, and the runs are on other machines",
            fix="--server http://HOST:8000/v1, a vLLM server that all nodes reach",
        )
    if place.startswith("gguf:"):
        return LlamaAdapters(place, out / "served")
    if place.startswith(("http://", "https://")):
        return VllmAdapters(place, out / "served")
    raise UsageError(
        f"--server {place!r}: allowed are gguf:FILE, which llama.cpp serves here, and the address "
        "of a vLLM server",
        fix="--server http://127.0.0.1:8000/v1",
    )


def _open_rollouts(
    ctx: click.Context,
    out: Path,
    values: dict[str, Any],
    server: AdapterServer,
    encoder: TurnEncoder,
) -> LanguageRollouts:
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import open_suite
    from hisa.plugins.training.language_rollouts import LanguageRollouts

    changes = {"run": {"max_steps": values["max_steps"]}, "environment": {"kind": values["env"]}}
    settings = load(*ctx.meta["hisa.settings"], overrides=changes)
    suite = open_suite(values["pages"][0], values["only"], settings=settings.tasks)
    parts: dict[str, Any] = {"server": server, "encoder": encoder, "workers": values["workers"]}
    if values["ray"]:
        from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

        parts["executor"] = RayExecutor("" if values["ray"] == "local" else values["ray"])
    return LanguageRollouts(suite, settings, out / "runs", **parts)
