"""``hisa doctor``: checks this machine and prints the commands that fix what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hisa.cli.findings import Finding, models, parts, places, prompts
from hisa.cli.open_group import load_announced
from hisa.cli.out import json_option, print_json, say
from hisa.errors import EnvironmentFailed, PluginFailed, UsageError
from hisa.machine import plugins
from hisa.machine.plugins import ENTRY_POINT_GROUPS, Later, blaming_package, is_ours, load, source
from hisa.machine.plugins import points as entry_points

if TYPE_CHECKING:
    from hisa.config import EnvironmentSettings, ModelsSettings, Settings

__all__ = ["doctor"]


def _check_tools() -> Iterator[Finding]:
    from hisa.tools.registry import discover

    tools, broken = discover()
    yield Finding("tools", "registry", True, True, f"{len(tools)} tools; hisa tools ls")
    for plugin in broken:
        reason = plugin.traceback.strip().splitlines()[-1]
        fix = f"hisa tools show {plugin.name}"
        yield Finding("tools", plugin.name, False, False, reason, fix)


def _check_plugins() -> Iterator[Finding]:
    """Load every plug-in but tools; yields a finding for each failure and each foreign package."""
    for group in ENTRY_POINT_GROUPS[1:]:
        for point in entry_points(group):
            try:
                plugin = load(group, point)
                if isinstance(plugin, Later):
                    with blaming_package(group, point):
                        plugin.load()
            except PluginFailed as error:
                fix = f"pip install --upgrade {source(point)}"
                yield Finding(group, point.name, False, False, str(error), fix)
            else:
                if not is_ours(point):
                    yield Finding(group, point.name, True, False, f"from package {source(point)}")


def _hooks(settings: Settings) -> Iterator[Finding]:
    """Yields the order of the hooks, and a finding for each needed hook that is not installed."""
    from hisa.wiring.hook_list import NEEDED, hook_names, may_need

    names = hook_names()
    yield Finding("hooks", "order", True, False, ", ".join(("those given in Python", *names)))
    for name in NEEDED:
        if name not in names and may_need(name, settings):
            lacking = "no installed package provides it; runs that need it do not start"
            yield Finding("hooks", name, False, True, lacking, "pip install --upgrade hisa-agent")


def _models_here(settings: ModelsSettings) -> Iterator[Finding]:
    """Yields the findings of the package that runs models on this machine, if installed."""
    point = plugins.find("commands", "doctor.models")
    if point is not None and not plugins.is_left_out(point):
        yield from load("commands", point)(settings)


def _machine(settings: EnvironmentSettings) -> Iterator[Finding]:
    from hisa.environments.kinds import find_kind, probe_kinds

    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding("machine", "python", sys.version_info >= (3, 11), True, version)
    try:
        find_kind(settings)
    except UsageError as error:
        yield Finding("machine", "environment", False, True, str(error), error.fix)
    except PluginFailed as error:
        yield Finding("machine", "environment", False, True, str(error))
    for probe in probe_kinds():
        yield Finding("machine", probe.name, probe.ok, probe.needed, probe.detail, probe.fix)


def _machines(settings: EnvironmentSettings) -> Iterator[Finding]:
    """Probe the machines of the chosen kind, if it offers that and they can be reached."""
    if settings.family not in ("guest", "screen"):
        return
    import asyncio

    from hisa.environments.kinds import find_kind
    from hisa.environments.open_environment import open_environment

    _, kind, _ = find_kind(settings)
    if kind.probe is None:
        return
    area = {"guest": "guests"}.get(settings.family, settings.kind)
    try:
        probes = asyncio.run(kind.probe(open_environment(settings)))
    except EnvironmentFailed as error:
        yield Finding(area, settings.kind, False, True, str(error), error.fix)
        return
    for probe in probes:
        yield Finding(area, probe.name, probe.ok, probe.needed, probe.detail, probe.fix)


@click.command()
@click.option("--env", metavar="KIND", help="Also try guest=http://HOST:PORT or screen.")
@click.option("--grounder", "points", is_flag=True, help="Also measure how models point and pick.")
@json_option
@click.pass_obj
def doctor(settings: Settings, env: str | None, points: bool, as_json: bool) -> int:
    """Check what works on this machine and print the commands that fix the rest.

    \b
    hisa doctor
    hisa doctor --env guest=http://10.0.0.5:5000
    hisa doctor --env screen  # rights, scaling, the pointer moved by a point and back
    hisa doctor --grounder  # once for a model without a profile: 30 short requests
    hisa --set models.grounder.model=GTA1-7B doctor --grounder
    hisa --set prompts.folder=DIR doctor  # which of your own prompts replace ours

    ok: installed or working. NO: missing, and the present settings need it. --: missing, and only
    the named feature needs it. Exit status: 3 if something needed is missing.

    \f
    Args:
        settings: the effective settings.
        env: an environment to check instead of the settings' own.
        points: also measure how models point and pick.
        as_json: print JSON.
    """
    machine = settings.environment.model_copy(update={} if env is None else {"kind": env})
    findings = [
        *_machine(machine),
        *parts(settings.patterns),
        *models(settings.models),
        places(settings.grounder, settings.models),
        *prompts(settings.prompts),
        *_models_here(settings.models),
        *_check_tools(),
        *_hooks(settings),
        *_check_plugins(),
        *_machines(machine),
        *(load_announced("doctor.grounder", "--grounder")(settings) if points else []),
    ]
    broken = [f for f in findings if f.needed and not f.ok]
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return 3 if broken else 0
    _print(findings)
    verdict = f"{len(broken)} thing(s) missing" if broken else "everything needed is here"
    click.secho(f"\n{verdict}", fg="red" if broken else "green", bold=True)
    return 3 if broken else 0


def _print(findings: Sequence[Finding]) -> None:
    areas, area = [finding.area for finding in findings], ""
    for finding in sorted(findings, key=lambda finding: areas.index(finding.area)):
        if finding.area != area:
            area = finding.area
            click.secho(area, bold=True)
        mark = "ok  " if finding.ok else ("NO  " if finding.needed else "--  ")
        say(f"  {mark}{finding.name:<21} {finding.detail}")
        if finding.fix and not finding.ok:
            say(f"      {'':<22}try: {finding.fix}")
