"""Runs the commands that revert, start and stop a provider's machines.

A template becomes a list of words, without a shell. The words are never printed, because they may
contain secrets.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import IO

from hisa.errors import ConfigError, EnvironmentFailed
from hisa.plugins.machines.guests.address import Address

__all__ = ["check_command", "run_provider_command"]

_PLACEHOLDER = re.compile(r"\{(env:)?(\w+)\}")
_KNOWN = ("url", "host", "port", "name")
_TAIL_BYTES, _TAIL_LINES = 4000, 5


def check_command(operation: str, template: str) -> list[str]:
    """Splits a template into words, with the placeholders left in.

    Raises:
        ConfigError: a quotation is not closed, or a placeholder or variable is unknown.
    """
    setting = f"environment.remote.{operation}"
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise ConfigError(f"{setting}: {error}", fix="close the quotes, as for a shell") from error
    for variable, name in _PLACEHOLDER.findall(template):
        if variable and name not in os.environ:
            raise ConfigError(f"{setting}: no variable {name!r} is set", fix=f"export {name}=…")
        if not variable and name not in _KNOWN:
            allowed = ", ".join(f"{{{known}}}" for known in _KNOWN)
            raise ConfigError(
                f"{setting}: unknown placeholder {{{name}}}; there are {allowed}, {{env:VARIABLE}}",
                fix="put a command that needs braces into a script",
            )
    return words


async def run_provider_command(
    operation: str, template: str, address: Address, *, seconds: float
) -> None:
    """Runs one command to its end.

    Args:
        operation: revert, start or stop.
        template: the command from the settings; see `hisa.config.RemoteSettings`.
        address: the guest whose values fill the placeholders.
        seconds: time limit; then the command and what it started is killed.

    Raises:
        ConfigError: the template cannot be read.
        EnvironmentFailed: the command cannot be run, failed, or took too long; the message ends
            with its last output.
    """
    program, *rest = _fill_placeholders(check_command(operation, template), address)
    with tempfile.TemporaryFile() as output:
        try:
            # A file, because a machine left running in the background would hold a pipe.
            process = await asyncio.create_subprocess_exec(
                program,
                *rest,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            raise _build_failure(operation, address, f"{program}: {error.strerror}") from error
        code = await _wait_for_exit(process, seconds)
        if code != 0:
            ending = f"took over {seconds:g} s" if code is None else f"ended with {code}"
            tail = _hide_secrets(_secrets(template), await asyncio.to_thread(_tail, output))
            raise _build_failure(
                operation, address, f"{os.path.basename(program)} {ending}{tail and ': '}{tail}"
            )


async def _wait_for_exit(process: asyncio.subprocess.Process, seconds: float) -> int | None:
    """Returns the exit code; None if the process had to be killed."""
    try:
        return await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def _fill_placeholders(words: list[str], address: Address) -> list[str]:
    values = {"url": address.url, "host": address.host, "name": address.name}
    values["port"] = str(address.port)

    def value(match: re.Match[str]) -> str:
        return os.environ[match[2]] if match[1] else values[match[2]]

    return [_PLACEHOLDER.sub(value, word) for word in words]


def _secrets(template: str) -> Mapping[str, str]:
    """Returns the values of variables that the template names, with the text to print for each."""
    names = [name for variable, name in _PLACEHOLDER.findall(template) if variable]
    return {os.environ[name]: f"{{env:{name}}}" for name in names if os.environ.get(name)}


def _hide_secrets(secrets: Mapping[str, str], text: str) -> str:
    for secret, shown in secrets.items():
        text = text.replace(secret, shown)
    return text


def _tail(output: IO[bytes]) -> str:
    """Returns the last lines of the output as one line."""
    end = output.seek(0, os.SEEK_END)
    output.seek(max(0, end - _TAIL_BYTES))
    lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines()]
    return " / ".join([line for line in lines if line][-_TAIL_LINES:])


def _build_failure(operation: str, address: Address, why: str) -> EnvironmentFailed:
    return EnvironmentFailed(
        f"{address.url}: {operation} failed: {why}",
        fix=f"run the command of environment.remote.{operation} by hand",
    )
