"""The commands of docs/papers.md plan what their table is about: which tasks, and how."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from hisa.cli import cli
from hisa.config import Settings
from hisa.plugins.benchmarks.bench.attempt_records import Plan
from hisa.plugins.benchmarks.cli.bench import prepare_plan, run_command
from tests.cli.command import ROOT

OSWORLD_TASK = {
    "id": "one",
    "snapshot": "libreoffice_calc",
    "instruction": "Make a new folder.",
    "config": [],
    "related_apps": ["os"],
    "evaluator": {"func": "infeasible"},
}


def plans(paper: str, table: str, folder: Path, tasks: str) -> list[Plan]:
    """What each ``hisa bench run`` of a row would carry out on the tasks of a folder."""
    text = (ROOT / "docs" / "papers.md").read_text("utf-8")
    section = text.partition(f"\n## {paper}\n")[2].partition("\n## ")[0]
    (row,) = re.findall(rf"^\| {table} \|.*", section, re.M)
    plan_list = []
    for line in re.findall(r"`(hisa bench run [^`]+)`", row):
        words = shlex.split(line)[3:]
        words = [tasks if word.endswith(":DIR") else word for word in words]
        words[words.index("--out") + 1] = str(folder / "bench")
        above = click.Context(cli)
        above.meta["hisa.settings"] = (None, ())
        context = run_command.make_context("run", words, parent=above)
        plan_list.append(prepare_plan(context, **context.params)[0])
    assert plan_list
    return plan_list


def settings(plan: Plan) -> dict[str, Settings]:
    return {name: Settings.model_validate(tree) for name, tree in plan.variants.items()}


@pytest.mark.usefixtures("osworld_listed")
@pytest.mark.parametrize("table", ["table 1", "table 5", "table 6"])
def test_hisas_tables_of_spider2v_have_the_abstract_tasks_alone(table: str, tmp_path: Path) -> None:
    for plan in plans("HiSA", table, tmp_path, f"spider2v:{ROOT / 'tests/data/spider2v'}"):
        assert len(plan.tasks) == 10
        for task in plan.tasks:
            tags = json.loads(Path(task.path).read_bytes())["tags"]
            assert "abstract" in tags
            assert "verbose" not in tags


@pytest.mark.usefixtures("osworld_listed")
def test_the_ablations_of_table_5_differ_from_the_papers_system_by_one_part(
    tmp_path: Path,
) -> None:
    (plan,) = plans("HiSA", "table 5", tmp_path, f"spider2v:{ROOT / 'tests/data/spider2v'}")
    variants = settings(plan)
    full = variants.pop("full")
    assert (full.state.roi, full.patterns.embedder, full.tools.allow) == ("exact", "bge-m3", ())
    assert full.grounder.kind == "vision"
    assert variants["no-roi"].state.roi is False
    assert variants["no-refinement"].state.window == 5
    assert variants["original-resolution"].run.image_width == 1920
    assert all(variant.models == full.models for variant in variants.values())
    own = {variant.patterns.collection for variant in variants.values()} | {
        full.patterns.collection
    }
    assert len(own) == len(plan.variants), "none learns from another on one Qdrant server"


@pytest.mark.usefixtures("osworld_listed")
def test_table_6_varies_the_interval_alone(tmp_path: Path) -> None:
    (plan,) = plans("HiSA", "table 6", tmp_path, f"spider2v:{ROOT / 'tests/data/spider2v'}")
    variants = settings(plan)
    assert [variant.state.refine_every for variant in variants.values()] == [3, 5, 7, 9]
    assert (
        len({variant.state.model_copy(update={"refine_every": 5}) for variant in variants.values()})
        == 1
    )


@pytest.mark.parametrize(("table", "samples"), [("table 4", [8]), ("figure 4", [1, 8, 16, 32] * 3)])
def test_gta1s_runs_have_its_grounder_and_its_chooser(
    table: str, samples: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "examples" / "calc" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(OSWORLD_TASK))
    for plan in plans("GTA1", table, tmp_path, f"osworld:{tmp_path}"):
        variants = list(settings(plan).values())
        assert [variant.planner.samples for variant in variants] == samples
        for variant in variants:
            assert variant.models.grounder is not None
            assert variant.models.grounder.model == "HelloKKMe/GTA1-7B"
            assert (variant.grounder.kind, variant.planner.scaling) == ("vision", "constant")
        assert variants[-1].run.max_steps == 100


def test_help_of_bench_run_names_the_presets() -> None:
    help_text = run_command.get_help(click.Context(run_command))
    assert "hisa-paper" in help_text
    assert "gta1" in help_text
