"""``hisa bench``: runs many tasks with many workers, and reports on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hisa.cli.open_group import PRESET
from hisa.cli.out import say, say_error, say_json
from hisa.plugins.benchmarks.cli.bench_coverage import coverage
from hisa.plugins.benchmarks.cli.grounding import grounding
from hisa.plugins.benchmarks.cli.suite import prefetch, tasks
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from rich.console import Console

    from hisa.config import EnvironmentSettings, RunSettings, Settings
    from hisa.plugins.benchmarks.bench.attempt_records import Plan
    from hisa.plugins.benchmarks.bench.executors.base import Executor
    from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
    from hisa.plugins.benchmarks.bench.suites import Suite
    from hisa.plugins.benchmarks.bench.summary import Summary
    from hisa.runs.run_reader import Run

__all__ = ["bench"]

_MAKER = "Your own environments: a function of settings and task that returns a context manager."


@click.group()
def bench() -> None:
    """Run suites of tasks in parallel and report on them.

    \b
    hisa bench run own:DIR --workers 2 --repeat 3 --out benches/mine
    hisa bench run spider2v:DIR --env vm:office --model gpt-5 --ablate table5 --out benches/t5
    hisa bench report benches/mine --against benches/other
    hisa bench failures benches/mine
    hisa bench coverage --public osworld
    hisa bench tasks osworld:DIR
    hisa bench prefetch osworld:DIR
    hisa bench grounding benchmarks/grounding
    """


bench.add_command(grounding)
bench.add_command(prefetch)
bench.add_command(coverage)
bench.add_command(tasks)


@bench.command("run")
@click.argument("suite")
@click.option("--out", type=click.Path(path_type=Path), help="Bench folder; resumes a bench in it.")
@click.option("--env", metavar="KIND", help="As for hisa run; each attempt gets its own.")
@click.option(
    "--workers", type=click.IntRange(1), default=1, metavar="N", help="Attempts at once (1)."
)
@click.option(
    "--repeat", type=click.IntRange(1), default=1, metavar="R", help="Repeats per task (1)."
)
@click.option("--independent", is_flag=True, help="Give each repeat its own pattern store.")
@click.option("--model", metavar="NAME", help="Model of the planner and the state manager.")
@click.option("--profile", metavar="NAME", help="Model profile (default: by the model's name).")
@click.option("--max-steps", type=int, metavar="N", help="End an attempt after N steps (50).")
@click.option("--ablate", multiple=True, metavar="NAME", help="A variant to run; see below.")
@click.option("--task", "only", multiple=True, metavar="ID", help="Only this task; repeatable.")
@click.option("--executor", type=click.Choice(["local", "ray"]), help="Where workers run (local).")
@click.option("--ray", "address", metavar="ADDRESS", help="A Ray cluster, as HOST:PORT or auto.")
@click.option(
    "--again", multiple=True, metavar="STATUS", help="Repeat attempts that ended with it."
)
@click.option("--set", "assignments", multiple=True, metavar="A.B=C", help="Change one setting.")
@click.option("--preset", metavar="NAME", help=PRESET)
@click.option("--json", "as_json", is_flag=True, help="Print the totals as JSON, and no progress.")
@click.option("--environment", "maker", default="", metavar="MODULE:NAME", help=_MAKER)
@click.pass_context
def run_command(
    ctx: click.Context, /, suite: str, assignments: tuple[str, ...], **options: Any
) -> None:
    """Run every task of SUITE: own:DIR, spider2v:DIR, osworld:DIR, miniwob or browsergym:SUITE.

    \b
    hisa bench run own:DIR --out benches/first
    hisa bench run osworld:DIR --env vm:office --workers 4 --repeat 2 --out benches/osworld
    hisa bench run miniwob --workers 2 --repeat 3 --max-steps 12 --out benches/miniwob
    hisa bench run miniwob --task click-test --task login-user --out benches/two-pages
    hisa bench run own:DIR --ablate table5 --out benches/table5

    Repeat R has the seed run.seed + R - 1, from which pages of MiniWoB++ draw their tasks.

    Each repeat recalls what the earlier ones learned; with --independent each has its own pattern
    store, like the repeated runs in a paper's table. The report says how far the repeats differ.

    Every attempt has its own environment and its own run folder, which is kept. The same command
    resumes a bench that was stopped or killed. If a machine breaks, the attempt is made again, at
    most 3 times, and counted separately: it does not score 0, unless the programs that the agent
    started exceeded the machine's limits.

    \b
    Variants: full, original-resolution, no-roi, no-abstraction, no-refinement, no-patterns,
    n3, n5, n7, n9, k1, k8, k16, k32, steps15, steps50, steps100; join several with +;
    table5 and table6 stand for the variants in HiSA's tables, figure4 for those in GTA1's.

    Exit status: 0 every attempt has a result; 1 stopped; 3 machines, models or checks were
    unavailable.
    \f
    Args:
        ctx: its ``meta["hisa.settings"]`` has the settings file and the assignments before "bench".
        suite: SUITE.
        assignments: the ``--set`` options, which come after those of ``ctx``.
        options: the other options, by name.
    """
    from hisa.plugins.benchmarks.bench.ledger import AttemptLedger

    plan, left_out, folder = prepare_plan(ctx, suite, assignments, **options)
    ledger = AttemptLedger(folder, plan)
    try:
        ctx.exit(_carry_out(ledger, left_out, options))
    finally:
        ledger.close()


def prepare_plan(
    ctx: click.Context, suite: str, assignments: tuple[str, ...], **options: Any
) -> tuple[Plan, str, Path]:
    """Returns the plan of ``hisa bench run``, a line on what is left out, and the bench folder.

    Args:
        ctx: its ``meta["hisa.settings"]`` has the settings file and the assignments before "bench".
        suite: name of the suite, such as ``own:DIR``.
        assignments: the ``--set`` options, which come after those of ``ctx``.
        options: the other options of the command, by name.
    """
    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import left_out_line, open_suite

    preset = [f"preset={options['preset']}"] if options["preset"] else []
    assigned = [*ctx.meta["hisa.settings"][1], *preset, *assignments]
    file = ctx.meta["hisa.settings"][0]
    opened_suite = open_suite(suite, options["only"], settings=load(file, assigned).tasks)
    folder = options["out"] or Path("benches") / suite.replace(":", "-").replace("/", "-")
    environment = load(file, assigned, overrides=_overrides(options)).environment
    _require_its_browser(opened_suite, environment)
    plan = _plan(file, assigned, opened_suite, folder=folder, options=options)
    return plan, left_out_line(opened_suite), folder


def _require_its_browser(suite: Suite, settings: EnvironmentSettings) -> None:
    """Refuse tasks of BrowserGym on a machine without BrowserGym's browser.

    Raises:
        UsageError: every attempt would fail.
    """
    from hisa.errors import UsageError

    kind = settings.kind
    if suite.name.startswith("browsergym:") and kind != "browsergym":
        raise UsageError(f"tasks of BrowserGym do not run on {kind!r}", fix="--env browsergym")


def _plan(
    file: Path | None,
    assignments: list[str],
    suite: Suite,
    *,
    folder: Path,
    options: dict[str, Any],
) -> Plan:
    """Build the plan that the options describe.

    Each variant has its own pattern store, unless one is given: otherwise lessons of other runs
    would affect its results, and its lessons theirs.
    """
    from hisa.config import load
    from hisa.errors import UsageError
    from hisa.plugins.benchmarks.bench.attempt_records import Plan
    from hisa.plugins.benchmarks.bench.variants import changes, expand

    variants = expand(options["ablate"])
    trees = {}
    for variant in variants:
        store, own = _own_patterns(folder, variant)
        changed = _merge_settings(_overrides(options), changes(variant, variants))
        settings = load(file, [*own, *assignments], overrides=changed)
        if options["independent"] and json.dumps(str(settings.patterns.path)) != store:
            words = f"--independent, and patterns.path = {str(settings.patterns.path)!r}"
            raise UsageError(
                f"{words}: each repeat starts with an empty store", fix="omit patterns.path"
            )
        _must_be_thrown_away(settings.environment, settings.run)
        _require_guests(settings.environment, options)
        trees[variant] = settings.model_dump(mode="json")
    return Plan(
        suite=suite.name,
        variants=trees,
        tasks=suite.tasks,
        problems=suite.problems,
        repeat=options["repeat"],
        independent=options["independent"],
    )


def _own_patterns(folder: Path, variant: str) -> tuple[str, list[str]]:
    """Returns the path of a variant's own pattern store, and the settings that name it."""
    store = json.dumps(str((folder / "patterns" / variant).resolve()))
    collection = f"hisa_bench_{hashlib.sha256(store.encode()).hexdigest()[:16]}"
    return store, [f"patterns.path={store}", f"patterns.collection={collection}"]


