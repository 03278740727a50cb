"""Model calls in the formats of other programs, judged by those programs' own classes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hisa.cli.runs import runs as runs_command
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.plugins.exports.atif import to_atif, write_atif
from hisa.plugins.exports.openenv_trace import to_trace, write_trace
from hisa.protocols import ModelReply, TurnTokens
from hisa.runs.run_reader import Run
from hisa.runs.turns import turns
from hisa.testing import FakeServer
from hisa.testing.model_server import ReceivedRequest
from tests.runs.test_turns import CLICK, answer, run_with_server

ROOT = Path(__file__).parents[3]
CONTRACTS = ROOT / "build" / "contracts" / "bin" / "python"
TOKENS = TurnTokens((1, 2, 3), (7, 8), (-0.5, -0.25))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One whose planner's server gives tokens, and that has a refused reply."""
    next_text = answer(["no JSON", CLICK])

    def reply(request: ReceivedRequest) -> Any:
        text = next_text(request)
        return ModelReply(text, tokens=TOKENS) if request.role == "planner" else text

    with FakeServer(then=reply) as server:
        planner = {"tokens": True, "profile": "vllm"}
        return run_with_server(tmp_path_factory.mktemp("r"), server, models={"planner": planner})


def test_the_formats_hold_requests_and_replies(run: Run) -> None:
    all_turns = list(turns(run))
    trained = [turn for turn in all_turns if turn.tokens]
    assert any(turn.refused for turn in trained)
    entries = json.loads(json.dumps(to_trace(trained)))["turns"]
    assert [entry["request"] for entry in entries] == [turn.request for turn in trained]
    assert [entry["response"]["text"] for entry in entries] == [turn.reply for turn in trained]
    assert entries[0]["prompt_token_ids"] == [1, 2, 3]
    assert entries[0]["loss_mask"] == [0, 0, 0, 1, 1]
    trajectory = json.loads(json.dumps(to_atif(all_turns, run=run.id, models=run.manifest.models)))
    messages = [step["message"] for step in trajectory["steps"] if step["source"] == "agent"]
    assert messages == [turn.reply or "" for turn in all_turns]


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
    all_turns = list(turns(run))
    files = [
        write_trace(all_turns, [run], tmp_path / "trace.json"),
        write_atif(all_turns, [run], tmp_path / "atif.json"),
    ]
    ran = subprocess.run(
        [CONTRACTS, "-c", _JUDGE, *files], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_turn_without_tokens_is_refused_as_rl_sample(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    all_turns = [turn.model_copy(update={"tokens": None}) for turn in turns(run)]
    with pytest.raises(UsageError, match="fit for cloning, but not for RL"):
        write_trace(all_turns, [run], tmp_path / "t.json")
    assert all_turns[0].id in capsys.readouterr().err
    assert not (tmp_path / "t.json").exists()


def test_the_command_writes_each_of_them(run: Run, tmp_path: Path) -> None:
    settings = Settings.model_validate({"run": {"folder": run.folder.parent}})

    def call(*words: str) -> Path:
        ran = CliRunner().invoke(runs_command, ["export", *words], obj=settings)
        if ran.exception is not None:
            raise ran.exception
        return Path(ran.stdout.strip())

    assert len(call("-o", str(tmp_path / "t.jsonl")).read_text().splitlines()) > 3
    assert call("--min-score", "0", "-o", str(tmp_path / "p.jsonl")).read_text() == "", "unscored"
    assert json.loads(call("--format", "atif").read_text())["session_id"] == run.id
    assert call("--all", "--format", "openenv", "-o", str(tmp_path / "o")).exists()
    with pytest.raises(UsageError, match=r"'csv': allowed are jsonl, atif, openenv"):
        call("--format", "csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        call("-o", str(tmp_path / "file" / "t.jsonl"))
