"""What a score is worth, through the command line and on a real private desktop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import Command

pytestmark = pytest.mark.desktop


def run(folder: Path, code: int, **task: Any) -> Any:
    (folder / "c.py").write_text("def half(): return 0.5\n", "utf-8")
    path = folder / "t.yaml"
    path.write_text(yaml.safe_dump({"instruction": "Wait.", **task}), "utf-8")
    command = Command(folder)
    command.environ["HISA_PATTERNS__ENABLED"] = "false"
    result = command.json("run", str(path), "--no-report", code=code)
    (row,) = command.json("runs", "ls")
    assert [row[key] for key in ("exit_status", "score", "score_state")] == [
        result[key] for key in ("status", "score", "score_state")
    ]
    shown = command.json("runs", "show")
    assert [shown[key] for key in ("score", "score_state", "success")] == [
        result[key] for key in ("score", "score_state", "success")
    ]
    return result


def test_half_score_does_not_count_as_success(tmp_path: Path) -> None:
    result = run(tmp_path, 1, check={"python": "c.py:half"})
    assert (result["status"], result["score"]) == ("succeeded", 0.5)
    assert (result["score_state"], result["success"]) == ("scored", False)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"launch": "sh -c 'echo no display >&2; exit 3'"}, "ended at once with 3: no display"),
        ({"copy": {"source": "c.py", "path": "/proc/x"}}, "/proc/x"),
    ],
    ids=["launch", "copy"],
)
def test_a_setup_that_fails_is_a_broken_machine_and_no_score(
    tmp_path: Path, step: dict[str, Any], reason: str
) -> None:
    result = run(tmp_path, 3, setup=[step], check={"file": "~/list.txt", "contains": "milk"})
    assert (result["status"], result["score"], result["steps"]) == ("environment_error", None, 0)
    assert result["score_state"] == "unscored"
    assert "setup step 1 of task 't'" in result["message"]
    assert reason in result["message"]
