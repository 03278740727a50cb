"""The tables of a report, as rows of text: the same ones in Markdown and on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hisa.plugins.benchmarks.bench.bench_report import Group, Report
from hisa.plugins.benchmarks.bench.stats import Estimate
from hisa.runs import wording

__all__ = ["Table", "given_up", "percent", "tables"]

_SEQUENCES = (
    "Sequences of actions",
    "Steps with several actions by what these were, in order (OS-Catalyst, figure 3); the twelve "
    "most frequent.",
)
_FAILURES = (
    "Failures by class",
    "Scored attempts that are no success (ComputerRL, figure 5); hisa bench failures gives "
    "classes.",
)


@dataclass(frozen=True)
class Table:
    """A table; the first column names its rows."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def percent(share: float | None) -> str:
    """As ``40.6``; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _thousands(value: float | None) -> str:
    return "–" if value is None else f"{value / 1000:.2f}"


def _interval(group: Group) -> str:
    if group.rate is None:
        return given_up(group) or "–"
    interval = f"{percent(group.rate)} [{percent(group.low)}, {percent(group.high)}]"
    return ", ".join(filter(None, (interval, given_up(group))))


def given_up(group: Group) -> str:
    """As ``3 of 20 given up``; empty where none was."""
    return f"{group.given_up} of {group.planned} given up" if group.given_up else ""


def _money(usd: float | None, unpriced: int) -> str:
    if usd is None:
        return "–"
    text = f"{usd:.4f}" if 0 < usd < 0.1 else f"{usd:.2f}"
    return f"≥ {text}" if unpriced else text


def tables(report: Report) -> list[Table]:
    """All tables that have rows."""
    found = [
        _overall(report),
        _within(report),
        _reliability(report),
        _efficiency(report),
        _counted(report, *_SEQUENCES, [each.sequences for each in report.variants]),
        _counted(report, *_FAILURES, [each.failures for each in report.variants]),
        _comparisons(report),
        _domains(report),
        _buckets(report),
        _components(report),
        _tasks(report),
        _judges(report),
        _troubles(report),
    ]
    return [table for table in found if table.rows]


_COST = (
    "Cost $",
    "Images",
    "Tokens K",
    "In K",
    "Cached K",
    "Out K",
    "Steps",
    "GUI",
    "Bash",
    "Other",
    "Time s",
)


def _cost(group: Group) -> tuple[str, ...]:
    return (
        _money(group.usd, group.unpriced),
        _number(group.images),
        _thousands(group.tokens),
        _thousands(group.tokens_in),
        _thousands(group.cached_in),
        _thousands(group.tokens_out),
        _number(group.steps),
        _number(group.gui),
        _number(group.bash),
        _number(group.other),
        _number(group.seconds, 1),
    )


def _overall(report: Report) -> Table:
    return Table(
        "Performance and cost",
        "Success rate in percent with its 95% interval (Wilson, over tasks); all else is a mean "
        "per attempt. Tokens in thousands. What was given up is in no number: its machines broke, "
        "and it is not known by whose act.",
        ("Variant", "Success %", *_COST),
        tuple((each.name, _interval(each), *_cost(each)) for each in report.variants),
    )


def _within(report: Report) -> Table:
    steps = sorted({n for each in report.variants for n in each.within})
    repeats = sorted({n for each in report.variants for n in each.repeats})
    learned = "itself alone" if report.independent else "the next too, if anything: not independent"
    return Table(
        "By steps and by repeats",
        "Success in percent. @N: of attempts that had ended within N steps, if any took so many; "
        "a lower bound of what a limit of N would give, since what was done by then in a run that "
        f"went on was not scored. #R: of repeat R, which learned for {learned}. Spread: sample "
        "standard deviation of the repeats, in points; a coarse number from two.",
        ("Variant", *(f"@{n}" for n in steps), *(f"#{n}" for n in repeats), "Spread"),
        tuple(
            (
                each.name,
                *(_estimate(each.within.get(n, Estimate()), 1, scale=100) for n in steps),
                *(percent(each.repeats.get(n, Estimate()).value) for n in repeats),
                percent(each.spread),
            )
            for each in report.variants
            if steps or len(repeats) > 1
        ),
    )


def _reliability(report: Report) -> Table:
    return Table(
        "Reliability",
        "False success: said done and was not by its check, of all that said done and were scored.",
        ("Variant", "Tasks", "Results", "Scored", "Mean score", "Said done", "False success %"),
        tuple(
            (
                each.name,
                str(each.tasks),
                str(each.results),
                str(each.scored),
                _number(each.score),
                str(each.said_done),
                percent(each.false_success),
            )
            for each in report.variants
        ),
    )


def _efficiency(report: Report) -> Table:
    return Table(
        "Partial success and efficiency",
        "What OS-Catalyst's table 2 tells. n: tasks for both rates; steps that executed an action "
        "for actions a step; steps for step time, which is the planner's; attempts for task time, "
        "which is that of their steps. 95% intervals over tasks: Wilson's for the rates, "
        "Student's for the rest, none from one task.",
        (
            "Variant",
            "Success % (SR)",
            "Partial % (PSR)",
            "Actions a step (A/S)",
            "Several actions %",
            "Step time s",
            "Task time s",
        ),
        tuple(
            (
                each.name,
                "–" if each.rate is None else f"{_interval(each)} (n {each.rated})",
                _estimate(each.partial, 1, scale=100),
                _estimate(each.actions, 2),
                _estimate(each.multi_action, 1, scale=100),
                _estimate(each.step_time, 2),
                _estimate(each.task_time, 1),
            )
            for each in report.variants
        ),
    )


def _counted(report: Report, title: str, note: str, counts: Sequence[Counter[str]]) -> Table:
    """Returns how often each kind occurs, with its share of the variant's."""
    names = sum(counts, Counter[str]()).most_common(12)
    return Table(
        title,
        note,
        ("Kind", *(each.name for each in report.variants)),
        tuple(
            (
                name or "no class",
                *(f"{c[name]} ({percent(c[name] / (c.total() or 1))}%)" for c in counts),
            )
            for name, _ in names
        ),
    )


