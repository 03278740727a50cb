"""Folders that commands of synthesis cannot write."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.cli import main


@pytest.mark.parametrize("command", [["synth", "write"], ["data", "compress"], ["explore"]])
def test_a_place_that_cannot_be_written_is_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        main(
            [
                *command,
                "mousepad" if command == ["explore"] else str(tmp_path),
                "-o",
                str(tmp_path / "file" / "out"),
            ]
        )
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
