"""Finds what a task lacks here, before a run starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hisa.config import TaskSettings
from hisa.errors import LibraryLacking, PluginFailed, UsageError
from hisa.plugins.benchmarks.tasks.benchmark import (
    PROXY,
    Evaluator,
    Part,
    RawStep,
    evaluator_of,
)
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.getters.element_markup import beyond
from hisa.plugins.benchmarks.tasks.judge import chosen
from hisa.plugins.benchmarks.tasks.metrics import find_metric
from hisa.plugins.benchmarks.tasks.setup import SETUP
from hisa.plugins.benchmarks.tasks.step_context import file_name
from hisa.protocols import Task
from hisa.tasks.hisa_format import check_problems, host_file_problems, step_problems
from hisa.tasks.task_format import Problem, ProblemKind
from hisa.text.validation import explain

__all__ = ["benchmark_problems", "urls"]

_HOST_FILES = {
    "copyfile_from_host_to_guest": "src", "script_and_execute": "src", "vm_script_output": "src",
    "validate_correct_url": "src", "local_file": "path",
}  # fmt: skip
"""Steps and getters that need a file beside the task file, and under which key they name it;
``upload_file`` names several."""


_SERVICES = (
    "googledrive", "googlesheet", "login", "snowflake", "bigquery", "dbt_cloud", "dbt_job",
    "dbt_project", "dbt_environment", "workarena",
)  # fmt: skip
"""Words in the names of pieces that are about an account with somebody else."""


_NO_PROXY = Problem(
    "address",
    "the task wants a proxy for its pages, and the setting tasks.proxy is empty: it may be"
    " http://HOST:PORT, or none where the machine reaches them without one",
    "--set tasks.proxy=none",
)
"""Pages that answer no address of a data centre; one behind such a wall would be scored 0."""


def benchmark_problems(task: Task, settings: TaskSettings | None) -> list[Problem]:
    """Each piece that is missing or broken; nothing is run and nothing is downloaded."""
    found: list[Problem] = []
    for raw in task.setup:
        found += _step(task, raw) if "type" in raw else step_problems(task, raw)
    if task.check is not None and "func" in task.check:
        try:
            found += _evaluator_problems(task, evaluator_of(task))
        except UsageError as error:
            found.append(Problem("piece", str(error)))
    else:
        found += check_problems(task)
    if settings is not None and settings.proxy:
        found = [problem for problem in found if problem != _NO_PROXY]
    return found


def _step(task: Task, raw: Mapping[str, Any] | RawStep) -> Iterator[Problem]:
    try:
        step = raw if isinstance(raw, RawStep) else RawStep.model_validate(raw)
    except ValidationError as error:
        yield _wrong(f"setup: {explain(error, RawStep)}")
        return
    if step.type == PROXY:
        yield _NO_PROXY  # left out again where the settings say what to do
        return
    known = SETUP.get(step.type)
    if known is None:
        yield _missing("setup step", step.type)
        return
    yield from _fits(f"setup step {step.type}", known.model, step.parameters)
    yield from _needed_file(task, step.type, step.parameters)


def _wrong(text: str) -> Problem:
    return Problem("piece", text)


def _missing(what: str, name: str) -> Problem:
    kind = _kind_of(name)
    why = "it needs an account with an outside service" if kind == "account" else ""
    return Problem(kind, f"no {what} {name!r} here{f': {why}' if why else ''}")


def _kind_of(name: str) -> ProblemKind:
    """Whether a piece that is not here is missing for want of an account."""
    return "account" if any(word in name for word in _SERVICES) else "piece"


def _fits(what: str, model: type[BaseModel], value: Mapping[str, Any]) -> Iterator[Problem]:
    try:
        model.model_validate(value)
    except ValidationError as error:
        yield _wrong(f"{what}: {explain(error, model)}")


def _needed_file(task: Task, name: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    given = config.get(_HOST_FILES.get(name, ""))
    if name == "upload_file":
        files = config.get("files")
        listed = files if isinstance(files, list | tuple) else ()
        given = [file.get("local_path") for file in listed if isinstance(file, Mapping)]
    for path in given if isinstance(given, list) else [given]:
        if isinstance(path, str) and not path.startswith(("http://", "https://")):
            yield from host_file_problems(task, name, path)


def _evaluator_problems(task: Task, evaluator: Evaluator) -> Iterator[Problem]:
    if evaluator.infeasible:
        return
    for step in evaluator.postconfig:
        yield from _step(task, step)
    for part in evaluator.parts:
        yield from _part(task, part)


def _part(task: Task, part: Part) -> Iterator[Problem]:
    try:
        metric = find_metric(part.func)
        chosen(part.func, task.format)
        if metric is not None and metric.check is not None:
            yield from map(_wrong, metric.check(part.expected or {}, part.options))
    except LibraryLacking as error:
        yield Problem("library", str(error), error.fix)
    except UsageError as error:
        yield Problem(_kind_of(part.func), f"{error}{f': {error.fix}' if error.fix else ''}")
    except PluginFailed as error:
        yield _wrong(str(error))
    if (part.result or {}).get("type") == "accessibility_tree":
        for text in beyond((part.expected or {}).get("rules")):
            yield _wrong(f"getter accessibility_tree: gives no tree that {text[:200]!r} can search")
    if part.result is None:
        yield _wrong(f"metric {part.func}: the evaluator does not say where the result is")
    for config in (part.result, part.expected):
        yield from _getter(task, config)


def _getter(task: Task, config: Mapping[str, Any] | None) -> Iterator[Problem]:
    if config is None:
        return
    name = str(config.get("type"))
    known = GETTERS.get(name)
    if known is None:
        yield _missing("getter", name)
        return
    yield from _fits(f"getter {name}", known.model, config)
    if name in ("vm_file", "cloud_file", "local_file", "cache_file", "dbt_profiles"):
        yield from _names(name, config)
    yield from _needed_file(task, name, config)


def _names(name: str, config: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields each file name that is not plain: a task may not choose the folder of a kept file."""
    given = config.get("path") if name == "cache_file" else config.get("dest")
    for text in given if isinstance(given, list) else [given]:
        try:
            if isinstance(text, str):
                file_name(text)
        except UsageError as error:
            yield _wrong(f"getter {name}: {error}")


def urls(task: Task) -> list[str]:
    """The addresses that a task downloads from, each once, for fetching them before."""
    return list(dict.fromkeys(_addresses([*task.setup, task.check])))


_FETCHED = {
    "cloud_file": "path", "download": "files", "script_and_execute": "src",
    "vm_script_output": "src", "validate_correct_url": "src",
}  # fmt: skip
"""Steps and getters that may take a file from an address, and under which key they name it."""


def _addresses(tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        given = tree.get("parameters", tree)
        key = _FETCHED.get(str(tree.get("type")), "")
        named = given.get(key) if isinstance(given, Mapping) else None
        for one in named if isinstance(named, list) else [named]:
            url = one.get("url") if isinstance(one, Mapping) else one
            if isinstance(url, str) and url.startswith(("http://", "https://")):
                yield url
        tree = list(tree.values())
    for below in tree if isinstance(tree, list | tuple) else ():
        yield from _addresses(below)
