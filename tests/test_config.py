"""Settings: later wins, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.config import load
from hisa.errors import ConfigError


def test_later_wins(tmp_path: Path) -> None:
    file = tmp_path / "hisa.toml"
    file.write_text("[run]\nmax_steps = 7\nseed = 3\n[state]\nrefine_every = 9\n")
    settings = load(
        file,
        ["run.max_steps=11", "models.planner.model=gpt-5"],
        overrides={"run": {"max_steps": 13}},
        environ={"HISA_RUN__SEED": "4", "HISA_STATE__REFINE_EVERY": "3", "HISA_OTHER": "x"},
    )
    assert (settings.run.max_steps, settings.run.seed) == (13, 4)
    assert settings.state.refine_every == 3
    assert settings.models.planner.model == "gpt-5"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("run.max_step=3", "run.max_step: no such setting"),
        ("nothing.at.all=3", "nothing: no such setting"),
        ("run.max_steps=0", "run.max_steps = 0"),
        ("run.max_steps=many", "run.max_steps = 'many'"),
        ("run.confirm=maybe", "'auto', 'always' or 'never'"),
        ("max_steps", "a.b=c"),
        ("run=3", "run = 3"),
    ],
)
def test_what_is_wrong_is_named(assignment: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, [assignment], environ={})
    assert said in str(caught.value)
    assert caught.value.fix


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "hisa.toml"
    with pytest.raises(ConfigError, match="No such file"):
        load(file, environ={})
    file.write_text("[run\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(file, environ={})
