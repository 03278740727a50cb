"""What a user of Ubuntu 24.04 sees: namespaces refused both ways, and a browser that is a stub.

No such system is at hand: its switch, its refusals and its stub are played here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.desktop.runtime.probe import is_snap, why_refused

pytestmark = pytest.mark.process

DENIED = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
STUB = """#!/bin/sh
if ! [ -x /snap/bin/chromium ]; then
    echo "Command '$0' requires the chromium snap to be installed." >&2
    echo "Please install it with: snap install chromium" >&2
    exit 1
fi
exec /snap/bin/chromium "$@"
"""
SWITCH = "apparmor_restrict_unprivileged_userns"


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def on_ubuntu(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """HiSA where the kernel's switch is on, both ways are refused, and the browser is a stub."""
    for name in ("unshare", "bwrap"):
        program(folder, name, DENIED)
    program(folder, "chromium-browser", STUB)
    script = (
        "mount -t tmpfs tmpfs /proc/sys/kernel || exit 77\n"
        f"echo 1 >/proc/sys/kernel/{SWITCH}\n"
        'PATH=$1; shift; exec "$@"\n'
    )
    line = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    line += ["/bin/sh", "-c", script, "sh", str(folder), sys.executable, "-m", "hisa", *arguments]
    result = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode == 77 or "unshare failed" in result.stderr:
        pytest.skip(f"no namespace in which the switch can be played: {result.stderr.strip()}")
    return result


def test_doctor_explains_the_switch_and_the_stub_with_their_commands(tmp_path: Path) -> None:
    result = on_ubuntu(tmp_path / "bin", "doctor", "--json")
    assert result.returncode == 3, result.stderr
    probes: dict[str, dict[str, Any]] = {f["name"]: f for f in json.loads(result.stdout)}
    isolation = probes["isolation"]
    assert not isolation["ok"]
    assert f"kernel.{SWITCH}=1" in isolation["detail"]
    assert "hisa install system" in isolation["fix"]
    assert "apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict" in isolation["fix"]
    assert "sysctl -w" in isolation["fix"]
    browser = probes["browser"]
    assert not browser["ok"]
    assert "stub for a snap" in browser["detail"]
    assert "ppa:xtradeb/apps" in browser["fix"]


def in_a_bare_system(folder: Path, *programs: str) -> str:
    """What a first run says where the path holds only these programs."""
    for name in programs:
        program(folder / "bin", name, "#!/bin/sh\n")
    words = ["run", 'Open the text editor. Type "hello".', "--runs", str(folder / "runs")]
    result = subprocess.run(
        [sys.executable, "-m", "hisa", *words],
        env={**os.environ, "PATH": str(folder / "bin")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 3, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_run_names_each_program_that_is_missing_and_starts_nothing(tmp_path: Path) -> None:
    output = in_a_bare_system(tmp_path, "unshare", "openbox")
    assert "no private desktop can start: no Xvfb; no dbus-daemon" in output
    assert "no openbox" not in output
    assert output.count("try: hisa install system") == 1
    assert "its log ends" not in output


@pytest.mark.parametrize(
    ("switch", "value", "expected"),
    [
        (f"sys/kernel/{SWITCH}", "1\n", "AppArmor"),
        ("sys/kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=0"),
        ("sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces=0"),
        (f"sys/kernel/{SWITCH}", "0\n", "neither"),
        ("sys/kernel/other", "1\n", "neither"),
    ],
)
def test_the_reason_is_read_from_the_kernel(
    switch: str, value: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / switch).parent.mkdir(parents=True)
    (tmp_path / switch).write_text(value, "ascii")
    refusal = why_refused(tmp_path)
    assert expected in refusal.reason
    assert refusal.fix


def test_snap_stub_does_not_count_as_a_program(tmp_path: Path) -> None:
    assert is_snap(str(program(tmp_path, "chromium-browser", STUB)))
    assert is_snap("/snap/bin/chromium")
    wrapper = '#!/bin/sh\nexec /usr/lib/chromium/chromium "$@"\n'
    assert not is_snap(str(program(tmp_path, "chromium", wrapper)))
    assert not is_snap("/bin/sh")
    assert not is_snap("/nowhere")
    link = tmp_path / "firefox"
    link.symlink_to("/usr/bin/snap")
    assert is_snap(str(link))


PARTLY = """#!/bin/sh
for word; do [ "$word" != {refused} ] || {{ echo "bwrap: refused: $word" >&2; exit 1; }}; done
exec {bwrap} "$@"
"""
TRIED = """
from hisa.plugins.desktop.runtime import bubblewrap, namespaces
print(namespaces.available_isolation())
line = bubblewrap.command(["true"], {"XDG_RUNTIME_DIR": "/run/user/1000"}, copies={},
                          covered=(), identity={}, disk_mb=64)
print("--hostname" in line)
"""


@pytest.mark.parametrize(
    ("refused", "expected"), [("--proc", "none True"), ("--hostname", "bubblewrap False")]
)
def test_partial_refusal_of_a_container_is_detected(
    tmp_path: Path, refused: str, expected: str
) -> None:
    real = shutil.which("bwrap")
    plain = ["--unshare-all", "--ro-bind", "/", "/", "true"]
    if real is None or subprocess.run([real, *plain], check=False).returncode:
        pytest.skip("no bubblewrap that works on this machine")
    program(tmp_path, "unshare", DENIED)
    program(tmp_path, "bwrap", PARTLY.format(refused=refused, bwrap=real))
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = subprocess.run(
        [sys.executable, "-c", TRIED],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == expected.split()
