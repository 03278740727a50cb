"""``hisa bench undone``: which tasks are done before anybody did anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hisa.cli.out import print_json, say

if TYPE_CHECKING:
    from hisa.config import EnvironmentSettings, Settings
    from hisa.plugins.benchmarks.bench.suites import Suite
    from hisa.plugins.benchmarks.bench.undone_scores import UndoneScore

__all__ = ["undone"]


@click.command()
@click.argument("suite")
@click.option("--env", metavar="KIND", help="As for hisa run; one for each task.")
@click.option("--task", "only", multiple=True, metavar="ID", help="Only these tasks of the suite.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and no progress.")
@click.pass_context
def undone(
    ctx: click.Context, suite: str, env: str | None, only: tuple[str, ...], as_json: bool
) -> int:
    """Set up each task of SUITE, do nothing, score it, and name the tasks that begin done.

    A task that scores above 0 there says nothing of an agent on that machine: its default is what
    the task asks for, or the check holds for something else. Each task gets a machine of its own,
    and no model is asked. Of a task that the machine cannot be scored on, the reason is printed.

    Ends with 1 where a task begins done, and with 3 where one has no score.

    \b
    hisa bench undone own:DIR
    hisa bench undone osworld:DIR --env desktop:osworld --task ID
    """
    import asyncio

    from hisa.config import load
    from hisa.plugins.benchmarks.bench.suites import left_out_line, open_suite

    file, given = ctx.meta["hisa.settings"]
    settings = load(file, given, overrides={"environment": {"kind": env}} if env else {})
    _must_be_thrown_away(settings.environment)
    chosen = open_suite(suite, only, settings=settings.tasks)
    if not as_json and (line := left_out_line(chosen)):
        say(line, err=True)
    try:
        scores = asyncio.run(_scores(chosen, settings, quiet=as_json))
    except KeyboardInterrupt:
        say("stopped; --task ID tries one task alone", err=True)
        return 1
    done = [score for score in scores if score.begins_done]
    unknown = [score for score in scores if score.value is None]
    if as_json:
        print_json([_as_json(score) for score in scores])
    else:
        say(
            f"{len(done)} of {len(scores)} tasks begin done; {len(unknown)} have no score on "
            f"{settings.environment.kind}"
        )
    return 1 if done else 3 if unknown else 0


def _must_be_thrown_away(settings: EnvironmentSettings) -> None:
    """Refuse a machine that would keep what a setup does to it.

    Raises:
        UsageError: it would.
    """
    from hisa.errors import UsageError

    if not settings.throw_away:
        raise UsageError(
            f"{settings.kind!r} keeps what each task's setup does to it",
            fix="--env desktop, or --env vm:PROFILE",
        )


async def _scores(suite: Suite, settings: Settings, *, quiet: bool) -> list[UndoneScore]:
    from hisa.plugins.benchmarks.bench.undone_scores import undone_scores

    scores = []
    async for score in undone_scores(suite.tasks, settings):
        scores.append(score)
        if not quiet:
            place = f"{len(scores)}/{len(suite.tasks)}"
            say(f"{place}  {_word(score):<10}  {score.task.id}  {score.reason}".rstrip())
    return scores


def _word(score: UndoneScore) -> str:
    if score.value is None:
        return "no score"
    return f"DONE {score.value:g}" if score.begins_done else "undone"


def _as_json(score: UndoneScore) -> dict[str, object]:
    return {
        "id": score.task.id,
        "domain": score.task.domain,
        "path": score.task.path,
        "score": score.value,
        "begins_done": score.begins_done,
        "reason": score.reason,
    }
