"""Model calls in the formats of other programs, and back, judged by those programs' own classes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hisa.cli.runs import runs as runs_command
from hisa.config import Settings
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.plugins import announced_names
from hisa.plugins.exports.atif import from_atif, to_atif, write_atif
from hisa.plugins.exports.openenv_trace import from_trace, to_trace, write_trace
from hisa.plugins.exports.otel_spans import write_spans
from hisa.plugins.exports.parquet import write_parquet
from hisa.protocols import ModelReply, TurnTokens
from hisa.runs.read import Run
from hisa.runs.turns import Turn, turns
from hisa.testing import FakeServer
from hisa.testing.model_server import Received
from tests.runs.test_turns import CLICK, answer, played

ROOT = Path(__file__).parents[3]
CONTRACTS = ROOT / "build" / "contracts" / "bin" / "python"
TOKENS = TurnTokens((1, 2, 3), (7, 8), (-0.5, -0.25))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One whose planner's server gives tokens, and that has a refused reply."""
    said = answer(["no JSON", CLICK])

    def reply(request: Received) -> Any:
        text = said(request)
        return ModelReply(text, tokens=TOKENS) if request.role == "planner" else text

    with FakeServer(then=reply) as server:
        planner = {"tokens": True, "profile": "vllm"}
        return played(tmp_path_factory.mktemp("r"), server, models={"planner": planner})


def canonical(found: list[Turn]) -> str:
    return json.dumps([turn.model_dump(mode="json") for turn in found], sort_keys=True)


def test_there_and_back_a_turn_is_the_same(run: Run) -> None:
    found = list(turns(run))
    trained = [turn for turn in found if turn.tokens]
    assert any(turn.refused for turn in trained)
    assert canonical(from_trace(json.loads(json.dumps(to_trace(trained))))) == canonical(trained)
    told = json.loads(json.dumps(to_atif(found, run=run.id, models=run.manifest.models)))
    assert canonical(from_atif(told)) == canonical(found)


_JUDGE = """
import json, sys
from harbor.models.trajectories import Trajectory
from openenv.core.harness.training import TrainingTrace
trace, atif = (json.load(open(path)) for path in sys.argv[1:])
back = json.loads(TrainingTrace.model_validate(trace).model_dump_json())
assert back == trace, "the trace was read as something else"
back = Trajectory.model_validate(atif).to_json_dict()
assert back == atif, "the trajectory was read as something else"
"""


@pytest.mark.skipif(not CONTRACTS.exists(), reason="not built: make test-contracts")
def test_their_own_classes_take_them(run: Run, tmp_path: Path) -> None:
    found = list(turns(run))
    files = [
        write_trace(found, [run], tmp_path / "trace.json"),
        write_atif(found, [run], tmp_path / "atif.json"),
    ]
    ran = subprocess.run(
        [CONTRACTS, "-c", _JUDGE, *files], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_a_turn_without_tokens_is_no_sample_of_rl(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [turn.model_copy(update={"tokens": None}) for turn in turns(run)]
    with pytest.raises(UsageError, match="fit for cloning, no sample of RL"):
        write_trace(found, [run], tmp_path / "t.json")
    assert found[0].id in capsys.readouterr().err
    assert not (tmp_path / "t.json").exists()


def test_spans_say_nothing_of_contents_unless_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(turns(run))
    path = write_spans(found, [run], tmp_path / "otel.json")
    (told,) = json.loads(path.read_text())["resourceSpans"]
    root, first, *_ = told["scopeSpans"][0]["spans"]
    assert (root["name"], first["name"]) == ("invoke_agent hisa", "chat planner-model")
    assert first["parentSpanId"] == root["spanId"]
    assert "no JSON" not in path.read_text()
    names = {each["key"] for each in first["attributes"]}
    assert {"gen_ai.request.model", "gen_ai.usage.input_tokens", "hisa.role"} <= names
    monkeypatch.setenv("HISA_OTEL_CONTENTS", "true")
    assert "no JSON" in write_spans(found, [run], path).read_text()


def test_the_command_writes_each_of_them(run: Run, tmp_path: Path) -> None:
    settings = Settings.model_validate({"run": {"folder": run.folder.parent}})

    def call(*words: str) -> Path:
        ran = CliRunner().invoke(runs_command, ["export", *words], obj=settings)
        if ran.exception is not None:
            raise ran.exception
        return Path(ran.stdout.strip())

    assert len(call("-o", str(tmp_path / "t.jsonl")).read_text().splitlines()) > 3
    only = call("--role", "planner", "--whole", "-o", str(tmp_path / "p.jsonl"))
    assert {json.loads(line)["role"] for line in only.read_text().splitlines()} == {"planner"}
    assert json.loads(call("--format", "atif").read_text())["session_id"] == run.id
    assert call("--all", "--format", "openenv", "-o", str(tmp_path / "o")).exists()
    with pytest.raises(UsageError, match=r"'csv': allowed are jsonl, atif, openenv"):
        call("--format", "csv")
    assert {"runs.export.parquet", "runs.export.otel"} <= set(announced_names("commands"))


def test_parquet_holds_the_pictures(run: Run, tmp_path: Path) -> None:
    found = list(turns(run))
    if "datasets" not in sys.modules:
        pytest.importorskip("datasets", reason="not installed: hisa install data")
    from datasets import load_dataset  # type: ignore[import-not-found]

    path = write_parquet(found, [run], tmp_path / "t.parquet")
    rows = load_dataset("parquet", data_files=str(path), cache_dir=str(tmp_path / "c"))["train"]
    assert [row["id"] for row in rows] == [turn.id for turn in found]
    assert rows[0]["images"][0].size == (1280, 720)


def test_without_datasets_it_says_how_to_get_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(LibraryLacking) as caught:
        write_parquet(list(turns(run)), [run], tmp_path / "t.parquet")
    assert "data" in caught.value.fix
