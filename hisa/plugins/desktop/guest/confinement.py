"""Confines a private desktop's programs: limits, a keyring of its own, refused system calls.

The guest applies this to itself before it starts anything, and all that it starts inherits it. It
cannot be undone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "Limits",
    "confine",
    "own_keyring",
    "refused_calls",
    "rules_text",
    "shield",
    "signals_stay",
]

_GET_NO_NEW_PRIVS = 39
_NO_NEW_PRIVS, _SET_DUMPABLE, _SET_SECCOMP, _FILTER = 38, 4, 22, 2
_JOIN_SESSION_KEYRING = 1  # of <linux/keyctl.h>
_MOST_LIKELY_TO_GO = 500
"""Badness, of 1000, by which the kernel picks the process to kill when memory runs out."""

_CALLS = {
    "x86_64": {
        "ptrace": 101,
        "pivot_root": 155,
        "mount": 165,
        "umount2": 166,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "perf_event_open": 298,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": {
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "ptrace": 117,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "perf_event_open": 241,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "bpf": 280,
        "userfaultfd": 282,
    },
}
_NEWER_CALLS = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "memfd_secret": 447,
}
"""System calls that have the same number on every machine."""
_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The kernel's number of the architecture, and the number of socket()."""
_FAMILIES = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16}
"""Socket families that desktops use; vsock (40) would reach the host of a virtual machine."""
_X32 = 0x40000000  # of the kernel's x32 system calls
_SIGNALLING = {"x86_64": (62, 200, 234, 129, 297, 302), "aarch64": (129, 130, 131, 138, 240, 261)}
"""kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, prlimit64: all take a process first."""
_CREATE_RULESET, _RESTRICT_SELF, _SCOPE_SIGNAL = 444, 446, 1 << 1  # of <linux/landlock.h>
_EVERYBODY = -1
"""kill()'s process id for every process that may be signalled."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


@dataclass(frozen=True)
class Limits:
    """The limits of a desktop; 0: no limit of that kind."""

    processes: int = 0
    """Processes and threads together, as the kernel counts them."""
    memory_mb: int = 0
    """Memory of a single process, in MiB; the watchdog outside adds them up."""
    open_files: int = 0
    """Open files of a single process."""

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Parses ``processes,memory_mb,open_files``."""
        return cls(*map(int, text.split(",")))

    def __str__(self) -> str:
        return f"{self.processes},{self.memory_mb},{self.open_files}"


def confine(limits: Limits) -> None:
    """Confines this process for good.

    Raises:
        OSError: the kernel refuses a part; nothing has been started yet.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    own_keyring()
    for which, value in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_DATA, limits.memory_mb << 20),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        _lower(which, value)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(str(_MOST_LIKELY_TO_GO))
    _call(libc, "no_new_privs", _NO_NEW_PRIVS, 1, 0, 0, 0)
    _refuse_calls(libc)
    # Programs of the same user could read the token from this process's memory.
    _call(libc, "not dumpable", _SET_DUMPABLE, 0, 0, 0, 0)


def _lower(resource_number: int, value: int) -> None:
    if value:
        _, most = resource.getrlimit(resource_number)
        limit = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(resource_number, (limit, limit))


def own_keyring() -> None:
    """Joins a new, empty session keyring in place of the one of the host's login.

    Raises:
        OSError: the kernel has keyrings but refuses a new one.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    number = _CALLS.get(platform.machine(), {}).get("keyctl")
    if number is None or libc.syscall(number, _JOIN_SESSION_KEYRING, None) >= 0:
        return
    code = ctypes.get_errno()
    if code not in (errno.ENOSYS, errno.EPERM):  # the kernel has none, or they are refused already
        raise OSError(code, f"own session keyring: {os.strerror(code)}")


