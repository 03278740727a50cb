"""Suites of tasks on the form in memory, and the settings and jobs to run them."""

from __future__ import annotations

from pathlib import Path

import yaml

from hisa.config import Settings, load
from hisa.plugins.benchmarks.bench.attempt_records import Plan, PlannedTask
from hisa.plugins.benchmarks.bench.jobs import Job
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger

PARTS = "tests.plugins.benchmarks.bench_suite.parts:form"


def write_task(folder: Path, name: str, *, expected: str | None = None) -> Path:
    """A task whose words type its own name; it scores 1 where that is what is wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    steps = f'Click the "Name" field. Type "{name}". Click the "Save" button.'
    check = {"file": "/home/user/form.txt", "equals": expected or name}
    domain = "left" if name.endswith(("0", "2", "4")) else "right"
    tree = {"id": name, "instruction": steps, "domain": domain, "check": [check]}
    path.write_text(yaml.safe_dump(tree), "utf-8")
    return path


def settings() -> Settings:
    """The offline model, and no patterns."""
    return load(environ={}, overrides={"patterns": {"enabled": False}})


def job(folder: Path, name: str, *, expected: str | None = None) -> Job:
    return Job(
        task=str(write_task(folder / "tasks", name, expected=expected)),
        settings=settings().model_dump(mode="json"),
        runs=str(folder / "runs"),
        environment=PARTS,
    )


def plan(folder: Path, *names: str, repeat: int = 1) -> Plan:
    tasks = [
        PlannedTask(id=name, path=str(write_task(folder / "tasks", name)), domain="left")
        for name in names
    ]
    return Plan(
        suite=f"own:{folder / 'tasks'}",
        variants={"full": settings().model_dump(mode="json")},
        tasks=tuple(tasks),
        repeat=repeat,
    )


def ledger(folder: Path, *names: str, repeat: int = 1) -> AttemptLedger:
    return AttemptLedger(folder / "bench", plan(folder, *names, repeat=repeat))
