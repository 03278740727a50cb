"""A report as Markdown and as one self-contained page of HTML.

The page loads nothing and has no script; the texts in it come from task files, models and screens.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.bench_report import Curve, Group, Report
from hisa.plugins.benchmarks.bench.plots import Bar, Series, bars, curves
from hisa.plugins.benchmarks.bench.tables import Table, given_up, percent, tables
from hisa.runs import wording
from hisa.runs.templates import templates

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

__all__ = ["html_page", "markdown_page", "write_report"]

_HERE = Path(__file__).resolve().parent
_STYLES = 6


def markdown_page(report: Report) -> str:
    """The report as Markdown: a head and its tables."""
    lines = [f"# Bench {_flat(report.folder)}", "", _flat(_head(report)), ""]
    for table in tables(report):
        lines += [f"## {table.title}", "", _flat(table.note), "", *_markdown_rows(table), ""]
    return "\n".join(lines)


def _head(report: Report) -> str:
    sums = report.sums
    models = ", ".join(f"{role}: {name}" for role, name in report.models.items())
    return (
        f"Suite {report.suite}; {models}; environment {report.environment}. {_rates_line(report)}"
        f"{sums['slots']} attempts planned: {sums['scored']} scored, {sums['no_check']} without a "
        f"check, {sums['score_failed']} whose check failed, {sums['unscored']} not scored, "
        f"{sums['unusable']} unusable, {sums['given_up']} given up, {sums['missing']} not "
        f"run yet. {sums['environment_errors']} tries broke a machine, {sums['lost']} were lost."
    )


def _rates_line(report: Report) -> str:
    """Each variant's success rate, what it is over, and what was given up and is not in it."""
    lines = []
    for each in report.variants:
        rate = "not known" if each.rate is None else f"{percent(each.rate)}%"
        lost = f", {given_up(each)}" if each.given_up else ""
        lines.append(f"{each.name}: success rate {rate} over {each.scored} scored attempts{lost}. ")
    return "".join(lines)


def _markdown_rows(table: Table) -> list[str]:
    rule = ["---", *("---:" for _ in table.header[1:])]
    rows = [[_flat(cell) for cell in row] for row in (table.header, *table.rows)]
    rows.insert(1, rule)
    return [f"| {' | '.join(row)} |" for row in rows]


