"""First process of a private desktop: builds the file system, then starts the guest as a user.

It runs in fresh namespaces (see `hisa.plugins.desktop.runtime.desktop`) as their root, with the
standard library alone, and gets one JSON object as the first line of standard input. The new root
is a folder of one tmpfs. The folders of the host's system, or of a built one, are mounted in it as
overlays whose upper layer is that tmpfs. So nothing that is written reaches the host, and the size
of the tmpfs limits all that is written. What is not listed here does not exist inside.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import re
import shutil
import socket
import struct
import sys
import uuid
from typing import Any

__all__ = ["GUEST_FOLDER", "SYSTEM_FOLDERS", "identity", "list_openers", "main", "mount"]

SYSTEM_FOLDERS = ("usr", "etc", "opt", "var", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
COVERED = ("var/tmp", "var/log", "var/spool", "var/mail", "var/backups", "usr/local/src")
EMPTY_FOLDERS = ("root", "mnt", "media", "srv")
HIDDEN_OF_PROC = ("keys", "key-users")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
GUEST_FOLDER = "/run/hisa"
FIRST_UID = 1000
"""The user's number on the machines for which tasks were written; it names their session bus."""
_FLAGS = "chromium.d/default-flags"
_UMASK = 0o022
"""Debian's own umask: others may read and enter, but not write."""
_LEAST_INODES, _INODES_MB = 20_000, 100
"""Limit of files: an empty file takes a kilobyte of kernel memory, and nothing of the tmpfs."""
_HERE = os.path.dirname(os.path.abspath(__file__))

_RDONLY, _NOSUID, _NODEV, _REMOUNT = 1, 2, 4, 32
_BIND, _REC, _PRIVATE, _DETACH = 4096, 16384, 1 << 18, 2
_NEWUSER, _NO_NEW_PRIVS = 0x10000000, 38
_PIVOT_ROOT = {"x86_64": 155}.get(platform.machine(), 41)

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE, _CLOEXEC, _EMPTY_PATH, _FROM_EMPTY, _HERE_FD = 1, os.O_CLOEXEC, 0x1000, 4, -100
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 1, 2, 4, 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, operation: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{operation}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mounts a file system or a folder; makes the target folder if needed.

    Args:
        source: the device, or the folder of a bind mount; for tmpfs and others any name.
        target: the mount point.
        kind: the type of the file system; empty for a bind mount or a remount.
        flags: the MS_* flags of mount(2), combined.
        options: the file system's own options, separated by commas.

    Raises:
        OSError: the kernel refuses the mount.
    """
    os.makedirs(target, exist_ok=True)
    arguments = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*arguments), f"mount {kind or 'bind'} {source} on {target}")


def _bind_file(source: str, target: str) -> None:
    if not os.path.exists(target):
        with open(target, "wb"):
            pass
    result = _libc.mount(source.encode(), target.encode(), b"", _BIND, b"")
    _check(result, f"bind {source} on {target}")


def _lay_system(root: str, base: str, system: str) -> None:
    """Mount the system's folders as overlays, or read-only if an overlay is refused."""
    for name in SYSTEM_FOLDERS:
        lower, target = f"{system}/{name}", f"{root}/{name}"
        if os.path.islink(lower):
            os.symlink(os.readlink(lower), target)
        elif os.path.isdir(lower):
            upper, work = f"{base}/upper/{name}", f"{base}/upper/.{name}"
            os.makedirs(upper)
            os.makedirs(work)
            shutil.copystat(lower, upper)
            options = f"lowerdir={lower},upperdir={upper},workdir={work}"
            _lay_one(lower, target, options)


def _lay_one(lower: str, target: str, options: str) -> None:
    for extra in ("", ",userxattr"):
        try:
            mount("overlay", target, "overlay", 0, options + extra)
        except OSError:
            continue
        return
    mount(lower, target, "", _BIND | _REC)
    mount("", target, "", _BIND | _REMOUNT | _RDONLY | _NOSUID)


