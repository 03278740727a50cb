"""What the commands of ``hisa train`` share: options, the life of a run, its progress."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hisa.cli.out import say_error
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command, list_missing

if TYPE_CHECKING:
    from hisa.plugins.training.curves import MetricsRow
    from hisa.plugins.training.training_folder import TrainingFolder

__all__ = [
    "PATH",
    "RUN",
    "is_stated",
    "open_run",
    "print_progress",
    "require_part",
    "were_launched",
    "with_options",
]

PATH = click.Path(path_type=Path)
RUN = (
    click.option("-o", "out", required=True, metavar="DIR", type=PATH, help="Folder of the run."),
    click.option("--resume", is_flag=True, help="Resume the run in DIR after its last update."),
)


def with_options(parts: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that gives a command these options, in order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for part in reversed(parts):
            command = part(command)
        return command

    return decorate


def is_stated(ctx: click.Context, option: str) -> bool:
    """Whether the command line or a recipe sets an option."""
    stated = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
    return ctx.get_parameter_source(option) in stated


def require_part(part: str, purpose: str) -> None:
    """Raise if a part is not installed; imports nothing.

    Raises:
        LibraryLacking: the message names the purpose and the first package that is missing.
    """
    if missing := list_missing(part):
        raise LibraryLacking(f"{purpose} needs {missing[0]}", fix=install_command(part))


def were_launched() -> bool:
    """Whether ``accelerate launch`` or ``torchrun`` started this process among others."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


@contextmanager
def open_run(
    ctx: click.Context, out: Path, values: dict[str, Any], total: str, *, threads: int | None = 1
) -> Iterator[Callable[[], TrainingFolder]]:
    """Yields a function that opens the run's folder, to be called once all else is ready.

    Args:
        ctx: of the command.
        out: the folder.
        values: of the options; filled with the stored settings of a resumed run, except `total`.
        total: name of the option that may change on resumption, the number of updates.
        threads: of torch; networks that are small wait for more than one. None: its own choice.

    Raises:
        UsageError: a resumed run is given a setting other than `total`, or a launcher started
            several processes of a command other than ``hisa train lora``.
        LibraryLacking: torch is not installed.
    """
    require_part("train", "training")
    import torch

    from hisa.plugins.training.training_folder import HelperFolder, TrainingFolder, read_settings

    if were_launched() and ctx.info_name != "lora":
        raise UsageError(
            f"WORLD_SIZE {os.environ['WORLD_SIZE']}: only hisa train lora takes several processes",
            fix=f"hisa train {ctx.info_name}, without accelerate launch or torchrun",
        )
    if resume := values.pop("resume"):
        stated = {n for n in values if ctx.get_parameter_source(n) == ParameterSource.COMMANDLINE}
        if fixed := stated - {total}:
            names = ", ".join(sorted(fixed))
            raise UsageError(f"a resumed run keeps its settings; omit these options: {names}")
        stored = read_settings(out)
        values.update({name: stored[name] for name in stored.keys() & values.keys() - stated})
    if threads is not None:
        torch.set_num_threads(threads)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:

        def open_folder() -> TrainingFolder:
            helps = were_launched() and os.environ["RANK"] != "0"
            folder = (HelperFolder if helps else TrainingFolder)(out, values, resume=resume)
            stack.callback(folder.close)
            return folder

        try:
            yield open_folder
        except KeyboardInterrupt as error:
            say_error(f"stopped; all complete {total} are kept. Resume with:")
            say_error(f"  hisa train {ctx.info_name} -o {out} --resume")
            raise click.Abort from error


def print_progress(total: int, row: MetricsRow) -> None:
    """Print the most telling measures of an update, those that it has."""
    names = ("loss", "held_loss", "reward", "greedy", "entropy", "kl", "truncated", "age_mean")
    measures = [(name, getattr(row, name)) for name in (*names, "seconds")]
    line = ", ".join(f"{name} {value:.3g}" for name, value in measures if value is not None)
    groups = f", {row.dropped_groups} of {row.groups} groups without spread" if row.groups else ""
    if row.groups and row.dropped_groups == row.groups:
        groups += ": no gradient, nothing was learned"
    say_error(f"{row.phase} {row.update} of {total}: {line}{groups}")