def _flat(text: str) -> str:
    """Text that is text: nothing in it is markup or ends a cell."""
    plain = wording.one_line(text, 2000)
    for mark in "\\`*_[]<>|":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def html_page(report: Report) -> str:
    """The report as a page, with plots."""
    from markupsafe import Markup

    main = next(each for each in report.variants if each.name == report.main)
    baseline = next((each for each in report.variants if each.name == report.baseline), None)
    return _template().render(
        report=report,
        main=main,
        tiles=_tiles(main, baseline),
        head=_head(report),
        tables=tables(report),
        plots=_plots(report),
        css=Markup((_HERE / "report.css").read_text(encoding="utf-8")),
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = templates(_HERE)
    environment.filters["clock"] = wording.clock
    return environment.get_template("report.html.j2")


def _tiles(main: Group, baseline: Group | None) -> list[tuple[str, str, str]]:
    """Label, value and small print of the numbers on top."""

    def against(read: str, show: str) -> str:
        value = getattr(baseline, read) if baseline else None
        return f"{baseline.name}: {format(value, show)}" if baseline and value is not None else ""

    def shown(value: float | None, show: str) -> str:
        return "–" if value is None else format(value, show)

    rate = "–" if main.rate is None else f"{percent(main.rate)} %"
    false = "–" if main.false_success is None else f"{percent(main.false_success)} %"
    money = "–" if main.usd is None else ("≥ " if main.unpriced else "") + wording.money(main.usd)
    return [
        (
            "success rate",
            rate,
            f"95%: {percent(main.low)} to {percent(main.high)}, {main.rated} tasks"
            + (f"; {given_up(main)}" if main.given_up else ""),
        ),
        (
            "cost an attempt",
            money,
            f"{main.unpriced} calls without a price" if main.unpriced else "",
        ),
        ("tokens an attempt", _tokens(main.tokens or 0), against("tokens", ",.0f")),
        ("steps an attempt", shown(main.steps, ".1f"), against("steps", ".1f")),
        ("said done, was not", false, f"of {main.said_done} that said done"),
    ]


def _tokens(value: float) -> str:
    return wording.count(round(value))


def _style(number: int) -> str:
    return f"s{number % _STYLES}"


def _plots(report: Report) -> list[tuple[str, str, list[tuple[str, str]], Markup]]:
    """Title, note, legend (class, text) and picture of every plot that has data."""
    others = {group.name: group for group in report.baseline_domains}
    legend = [(f"square {_style(0)}", report.main)]
    if report.baseline:
        legend.append(("square faint", report.baseline))
    found = [
        (
            "Success rate by domain",
            "With 95% intervals.",
            legend,
            bars([row for group in report.domains for row in _rates(group, others)], most=1.0),
        )
    ]
    if len(report.variants) > 1:
        rows = [_rate(group, _style(number)) for number, group in enumerate(report.variants)]
        found.append(("Success rate by variant", "With 95% intervals.", [], bars(rows, most=1.0)))
    found += _curve_plots(report.curves)
    found.append(_cost_plot(report))
    split = [("gui", "s0", "GUI"), ("bash", "s1", "Bash"), ("other", "s2", "other")]
    rows = [
        Bar(
            group.name,
            tuple((getattr(group, field) or 0.0, style) for field, style, _ in split),
            f"{group.steps or 0:.1f}",
        )
        for group in report.domains
    ]
    keys = [(f"square {style}", text) for _, style, text in split]
    found.append(("Steps by domain", "Mean per attempt.", keys, bars(rows)))
    return [plot for plot in found if plot[3]]


def _rates(group: Group, others: dict[str, Group]) -> list[Bar]:
    rows = [_rate(group, _style(0))]
    if group.name in others:
        rows.append(_rate(others[group.name], "faint", name=" "))
    return rows


def _rate(group: Group, style: str, name: str = "") -> Bar:
    if group.rate is None:
        return Bar(name or group.name, (), "not scored")
    text = f"{percent(group.rate)} % of {group.rated}"
    return Bar(name or group.name, ((group.rate, style),), text, group.low, group.high)


def _curve_plots(found: list[Curve]) -> list[tuple[str, str, list[tuple[str, str]], Markup]]:
    if not any(curve.tokens for curve in found):
        return []
    styles = [(_style(n), curve) for n, curve in enumerate(found)]
    legend = [(f"dash {style}" if c.baseline else style, c.name) for style, c in styles]
    tokens = [Series(c.name, c.tokens, style, c.baseline) for style, c in styles]
    ended = [Series(c.name, c.ended, style, c.baseline) for style, c in styles]
    return [
        (
            "Tokens of a step",
            "Of all models, in and out; mean over the attempts that came so far.",
            legend,
            curves(tokens, show=lambda value: wording.count(round(value)), x_label="step"),
        ),
        (
            "Attempts that are over",
            "Share of attempts that needed no more steps.",
            legend,
            curves(ended, show=lambda value: f"{100 * value:.0f}%", x_label="step"),
        ),
    ]


def _cost_plot(report: Report) -> tuple[str, str, list[tuple[str, str]], Markup]:
    """Money where any is known, else tokens; by variant where there are several."""
    groups = report.variants if len(report.variants) > 1 else report.domains
    priced = any(group.usd for group in groups)
    rows = []
    for number, group in enumerate(groups):
        style = _style(number) if groups is report.variants else _style(0)
        value = (group.usd if priced else group.tokens) or 0.0
        bound = "≥ " if priced and group.unpriced else ""
        text = bound + wording.money(value) if priced else _tokens(value)
        rows.append(Bar(group.name, ((value, style),), text))
    title = "Cost of an attempt" if priced else "Tokens of an attempt"
    return title, "" if priced else "No call has a known price.", [], bars(rows)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``report.md``, ``report.json`` and ``report.html`` into a folder.

    Raises:
        UsageError: they cannot be written.
    """
    texts = {
        "report.md": markdown_page(report),
        "report.json": report.model_dump_json(indent=1) + "\n",
        "report.html": html_page(report),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"cannot write the report into {str(folder)!r}: {error.strerror}",
            fix="hisa bench report DIR --out FOLDER",
        ) from error
    return [folder / name for name in texts]