def _cover(root: str, base: str, folders: list[str]) -> None:
    """Hide folders and files of the host that are inside a system folder."""
    for number, folder in enumerate(folders):
        target = f"{root}/{folder.strip('/')}"
        if os.path.isdir(target):
            _bind_folder(
                f"{base}/covers/{number}", target, 0o1777 if folder == "var/tmp" else 0o755
            )
        elif os.path.lexists(target):
            _bind_file("/dev/null", target)


def _bind_folder(source: str, target: str, mode: int) -> None:
    """Mount a new folder of the tmpfs in place of ``target``."""
    os.makedirs(source)
    os.chmod(source, mode)
    mount(source, target, "", _BIND)
    mount("", target, "", _BIND | _REMOUNT | _NOSUID | _NODEV)


def _lay_devices(root: str, base: str) -> None:
    dev = f"{root}/dev"
    os.makedirs(dev)
    for name in DEVICES:
        _bind_file(f"/dev/{name}", f"{dev}/{name}")
    mount("devpts", f"{dev}/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{dev}/ptmx")
    _bind_folder(f"{base}/shm", f"{dev}/shm", 0o1777)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{dev}/{name}")


def _with_user(path: str, line: str) -> str:
    """Return a copy of passwd or group with ``line`` first, so that it wins by name and number."""
    with open(path, encoding="utf-8") as file:
        other_lines = [old for old in file.read().splitlines() if not old.startswith("user:")]
    return "\n".join([line, *other_lines, ""])


def identity(uid: int, system: str = "") -> dict[str, str]:
    """Returns the texts of the desktop's own files of /etc, by name.

    Its user has the number ``uid``, and Chromium gets HiSA's flags. ``system`` is the folder of a
    built system, without a slash at the end; empty: this machine's own.
    """
    etc = f"{system}/etc"
    files = {
        "passwd": _with_user(f"{etc}/passwd", f"user:x:{uid}:{uid}:user:/home/user:/bin/bash"),
        "group": _with_user(f"{etc}/group", f"user:x:{uid}:"),
    }
    if system:  # a built system has no machine-id, without which the message bus would not start
        files["machine-id"] = f"{uuid.uuid4().hex}\n"
    if os.path.isfile(f"{etc}/{_FLAGS}"):
        files[_FLAGS] = _with_own_flags(f"{etc}/{_FLAGS}")
    return files


