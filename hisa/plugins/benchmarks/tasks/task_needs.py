"""Says what a benchmark's task file needs: pieces, files, applications, pages of the web.

This runs nothing and downloads nothing; only `require_machine` looks at a machine.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from hisa.config import TaskSettings
from hisa.errors import LibraryLacking, PluginFailed, UsageError
from hisa.machine.plugins import announced_names
from hisa.plugins.benchmarks.tasks.benchmark import (
    PROXY,
    Evaluator,
    Part,
    RawStep,
    evaluator_of,
)
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.getters.element_markup import unsupported_queries
from hisa.plugins.benchmarks.tasks.judge import choose_judge
from hisa.plugins.benchmarks.tasks.metrics import METRICS, find_metric
from hisa.plugins.benchmarks.tasks.osworld_metrics.index import (
    find_osworld_metric,
    install_commands,
)
from hisa.plugins.benchmarks.tasks.setup import SETUP
from hisa.plugins.benchmarks.tasks.setup.proxy_step import named_proxy
from hisa.plugins.benchmarks.tasks.setup.start_programs import opener_of
from hisa.plugins.benchmarks.tasks.step_context import file_name
from hisa.plugins.machines.known_apps import APPS, App
from hisa.plugins.machines.machine_apps import (
    apps_of_words,
    is_installed_by,
    require_apps,
    split_words,
)
from hisa.plugins.machines.reached_places import WebNeed, require_places, visits, web_need
from hisa.protocols import Environment, Task
from hisa.tasks.hisa_format import check_problems, host_file_problems, step_problems
from hisa.tasks.pieces import Pieces
from hisa.tasks.task_context import host_file
from hisa.tasks.task_format import Problem, ProblemKind
from hisa.text.validation import explain

__all__ = [
    "Kind",
    "Piece",
    "PieceRow",
    "Source",
    "benchmark_problems",
    "count_pieces",
    "needed_apps",
    "needed_urls",
    "require_machine",
    "source",
    "weakest",
    "web_needs",
]

Kind = Literal["setup", "getter", "metric"]
_KINDS: tuple[Kind, ...] = ("setup", "getter", "metric")
Piece = tuple[Kind, str]
"""A setup step, getter or metric by its name."""
Source = Literal["ours", "theirs", "missing"]
"""theirs: a metric that only OSWorld's package has."""
_SOURCES: tuple[Source, ...] = ("ours", "theirs", "missing")

