"""The random model, made once; tests that ask real weights only where they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.gguf.random_gguf import write_random_model


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `-m llm` no test asks real weights: it takes minutes, and they must be here."""
    if "llm" in config.option.markexpr.replace("not llm", ""):
        return
    real = [item for item in items if item.get_closest_marker("llm")]
    items[:] = [item for item in items if item not in real]
    config.hook.pytest_deselected(items=real)


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("gguf") / "random.gguf")


@pytest.fixture(autouse=True)
def own_weights(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder of fetched models is the test's, but where real weights are asked."""
    if not request.node.get_closest_marker("llm"):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "hisa" / "models"