def _with_own_flags(path: str) -> str:
    """Returns Debian's flags for Chromium and HiSA's, which make pages report their elements."""
    texts = []
    for part in (path, os.path.join(os.path.dirname(_HERE), "guest", "chromium.sh")):
        with open(part, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def _lay_identity(root: str, base: str, uid: int, system: str) -> None:
    files = {
        **identity(uid, system),
        "hostname": "desktop\n",
        "hosts": "127.0.0.1 localhost desktop\n::1 localhost\n",
    }
    for name, text in files.items():
        os.makedirs(os.path.dirname(f"{base}/{name}"), exist_ok=True)
        with open(f"{base}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{base}/{name}", 0o644)
        _bind_file(f"{base}/{name}", f"{root}/etc/{name}")


def list_openers(system: str = "") -> str:
    """Returns the default application for each kind of file, as the text of ``mimeapps.list``.

    It is the installed application without a terminal that names the fewest kinds: that one was
    made for them. Without this choice, a text file opens in a word processor.
    """
    folder = f"{system}/usr/share/applications"
    applications: dict[str, tuple[int, str]] = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if not name.endswith(".desktop") or not os.path.isfile(f"{folder}/{name}"):
            continue
        with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
            text = file.read()
        named = re.search(r"^MimeType=(.+)$", text, re.M)
        kinds = named[1].strip(" ;").split(";") if named else []
        if not re.search(r"^Terminal=true$", text, re.M):
            for kind in kinds:
                applications[kind] = min(
                    applications.get(kind, (len(kinds), name)), (len(kinds), name)
                )
    return "\n".join(
        ["[Default Applications]", *(f"{k}={n}" for k, (_, n) in applications.items()), ""]
    )


def _lay_openers(root: str, uid: int, system: str) -> None:
    if os.path.exists(f"{system}/usr/share/applications/mimeapps.list"):
        return  # the system has its own choice
    folder = f"{root}/home/user/.config"
    os.makedirs(folder)
    with open(f"{folder}/mimeapps.list", "w", encoding="utf-8") as file:
        file.write(list_openers(system))
    for path in (folder, f"{folder}/mimeapps.list"):
        os.chown(path, _owner(uid), _owner(uid))


def _lay_own(root: str, uid: int, copies: dict[str, str]) -> None:
    """Make the new folders home, tmp and run, and copy the guest's code."""
    for name, mode in (("tmp", 0o1777), ("tmp/.X11-unix", 0o1777), ("run", 0o755)):
        os.makedirs(f"{root}/{name}")
        os.chmod(f"{root}/{name}", mode)
    for name in EMPTY_FOLDERS:
        os.makedirs(f"{root}/{name}", exist_ok=True)
    for folder, mode in ((f"run/user/{uid}", 0o700), ("home/user", 0o755)):
        os.makedirs(f"{root}/{folder}")
        os.chmod(f"{root}/{folder}", mode)
        os.chown(f"{root}/{folder}", _owner(uid), _owner(uid))
    if uid != FIRST_UID:
        os.symlink(str(uid), f"{root}/run/user/{FIRST_UID}")
    for target, source in copies.items():
        place = f"{root}{GUEST_FOLDER}/{target}"
        if os.path.isdir(source):
            shutil.copytree(source, place, copy_function=shutil.copyfile)
            for folder, _, _ in os.walk(place):  # a copied folder has the mode of its source
                os.chmod(folder, 0o755)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(source, place)
    os.makedirs(f"{root}{GUEST_FOLDER}/bin")
    os.symlink("/usr/bin/python3", f"{root}{GUEST_FOLDER}/bin/python")


def _owner(uid: int) -> int:
    """Return the owner of the user's files: in a user namespace only its own identity exists."""
    return uid if _is_host_root() else 0


def _is_host_root() -> bool:
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return re.split(r"\s+", file.read().strip())[2] != "1"


def _enter(root: str) -> None:
    """Make ``root`` the file system's root, and unmount the old one."""
    os.chdir(root)
    _check(_libc.syscall(_PIVOT_ROOT, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _DETACH), "umount the old root")
    os.chdir("/")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(sock, 0x8914, request)


def _become_user(uid: int) -> None:
    """Drop every privilege: as root by a real user id, otherwise by one more user namespace."""
    if _is_host_root():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    else:
        _check(_libc.unshare(_NEWUSER), "unshare the user namespace")
        for name, text in (("setgroups", "deny"), ("uid_map", ""), ("gid_map", "")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text or f"{uid} 0 1")
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def _build(spec: dict[str, Any]) -> None:
    base, uid, room = spec["base"], spec["uid"], spec["disk_mb"]
    inodes = _LEAST_INODES + room * _INODES_MB
    mount("tmpfs", base, "tmpfs", _NOSUID, f"mode=755,size={room}m,nr_inodes={inodes}")
    root = f"{base}/root"
    mount(_make_folder(root), root, "", _BIND)
    system = spec.get("system", "")
    _lay_system(root, base, system)
    _cover(root, base, [*COVERED, *spec["covered"]])
    _lay_own(root, uid, spec["copies"])
    _lay_openers(root, uid, system)
    _lay_identity(root, base, uid, system)
    _lay_devices(root, base)
    mount("proc", f"{root}/proc", "proc", _NOSUID | _NODEV)
    os.makedirs(f"{root}/sys", exist_ok=True)
    for name in HIDDEN_OF_PROC:
        if os.path.exists(f"{root}/proc/{name}"):
            _bind_file("/dev/null", f"{root}/proc/{name}")
    for source, place, writable in spec.get("shares", []):
        _lay_share(source, f"{root}{place}", uid, writable=writable, proc=f"{root}/proc")
    _limit_shared_memory(f"{root}/proc", room)
    _loopback_up()
    with contextlib.suppress(PermissionError):  # a container may refuse just this
        socket.sethostname("desktop")
    _enter(root)


def _lay_share(source: str, target: str, uid: int, *, writable: bool, proc: str) -> None:
    """Mount a folder of the host, without the mounts below it.

    If root started the desktop, its user's number owns nothing on the host. In the shared folder
    that user is mapped to the folder's owner: it may read what the owner may, and its files belong
    to the owner.
    """
    os.makedirs(target)
    flags = _ATTR_NOSUID | _ATTR_NODEV | (0 if writable else _ATTR_RDONLY)
    tree = _call(
        _OPEN_TREE, _HERE_FD, source.encode(), _CLONE | _CLOEXEC, operation=f"open {source}"
    )
    if _is_host_root():
        about = os.stat(source)
        users = _mapped_users(about.st_uid, about.st_gid, uid, proc)
        attributes = struct.pack("QQQQ", flags | _ATTR_IDMAP, 0, 0, users)
    else:
        attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    operation = f"share {source} (its file system must take owners that differ inside)"
    _call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH, attributes, len(attributes), operation=operation)
    _call(
        _MOVE_MOUNT, tree, b"", _HERE_FD, target.encode(), _FROM_EMPTY, operation=f"mount {target}"
    )
    os.close(tree)


