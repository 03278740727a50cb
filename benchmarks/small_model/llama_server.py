"""llama.cpp on loopback for the time of a benchmark, by whichever Python has ``xllamacpp``.

PYTHON llama_server.py FILE PORT CONTEXT    (as a script; ends with whoever holds its input)
"""

from __future__ import annotations

import importlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["llama_server"]

_START_SECONDS = 180.0
"""A file of 1.1 GB took 12 s to load on two busy cores."""


@contextmanager
def llama_server(python: str, file: Path, context: int) -> Iterator[str]:
    """Serve a GGUF file; yields the address.

    Raises:
        RuntimeError: it does not answer.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, __file__, str(file), str(port), str(context)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
            return
        time.sleep(0.5)
    raise RuntimeError(f"llama.cpp does not answer on port {port}; its exit: {process.poll()}")


def _serve(file: str, port: int, context: int) -> None:
    parameters = importlib.import_module("xllamacpp").CommonParams()
    parameters.model.path, parameters.port, parameters.hostnames = file, port, ["127.0.0.1"]
    parameters.n_ctx, parameters.n_parallel, parameters.use_jinja = context, 1, True
    server = importlib.import_module("xllamacpp").Server(parameters)
    sys.stdin.read()  # ends when the benchmark does, however it does
    del server


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
