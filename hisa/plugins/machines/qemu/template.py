"""Freezes a machine into a template and clones machines from it.

Each clone maps the template's memory file privately: pages that no clone writes exist once,
whatever the number of clones, and the template never changes.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.desktop.runtime.desktop import guest_code
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.qemu.accel import Accel, accel
from hisa.plugins.machines.qemu.build import Image
from hisa.plugins.machines.qemu.machine import Machine, Shape, qemu_version, run_tool
from hisa.plugins.machines.tree import pack_files
from hisa.screen.geometry import Size

__all__ = ["Template", "create_overlay", "guest_version", "ready"]

_BOOT_SECONDS: dict[Accel, float] = {"kvm": 60.0, "tcg": 120.0}
"""Limits on an idle machine, where a boot takes 2 and 25 s; a boot that hangs costs no more."""
_BOOT_TRIES = 2  # chosen by hand
_ANSWER_SECONDS = 30.0  # chosen by hand
_QUIET_SECONDS = 20.0  # chosen by hand


class Template:
    """A frozen machine: memory, devices' state and disk, in one folder."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.shape = Shape(**manifest["shape"])

    def check(self) -> None:
        """Refuses to load into another version of QEMU: the machine would run, but not respond.

        Raises:
            EnvironmentFailed: the installed QEMU is not the one that froze the template.
        """
        now = qemu_version()
        if now != self.shape.qemu or self.shape.key != self.manifest["key"]:
            raise EnvironmentFailed(
                f"{self.folder.name} was frozen by {self.shape.qemu!r}; installed is {now!r}",
                fix="hisa vm gc, then run again",
            )

    def clone(self, folder: Path) -> Machine:
        """Starts a machine from the template's state. Blocks for a fraction of a second.

        Args:
            folder: an empty folder for its files.

        Raises:
            EnvironmentFailed: the state cannot be loaded.
        """
        self.check()
        for name in ("token", "guest.tar"):
            shutil.copyfile(self.folder / name, folder / name)
            (folder / name).chmod(0o600)
        create_overlay(self.folder / "disk.qcow2", folder / "disk.qcow2")
        machine = Machine(self.shape, folder)
        try:
            machine.launch(self.folder / "ram.img", shared=False, waiting=True)
            self._load(machine)
            machine.await_guest(_ANSWER_SECONDS)
            machine.set_clock()
        except BaseException:
            machine.kill()
            raise
        return machine

    def _load(self, machine: Machine) -> None:
        with machine.qmp() as qmp:
            _ignore_memory(qmp.execute)
            state = str(self.folder / "state.bin").replace("'", "'\\''")
            qmp.execute("migrate-incoming", uri=f"exec:cat '{state}'")
            qmp.await_migration()
            qmp.execute("cont")


def _ignore_memory(ask: Callable[..., Any]) -> None:
    """Leave the memory out of the saved state: it is a file that both sides map."""
    capabilities = [{"capability": "x-ignore-shared", "state": True}]
    ask("migrate-set-capabilities", capabilities=capabilities)


def create_overlay(base: Path, overlay: Path) -> None:
    """Makes a disk that stores only its differences from ``base``, which stays as it is."""
    line = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(base), str(overlay)]
    run_tool(line)
    overlay.chmod(0o600)


def _freeze(machine: Machine, *, about: dict[str, Any]) -> None:
    """Write a machine's present state into its own folder, with a manifest, and end it."""
    with machine.qmp() as qmp:
        qmp.execute("stop")
        _ignore_memory(qmp.execute)
        state = str(machine.folder / "state.bin").replace("'", "'\\''")
        qmp.execute("migrate", uri=f"exec:cat >'{state}'")
        qmp.await_migration()
    machine.kill()
    shape = machine.shape
    known = {"shape": asdict(shape), "key": shape.key, "created": time.time()}
    store.write_manifest(machine.folder, {**known, **about})


def ready(image: Image, size: Size, tell: Callable[[str], None] = lambda line: None) -> Template:
    """Returns the template of an image's ready desktop; boots and freezes it if there is none.

    Args:
        image: the built image of a profile.
        size: the screen, in pixels.
        tell: called with a line for each step of progress.

    Raises:
        EnvironmentFailed: the machine failed to come up twice.
    """
    kind = accel(image.kernel, image.initrd)
    shape = Shape(str(image.folder), size.width, size.height, kind, qemu=qemu_version())
    guest = _guest_tar()
    name = f"{image.name}-{shape.key}-{_version(guest)}"
    target = store.folder("ready") / name
    with store.hold_lock(target, tell):
        manifest = store.read_manifest(target)
        if manifest is None:
            _make_ready(image, shape, guest, target, tell)
            manifest = store.read_manifest(target)
    assert manifest is not None
    return Template(target, manifest)


def _make_ready(
    image: Image, shape: Shape, guest: bytes, target: Path, tell: Callable[[str], None]
) -> None:
    tell(f"{image.name}: booting once to freeze the ready desktop; takes up to a minute")
    for left in reversed(range(_BOOT_TRIES)):
        start = time.monotonic()
        try:
            with store.place_atomically(target) as draft:
                _boot(image, shape, guest, draft)
        except EnvironmentFailed as error:
            if not left:
                raise
            tell(f"booting again: {str(error).partition(';')[0]}")
        else:
            tell(f"{image.name}: desktop is ready after {time.monotonic() - start:.1f} s")
            return


def _boot(image: Image, shape: Shape, guest: bytes, draft: Path) -> None:
    """Boot the machine until its desktop is drawn and quiet, then freeze it."""
    create_overlay(image.disk, draft / "disk.qcow2")
    for name, data in (("token", secrets.token_urlsafe(24).encode()), ("guest.tar", guest)):
        (draft / name).touch(mode=0o600)
        (draft / name).write_bytes(data)
    memory = draft / "ram.img"
    memory.touch(mode=0o600)
    machine = Machine(shape, draft)
    try:
        machine.launch(memory, shared=True)
        machine.await_guest(_BOOT_SECONDS[shape.accel])
        quiet = {"elements": True, "settle": _QUIET_SECONDS, "format": "png"}
        machine.request("POST", "/hisa/observe", quiet, seconds=patience(_QUIET_SECONDS + 60.0))
        about = {"image": image.name, "name": image.name.partition("-")[0]}
        _freeze(machine, about={**about, "guest": _version(guest)})
    except OSError as error:
        raise EnvironmentFailed(f"the guest stopped answering: {error}") from error
    finally:
        machine.kill()


def guest_version() -> str:
    """Returns the hash of the guest's present code, in eight hex digits."""
    return _version(_guest_tar())


def _version(guest: bytes) -> str:
    return hashlib.sha256(guest).hexdigest()[:8]


def _guest_tar() -> bytes:
    """Return a tar of the guest's code and PyAutoGUI's."""
    files = {}
    for place, source in guest_code().items():
        path = Path(source)
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            files[str(Path(place, file.relative_to(path)))] = file
    return pack_files(files)
