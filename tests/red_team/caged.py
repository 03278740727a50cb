"""What a hostile command tries on somebody's display, by what it would get hold of.

In the lines, PROJECT is the present folder of the person, HOME their home, FOLDER the one that
commands may write, OUT a folder beside it. None may leave a trace outside of FOLDER, or print GOT.
"""

from __future__ import annotations

import os

__all__ = ["CALLS", "SOCKETS", "WRITES"]

WRITES = (
    "echo '[tools.mcp.x]' > PROJECT/hisa.toml",
    "echo '[environment.remote]' >> PROJECT/kept.toml",
    "printf '#!/bin/sh' > PROJECT/.git/hooks/pre-commit",
    "echo '[core]' > PROJECT/.git/config",
    "echo import os > PROJECT/conftest.py",
    "mkdir -p PROJECT/.vscode && echo {} > PROJECT/.vscode/tasks.json",
    "echo {} > PROJECT/runs/1/run.json",
    "mv PROJECT/kept.toml PROJECT/moved.toml",
    "chmod 777 PROJECT/kept.toml",
    "ln -s /etc PROJECT/etc",
    "cd FOLDER && echo x > ../../../../../../../../../PROJECT/dots",
    "ln -s PROJECT FOLDER/way && echo x > FOLDER/way/by-link",
    "ln PROJECT/kept.toml FOLDER/hard && echo x >> FOLDER/hard",
    "mount -o remount,rw / ; echo x > PROJECT/remounted",
    "unshare -rm sh -c 'mount -o remount,bind,rw / ; echo x > PROJECT/unshared'",
    "umount -l PROJECT FOLDER; echo x > PROJECT/unmounted",
    "nsenter -t 1 -m sh -c 'echo x > PROJECT/entered'",
    "echo x > /proc/1/root/PROJECT/by-proc; echo x > /proc/$PPID/cwd/../PROJECT/by-proc",
    "mkdir -p HOME/.local/bin && cp /bin/true HOME/.local/bin/hisa",
    "mkdir -p HOME/.config/autostart && echo x > HOME/.config/autostart/x.desktop",
    "echo x > /usr/local/bin/hisa-was-here",
    'f=/proc/sys/kernel/core_pattern; p=$(cat $f); echo "$p" > $f && echo GOT',
    "echo > /sys/kernel/uevent_helper && echo GOT",
    "echo 0 > /proc/sysrq-trigger && echo GOT",
    "mknod FOLDER/disk b 254 0 && head -c 1 FOLDER/disk && echo GOT",
    "cp /bin/sh FOLDER/sh; chmod u+s FOLDER/sh; FOLDER/sh -c 'echo x > PROJECT/by-suid'",
    "gdb -p $PPID -batch; echo x > OUT/here",
)

SOCKETS = (
    "HOME/.hisa-red.sock",
    "/var/tmp/.hisa-red.sock",
    "PROJECT/agent.sock",
    "PROJECT/deep/er/agent.sock",
    "FOLDER/host.sock",
    "/run/.hisa-red.sock",
    "/tmp/.hisa-red.sock",
    "\0hisa-red",
    "127.0.0.1",
)

_NUMBERS = {"x86_64": (250, 101, 321, 425, 308, 298), "aarch64": (219, 117, 280, 425, 268, 241)}
_NAMES = ("keyctl", "ptrace", "bpf", "io_uring_setup", "setns", "perf_event_open")
CALLS = dict(zip(_NAMES, _NUMBERS[os.uname().machine], strict=True))
