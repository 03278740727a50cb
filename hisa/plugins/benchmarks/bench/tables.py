"""The tables of a report, as rows of text: the same ones in Markdown and on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hisa.plugins.benchmarks.bench.bench_report import Group, Report
from hisa.plugins.benchmarks.bench.stats import Estimate
from hisa.runs.wording import one_line

__all__ = ["Table", "given_up", "percent", "table_of", "tables"]

_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Table:
    """A table; the first column names its rows."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table_of(
    title: str, note: str, rows: Iterable[_Row], columns: Mapping[str, Callable[[_Row], str]]
) -> Table:
    """Returns a table whose cells are computed from rows of any type.

    Args:
        title: the heading of the table.
        note: what its numbers are, in a sentence or two.
        rows: one object per row.
        columns: header to the function that writes a row's cell; the first names the row.
    """
    cells = tuple(tuple(cell(row) for cell in columns.values()) for row in rows)
    return Table(title, note, tuple(columns), cells)


def percent(share: float | None) -> str:
    """Returns a share in percent, as ``40.6``; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _thousands(value: float | None) -> str:
    return "–" if value is None else f"{value / 1000:.2f}"


def _interval(group: Group) -> str:
    interval = ""
    if group.rate is not None:
        interval = f"{percent(group.rate)} [{percent(group.low)}, {percent(group.high)}]"
    return ", ".join(filter(None, (interval, given_up(group)))) or "–"


def given_up(group: Group) -> str:
    """Returns a text such as ``3 of 20 given up``; empty if none was."""
    return f"{group.given_up} of {group.planned} given up" if group.given_up else ""


def _money(usd: float | None, unpriced: int) -> str:
    if usd is None:
        return "–"
    text = f"{usd:.4f}" if 0 < usd < 0.1 else f"{usd:.2f}"
    return f"≥ {text}" if unpriced else text


def _estimate(estimate: Estimate, digits: int, *, scale: float = 1.0) -> str:
    """Returns ``1.33 [1.20, 1.46] (n 240)``, with the number of attempts without a value."""
    many = "" if estimate.unknown == 1 else "s"
    left_out = f"not known for {estimate.unknown} attempt{many}" if estimate.unknown else ""
    if estimate.value is None:
        return left_out or "–"
    text = f"{scale * estimate.value:.{digits}f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{scale * estimate.low:.{digits}f}, {scale * estimate.high:.{digits}f}]"
    return f"{text} (n {estimate.n}{f'; {left_out}' if left_out else ''})"


def tables(report: Report) -> list[Table]:
    """Returns all tables that have rows."""
    all_tables = [
        table_of(
            "Performance and cost",
            "Success rate in percent with its 95% interval (Wilson, over tasks); all else is a "
            "mean per attempt. False success: share of the scored attempts that claimed success "
            "without having it. Tokens in thousands. Attempts that were given up are in no number: "
            "their machines broke, and it is not known why.",
            report.variants,
            {
                "Variant": _name,
                "Success %": _interval,
                "False success %": lambda group: _estimate(group.false_success, 1, scale=100),
                **_COST,
            },
        ),
        _within(report),
        table_of(
            "Partial success and efficiency",
            "The numbers of OS-Catalyst's table 2. n: tasks for both rates; steps that executed an "
            "action for actions a step; steps for step time, which is the planner's; attempts for "
            "task time, the time of their steps. 95% intervals over tasks: Wilson's for the "
            "rates, Student's for the rest, none from one task.",
            report.variants,
            _EFFICIENCY,
        ),
        _count_kinds(
            "Sequences of actions",
            "Steps with several actions, by the kinds of these in order (OS-Catalyst, figure 3); "
            "the twelve most frequent.",
            {group.name: group.sequences for group in report.variants},
        ),
        _count_kinds(
            "Failures by class",
            "Scored attempts without success (ComputerRL, figure 5); hisa bench failures assigns "
            "the classes.",
            {group.name: group.failures for group in report.variants},
        ),
        table_of(
            "Task by task",
            f"{report.main} against each of the others, on the tasks that both have; exact "
            "two-sided sign test (with one attempt per task: McNemar's).",
            report.comparisons,
            {
                "Against": lambda row: row.second,
                "Tasks": lambda row: str(row.tasks),
                "Better": lambda row: str(row.wins),
                "Worse": lambda row: str(row.losses),
                "Same": lambda row: str(row.ties),
                "Difference %": lambda row: f"{100 * row.difference:+.1f}",
                "p": lambda row: f"{row.p:.3g}",
            },
        ),
        _domains(report),
        _buckets(report),
        table_of(
            "By component",
            f"{report.main}; means per attempt, tokens in thousands.",
            report.components,
            {
                "Component": lambda row: row.role,
                "Calls": lambda row: _number(row.calls),
                "Tokens K": lambda row: _thousands(row.tokens),
                "In K": lambda row: _thousands(row.tokens_in),
                "Cached K": lambda row: _thousands(row.cached_in),
                "Out K": lambda row: _thousands(row.tokens_out),
                "Cost $": lambda row: _money(row.usd, row.unpriced),
            },
        ),
        _tasks(report),
        table_of(
            "Judged by",
            "Whose metrics gave the scores of a benchmark's tasks. A score of OSWorld's own "
            "metrics can be compared with its published ones.",
            report.judges.items(),
            {"Judge": lambda row: one_line(row[0], 200), "Attempts": lambda row: str(row[1])},
        ),
        _troubles(report),
    ]
    return [table for table in all_tables if table.rows]


def _name(group: Group) -> str:
    return group.name


_Columns = Mapping[str, Callable[[Group], str]]


def _mean(name: str, scale: float = 1.0, digits: int = 2) -> Callable[[Group], str]:
    def cell(group: Group) -> str:
        value = group.means.get(name)
        return _number(None if value is None else value * scale, digits)

    return cell


_COST: _Columns = {
    "Cost $": lambda group: _money(group.means.get("usd"), group.unpriced),
    "Images": _mean("images"),
    "Tokens K": _mean("tokens", 0.001),
    "In K": _mean("tokens_in", 0.001),
    "Cached K": _mean("cached_in", 0.001),
    "Out K": _mean("tokens_out", 0.001),
    "Steps": _mean("steps"),
    "GUI": _mean("gui"),
    "Bash": _mean("bash"),
    "Other": _mean("other"),
    "Time s": _mean("seconds", digits=1),
}
_EFFICIENCY: _Columns = {
    "Variant": _name,
    "Success % (SR)": lambda group: (
        "–" if group.rate is None else f"{_interval(group)} (n {group.rated})"
    ),
    "Partial % (PSR)": lambda group: _estimate(group.partial, 1, scale=100),
    "Actions a step (A/S)": lambda group: _estimate(group.actions, 2),
    "Several actions %": lambda group: _estimate(group.multi_action, 1, scale=100),
    "Step time s": lambda group: _estimate(group.step_time, 2),
    "Task time s": lambda group: _estimate(group.task_time, 1),
}


def _within(report: Report) -> Table:
    steps = sorted({n for group in report.variants for n in group.within})
    repeats = sorted({n for group in report.variants for n in group.repeats})
    others = "those of earlier ones too, if any: not independent"
    patterns = "its own patterns alone" if report.independent else others

    def at(n: int) -> Callable[[Group], str]:
        return lambda group: _estimate(group.within.get(n, Estimate()), 1, scale=100)

    def of(n: int) -> Callable[[Group], str]:
        return lambda group: percent(group.repeats.get(n, Estimate()).value)

    return table_of(
        "By steps and by repeats",
        "Success in percent. @N: success within N steps, if some attempt took so many; a lower "
        "bound on what a limit of N would give, since a run that went on was not scored at step N. "
        f"#R: repeat R, which recalls {patterns}. Spread: sample standard deviation of the "
        "repeats, in points; two repeats give a coarse number.",
        report.variants if steps or len(repeats) > 1 else (),
        {
            "Variant": _name,
            **{f"@{n}": at(n) for n in steps},
            **{f"#{n}": of(n) for n in repeats},
            "Spread": lambda group: percent(group.spread),
        },
    )


def _count_kinds(title: str, note: str, counts: Mapping[str, Counter[str]]) -> Table:
    """Returns how often each kind occurs, and its share of the variant's total."""

    def share(counter: Counter[str]) -> Callable[[str], str]:
        return lambda kind: f"{counter[kind]} ({percent(counter[kind] / (counter.total() or 1))}%)"

    kinds = [kind for kind, _ in sum(counts.values(), Counter[str]()).most_common(12)]
    columns = {name: share(counter) for name, counter in counts.items()}
    return table_of(title, note, kinds, {"Kind": lambda kind: kind or "no class", **columns})