def _attempts(count: int) -> str:
    return f"{count} attempt{'' if count == 1 else 's'}"


def _estimate(found: Estimate, digits: int, *, scale: float = 1.0) -> str:
    """As ``1.33 [1.20, 1.46] (n 240)``, with the number of attempts that it is not known of."""
    left_out = f"not known of {_attempts(found.unknown)}" if found.unknown else ""
    if found.value is None:
        return left_out or "–"
    text = f"{scale * found.value:.{digits}f}"
    if found.low is not None and found.high is not None:
        text += f" [{scale * found.low:.{digits}f}, {scale * found.high:.{digits}f}]"
    return f"{text} (n {found.n}{f'; {left_out}' if left_out else ''})"


def _comparisons(report: Report) -> Table:
    return Table(
        "Task by task",
        f"{report.main} against each other on the tasks that both have; exact two-sided sign test "
        "(with one attempt a task: McNemar's).",
        ("Against", "Tasks", "Better", "Worse", "Same", "Difference %", "p"),
        tuple(
            (
                each.second,
                str(each.tasks),
                str(each.wins),
                str(each.losses),
                str(each.ties),
                f"{100 * each.difference:+.1f}",
                f"{each.p:.3g}",
            )
            for each in report.comparisons
        ),
    )


def _domains(report: Report) -> Table:
    rows: list[Group] = list(report.domains)
    overall = next(each for each in report.variants if each.name == report.main)
    rows.append(overall.model_copy(update={"name": "Overall"}))
    return Table(
        "By domain",
        f"{report.main}; means per attempt. A/S, actions a step, as in OS-Catalyst's figure 4.",
        ("Domain", "Success %", "A/S", *_COST),
        tuple((e.name, _interval(e), _estimate(e.actions, 2), *_cost(e)) for e in rows),
    )


def _buckets(report: Report) -> Table:
    return Table(
        "By length",
        "Success rate in percent over tasks of about the same length, about equally many in each; "
        "a task's length is its mean number of steps over all rows.",
        ("Variant", *(_steps(each.first, each.last, each.tasks) for each in report.buckets)),
        tuple(
            (group.name, *(percent(bucket.rates.get(group.name)) for bucket in report.buckets))
            for group in report.variants
        )
        if report.buckets
        else (),
    )


def _steps(first: int, last: int, tasks: int) -> str:
    span = f"{first}" if first == last else f"{first}–{last}"
    return f"Steps {span} ({tasks} tasks)"


def _components(report: Report) -> Table:
    return Table(
        "By component",
        f"{report.main}; means per attempt, tokens in thousands.",
        ("Component", "Calls", "Tokens K", "In K", "Cached K", "Out K", "Cost $"),
        tuple(
            (
                each.role,
                _number(each.calls),
                _thousands(each.tokens),
                _thousands(each.tokens_in),
                _thousands(each.cached_in),
                _thousands(each.tokens_out),
                _money(each.usd, each.unpriced),
            )
            for each in report.components
        ),
    )


def _tasks(report: Report) -> Table:
    names: Sequence[str] = [each.name for each in report.variants]
    return Table(
        "Tasks",
        "Success in percent of the attempts that were scored, and mean steps.",
        ("Task", "Domain", *(column for name in names for column in (name, "steps"))),
        tuple(
            (
                row.task,
                row.domain,
                *(
                    cell
                    for name in names
                    for cell in (percent(row.success.get(name)), _number(row.steps.get(name), 1))
                ),
            )
            for row in report.tasks
        ),
    )


def _judges(report: Report) -> Table:
    return Table(
        "Judged by",
        "Whose metrics gave the scores of a benchmark's tasks. A score of OSWorld's own metrics "
        "can be held against its published ones.",
        ("Judge", "Attempts"),
        tuple((wording.one_line(name, 200), str(count)) for name, count in report.judges.items()),
    )


def _troubles(report: Report) -> Table:
    rows = [
        (each.task, each.variant, str(each.repeat), each.what, wording.one_line(each.message, 160))
        for each in report.troubles
    ]
    rows += [
        (
            wording.one_line(path.rsplit("/", 1)[-1]),
            "–",
            "–",
            "left out",
            wording.one_line(why, 160),
        )
        for path, why in report.problems.items()
    ]
    return Table(
        "Without a score",
        "Reported apart, and in no rate above: what broke, what has no check, whose check failed, "
        "what is pending.",
        ("Task", "Variant", "Repeat", "What", "Why"),
        tuple(rows),
    )