def signals_stay() -> None:
    """Lets this thread, and all that it starts, signal only what it started.

    Has no effect on older kernels. The thread must already be unable to gain privileges; see
    `confine`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    scoped = struct.pack("QQQ", 0, 0, _SCOPE_SIGNAL)
    rules = libc.syscall(_CREATE_RULESET, scoped, ctypes.c_size_t(len(scoped)), 0)
    if rules >= 0:
        libc.syscall(_RESTRICT_SELF, rules, 0)
        os.close(rules)


def shield(pids: Iterable[int]) -> None:
    """Forbids this thread, and all that it starts, to signal these processes, or all at once.

    Does nothing if privileges can be gained, as in a virtual machine, whose user is an
    administrator.

    Raises:
        OSError: the kernel refuses the filter.
    """
    libc, machine = ctypes.CDLL(None, use_errno=True), platform.machine()
    if machine not in _ARCHITECTURES or libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        return
    targets = [_EVERYBODY, *(sign * pid for pid in pids for sign in (1, -1))]
    calls = _SIGNALLING[machine]
    rules = [_load(_ARCHITECTURE), _rule(_EQUAL, 1, 0, _ARCHITECTURES[machine][0])]
    rules += [_return(_ALLOW), _load(_NUMBER)]
    rules += [_rule(_EQUAL, len(calls) - at, 0, call) for at, call in enumerate(calls)]
    rules += [_return(_ALLOW), _load(_FIRST_ARGUMENT)]
    for number in targets:
        rules += [_rule(_EQUAL, 0, 1, number & 0xFFFFFFFF), _return(_ERROR | errno.EPERM)]
    _filter(libc, [*rules, _return(_ALLOW)])


def refused_calls(machine: str) -> dict[str, int]:
    """Returns names and numbers of the refused system calls; empty for an unknown machine."""
    known = _CALLS.get(machine)
    return {**known, **_NEWER_CALLS} if known else {}


def _refuse_calls(libc: ctypes.CDLL) -> None:
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        sys.stderr.write(f"no list of system calls for {machine}: none is refused\n")
        return
    _filter(libc, _rules(machine))


def rules_text() -> bytes:
    """Returns the filter of refused calls in bubblewrap's format; empty for an unknown machine."""
    machine = platform.machine()
    return b"".join(_rules(machine)) if machine in _ARCHITECTURES else b""


def _filter(libc: ctypes.CDLL, rules: list[bytes]) -> None:
    code = ctypes.create_string_buffer(b"".join(rules), 8 * len(rules))
    filled = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
    program = ctypes.create_string_buffer(filled)
    _call(libc, "seccomp", _SET_SECCOMP, _FILTER, ctypes.addressof(program), 0, 0)


def _rules(machine: str) -> list[bytes]:
    """Return the filter, one instruction of the kernel's classic BPF per entry."""
    architecture, socket = _ARCHITECTURES[machine]
    rules = [_load(_ARCHITECTURE), _rule(_EQUAL, 1, 0, architecture)]
    rules += [_return(_ERROR | errno.ENOSYS), _load(_NUMBER)]
    if machine == "x86_64":
        rules += [_rule(_AT_LEAST, 0, 1, _X32), _return(_ERROR | errno.ENOSYS)]
    for name, number in refused_calls(machine).items():
        # Programs go on without io_uring if the kernel seems to have none.
        code = errno.ENOSYS if name.startswith("io_uring") else errno.EPERM
        rules += [_rule(_EQUAL, 0, 1, number), _return(_ERROR | code)]
    rules += [_rule(_EQUAL, 1, 0, socket), _return(_ALLOW), _load(_FIRST_ARGUMENT)]
    for family in _FAMILIES.values():
        rules += [_rule(_EQUAL, 0, 1, family), _return(_ALLOW)]
    return [*rules, _return(_ERROR | errno.EAFNOSUPPORT)]


def _rule(code: int, then: int, otherwise: int, value: int) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)


def _load(offset: int) -> bytes:
    return _rule(_LOAD, 0, 0, offset)


def _return(action: int) -> bytes:
    return _rule(_RETURN, 0, 0, action)


def _call(libc: ctypes.CDLL, operation: str, *arguments: int) -> None:
    if libc.prctl(*map(ctypes.c_ulong, arguments)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{operation}: {os.strerror(code)}")
