"""Calls a metric of OSWorld's package in a process of its own, over copies of the files.

The process has none of this one's variables, no network and nothing to write but its own folder
where bubblewrap works, and limits on time and memory everywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hisa.errors import CheckFailed
from hisa.tasks.metrics.base import BadRules, Options, Score, Unreadable
from hisa.tasks.theirs.index import Installed, caged, installed, python, theirs

__all__ = ["SECONDS", "Call", "answers", "run"]

SECONDS = 300.0
"""How long one metric may take: some read a whole film."""
_MEMORY = 8_000_000_000
"""Bytes of address space."""
_BYTES = 1_000_000_000
"""Of a file that is written."""
_SCRIPT = Path(__file__).with_name("score.py")

Call = tuple[str, Any, Any, Options]
"""Name, result, expected, options."""


def run(name: str, result: Any, expected: Any, options: Options) -> Score:
    """What one of their metrics says.

    Raises:
        Unreadable: it failed over what the agent left, and not over the expected file; score 0.
        BadRules: it, one of its libraries or the task's rules are at fault; no score.
        CheckFailed: it took too long, too much memory, or crashed; no score.
    """
    (found,) = answers([(name, result, expected, options)])
    if "score" in found:
        return float(found["score"]), f"{found['score']:g} by OSWorld's own {name}"
    if "unreadable" in found:
        raise Unreadable(f"OSWorld's own {name} cannot read it: {found['unreadable']}")
    raise BadRules(f"OSWorld's own {name} cannot be used: {found['broken']}")


def answers(calls: Sequence[Call], seconds: float = SECONDS) -> list[dict[str, Any]]:
    """What each call says, in one process: a score, "unreadable" or "broken" with the reason."""
    here = installed()
    with tempfile.TemporaryDirectory(prefix="hisa-theirs-") as place:
        folder = Path(place).resolve()
        request = {
            "folder": here.folder,
            "absent": here.absent,
            "memory": _MEMORY,
            "bytes": _BYTES,
            "calls": [_as_sent(number, call, folder) for number, call in enumerate(calls)],
        }
        said = _ran(_line(here, folder), json.dumps(request), folder, seconds)
    found: list[dict[str, Any]] = json.loads(said)
    return found


def _as_sent(number: int, call: Call, folder: Path) -> dict[str, Any]:
    """A call with its files copied: a function may write beside what it reads."""
    name, result, expected, options = call
    metric = theirs(name)
    if metric is None:
        raise BadRules(f"OSWorld's package has no metric {name!r}")
    place = folder / f"files{number}"
    place.mkdir()
    values = [_copied(value, place) for value in (result, expected)]
    sent = {"file": metric.file, "name": name, "options": dict(options)}
    return {**sent, "result": values[0], "expected": values[1], "place": str(place)}


def _copied(value: Any, place: Path) -> Any:
    """Paths become texts, as the package has them; what lies beside a file comes with it."""
    if isinstance(value, Path):
        shutil.copytree(value.parent, place, dirs_exist_ok=True)
        return str(place / value.name)
    if isinstance(value, list | tuple):
        return [_copied(item, place) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _copied(item, place) for key, item in value.items()}
    return value


def _line(here: Installed, folder: Path) -> list[str]:
    line = [python(), "-I", "-X", "utf8", str(_SCRIPT)]
    if not caged():
        return line
    cage = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    cage += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for hidden in ("/tmp", "/run"):
        cage += ["--tmpfs", os.path.realpath(hidden)]
    for needed in (*here.roots, here.folder, str(_SCRIPT.parent)):
        cage += ["--ro-bind", needed, needed]
    return [*cage, "--bind", str(folder), str(folder), "--chdir", str(folder), "--", *line]


def _ran(line: list[str], request: str, folder: Path, seconds: float) -> str:
    """What the process prints."""
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            process.communicate(request.encode(), timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise CheckFailed(f"OSWorld's metric did not end within {seconds:g} s") from error
        finally:
            _end(process)
        said, heard = _tail(out, 1_000_000), _tail(err, 500)
    if process.returncode != 0 or not said:
        why = heard.strip() or f"exit status {process.returncode}"
        raise CheckFailed(f"OSWorld's metric crashed: {why}")
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(file: Any, most: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    text: bytes = file.read()
    return text.decode("utf-8", errors="replace")
