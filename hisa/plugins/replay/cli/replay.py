"""``hisa replay``: replays a program without a model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from hisa.cli.out import examples, json_option, print_json, say
from hisa.text.counts import pluralise

__all__ = ["places_of", "replay"]

_FOLDER = Path("programs")


def places_of(folder: Path) -> list[Path]:
    """Returns the folders of the programs in a folder, sorted by name."""
    return sorted(file.parent for file in folder.glob("*/program.yaml"))


@click.command(
    epilog=examples(
        "hisa replay",
        "hisa replay save-a-note",
        "hisa replay save-a-note --json",
        "hisa replay save-a-note --repair --model gpt-5",
    )
)
@click.argument("name", required=False)
@click.option("--env", metavar="KIND", help="As for hisa run.")
@click.option("--repair", is_flag=True, help="Ask a model to repair a step that fails.")
@click.option("--model", metavar="NAME", help="The model of --repair, as for hisa run.")
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    name: str | None,
    env: str | None,
    repair: bool,
    model: str | None,
    as_json: bool,
) -> None:
    """Replay a program that `hisa compile` made, without asking a model.

    NAME is a program in programs/, or its folder; without NAME the programs are listed. Before
    each action its target is found on the present screen and told apart from similar ones; typed
    text is read back; and what a step changed in the run must change again.

    \b
    verified              the task's check says that it is done
    done unverified       all steps were done; no check says that the end is right
    halted before effect  something differs from the run; nothing of that step was done
    effect unknown        a step was done, but what it should change did not change
    refused by policy     a rule forbids an action
    machine failed        the machine does not answer
    stopped               by Ctrl-C

    With --repair a model is asked for a step that fails, at most twice, and for nothing else. The
    repair is shown as a diff, replayed once on a fresh machine without a model, and kept if that
    replay is verified.

    Exit status: 0 verified; 1 any other; 3 the machine failed.
    \f

    Args:
        ctx: the context of the command, with the file and the options of the settings.
        name: a program in ``programs``, or the folder of one; None to list the programs.
        env: the environment to play it in; None for that of the settings.
        repair: whether a model is asked for a step that cannot be done.
        model: the model of ``repair``; None for that of the settings.
        as_json: whether to print the outcome as JSON.
    """
    from hisa.config import load
    from hisa.errors import UsageError
    from hisa.plugins.replay.program_runs import OUTCOMES, play, play_and_repair

    if name is None:
        _say_list()
        return
    place = _place_of(name)
    file, options = ctx.meta["hisa.settings"]
    overrides: dict[str, object] = {"environment": {"kind": env}} if env else {}
    overrides |= {"models": {"planner": {"model": model}}} if model else {}
    settings = load(file, options, overrides=overrides)
    tell = (lambda _: None) if as_json else (lambda line: say(line, err=True))
    if model and not repair:
        raise UsageError("--model is for --repair", fix="leave --model out")
    is_stored = False
    if repair:
        _require_model(settings.models.planner.model)
        played, is_stored = asyncio.run(play_and_repair(place, settings, tell=tell))
    else:
        played = asyncio.run(play(place, settings, tell=tell))
    if as_json:
        plain = {"outcome": played.outcome, "reason": played.reason, "score": played.score}
        plain |= {"mended": is_stored}
        print_json(plain | {"steps": played.steps, "run": str(played.folder)})
    else:
        say(f"{played.outcome}: {played.reason}")
        say(f"hisa runs show {played.folder.name}", err=True)
    ctx.exit(OUTCOMES[played.outcome])


def _place_of(name: str) -> Path:
    """Returns the folder of a program; raises UsageError if there is none."""
    from hisa.errors import UsageError

    place = Path(name) if (Path(name) / "program.yaml").is_file() else _FOLDER / name
    if not (place / "program.yaml").is_file():
        known = ", ".join(known_place.name for known_place in places_of(_FOLDER)) or "none"
        reason = f"no program {name!r}; programs in {_FOLDER}: {known}"
        raise UsageError(reason, fix="hisa compile RUN")
    return place


def _require_model(model: str) -> None:
    """Refuse a rule-following model for `--repair`."""
    from hisa.errors import UsageError
    from hisa.models.announced_model import find_announced

    brought = find_announced(model)
    if brought is not None and brought.by_rules:
        reason = f"--repair needs a language model, and {model!r} follows rules"
        raise UsageError(reason, fix="--repair --model NAME")


def _say_list() -> None:
    from hisa.plugins.replay.program_records import read_program

    places = places_of(_FOLDER)
    for place in places:
        program = read_program(place)
        words = program.instruction.splitlines()[0][:80]
        risks = {step.risk for step in program.steps if step.risk}
        risky = f"; risks: {', '.join(sorted(risks))}" if risks else ""
        say(f"{place.name}  {pluralise(len(program.steps), 'step')}  {words}{risky}")
    if not places:
        say(f"no programs in {_FOLDER}; turn a run into one: hisa compile RUN", err=True)
