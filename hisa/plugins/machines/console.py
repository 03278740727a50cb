"""Joins this terminal with a machine's serial console."""

from __future__ import annotations

import os
import select
import socket
import sys
import termios
import tty
from pathlib import Path

import click

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.machines.qemu.qmp import connect_unix

__all__ = ["attach_console"]

_LEAVE = b"\x1d"
"""Ctrl-] as it comes from a terminal."""


def attach_console(path: Path) -> None:
    """Copy both ways until Ctrl-], or until the machine ends.

    Raises:
        UsageError: standard input is no terminal.
        EnvironmentFailed: the console does not answer.
    """
    if not sys.stdin.isatty():
        raise UsageError("standard input is no terminal", fix="hisa vm shell ID -- COMMAND")
    try:
        connection = connect_unix(path)
    except OSError as error:
        raise EnvironmentFailed(f"no console at {path}: {error}", fix="hisa vm ls") from error
    click.echo("Ctrl-] leaves; Enter shows the prompt.\r", err=True)
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        with connection:
            connection.settimeout(None)
            connection.sendall(b"\r")
            _copy(sys.stdin.fileno(), sys.stdout.fileno(), connection)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    click.echo()


def _copy(typed: int, shown: int, connection: socket.socket) -> None:
    while True:
        readable, _, _ = select.select([typed, connection.fileno()], [], [])
        if connection.fileno() in readable:
            said = connection.recv(1 << 16)
            if not said:
                return
            os.write(shown, said)
        if typed in readable:
            keys = os.read(typed, 1 << 12)
            if not keys or _LEAVE in keys:
                return
            connection.sendall(keys)
