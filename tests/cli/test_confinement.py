"""What the commands of a run cannot do to the host and to its score, on a real private desktop."""

from __future__ import annotations

import ctypes
import json
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hisa.testing.model_server import FakeServer, ReceivedRequest
from hisa.testing.scripted import tool_call
from tests.cli.command import Command, endless
from tests.tasks.test_own import BASHRC, FORGED

pytestmark = pytest.mark.desktop

MILK = {"file": "~/list.txt", "contains": "milk"}
KEYCTL = {"x86_64": 250, "aarch64": 219}


def python(program: str) -> str:
    """A command line that runs it."""
    return f"/usr/bin/python3 - <<'END'\n{textwrap.dedent(program)}\nEND"


def run_commands(
    folder: Path, commands: Sequence[str], *, check: Any = MILK, code: int | None = 1
) -> tuple[Any, list[dict[str, Any]]]:
    """A run that gives these commands and ends: its result, and what came of each."""
    task = folder / "task.yaml"
    tree = {"id": "t", "instruction": "Run them.", "check": check}
    task.write_text(yaml.safe_dump(tree), "utf-8")
    plans = [*(tool_call("bash_execution", line) for line in commands)]
    plans.append(tool_call("termination", "done"))

    def answer(received: ReceivedRequest) -> str:
        planner = received.role == "planner"
        return plans[min(received.step, len(plans)) - 1] if planner else endless(received)

    with FakeServer(then=answer) as server:
        command = Command(folder, url=server.url)
        command.environ["HISA_PATTERNS__ENABLED"] = "false"
        process = command.start("run", str(task), "--model", "m", "--no-report", "--json")
        output, errors = process.communicate(timeout=300)
    assert code in (None, process.returncode), errors
    result = json.loads(output)
    (log,) = (folder / "runs").glob("*/events.jsonl")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return result, [row for row in rows if row["type"] == "acted"]


def test_host_is_out_of_reach_and_a_huge_file_is_not_read(tmp_path: Path) -> None:
    number = KEYCTL[os.uname().machine]
    assert ctypes.CDLL(None).syscall(number, 0, -3, 0) != -1, "the host has a session keyring"
    probe = f"""
        import ctypes, socket
        libc = ctypes.CDLL(None)
        print("keyring", libc.syscall({number}, 0, -3, 0))
        print("ptrace", libc.ptrace(0, 0, 0, 0))
        try:
            socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
            print("vsock open")
        except OSError:
            print("vsock refused")
    """
    room = "stat -f -c '%S %b' ~ /tmp /dev/shm; ulimit -n"
    huge = "{ echo milk; head -c 250M /dev/zero; } > ~/list.txt"
    result, acted = run_commands(tmp_path, [python(probe), room, huge])
    assert acted[0]["output"].split("\n")[:3] == ["keyring -1", "ptrace -1", "vsock refused"]
    *places, files = acted[1]["output"].split("\n")[:4]
    rooms = [int(size) * int(blocks) for size, blocks in map(str.split, places)]
    assert max(rooms) <= 2048 << 20, "files are kept in the host's memory"
    assert int(files) <= 4096
    assert acted[2]["ok"]
    assert (result["status"], result["score"]) == ("succeeded", 0.0)


def test_a_flood_of_processes_is_stopped(tmp_path: Path) -> None:
    """By the kernel; where it does not limit root, the desktop is ended."""
    flood = """
        import os, signal, time
        for number in range(1500):
            try:
                if not os.fork():
                    time.sleep(20)
                    os._exit(0)
            except BlockingIOError:
                break
        else:
            time.sleep(20)
        print(number, flush=True)
        os.killpg(0, signal.SIGKILL)
    """
    result, acted = run_commands(tmp_path, [f"setsid -w {python(flood)}"], code=None)
    if result["status"] == "environment_error":
        assert "processes" in result["message"]
    else:
        assert 50 < int(acted[0]["output"]) < 1024


@pytest.mark.parametrize("check", [{"python": "c.py:bought"}, {"command": "grep -q milk ~/list"}])
def test_files_forged_by_the_agent_decide_no_check(tmp_path: Path, check: Any) -> None:
    (tmp_path / "c.py").write_text(
        "import os\ndef bought(): return 'milk' in open(os.path.expanduser('~/list')).read()\n"
    )
    forged = f"""
        import os, pathlib, sys
        home = pathlib.Path.home()
        version = "python%d.%d" % sys.version_info[:2]
        for folder in (home, home / ".local/lib" / version / "site-packages", home / "bin"):
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("json", "sitecustomize", "usercustomize", "hashlib"):
                (folder / (name + ".py")).write_text({FORGED!r})
        for name in ("python3", "grep", "bash", "env"):
            (home / "bin" / name).write_text("#!/bin/sh\\necho '{{\\"score\\": 1.0}}'\\n")
            (home / "bin" / name).chmod(0o755)
        for name in (".bashrc", ".profile", ".bash_profile", ".bash_env"):
            (home / name).write_text({BASHRC!r})
    """
    lines = ["echo bread > ~/list", python(forged)]
    result, acted = run_commands(tmp_path, lines, check=check)
    assert [act["ok"] for act in acted[:2]] == [True, True]
    assert (result["status"], result["score"]) == ("succeeded", 0.0)
