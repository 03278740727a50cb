"""Commands that are forked from a process in which what most of them import is imported already.

Each is a process of its own, as ``python -m hisa`` is, with its own environment, standard streams
and end; what it saves is the second and a half in which Python imports. As a program this module is
the process that forks, which ends with the one that started it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

__all__ = ["can_fork", "run_forked"]

_IMPORTED = (
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.ImageFont",
    "hisa.cli.episode",
    "hisa.cli.run",
    "hisa.machine.bounded_http",
    "hisa.plugins.machines.guests.remote",
    "hisa.plugins.matching.checked_choice",
    "hisa.plugins.benchmarks.bench",
    "hisa.plugins.mcp",
    "hisa.plugins.offline",
    "hisa.plugins.reading.control_parts",
    "hisa.plugins.reading.learned_ranker",
    "hisa.plugins.reading.pictograms",
    "hisa.plugins.toolkits",
    "hisa.plugins.toolkits.browser",
    "hisa.plugins.toolkits.calc",
    "hisa.plugins.toolkits.code_editor",
    "hisa.plugins.toolkits.files",
    "hisa.plugins.toolkits.impress",
    "hisa.plugins.toolkits.vlc",
    "hisa.plugins.toolkits.writer",
    "hisa.runs.report",
    "hisa.plugins.guard.acts.sequence_guard",
    "hisa.plugins.guard.acts.held_acts",
    "hisa.tools.builtin",
    "hisa.sequence",
    "httpx",
    "jinja2",
    "openai.types.chat",
    "rich.progress",
    "rich.syntax",
)
"""What takes long to import; nothing of it looks at the environment while it is imported."""
_LONGEST = 100_000
"""Characters of a command and its environment that a message between processes holds."""
_forkers: dict[int, socket.socket] = {}
"""Where commands are asked for, by the process that started it, as a test may fork."""


def can_fork(words: Sequence[str], environ: Mapping[str, str], root: str) -> bool:
    """Whether a forked Python would find the same modules and read text as a new one would."""

    def own(name: str) -> bool:
        return name.startswith(("PYTHON", "LC_", "LANG")) and name != "PYTHONPATH"

    own_environ = {name: value for name, value in os.environ.items() if own(name)}
    return (
        {name: value for name, value in environ.items() if own(name)} == own_environ
        and environ.get("PYTHONPATH", root) in (root, os.environ.get("PYTHONPATH"))
        and sum(map(len, (*words, *environ, *environ.values()))) < _LONGEST
    )


def run_forked(
    words: Sequence[str], environ: Mapping[str, str], root: str, seconds: float
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``hisa`` with these words."""
    sys.audit("subprocess.Popen", sys.executable, ["hisa", *words], root, None)
    pipes = [os.pipe() for _ in range(3)]
    message = json.dumps([list(words), dict(environ)]).encode()
    socket.send_fds(_forker(root), [message], [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    output, errors, status = _read([read for read, _ in pipes], seconds, words)
    return int(status.split()[1]), _text(output), _text(errors)


def _text(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")


def _read(pipes: list[int], seconds: float, words: Sequence[str]) -> list[bytes]:
    """All that comes through these until each is closed; the last tells the process first."""
    data = dict.fromkeys(pipes, b"")
    limit = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(max(0.0, limit - time.monotonic())):
                chunk = os.read(key.fd, 1 << 16)
                data[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                    os.close(key.fd)
            if time.monotonic() > limit and selector.get_map():
                for key in list(selector.get_map().values()):
                    os.close(key.fd)
                with suppress(ProcessLookupError):
                    os.kill(int(data[pipes[-1]].split()[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired(["hisa", *words], seconds)
    return list(data.values())


def _forker(root: str) -> socket.socket:
    if os.getpid() not in _forkers:
        parent_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(child_end.fileno())],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[child_end.fileno()],
            )
        _forkers[os.getpid()] = parent_end
        atexit.register(_end, process, parent_end)
    return _forkers[os.getpid()]


def _end(process: subprocess.Popen[bytes], channel: socket.socket) -> None:
    channel.close()
    process.terminate()
    process.wait()


def _serve(channel: socket.socket) -> list[str] | None:
    """Fork until nobody asks any more; in a forked process, returns the words of its command."""
    while True:
        message, pipes, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            return None
        if not os.fork():
            channel.close()
            words, environ = json.loads(message)
            _become(environ, *pipes)
            return list(words)
        for pipe in pipes:
            os.close(pipe)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _become(environ: Mapping[str, str], output: int, errors: int, status_pipe: int) -> None:
    """Return in a process with that environment and those streams; its parent tells its end."""
    process = os.fork()
    if process:
        os.close(output)
        os.close(errors)
        os.write(status_pipe, f"{process}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.write(status_pipe, f"{code}\n".encode())
        os._exit(0)
    os.close(status_pipe)
    for pipe, stream in ((output, 1), (errors, 2)):
        os.dup2(pipe, stream)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()


if __name__ == "__main__":
    for _module in _IMPORTED:
        importlib.import_module(_module)
    for _tool in importlib.import_module("hisa.tools.registry").discover()[0]:
        _ = _tool.parameters
    gc.collect()
    gc.freeze()
    _words = _serve(socket.socket(fileno=int(sys.argv[1])))
    if _words is not None:
        sys.argv = ["hisa", *_words]
        runpy.run_module("hisa", run_name="__main__", alter_sys=True)