def _merge_settings(base: dict[str, Any], overrides: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        key: {**base.get(key, {}), **overrides.get(key, {})}
        for key in dict.fromkeys([*base, *overrides])
    }


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the named options as a settings tree."""
    planner = {key: options[key] for key in ("model", "profile") if options[key] is not None}
    tree: dict[str, Any] = {"models": {"planner": planner}} if planner else {}
    if options["env"] is not None:
        tree["environment"] = {"kind": options["env"]}
    run = {} if options["max_steps"] is None else {"max_steps": options["max_steps"]}
    return {**tree, "run": run} if run else tree


def _must_be_thrown_away(settings: EnvironmentSettings, run: RunSettings) -> None:
    """Refuse settings under which a person has to confirm actions: a bench asks nobody.

    Raises:
        UsageError: a person would have to confirm.
    """
    from hisa.errors import UsageError

    keeps_changes = not settings.throw_away
    if run.confirm == "always" or (keeps_changes and run.confirm != "never"):
        guest = settings.family == "guest"
        fix = "--set environment.remote.revert=COMMAND" if guest else "--env desktop"
        raise UsageError(
            f"a bench asks nobody, but environment {settings.kind!r} with "
            f"run.confirm = {run.confirm!r} needs a person to confirm actions",
            fix=f"{fix}, or --set run.confirm=never",
        )


def _require_guests(settings: EnvironmentSettings, options: dict[str, Any]) -> None:
    """Refuse more workers than guests, since each worker needs its own.

    Raises:
        UsageError: there are fewer guests than workers, or several workers on a Ray cluster, where
            guests cannot be locked.
    """
    if settings.family != "guest":
        return
    from hisa.environments.open_environment import open_environment
    from hisa.errors import UsageError
    from hisa.plugins.machines.guests.remote import RemoteEnvironment

    environment = open_environment(settings)
    assert isinstance(environment, RemoteEnvironment)
    guests, workers = len(environment.addresses), options["workers"]
    if workers > guests:
        raise UsageError(
            f"{workers} workers but {guests} guest(s): each worker needs its own guest",
            fix=f"--workers {guests}, or --env guest=URL,URL",
        )
    if workers > 1 and options["address"]:
        raise UsageError(
            "guests are locked on one machine, and a Ray cluster has several",
            fix="--executor local",
        )


def _executor(ledger: AttemptLedger, options: dict[str, Any]) -> Executor:
    if options["executor"] == "ray" or (options["address"] and options["executor"] is None):
        from hisa.plugins.benchmarks.bench.executors.ray import RayExecutor

        return RayExecutor(options["address"] or "")
    from hisa.plugins.benchmarks.bench.executors.local import LocalExecutor

    return LocalExecutor(ledger.folder / "workers.log")


def _carry_out(ledger: AttemptLedger, left_out: str, options: dict[str, Any]) -> int:
    import asyncio

    from rich.console import Console

    from hisa.plugins.benchmarks.bench.summary import summarise

    if options["again"]:
        ledger.again(options["again"])
    console = Console(stderr=True, quiet=options["as_json"], highlight=False, soft_wrap=True)
    if left_out:
        console.print(safe_line(left_out), style="yellow", markup=False)
    stopped = asyncio.run(_work(ledger, options, console))
    summary = summarise(ledger.slot_state(slot) for slot in ledger.plan.slots)
    _print_sums(ledger, summary, as_json=options["as_json"])
    if stopped:
        return 1
    return 3 if summary.given_up or summary.unusable or summary.score_failed else 0


def _print_sums(ledger: AttemptLedger, summary: Summary, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"folder": str(ledger.folder), **summary.as_dict()}))
        return
    click.echo(summary.words())
    if summary.missing:
        click.echo("  resume with the same command")
    click.echo(f"  report with: hisa bench report {ledger.folder}")


async def _work(ledger: AttemptLedger, options: dict[str, Any], console: Console) -> bool:
    """Run the bench; Ctrl-C and SIGTERM stop it. Returns whether it was stopped."""
    import asyncio
    import signal

    from hisa.plugins.benchmarks.bench.schedule import Bench
    from hisa.plugins.benchmarks.bench.watch import show_ending

    executor = _executor(ledger, options)
    bench = Bench(
        ledger,
        executor,
        workers=options["workers"],
        environment=options["maker"],
        on_progress=partial(show_ending, console),
    )
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(bench.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        return True
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        await executor.close()
    return False


@bench.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--against", type=click.Path(path_type=Path), help="Another bench to compare with.")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="Output folder (default: FOLDER)."
)
@click.option("--print", metavar="TITLE", help="Print this table, and write no files.")
@click.option("--json", "as_json", is_flag=True, help="Print report.json, and write no files.")
def report_command(folder: Path, against: Path | None, **options: Any) -> None:
    """Write report.json and report.html of the bench in FOLDER.

    \b
    hisa bench report benches/first
    hisa bench report benches/table5 --against benches/other
    hisa bench report benches/first --print "Sequences of actions"
    """
    from hisa.plugins.benchmarks.bench.bench_report import build_report
    from hisa.plugins.benchmarks.bench.pages import markdown_table, write_report
    from hisa.plugins.benchmarks.bench.tables import tables

    report = build_report(folder, against)
    if (title := options["print"]) is not None:
        table = next((table for table in tables(report) if table.title == title), None)
        say(f"no table {title!r} with rows" if table is None else markdown_table(table))
        return
    if options["as_json"]:
        say_json(report.model_dump_json(indent=1))
        return
    for path in write_report(report, options["out"] or folder):
        click.echo(str(path))


@bench.command("failures")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--model", metavar="NAME", help="Classifies runs that have no class.")
@click.option("--mark", "marks", multiple=True, metavar="RUN=CLASS", help="Give a class by hand.")
@click.option(
    "--sequences", is_flag=True, help="Use OS-Catalyst's classes instead of ComputerRL's."
)
@click.pass_obj
def failures(
    settings: Settings, folder: Path, model: str | None, marks: tuple[str, ...], sequences: bool
) -> int:
    """List the failed runs in DIR (a bench or a folder of runs) by class of failure.

    The classes are ComputerRL's (4.4): perception, applications, illusion, other. With --sequences
    they are OS-Catalyst's (C.2, figures 7 to 9): over-compression (a sequence was too long),
    under-compression (too short), wrong-location. Each is stored in its run's folder, and the
    counts are printed below the list; "hisa bench report" counts ComputerRL's.

    \b
    hisa bench failures benches/first
    hisa --set run.budget_usd=2 bench failures benches/first --model gpt-5
    hisa bench failures benches/first --mark 20261121-034512-7f3a=perception
    hisa bench failures benches/first --sequences --model gpt-5

    Exit status: 0 listed; 2 wrong usage; 3 a model was asked, and some runs still have no class.
    """
    from hisa.errors import UsageError
    from hisa.plugins.benchmarks.attempts.run_judge import failed_runs
    from hisa.runs import failure_class as kinds

    classes = kinds.SEQUENCE_FAILURES if sequences else kinds.FAILURES
    runs, problem = failed_runs(folder), ""
    for name, _, kind in (mark.partition("=") for mark in marks):
        if name not in runs:
            raise UsageError(f"no failed run {name!r}", fix=f"hisa bench failures {folder}")
        kinds.keep_failure(runs[name].folder, kinds.Failure(kind=kind, by="hand"))
    if model:
        left = [run for run in runs.values() if not kinds.failure_of(run.folder, classes).kind]
        problem = _ask_for_classes(left, settings, model, classes)
    counts = dict.fromkeys([*classes, "no class"], 0)
    for name, run in runs.items():
        failure = kinds.failure_of(run.folder, classes)
        counts[failure.kind or "no class"] += 1
        say(f"{name}  {failure.kind or 'no class':<17}  {failure.by}  {failure.reason}".rstrip())
    say(", ".join(f"{kind}: {count} of {len(runs)}" for kind, count in counts.items()))
    if problem:
        say_error(problem)
    return 3 if problem else 0


def _ask_for_classes(
    runs: list[Run], settings: Settings, model: str, classes: Mapping[str, str]
) -> str:
    """Let a model classify runs; returns why the first unclassified run has no class."""
    import asyncio

    from hisa.plugins.benchmarks.attempts.run_judge import classify

    judge = (settings.models.judge or settings.models.planner).model_copy(update={"model": model})
    models = settings.models.model_copy(update={"planner": judge, "judge": judge})
    return asyncio.run(classify(runs, settings.model_copy(update={"models": models}), classes))
