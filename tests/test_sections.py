"""Each part is made from its own section of the settings, and knows no other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hisa
from hisa.config import (
    GrounderSettings,
    ModelSettings,
    ModelsSettings,
    PatternSettings,
    PlannerSettings,
    ToolSettings,
)
from hisa.errors import ConfigError
from hisa.models.open_models import require_models
from hisa.patterns.memory import open_sops, open_store
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.wiring import build_grounder
from hisa.wiring.planner_kind import PlannerKind
from hisa.wiring.tool_parts import allowed_tools

CORE = Path(hisa.__file__).parent
ABOVE = frozenset({"__init__.py", "agent.py", "cli", "config", "plugins", "wiring"})
"""What puts parts together, and so may know the settings of all of them."""


def _names_from_config(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "hisa.config":
            yield from (alias.name for alias in node.names)


def test_no_room_beneath_the_wiring_knows_the_whole_settings() -> None:
    rooms = [path for path in CORE.iterdir() if path.name not in ABOVE]
    files = [file for room in rooms for file in ([room] if room.is_file() else room.rglob("*.py"))]
    files = [file for file in files if file.suffix == ".py"]
    assert len(files) > 100
    assert [file for file in files if "Settings" in _names_from_config(file)] == []


def _grounder(folder: Path) -> bool:
    made = build_grounder(
        GrounderSettings(kind="elements"), ModelsSettings(), {}, lambda event: None
    )
    return isinstance(made, ElementsGrounder)


def _tools(folder: Path) -> bool:
    return all(tool.always for tool in allowed_tools(ToolSettings(allow=())))


def _store(folder: Path) -> bool:
    settings = PatternSettings(path=folder / "patterns", embedder="openai:any")
    with pytest.raises(ConfigError):
        open_sops(PatternSettings(sops=folder / "none"))
    store = open_store(settings)
    store.close()
    return bool(open_sops(settings))


def _models(folder: Path) -> bool:
    wrong = ModelsSettings(planner=ModelSettings(model="gpt-4o", profile="no such profile"))
    with pytest.raises(ConfigError):
        require_models(wrong, PlannerSettings(), {})
    return True


@pytest.mark.parametrize("works", [_grounder, _tools, _store, _models])
def test_a_part_is_made_from_its_section_alone(
    works: Callable[[Path], bool], tmp_path: Path
) -> None:
    assert works(tmp_path)


def test_a_kind_of_planner_settles_the_planners_section_and_names_its_grounder() -> None:
    from hisa.models.profiles import find

    kind, blind = PlannerKind(), find("qwen2.5-coder-1.5b-instruct")
    settled = kind.settled(PlannerSettings(teaching="rule"), blind, lists=True, asked=True)
    assert settled == PlannerSettings(teaching="rule", sees="elements")
    assert kind.grounder is None
