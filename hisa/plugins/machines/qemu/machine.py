"""One QEMU process: its command line, its life cycle, and requests to its guest."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed
from hisa.machine.parts import install_command
from hisa.machine.patience import Deadline, patience
from hisa.plugins.desktop.runtime.state import process_start
from hisa.plugins.machines.profiles.process import end_all, start
from hisa.plugins.machines.qemu import accel
from hisa.plugins.machines.qemu.qmp import Qmp

__all__ = ["Machine", "Shape", "qemu_version", "run_tool"]

_FIX = f"{install_command('vm')}, then `hisa vm build minimal`"
_KERNEL_LINE = (
    "root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 mitigations=off net.ifnames=0 "
    "audit=0 systemd.show_status=false rd.systemd.show_status=false"
)
_TOOL_SECONDS = 600.0  # chosen by hand
_TRY_SECONDS = 3.0  # chosen by hand
_CLOCK_SECONDS = 30.0  # chosen by hand
_PASSWORD = "password"
"""The user's password for sudo in the benchmarks' profiles."""
_FORWARDED = re.compile(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)")


@dataclass(frozen=True, slots=True)
class Shape:
    """The hardware of a machine; a saved state loads only into one of the same shape."""

    image: str
    """Folder of the image."""
    width: int
    height: int
    accel: accel.Accel = "tcg"
    memory_mib: int = 2048
    cpus: int = 2
    qemu: str = ""
    """Version of the QEMU program."""

    @property
    def key(self) -> str:
        """Hash of the shape and of QEMU's options, in eight hex digits."""
        text = json.dumps([asdict(self), _KERNEL_LINE, _arguments(self, "", [])])
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def qemu_version() -> str:
    """Returns the first line of ``qemu-system-x86_64 --version``.

    Raises:
        EnvironmentFailed: QEMU is not installed.
    """
    return run_tool(["qemu-system-x86_64", "--version"]).splitlines()[0]


def run_tool(line: Sequence[str]) -> str:
    """Runs a program; returns what it printed on standard output.

    Raises:
        EnvironmentFailed: the program is not installed, failed, or took too long.
    """
    limit = patience(_TOOL_SECONDS)
    try:
        result = subprocess.run(line, capture_output=True, text=True, check=True, timeout=limit)
    except FileNotFoundError as error:
        raise EnvironmentFailed(f"{line[0]} is not installed", fix=_FIX) from error
    except subprocess.CalledProcessError as error:
        raise EnvironmentFailed(f"{line[0]} failed: {error.stderr.strip()}", fix=_FIX) from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailed(f"{line[0]} took longer than {limit:.0f} s", fix=_FIX) from error
    return result.stdout


def _arguments(shape: Shape, memory: str, extra_options: Sequence[str]) -> list[str]:
    """Return QEMU's options; the machine's own files are relative to its folder."""
    image = Path(shape.image)
    return [
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-machine", "q35,memory-backend=mem0", "-object", memory),
        *("-m", f"{shape.memory_mib}M", "-smp", str(shape.cpus), "-rtc", "base=utc"),
        *accel.options(shape.accel),
        *("-drive", "file=disk.qcow2,if=none,id=disk0,format=qcow2,cache=unsafe,discard=unmap"),
        *("-device", "virtio-blk-pci,drive=disk0"),
        *("-object", "rng-random,id=rng0,filename=/dev/urandom"),
        *("-device", "virtio-rng-pci,rng=rng0"),
        *("-netdev", "user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:0-:5000"),
        *("-device", "virtio-net-pci,netdev=net0,romfile="),
        *("-chardev", "file,id=serial0,path=console.log"),
        *("-serial", "chardev:serial0", "-qmp", "unix:qmp,server=on,wait=off"),
        *("-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.img")),
        *("-append", _KERNEL_LINE),
        *("-fw_cfg", f"name=opt/hisa/size,string={shape.width}x{shape.height}"),
        *("-fw_cfg", "name=opt/hisa/token,file=token"),
        *("-fw_cfg", "name=opt/hisa/guest,file=guest.tar"),
        *extra_options,
    ]


