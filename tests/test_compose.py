"""docker-compose.yml: what it starts, for whom, with flags that the servers take."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from qdrant_client.common.version_check import is_compatible

from hisa.config import Settings, load
from hisa.models.profiles import find

ROOT = Path(__file__).parent.parent
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(
    (ROOT / "docker-compose.yml").read_text("utf-8")
)["services"]
VOLUMES = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["volumes"]
SERVED = {
    name: service for name, service in SERVICES.items() if "/vllm-openai:" in service["image"]
}
GROUNDERS = ("gta1-7b", "gta1-32b", "ui-tars")
VLLM = json.loads((ROOT / "tests/data/vllm_serve_options.json").read_text("utf-8"))


def variables(name: str) -> dict[str, str]:
    """The variables of a service that have a value in the file."""
    lines = (line.partition("=") for line in SERVICES[name]["environment"])
    return {key: value for key, equals, value in lines if equals}


def started(profile: str) -> set[str]:
    """The services that ``docker compose --profile NAME up`` starts."""
    return {
        name
        for name, service in SERVICES.items()
        if not service.get("profiles") or profile in service["profiles"]
    }


def test_every_name_that_a_service_refers_to_is_there() -> None:
    for name, service in SERVICES.items():
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in VOLUMES, name
        assert set(service.get("depends_on", ())) <= set(SERVICES), name
        for host in re.findall(r"http://([a-z0-9-]+):", " ".join(service["environment"])):
            assert host == "grounder" or host in SERVICES, name


def test_grounders_and_the_planner_have_compose_profiles() -> None:
    for name in (*GROUNDERS, "planner"):
        assert name in started(name)
        assert started(name) & set(SERVED) == {name}


def test_paper_profile_starts_the_servers_of_its_preset() -> None:
    paper = load(assignments=["preset=hisa-paper"], environ=variables("hisa-paper"))
    assert started("paper") == {"qdrant", "gta1-7b", "bge-m3"}
    assert paper.models.grounder is not None
    assert SERVICES["gta1-7b"]["command"][0] == paper.models.grounder.model
    assert paper.patterns.url == "http://qdrant:6333"
    assert paper.models.grounder.base_url == "http://grounder:8000/v1"
    assert SERVICES["bge-m3"]["command"][:2] == ["download", "BAAI/bge-m3"]
    shared = set(SERVICES["bge-m3"]["volumes"]) & set(SERVICES["hisa-paper"]["volumes"])
    assert any(volume.endswith("/.cache/huggingface") for volume in shared)
    assert set(SERVICES["hisa-paper"]["depends_on"]) == started("paper")


@pytest.mark.parametrize("name", ["hisa", "hisa-paper"])
def test_hisa_knows_the_addresses_and_uses_none_unasked(name: str) -> None:
    plain = load(environ=variables(name))
    assert plain.models == Settings().models
    assert plain.patterns.engine == "edge"
    for grounder in GROUNDERS:
        model = SERVICES[grounder]["command"][0]
        chosen = load(assignments=[f"models.grounder.model={model}"], environ=variables(name))
        assert chosen.models.grounder is not None
        assert chosen.models.grounder.base_url == "http://grounder:8000/v1"
        assert "grounder" in SERVICES[grounder]["networks"]["default"]["aliases"]
        assert find(model).grounding, f"{model} has a format of its own"


def test_the_qdrant_server_fits_the_client() -> None:
    server = SERVICES["qdrant"]["image"].partition(":v")[2]
    assert is_compatible(importlib.metadata.version("qdrant-client"), server)


def test_the_flags_are_those_of_the_pinned_vllm() -> None:
    """As its own parser lists them, stored here: vllm is too large to be installed for tests."""
    for name, service in SERVED.items():
        assert service["image"] == f"vllm/vllm-openai:v{VLLM['vllm']}", name
        assert service["entrypoint"] == ["vllm", "serve"]
        model, *flags = service["command"]
        assert not model.startswith("-"), "--model is going: the model is positional"
        assert VLLM["positional"] == ["model_tag"]
        for flag in flags:
            option, _, value = flag.partition("=")
            assert option in VLLM["options"], f"{name}: {flag}"
            if value.startswith("{"):
                assert json.loads(value)
