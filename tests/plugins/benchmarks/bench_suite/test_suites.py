"""Suites: task files found, and those that cannot be run named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.config import TaskSettings
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.suites import left_out_line, open_suite
from tests.plugins.benchmarks.bench_suite.forms import write_task
from tests.plugins.benchmarks.tasks.pages import needs_pages


def test_a_folder_of_our_own_tasks_is_a_suite_and_bad_files_are_named(tmp_path: Path) -> None:
    write_task(tmp_path / "deep" / "er", "bob")
    write_task(tmp_path, "ada")
    (tmp_path / "bad.yaml").write_text("instruction: [")
    (tmp_path / "again.yml").write_text((tmp_path / "ada.yaml").read_text())
    (tmp_path / "notes.txt").write_text("no task")
    suite = open_suite(f"own:{tmp_path}")
    assert sorted(task.id for task in suite.tasks) == ["ada", "bob"]
    reasons = {Path(path).name: reason for path, reason in suite.problems.items()}
    assert "not valid YAML" in reasons.pop("bad.yaml")
    (reason,) = reasons.values()
    assert "task id 'ada' is that of" in reason


@pytest.mark.usefixtures("osworld_listed")
def test_spider2v_has_each_task_in_two_forms_and_either_can_be_taken(tmp_path: Path) -> None:
    """The published files: ten tasks, each as an aim alone and with a tutorial."""
    name = f"spider2v:{Path('tests/data/spider2v').resolve()}"
    ids = {
        form: {task.id for task in open_suite(name, settings=_instructions(form)).tasks}
        for form in ("abstract", "verbose", "both")
    }
    assert (len(ids["abstract"]), len(ids["verbose"])) == (10, 10)
    assert ids["abstract"] | ids["verbose"] == ids["both"]
    for task in open_suite(name, settings=_instructions("abstract")).tasks:
        file = json.loads(Path(task.path).read_bytes())
        assert file["counterpart"] in ids["verbose"]
    assert not open_suite(name, settings=_instructions("verbose")).problems


def _instructions(form: str) -> TaskSettings:
    return TaskSettings.model_validate({"instructions": form})


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        ("spider2v", "evaluation_examples/examples/excel/{id}/{id}.json"),
        ("spider2v", "excel/{id}/{id}.json"),
        ("osworld", "evaluation_examples/examples/excel/{id}.json"),
        ("osworld", "examples/excel/{id}.json"),
    ],
)
def test_files_of_a_benchmark_are_found_where_it_keeps_them(
    tmp_path: Path, kind: str, layout: str
) -> None:
    for name in ("aa", "bb"):
        path = tmp_path / layout.format(id=name)
        path.parent.mkdir(parents=True, exist_ok=True)
        tree: dict[str, object] = {
            "id": name,
            "instruction": "Do it.",
            "config": [],
            "snapshot": "any",
        }
        path.write_text(json.dumps({**tree, "evaluator": {"func": "infeasible"}}))
    (tmp_path / "test_all.json").write_text('{"excel": ["aa"]}')
    if kind == "spider2v":
        ((tmp_path / layout.format(id="aa")).parent / "data.json").write_text("[]")
    suite = open_suite(f"{kind}:{tmp_path}")
    assert [(task.id, task.domain) for task in suite.tasks] == [("aa", "excel"), ("bb", "excel")]
    assert suite.problems == {}


def test_task_id_shared_by_two_domains_gives_two_tasks(tmp_path: Path) -> None:
    tree = {"id": "aa", "instruction": "Do it.", "config": [], "evaluator": {"func": "infeasible"}}
    for domain in ("chrome", "thunderbird"):
        (tmp_path / domain).mkdir()
        (tmp_path / domain / "aa.json").write_text(json.dumps(tree))
    (tmp_path / "chrome" / "bb.json").write_text(json.dumps(tree))
    suite = open_suite(f"osworld:{tmp_path}")
    assert [(task.id, task.domain) for task in suite.tasks] == [
        ("aa", "chrome"),
        ("thunderbird/aa", "thunderbird"),
    ]
    (reason,) = suite.problems.values()
    assert "task id 'aa' is that of" in reason


@needs_pages
def test_the_pages_of_miniwob_are_a_suite_of_their_own() -> None:
    suite = open_suite("miniwob")
    assert len(suite.tasks) == 128
    assert (suite.tasks[0].path, suite.tasks[0].domain) == ("miniwob:ascending-numbers", "browser")
    assert set(suite.problems) == {
        f"miniwob:{page}"
        for page in ("button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says")
    }
    some = open_suite("miniwob", ["login-user", "click-test"])
    assert [task.id for task in some.tasks] == ["click-test", "login-user"]
    with pytest.raises(UsageError, match=r"task 'moving-items' of 'miniwob' is left out: .{10}"):
        open_suite("miniwob", ["moving-items"])


@pytest.mark.parametrize("name", ["nonsense", "own", "own:", "kaggle:.", ":x"])
def test_an_unknown_suite_is_refused_with_the_kinds(name: str) -> None:
    with pytest.raises(
        UsageError, match=r"allowed are own:DIR, spider2v:DIR, osworld:DIR, miniwob"
    ):
        open_suite(name)


def write_osworld(folder: Path, name: str, func: str) -> None:
    tree = {"id": name, "instruction": "Do it.", "config": [], "evaluator": {"func": func}}
    (folder / "calc").mkdir(parents=True, exist_ok=True)
    (folder / "calc" / f"{name}.json").write_text(json.dumps(tree))


def test_left_out_tasks_are_one_line_with_a_command_that_lists_them(tmp_path: Path) -> None:
    write_osworld(tmp_path, "good", "infeasible")
    for number in range(30):
        write_osworld(tmp_path, f"bad{number}", "compare_dreams")
    write_osworld(tmp_path, "odd", "compare_nightmares")
    suite = open_suite(f"osworld:{tmp_path}")
    line = left_out_line(suite)
    assert "\n" not in line
    assert "left out: 31 task files (30 of them: no metric 'compare_dreams' here" in line
    assert line.endswith(f"hisa bench tasks osworld:{tmp_path} --left-out")
    result = CliRunner().invoke(cli, ["bench", "tasks", suite.name, "--left-out"])
    assert result.stdout.count("no metric 'compare_dreams'") == 30
    assert left_out_line(open_suite(f"osworld:{tmp_path}", ["good"])) == line


def test_a_task_that_is_left_out_says_why(tmp_path: Path) -> None:
    write_osworld(tmp_path, "good", "infeasible")
    write_osworld(tmp_path, "bad", "compare_dreams")
    (tmp_path / "calc" / "torn.json").write_text("{")
    for name, why in (("bad", "no metric 'compare_dreams'"), ("torn", "not valid JSON")):
        with pytest.raises(UsageError, match=f"task '{name}' of .* is left out: .*{why}") as caught:
            open_suite(f"osworld:{tmp_path}", [name])
        assert caught.value.fix == f"hisa bench tasks osworld:{tmp_path} --left-out"
    (tmp_path / "calc" / "good.json").unlink()
    with pytest.raises(UsageError, match=r"task 'bad' of .* is left out"):
        open_suite(f"osworld:{tmp_path}", ["bad"])
    with pytest.raises(
        UsageError, match="2 files, but no task that can be run; the first: no metric"
    ):
        open_suite(f"osworld:{tmp_path}")