class Machine:
    """A running machine in a folder that holds ``disk.qcow2``, ``token`` and ``guest.tar``.

    Args:
        shape: its hardware.
        folder: the folder of its files, in which QEMU also makes its sockets and logs.
    """

    def __init__(self, shape: Shape, folder: Path) -> None:
        self.shape = shape
        self.folder = folder
        self.pid = 0
        self.started = 0
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self, memory: Path, *, shared: bool, waiting: bool = False) -> None:
        """Starts QEMU and waits until its QMP socket answers.

        Args:
            memory: the file that is the machine's memory.
            shared: whether the machine's writes go into that file; if not, they are private.
            waiting: whether to wait for a state to be loaded, in place of booting.

        Raises:
            EnvironmentFailed: QEMU does not start; the message ends with its last output.
        """
        backend = f"memory-backend-file,id=mem0,size={self.shape.memory_mib}M,mem-path={memory}"
        backend += f",share={'on' if shared else 'off'}"
        extra_options = ["-incoming", "defer"] if waiting else []
        line = ["qemu-system-x86_64", *_arguments(self.shape, backend, extra_options)]
        with (self.folder / "qemu.log").open("wb") as log:
            self._process = start(line, log, self.folder, signal="KILL")
        self.pid = self._process.pid
        self.started = process_start(self.pid) or 0
        self._await_socket()

    def _await_socket(self, seconds: float = 30.0) -> None:
        deadline = Deadline(seconds)
        while not deadline.passed:
            if not self.alive:
                break
            try:
                with self.qmp():
                    return
            except EnvironmentFailed:
                time.sleep(0.005)
        log_text = (self.folder / "qemu.log").read_text(encoding="utf-8", errors="replace")
        raise EnvironmentFailed(f"QEMU did not start; its log:\n{log_text[-2000:]}", fix=_FIX)

    @property
    def alive(self) -> bool:
        """Whether QEMU runs."""
        return self.pid != 0 and process_start(self.pid) == self.started

    @property
    def token(self) -> str:
        """The guest's bearer token."""
        return (self.folder / "token").read_text(encoding="ascii")

    def qmp(self) -> Qmp:
        """Opens a connection to QEMU."""
        return Qmp(self.folder / "qmp")

    @property
    def port(self) -> int:
        """The loopback port of the guest.

        Raises:
            EnvironmentFailed: QEMU forwards no port.
        """
        if not self._port:
            with self.qmp() as qmp:
                output = qmp.monitor("info usernet")
            match = _FORWARDED.search(output)
            if match is None:
                raise EnvironmentFailed(f"QEMU forwards no port: {output.strip()}")
            self._port = int(match[1])
        return self._port

    def request(self, method: str, path: str, body: Any = None, *, seconds: float) -> bytes:
        """Sends one request to the guest and returns the body of the response.

        Args:
            method: HTTP method.
            path: route.
            body: JSON value to send; None: no body.
            seconds: time limit of each wait.

        Raises:
            OSError: no response in time.
            EnvironmentFailed: the status of the response is not 200.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        headers = {"Authorization": f"Bearer {self.token}"}
        text = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            data = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"{type(error).__name__} {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise EnvironmentFailed(f"the guest answers {answer.status} to {path}: {data[:200]!r}")
        return data

    def set_clock(self) -> None:
        """Sets the machine's clock to the host's; it stood still while the machine was frozen.

        Raises:
            EnvironmentFailed: the guest does not answer, or refuses.
        """
        seconds = patience(_CLOCK_SECONDS)
        line = f"date --set @{time.time():.3f}"
        words = ["sh", "-c", f"sudo -n {line} || echo {_PASSWORD} | sudo -S -p '' {line}"]
        body = {"id": uuid.uuid4().hex, "command": words, "timeout": seconds, "limit": 1000}
        try:
            result = json.loads(self.request("POST", "/hisa/execute", body, seconds=seconds + 30.0))
        except OSError as error:
            raise EnvironmentFailed(f"the machine does not answer: {error}") from error
        if result["exit_code"] != 0:
            raise EnvironmentFailed(f"the clock cannot be set: {result['error'].strip()}")

    def await_guest(self, seconds: float) -> None:
        """Waits until the guest answers, ``seconds`` on an idle machine and longer on a busy one.

        Raises:
            EnvironmentFailed: QEMU ended, or time is up; the message ends with the console's end.
        """
        deadline = Deadline(seconds)
        while self.alive and not deadline.passed:
            try:
                self.request("GET", "/hisa/capabilities", seconds=patience(_TRY_SECONDS))
            except OSError:
                time.sleep(0.02)
            else:
                return
        why = f"no answer in {deadline.waited:.0f} s" if self.alive else "QEMU ended"
        raise EnvironmentFailed(f"the machine did not come up: {why}; {self.last_output()}")

    def last_output(self) -> str:
        """Returns the last lines of QEMU's output and of the console."""
        texts = []
        for name in ("qemu.log", "console.log"):
            try:
                text = (self.folder / name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            texts += text.splitlines()[-8:]
        return "its log ends:\n" + "\n".join(texts)

    def kill(self) -> None:
        """Ends QEMU at once; its folder stays."""
        if self._process is not None:
            end_all(self._process)
            self._process = None
