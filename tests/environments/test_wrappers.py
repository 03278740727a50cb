"""Settings to environments, asking a person, and what the machine lacks."""

from __future__ import annotations

import pytest

from hisa.config import EnvironmentSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import UsageError
from hisa.plugins.desktop.runtime.probe import probe


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("desktop", "desktop"),
        ("display=:7", "screen"),
        ("guest=http://10.0.0.2:5000/", "http://10.0.0.2:5000"),
    ],
)
def test_kind_decides(kind: str, name: str) -> None:
    assert open_environment(EnvironmentSettings(kind=kind)).name == name


@pytest.mark.parametrize(
    "kind", ["", "desk", "display", "display=", "guest=", "guest=a b", "desktop=2"]
)
def test_unknown_kind_lists_the_allowed_ones(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_environment(EnvironmentSettings(kind=kind))
    assert caught.value.fix.startswith("--env")


@pytest.mark.process
def test_probe_names_a_fix_for_whatever_is_missing() -> None:
    probes = probe()
    assert {"X server", "isolation", "guest's python"} <= {entry.name for entry in probes}
    assert all(entry.ok or entry.fix for entry in probes)
    assert all(entry.detail for entry in probes)
