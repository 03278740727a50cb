"""A script: calls one function that reads the agent's files, and prints its result as JSON.

Its argument is a JSON object with the limits and the folders that modules come from; standard input
is the pickled function with its arguments. The answer is ``{"value": …}``, ``{"unreadable": why}``,
``{"rules": why}``, ``{"memory": true}`` or ``{"broken": why}``.
"""

from __future__ import annotations

import base64
import json
import math
import os
import pickle
import resource
import sys
from typing import Any

__all__ = ["main"]

_GRACE_SECONDS = 5
"""Seconds between SIGXCPU, which a process may handle, and SIGKILL, which it cannot."""


def _limit_room(limits: dict[str, Any]) -> None:
    for name, value in (
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["written"]),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (value, value))


def _limit_processor(seconds: int) -> None:
    """Allow ``seconds`` from now on: the imports' time depends on the machine, not the file."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (end, end + _GRACE_SECONDS))


def _pack_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} cannot be given")


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _answer(seconds: int) -> dict[str, Any]:
    from hisa.plugins.benchmarks.tasks.metric import NotScored, Unreadable

    function, arguments = pickle.load(sys.stdin.buffer)
    _limit_processor(seconds)
    try:
        return {"value": function(*arguments)}
    except Unreadable as error:
        return {"unreadable": str(error)[:2000]}
    except NotScored as error:
        return {"rules": str(error)[:2000]}
    except MemoryError:
        return {"memory": True}
    except ImportError as error:
        return {"broken": f"a library is missing: {_words(error)}"}
    except Exception as error:  # noqa: BLE001 - the border of the process: no score, and why
        import traceback

        traceback.print_exc()
        return {"broken": f"a defect in HiSA: {_words(error)}"}


def main() -> None:
    """Answer on the original standard output; whatever a reader prints goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    _limit_room(request)
    sys.path += [root for root in request["roots"] if root not in sys.path]
    try:
        answer_text = json.dumps(_answer(request["processor"]), default=_pack_value)
    except MemoryError:
        answer_text = '{"memory": true}'
    with os.fdopen(answers, "wb") as out:
        out.write(answer_text.encode())
    sys.stdout.flush()
    os._exit(0)  # threads that a reader left must not delay the answer


if __name__ == "__main__":
    main()