def _domains(report: Report) -> Table:
    overall = next(group for group in report.variants if group.name == report.main)
    return table_of(
        "By domain",
        f"{report.main}; means per attempt. A/S, actions a step, as in OS-Catalyst's figure 4.",
        [*report.domains, overall.model_copy(update={"name": "Overall"})],
        {
            "Domain": _name,
            "Success %": _interval,
            "A/S": lambda group: _estimate(group.actions, 2),
            **_COST,
        },
    )


def _buckets(report: Report) -> Table:
    header = ["Variant"]
    for bucket in report.buckets:
        is_single_length = bucket.first == bucket.last
        span = f"{bucket.first}" if is_single_length else f"{bucket.first}–{bucket.last}"
        header.append(f"Steps {span} ({bucket.tasks} tasks)")
    names = [group.name for group in report.variants] if report.buckets else []
    return Table(
        "By length",
        "Success rate in percent over tasks of about the same length; each column has about "
        "equally many. A task's length is its mean number of steps over all rows.",
        tuple(header),
        tuple((n, *(percent(bucket.rates.get(n)) for bucket in report.buckets)) for n in names),
    )


def _tasks(report: Report) -> Table:
    names: Sequence[str] = [group.name for group in report.variants]

    def cells(row: Any) -> Iterable[str]:
        for name in names:
            yield percent(row.success.get(name))
            yield _number(row.steps.get(name), 1)

    return Table(
        "Tasks",
        "Success in percent of the attempts that were scored, and mean steps.",
        ("Task", "Domain", *(column for name in names for column in (name, "steps"))),
        tuple((row.task, row.domain, *cells(row)) for row in report.tasks),
    )


def _troubles(report: Report) -> Table:
    rows = [
        (row.task, row.variant, str(row.repeat), row.what, row.message) for row in report.troubles
    ]
    rows += [
        (path.rsplit("/", 1)[-1], "–", "–", "left out", why)
        for path, why in report.problems.items()
    ]
    return Table(
        "Without a score",
        "Reported separately, and in no rate above: what broke, has no check, has a check that "
        "failed, or is pending.",
        ("Task", "Variant", "Repeat", "What", "Why"),
        tuple((one_line(task), *rest, one_line(why, 160)) for task, *rest, why in rows),
    )
