"""Steps for the pages of web services that a task runs on the machine itself.

No account with an outside service is used: the user who signs in belongs to a fresh local service.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from hisa.plugins.benchmarks.tasks.chrome import ask, tabs
from hisa.plugins.benchmarks.tasks.local_pages import PageStep, work_page
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.tasks.pieces import SETUP, Parameters

__all__ = ["Airflow", "Dagster", "Superset"]

Local = Annotated[
    str, Field(pattern=r"^https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)", max_length=4096)
]
"""The address of a page that the machine itself serves."""
_POPUP_SECONDS = 5.0
"""Wait for what may not appear, as long as the benchmark's."""
_SIGN_IN = 'input[type="submit"][value="Sign In" i]'


class _Action(Parameters):
    """Something to do on the page."""

    timeout: Annotated[float, Field(gt=0, le=3_600_000)] = 60_000.0
    """Milliseconds, for actions that take long."""
    username: Annotated[str, Field(min_length=1, max_length=200)] = "admin"
    password: Annotated[str, Field(min_length=1, max_length=200)] = "admin"
    script_path: Annotated[str, Field(max_length=4096)] = ""


class _DagsterAction(_Action):
    type: Literal["execute_js", "close_popups", "materialize_assets"]


class Dagster(Parameters):
    """Dagster's page, and what to do there."""

    url: Local = "http://localhost:3000"
    actions: tuple[_DagsterAction, ...] = ()


@SETUP("dagster_webui_init", Dagster)
async def dagster_webui_init(context: StepContext, params: Dagster) -> None:
    """Show Dagster's page, and do there what the task asks for."""
    doing: Mapping[str, Callable[[StepContext, _Action], Sequence[PageStep]]] = {
        "execute_js": _script,
        "close_popups": _close_popups,
        "materialize_assets": _materialize,
    }
    steps = [step for action in params.actions for step in doing[action.type](context, action)]
    await work_page(context, params.url, steps)


def _script(context: StepContext, action: _Action) -> Sequence[PageStep]:
    source = context.host_file(action.script_path).read_text("utf-8").strip()
    return [PageStep("run", value=source)]


def _close_popups(context: StepContext, action: _Action) -> Sequence[PageStep]:
    return [
        PageStep("click", "button", text=text, seconds=_POPUP_SECONDS, optional=True)
        for text in ("Skip", "Dismiss")
    ]


def _materialize(context: StepContext, action: _Action) -> Sequence[PageStep]:
    """Returns steps that select all assets, materialize them, and wait until all are done."""
    seconds = action.timeout / 1000
    return [
        PageStep("click", 'a[href="/assets"]', text="Assets"),
        PageStep("click", "button", text="Reload definitions"),
        PageStep("see", "button:not(:disabled)", text="Reload definitions", seconds=seconds),
        PageStep("check", 'label[for="checkbox-1"]'),
        PageStep("click", "button", text="Materialize selected"),
        PageStep("run", value=_ALL_MATERIALIZED % (seconds * 1000)),
        PageStep("uncheck", 'label[for="checkbox-1"]'),
    ]


_ALL_MATERIALIZED = """
async () => {
  const wanted = document.querySelectorAll('input[type="checkbox"]').length - 1;
  const done = () => [...document.querySelectorAll("span")].filter(
    span => !span.children.length && span.textContent.includes("Materialized")).length;
  for (const end = Date.now() + %d; done() !== wanted;) {
    if (Date.now() > end) throw new Error(`${done()} of ${wanted} assets are materialized`);
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}
"""


class _SignIn(_Action):
    type: Literal["login"]


class Airflow(Parameters):
    """Airflow's page, and whether to sign in."""

    url: Local = "http://localhost:8080"
    actions: tuple[_SignIn, ...] = ()


@SETUP("astro_webui_init", Airflow)
async def astro_webui_init(context: StepContext, params: Airflow) -> None:
    """Show Airflow's page, and sign in if the task asks for it."""
    steps = [PageStep("see", "input#username", seconds=_POPUP_SECONDS, optional=True)]
    for action in params.actions:
        steps += _sign_in(action.username, action.password, 'a[rel="home"]')
    await work_page(context, params.url, steps)
    if len(open_tabs := await tabs(context)) > 1:  # close the page that was there first
        await ask(context, f"/json/close/{quote(str(open_tabs[-1].get('id')))}")


@SETUP("astro_refresh_page", Parameters)
async def astro_refresh_page(context: StepContext, params: Parameters) -> None:
    """Reload the page that was there first."""
    for first in (await tabs(context))[-1:]:
        await work_page(context, str(first.get("url")), [PageStep("run", value=_RELOAD)])


_RELOAD = "void setTimeout(() => location.reload(), 0)"


class Superset(Parameters):
    """Superset's page; the benchmark has no actions on it."""

    url: Local = "http://localhost:8088"
    actions: Annotated[tuple[Any, ...], Field(max_length=0)] = ()


@SETUP("superset_webui_init", Superset)
async def superset_webui_init(context: StepContext, params: Superset) -> None:
    """Show Superset's page, and sign in as its first user."""
    await work_page(context, params.url, _sign_in("admin", "admin", 'a[href="/superset/welcome/"]'))


def _sign_in(name: str, password: str, home: str) -> list[PageStep]:
    """Returns steps that sign in by Flask AppBuilder's form, and wait for a link ``home``."""
    return [
        PageStep("fill", "input#username", value=name),
        PageStep("fill", "input#password", value=password),
        PageStep("click", _SIGN_IN),
        PageStep("see", home),
    ]
