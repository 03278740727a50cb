"""The random model, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.gguf.random_gguf import write_random_model


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_random_model(tmp_path_factory.mktemp("gguf") / "random.gguf")


@pytest.fixture(autouse=True)
def own_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of fetched models is the test's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "hisa" / "models"
