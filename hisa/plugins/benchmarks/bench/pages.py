"""A report as one self-contained page of HTML, and single tables of it as Markdown.

The page loads nothing and has no script; the texts in it come from task files, models and screens.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.bench_report import Report
from hisa.plugins.benchmarks.bench.plots import Series, curves
from hisa.plugins.benchmarks.bench.summary import Summary
from hisa.plugins.benchmarks.bench.tables import Table, percent, tables
from hisa.runs import wording
from hisa.runs.templates import templates

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

__all__ = ["html_page", "markdown_table", "write_report"]

_HERE = Path(__file__).resolve().parent
_STYLES = 6


def markdown_table(table: Table) -> str:
    """Returns the note and the rows of a table as Markdown."""
    rows = [[_flat(cell) for cell in row] for row in (table.header, *table.rows)]
    rows.insert(1, ["---", *("---:" for _ in table.header[1:])])
    return "\n".join([_flat(table.note), "", *(f"| {' | '.join(row)} |" for row in rows)])


def _flat(text: str) -> str:
    """Escapes a text, so that nothing in it is markup or ends a cell."""
    plain = wording.one_line(text, 2000)
    for mark in "\\`*_[]<>|":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def html_page(report: Report) -> str:
    """Returns the report as a page: tables, and curves of tokens and endings over the steps."""
    from markupsafe import Markup

    return _template().render(
        report=report,
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


def _head(report: Report) -> str:
    models = ", ".join(f"{role}: {name}" for role, name in report.models.items())
    rates = []
    for group in report.variants:
        rate = "not known" if group.rate is None else f"{percent(group.rate)}%"
        lost = f", {group.given_up} of {group.planned} given up" if group.given_up else ""
        rates.append(f"{group.name}: success rate {rate} over {group.scored} scored{lost}. ")
    return (
        f"Suite {report.suite}; {models}; environment {report.environment}. {''.join(rates)}"
        f"{Summary(**report.sums).words()}."
    )


class _Plot(NamedTuple):
    title: str
    note: str
    legend: list[tuple[str, str]]
    """Class and text of each curve."""
    picture: Markup


def _plots(report: Report) -> list[_Plot]:
    if not any(curve.tokens for curve in report.curves):
        return []
    styled = [(f"s{n % _STYLES}", curve) for n, curve in enumerate(report.curves)]
    legend = [(f"dash {style}" if curve.baseline else style, curve.name) for style, curve in styled]

    def plot(title: str, note: str, values: str, show: Callable[[float], str]) -> _Plot:
        """Returns one plot of all variants.

        Args:
            title: the heading of the plot.
            note: what the values are and what they are averaged over.
            values: the field of `Curve` that is drawn.
            show: turns a value of the left axis into text.
        """
        series = [
            Series(curve.name, getattr(curve, values), style, curve.baseline)
            for style, curve in styled
        ]
        return _Plot(title, note, legend, curves(series, show=show, x_label="step"))

    return [
        plot(
            "Tokens of a step",
            "Of all models, in and out; mean over the attempts that got to the step.",
            "tokens",
            lambda value: wording.count(round(value)),
        ),
        plot(
            "Attempts that are over",
            "Share of attempts that needed no more steps.",
            "ended",
            lambda value: f"{100 * value:.0f}%",
        ),
    ]


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``report.json`` and ``report.html`` into a folder.

    Raises:
        UsageError: they cannot be written.
    """
    texts = {
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
