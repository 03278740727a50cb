"""Decides how a machine is run: by KVM if a probe boot proves that it works, else emulated."""

from __future__ import annotations

import functools
import os
import subprocess
import time
from pathlib import Path
from typing import Literal

from hisa.machine.patience import Deadline
from hisa.plugins.machines.profiles import store

__all__ = ["Accel", "accel", "options"]

Accel = Literal["kvm", "tcg"]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROBE_SECONDS = 15.0  # chosen by hand
_SIGN = b"Run /init as init process"
"""The kernel prints this once it is up; a processor that cannot run it never gets there."""


@functools.cache
def accel(kernel: Path, initrd: Path) -> Accel:
    """Returns the way that works here, probed once per boot of the host. Blocks for up to 15 s.

    That /dev/kvm can be opened proves nothing: some machines have it and cannot run a guest by it.
    """
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    known = store.folder("probe") / _BOOT_ID.read_text(encoding="ascii").strip()
    try:
        kind = known.read_text(encoding="ascii")
    except OSError:
        kind = "kvm" if _boots(kernel, initrd) else "tcg"
        known.write_text(kind, encoding="ascii")
    return "kvm" if kind == "kvm" else "tcg"


def options(kind: Accel) -> list[str]:
    """Returns QEMU's options; for emulation a plain processor model gives the fastest looks."""
    if kind == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "Nehalem"]


def _boots(kernel: Path, initrd: Path) -> bool:
    line = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"]
    line += ["-machine", "q35", *options("kvm"), "-m", "512M", "-no-reboot", "-serial", "stdio"]
    line += ["-kernel", str(kernel), "-initrd", str(initrd)]
    line += ["-append", "console=ttyS0 panic=-1 root=/dev/none"]
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    deadline, output = Deadline(_PROBE_SECONDS), b""
    try:
        while not deadline.passed and process.poll() is None and _SIGN not in output:
            output += process.stdout.read() or b""
            time.sleep(0.05)
        return _SIGN in output
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
