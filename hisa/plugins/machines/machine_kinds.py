"""The environment kind ``vm``, and the systems of profiles, which private desktops show too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hisa.config import EnvironmentSettings
from hisa.environments.kinds import EnvironmentKind, Note, require_linux
from hisa.machine.probes import Probe
from hisa.protocols import Environment
from hisa.screen.geometry import Size

__all__ = ["VM"]


def _open(
    value: str, *, settings: EnvironmentSettings, image_limit: Size, note: Note
) -> Environment:
    require_linux("a virtual machine")
    from hisa.plugins.desktop.profile_screens import screen_of
    from hisa.plugins.machines.vm_clone import VmEnvironment

    size = screen_of(value, settings.width, settings.height)
    environment = VmEnvironment(value, size, image_limit=image_limit)
    return environment.with_settings(settings)


def _probes() -> Iterator[Probe]:
    require_linux("a virtual machine")
    yield _profiles()
    yield _virtual_machines()


def _profiles() -> Probe:
    from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
    from hisa.plugins.machines.tree import find_tree

    built = [name for name in PROFILES if find_tree(recipe(name))]
    detail = f"{', '.join(built)} built" if built else "none is built; hisa machine ls lists them"
    return Probe("systems of profiles", True, detail, needed=False)


def _virtual_machines() -> Probe:
    from hisa.machine.parts import install_command
    from hisa.plugins.machines.profiles.recipe import PROFILES, recipe
    from hisa.plugins.machines.qemu.accel import accel
    from hisa.plugins.machines.qemu.build import find_image, missing_programs
    from hisa.plugins.machines.qemu.runtime import list_machines

    name = "virtual machines"
    if lacking := ", ".join(missing_programs()):
        detail = f"not installed: {lacking}"
        return Probe(name, False, detail, install_command("vm"), needed=False)
    built = {name: image for name in PROFILES if (image := find_image(recipe(name)))}
    if not built:
        fix = "hisa vm build minimal"
        return Probe(name, False, "no profile is built", fix, needed=False)
    image = next(iter(built.values()))
    method = {"kvm": "by KVM", "tcg": "emulated, without KVM"}[accel(image.kernel, image.initrd)]
    detail = f"{', '.join(built)} built; {method}; {len(list_machines())} running"
    return Probe(name, True, detail, needed=False)


def _system(profile: str) -> Path:
    from hisa.plugins.machines.tree import built_tree

    return built_tree(profile).root


VM = EnvironmentKind(_open, spellings=("vm:NAME",), probes=_probes, system=_system)