def _call(number: int, *arguments: int | bytes, operation: str) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        _check(result, operation)
    return result


def _mapped_users(owner: int, group: int, uid: int, proc: str) -> int:
    """Return a descriptor of a user namespace that maps the owner to the desktop's user.

    ``proc`` is that of this process namespace: the host's has other process ids.
    """
    ready, ready_in = os.pipe()
    end, end_in = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end_in)
        _check(_libc.unshare(_NEWUSER), "unshare the user namespace")
        os.write(ready_in, b"x")
        os.read(end, 1)
        os._exit(0)
    os.close(ready_in)
    os.close(end)
    try:
        if os.read(ready, 1):
            for name, number in (("uid_map", owner), ("gid_map", group)):
                with open(f"{proc}/{child}/{name}", "w", encoding="ascii") as file:
                    file.write(f"{number} {uid} 1")
        return os.open(f"{proc}/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(end_in)
        os.close(ready)
        os.waitpid(child, 0)


def _make_folder(folder: str) -> str:
    os.makedirs(folder)
    return folder


def _limit_shared_memory(proc: str, room: int) -> None:
    """Limit System V segments, which outlive their processes and would not be counted elsewhere."""
    try:
        with open(f"{proc}/sys/kernel/shmall", "w", encoding="ascii") as file:
            file.write(str((room << 20) // os.sysconf("SC_PAGESIZE")))
    except OSError as error:  # older kernels allow this only to the host's root
        sys.stderr.write(f"System V shared memory has no limit: {error}\n")


def _reap_until(child: int) -> int:
    """Collect orphans until the guest ends; returns its exit code."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _first_line() -> bytes:
    """Read one line and not a byte more: the rest of standard input is for the guest."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            break
        line += byte
    return line


def main() -> int:
    """Builds the file system, starts the guest and waits for it; the kernel then ends all the rest.

    The caller's umask does not apply to the file system, which belongs to root and must be readable
    for the desktop's user. It applies to what that user writes in a shared folder of the host.
    """
    callers = os.umask(_UMASK)
    spec = json.loads(_first_line())
    _build(spec)
    child = os.fork()
    if child == 0:
        os.umask(callers if any(writable for *_, writable in spec.get("shares", [])) else _UMASK)
        _become_user(int(spec["uid"]))
        os.chdir("/home/user")
        os.execve(spec["command"][0], spec["command"], spec["environment"])
    for number in spec["fds"]:
        os.close(number)
    return _reap_until(child)


if __name__ == "__main__":
    sys.exit(main())