_SCRIPTS = {
    "script_and_execute": "src", "vm_script_output": "src", "validate_correct_url": "src",
}  # fmt: skip
"""Steps and getters that take a script beside the task file, or one from the internet."""
_HOST_FILES = {**_SCRIPTS, "copyfile_from_host_to_guest": "src", "local_file": "path"}
"""Steps and getters that need a file beside the task file, to the key that names it;
``upload_file`` names several."""
_FETCHED = {**_SCRIPTS, "cloud_file": "path", "download": "files"}
"""Steps and getters that may take a file from the internet, to the key that names it."""
_FILE_GETTERS = frozenset(("vm_file", "cloud_file", "local_file", "cache_file", "dbt_profiles"))
"""Getters that keep a file under a name that the task gives."""
_STARTS = frozenset(("launch", "execute", "command", "execute_with_verification"))
_BROWSER_STEPS = frozenset(("google_chrome_browser", "chrome_open_tabs"))
_SEARCH_ENGINES = ("https://www.bing.com", "https://www.google.com")
"""Pages of a browser that a task starts for something else; the benchmark does not need them."""
_PAGE_GETTERS = frozenset(
    ("open_tabs_info", "active_tab_info", "active_url_from_accessTree", "active_tab_url_parse",
     "active_tab_html_parse", "url_dashPart")
)  # fmt: skip
"""Getters whose expected addresses the agent has to visit."""
_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d{1,5})?(?=[/?#\s\"'<>),;]|\.?$|\.\s)"
)
_SERVICES = (
    "googledrive", "googlesheet", "login", "snowflake", "bigquery", "dbt_cloud", "dbt_job",
    "dbt_project", "dbt_environment", "workarena",
)  # fmt: skip
"""Words in the names of pieces that need an account with an outside service."""
_NO_PROXY = Problem(
    "address",
    "the task wants a proxy for its pages, and the setting tasks.proxy is empty: set it to"
    " http://HOST:PORT, or to none if the machine reaches the pages without one",
    "--set tasks.proxy=none",
)
"""Such pages do not answer the addresses of data centres: the task would be scored 0 there."""


# ---------------------------------------------------------------- pieces


@dataclass(frozen=True)
class PieceRow:
    """A setup step, getter or metric that task files ask for."""

    kind: Kind
    name: str
    source: Source
    lacks: str
    """The command that installs what a metric of theirs still needs here; else empty."""
    tasks: int
    """In how many task files it occurs."""
    uses: int
    """How often it occurs in all."""


def count_pieces(tasks: Iterable[Iterable[Piece]]) -> list[PieceRow]:
    """Returns a row for each piece of some tasks, by kind, then by decreasing number of tasks."""
    in_tasks: Counter[Piece] = Counter()
    uses: Counter[Piece] = Counter()
    for pieces in map(list, tasks):
        uses.update(pieces)
        in_tasks.update(set(pieces))
    rows = [_piece_row(piece, in_tasks[piece], count) for piece, count in uses.items()]
    return sorted(rows, key=lambda row: (_KINDS.index(row.kind), -row.tasks, row.name))


def _piece_row(piece: Piece, tasks: int, uses: int) -> PieceRow:
    piece_source = source(piece)
    lacks = install_commands(piece[1]) if piece_source == "theirs" else ""
    return PieceRow(*piece, piece_source, lacks, tasks, uses)


def source(piece: Piece) -> Source:
    """Returns whose a piece is; ours if both have it."""
    kind, name = piece
    if kind == "metric":
        if name == "infeasible" or name in METRICS.names or name in announced_names("metrics"):
            return "ours"
        return "missing" if find_osworld_metric(name) is None else "theirs"
    return "ours" if name in (SETUP if kind == "setup" else GETTERS).names else "missing"


def weakest(pieces: Iterable[Piece]) -> Source:
    """Returns the weakest source of a task's pieces: "ours" if all are, "missing" if one is."""
    return max(map(source, pieces), key=_SOURCES.index, default="ours")


# ---------------------------------------------------------------- problems before a run


def benchmark_problems(task: Task, settings: TaskSettings | None) -> list[Problem]:
    """Lists each piece that is missing or broken."""
    problems: list[Problem] = []
    for raw in task.setup:
        problems += _step_problems(task, raw) if "type" in raw else step_problems(task, raw)
    if task.check is not None and "func" in task.check:
        try:
            problems += _evaluator_problems(task, evaluator_of(task))
        except UsageError as error:
            problems.append(Problem("piece", str(error)))
    else:
        problems += check_problems(task)
    if settings is not None and settings.proxy:
        problems = [problem for problem in problems if problem != _NO_PROXY]
    return problems


def _step_problems(task: Task, raw: Mapping[str, Any] | RawStep) -> Iterator[Problem]:
    try:
        step = raw if isinstance(raw, RawStep) else RawStep.model_validate(raw)
    except ValidationError as error:
        yield Problem("piece", f"setup: {explain(error, RawStep)}")
        return
    if step.type == PROXY:
        yield _NO_PROXY  # removed again if the settings name a proxy or none
        return
    yield from _piece_problems(SETUP, step.type, step.parameters)
    yield from _file_problems(task, step.type, step.parameters)


def _piece_problems(pieces: Pieces, name: str, parameters: Mapping[str, Any]) -> Iterator[Problem]:
    text = pieces.problem(name, parameters)
    if not text:
        return
    kind = "piece" if pieces.get(name) else _kind_of_missing(name)
    account = ": it needs an account with an outside service" if kind == "account" else ""
    yield Problem(kind, f"{text}{account}")


def _kind_of_missing(name: str) -> ProblemKind:
    """Returns "account" if a missing piece would need one, else "piece"."""
    return "account" if any(word in name for word in _SERVICES) else "piece"


def _file_problems(task: Task, name: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    paths = config.get(_HOST_FILES.get(name, ""))
    if name == "upload_file":
        files = config.get("files")
        file_list = files if isinstance(files, list | tuple) else ()
        paths = [file.get("local_path") for file in file_list if isinstance(file, Mapping)]
    for path in paths if isinstance(paths, list) else [paths]:
        if isinstance(path, str) and not path.startswith(("http://", "https://")):
            yield from host_file_problems(task, name, path)


def _evaluator_problems(task: Task, evaluator: Evaluator) -> Iterator[Problem]:
    if evaluator.infeasible:
        return
    for step in evaluator.postconfig:
        yield from _step_problems(task, step)
    for part in evaluator.parts:
        yield from _metric_problems(part)
        for config in (part.result, part.expected):
            if config is not None:
                yield from _getter_problems(task, config)


def _metric_problems(part: Part) -> Iterator[Problem]:
    try:
        metric = find_metric(part.func)
        choose_judge(part.func)
        if metric is not None and metric.check is not None:
            for text in metric.check(part.expected or {}, part.options):
                yield Problem("piece", text)
    except LibraryLacking as error:
        yield Problem("library", str(error), error.fix)
    except UsageError as error:
        fix = f": {error.fix}" if error.fix else ""
        yield Problem(_kind_of_missing(part.func), f"{error}{fix}")
    except PluginFailed as error:
        yield Problem("piece", str(error))
    if part.result is None:
        text = f"metric {part.func}: the evaluator does not say where the result is"
        yield Problem("piece", text)
    elif part.result.get("type") == "accessibility_tree":
        for text in unsupported_queries((part.expected or {}).get("rules")):
            text = f"getter accessibility_tree: gives no tree that {text[:200]!r} can search"
            yield Problem("piece", text)


def _getter_problems(task: Task, config: Mapping[str, Any]) -> Iterator[Problem]:
    name = str(config.get("type"))
    yield from _piece_problems(GETTERS, name, config)
    if GETTERS.get(name) is None:
        return
    if name in _FILE_GETTERS:
        names = config.get("path") if name == "cache_file" else config.get("dest")
        yield from _name_problems(name, names if isinstance(names, list) else [names])
    yield from _file_problems(task, name, config)


def _name_problems(getter: str, names: Iterable[Any]) -> Iterator[Problem]:
    """Yields each file name that is not plain: a task may not choose the folder of a kept file."""
    for name in names:
        try:
            if isinstance(name, str):
                file_name(name)
        except UsageError as error:
            yield Problem("piece", f"getter {getter}: {error}")


# ---------------------------------------------------------------- files of the internet


def needed_urls(task: Task) -> list[str]:
    """Returns the addresses that a task downloads from, each once."""
    return list(dict.fromkeys(_urls_below([*task.setup, task.check])))


def _urls_below(tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        parameters = tree.get("parameters", tree)
        key = _FETCHED.get(str(tree.get("type")), "")
        entries = parameters.get(key) if isinstance(parameters, Mapping) else None
        for entry in entries if isinstance(entries, list) else [entries]:
            url = entry.get("url") if isinstance(entry, Mapping) else entry
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                yield url
        tree = list(tree.values())
    for below in tree if isinstance(tree, list | tuple) else ():
        yield from _urls_below(below)


# ---------------------------------------------------------------- the machine


async def require_machine(
    task: Task, environment: Environment, settings: TaskSettings | None = None
) -> None:
    """Checks that the machine has the applications and reaches the pages that a task needs.

    This comes before the task's setup: a missing application must not count as the agent's failure.

    Args:
        task: the task whose file names them.
        environment: the machine.
        settings: for the proxy of the task's pages; None: no proxy.

    Raises:
        EnvironmentFailed: something is missing; the message names all of it.
    """
    await require_apps(task, environment, needed_apps(task))
    await require_places(task, environment, web_needs(task, settings))


def needed_apps(task: Task) -> tuple[App, ...]:
    """Returns the applications that a task names in its list, starts, or opens files with.

    Steps before scoring count too. An application that the task's own setup installs is left out.
    """
    texts = "\n".join([json.dumps(list(task.setup), default=str), *_scripts(task)])
    apps = {app.title: app for app in _named_apps(task) if not is_installed_by(app, texts)}
    return tuple(apps.values())


def _named_apps(task: Task) -> Iterator[App]:
    names = {name.lower() for name in task.apps}
    yield from (app for app in APPS if names.intersection(app.called))
    after = task.check.get("postconfig") if task.check else None
    for raw in (*task.setup, *(after if isinstance(after, list | tuple) else ())):
        if isinstance(raw, Mapping):
            yield from apps_of_words(_command_words(raw))


def _command_words(raw: Mapping[str, Any]) -> list[str]:
    """Returns the command line of a setup step, as words; empty if it has none."""
    kind, parameters = raw.get("type"), raw.get("parameters")
    if isinstance(raw.get("launch"), str):
        return split_words(raw["launch"])
    if kind in _BROWSER_STEPS:
        return ["google-chrome"]
    if not isinstance(parameters, Mapping):
        return []
    if kind == "open":
        return opener_of(str(parameters.get("path"))).split()
    command = parameters.get("command") if kind in _STARTS else None
    return split_words(command) if isinstance(command, str) else [str(w) for w in command or ()]


def _scripts(task: Task) -> Iterator[str]:
    """Yields the texts of the scripts that the setup runs."""
    for raw in task.setup:
        parameters, key = raw.get("parameters"), _SCRIPTS.get(str(raw.get("type")), "")
        name = parameters.get(key) if isinstance(parameters, Mapping) else None
        try:
            if isinstance(name, str):
                yield host_file(task.folder, name).read_text("utf-8", errors="replace")
        except UsageError:
            continue  # reported by `benchmark_problems`


def web_needs(task: Task, settings: TaskSettings | None = None) -> tuple[WebNeed, ...]:
    """Returns the places of the web that a task names.

    These are each page that the setup opens, and the addresses that the agent's pages are compared
    with; of the latter, one is enough, since they may be several ways to say the same. With a proxy
    there are none: the proxy itself is checked instead.

    Args:
        task: the task whose file names them.
        settings: for the proxy of the task's pages; None: no proxy.
    """
    if settings is not None and named_proxy(task, settings):
        return ()
    groups = [[url] for url in _opened_pages(task)] + list(_compared_pages(task))
    needs = {need.places: need for urls in reversed(groups) if (need := web_need(urls))}
    return tuple(needs.values())[::-1]


def _opened_pages(task: Task) -> Iterator[str]:
    for raw in task.setup:
        parameters = raw.get("parameters")
        if not isinstance(parameters, Mapping):
            continue
        idle = _SEARCH_ENGINES if raw.get("type") == "google_chrome_browser" else ()
        for key in ("urls_to_open", "urls"):
            urls = parameters.get(key)
            for url in urls if isinstance(urls, list | tuple) else ():
                if isinstance(url, str) and url.rstrip("/") not in idle:
                    yield url
        words = _command_words(raw)
        if words and visits(words):
            yield from words


def _compared_pages(task: Task) -> Iterator[list[str]]:
    """Yields the addresses of the rules of each result that is a page of the browser."""
    check = task.check or {}
    results, rules = _as_list(check.get("result")), _as_list(check.get("expected"))
    for result, rule in zip(results, rules, strict=False):
        kind = result.get("type") if isinstance(result, Mapping) else None
        if kind in _PAGE_GETTERS and isinstance(rule, Mapping):
            # In a regular expression, escaped dots and slashes stand for themselves.
            plain = re.sub(r"\\+([./-])", r"\1", json.dumps(rule.get("rules"), default=str))
            yield _ADDRESS.findall(plain)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
