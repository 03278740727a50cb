"""The child that serves one model: ``python -m hisa.plugins.gguf.llama_process``.

It reads one line of JSON from standard input (`llama_server` writes it; the key is on no
command line), loads the model, and writes one line of JSON to standard output: ``{"url": …}`` or
``{"error": …}``. Then it serves until standard input ends, or until the process that started it is
gone. llama.cpp writes to standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from typing import Any

_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_WARNINGS = 1
"""llama.cpp's verbosity: errors and warnings."""
_CACHED_PROMPTS_MIB = 1024
"""Memory for the prompts of roles other than the last, so that a slot that serves roles in turn
need not read them again: about 37,000 tokens for a model of 1.5 billion weights."""


def _end_with_input(parent: int) -> None:
    while os.getppid() == parent and os.read(0, 4096):
        pass
    os._exit(0)  # llama.cpp's threads would go on


def _parameters(order: dict[str, Any]) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["weights"]
    parameters.mmproj.path = order["eyes"]
    parameters.no_mmproj = not order["eyes"]
    if order["adapter"]:
        parameters.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(order["adapter"])]
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.api_keys = [order["key"]]
    parameters.ui = parameters.endpoint_slots = False
    parameters.n_ctx, parameters.n_parallel = order["context"], 1
    parameters.cache_ram_mib = _CACHED_PROMPTS_MIB
    parameters.use_jinja = True
    parameters.verbosity = _WARNINGS
    parameters.model_alias = {order["name"]}
    if order["threads"]:
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = order["threads"]
    return parameters


def _main() -> None:
    # What llama.cpp prints must not mix with the messages.
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.readline())
    # Ends the child even if another process holds the other end of standard input.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with_input, args=(order["parent"],), daemon=True).start()
    try:
        import xllamacpp

        server = xllamacpp.Server(_parameters(order))
        message = {"url": server.listening_address}
    except Exception as error:  # noqa: BLE001 - sent to the parent, which raises it
        message = {"error": f"{type(error).__name__}: {error}"}
    messages.write(json.dumps(message) + "\n")
    messages.close()
    if "url" in message:
        threading.Event().wait()
    os._exit(1)  # without waiting for the thread that reads


if __name__ == "__main__":
    _main()
