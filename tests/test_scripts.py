"""The scripts that install system packages, with the programs they call played by others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
SWITCH = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
EXTRA = "usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
PROFILE = "etc/apparmor.d/bwrap-userns-restrict"
TOOLS = ["basename", "cat", "cp", "dirname", "env", "grep", "mkdir", "mktemp", "rm", "sh", "touch"]
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


class System:
    """A machine on which ``apt-get`` and what it brings are scripts that write down their calls."""

    def __init__(self, folder: Path, *, name: str = "ubuntu", restricted: bool = True) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        (folder / "bin").mkdir(parents=True)
        self.put("etc/os-release", f"ID={name}\n")
        self.put(SWITCH, "1\n" if restricted else "0\n")
        (folder / "etc/apparmor.d").mkdir()
        for tool in TOOLS:
            (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))
        self.play("dpkg-query", "printf installed")
        self.play("sleep", "")
        self.play("id", "echo 1000")
        self.play("sudo", 'exec "$@"')
        self.play("apparmor_parser", f"touch {folder}/loaded")
        refused = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"
        self.play("bwrap", f"[ -e {folder}/loaded ] || {{ {refused}; }}")

    def put(self, path: str, text: str) -> None:
        """A file of the machine."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")

    def play(self, name: str, body: str) -> None:
        """A program that writes its call down and does this."""
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n{body}\n', "utf-8")
        path.chmod(0o755)

    def run(self, *arguments: str, code: int = 0) -> str:
        """What ``install-system.sh`` says there."""
        environ = {**os.environ, "HISA_ROOT": str(self.folder)}
        environ["PATH"] = f"{self.folder}/bin"
        process = subprocess.run(
            ["/bin/sh", str(ROOT / "scripts" / "install-system.sh"), *arguments],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert process.returncode == code, process.stdout + process.stderr
        return process.stdout + process.stderr

    def list_calls(self, name: str) -> list[str]:
        """Calls of a program, in order."""
        lines = self.calls.read_text("utf-8").splitlines() if self.calls.exists() else []
        return [line for line in lines if line.split()[0] == name]


def test_ubuntus_profile_is_loaded_where_namespaces_are_refused(tmp_path: Path) -> None:
    system = System(tmp_path / "machine")
    system.put(EXTRA, "profile bwrap /usr/bin/bwrap {}\n")
    output = system.run()
    assert "kernel.apparmor_restrict_unprivileged_userns=1" in output
    assert "bwrap-userns-restrict" in output
    assert "bubblewrap can make namespaces now" in output
    profile = system.folder / PROFILE
    assert profile.read_text("utf-8") == (system.folder / EXTRA).read_text("utf-8")
    assert system.list_calls("apparmor_parser") == [f"apparmor_parser -r {profile}"]
    assert [call.split()[1] for call in system.list_calls("sudo")] == ["cp", "apparmor_parser"]


def test_the_package_with_the_profile_is_fetched_where_it_is_not_there(tmp_path: Path) -> None:
    system = System(tmp_path / "machine")
    brings = f"mkdir -p {system.folder}/{Path(EXTRA).parent} && echo p >{system.folder}/{EXTRA}"
    system.play("apt-get", f'case "$*" in *apparmor-profiles*) {brings};; esac')
    system.run()
    assert (system.folder / PROFILE).read_text("utf-8") == "p\n"


def test_a_profile_that_the_release_brings_is_used_as_it_is(tmp_path: Path) -> None:
    system = System(tmp_path / "machine")
    system.put(PROFILE, "theirs\n")
    system.run()
    assert (system.folder / PROFILE).read_text("utf-8") == "theirs\n"
    assert not system.list_calls("apt-get")


def test_ineffective_profile_ends_with_an_error(tmp_path: Path) -> None:
    system = System(tmp_path / "machine")
    system.put(PROFILE, "theirs\n")
    system.play("apparmor_parser", "")
    assert "still refused" in system.run(code=2)


def test_checking_changes_nothing(tmp_path: Path) -> None:
    system = System(tmp_path / "machine")
    assert "AppArmor refuses" in system.run("--check", code=1)
    assert not system.list_calls("sudo")


def test_unrestricted_system_needs_no_profile(tmp_path: Path) -> None:
    system = System(tmp_path / "machine", restricted=False)
    assert "AppArmor" not in system.run()
    assert not system.list_calls("sudo")


def test_no_stub_for_a_snap_is_installed_and_another_browser_is_named(tmp_path: Path) -> None:
    system = System(tmp_path / "machine", restricted=False)
    packages = system.run("--list").split()
    assert not [name for name in packages if "chromium" in name]
    system.play("chromium-browser", "exit 1")
    assert "ppa:xtradeb/apps" in system.run()
    system.play("google-chrome", "exit 0")
    assert "ppa:xtradeb/apps" not in system.run()
    assert "chromium" in System(tmp_path / "other", name="debian").run("--list").split()


def test_the_demo_says_how_the_command_gets_on_the_path(tmp_path: Path) -> None:
    for name, text in (("hisa", "#!/bin/sh\n"), ("activate", "export HISA_IS_HERE=yes\n")):
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    environ = {**os.environ, "HISA": str(tmp_path / "hisa")}
    line = ["bash", str(ROOT / "scripts" / "demo.sh")]
    output = subprocess.run(line, env=environ, capture_output=True, text=True, check=True).stdout
    (command,) = [text.strip() for text in output.splitlines() if text.strip().startswith(". ")]
    process = subprocess.run(
        ["sh", "-c", f"{command} && echo $HISA_IS_HERE"], capture_output=True, text=True, check=True
    )
    assert process.stdout == "yes\n"


def test_another_package_manager_is_waited_for(tmp_path: Path) -> None:
    system = System(tmp_path / "machine", name="debian", restricted=False)
    system.play("dpkg-query", "exit 1")
    tries = f'n=$(grep -c "^apt-get update" {system.calls}); [ $n -gt 2 ] || [ "$1" != update ]'
    system.play("apt-get", f"{tries} && exit 0; echo '{LOCKED}' >&2; exit 100")
    output = system.run()
    assert output.count("another package manager is at work") == 2
    assert "waiting" in output
    assert len(system.list_calls("apt-get")) == 4  # three updates, one install


def test_package_manager_output_is_folded_unless_it_fails(tmp_path: Path) -> None:
    system = System(tmp_path / "machine", name="debian", restricted=False)
    system.play("dpkg-query", "exit 1")
    body = "n=0; while [ $n -lt 450 ]; do n=$((n + 1)); echo Setting up part$n; done"
    system.play("apt-get", body)
    output = system.run()
    assert output.count("Setting up") == 4  # of an update and an install, two each
    assert output.count("  400 lines, the last: Setting up part400\n") == 2
    assert output.count("  450 lines of apt-get") == 2
    system.play("apt-get", f"{body}; echo 'E: no space left' >&2; exit 100")
    output = system.run(code=2)
    assert "Setting up part450\nE: no space left\n" in output
    assert "apt-get update failed" in output


def test_any_other_failure_of_the_package_manager_is_reported_at_once(tmp_path: Path) -> None:
    system = System(tmp_path / "machine", name="debian", restricted=False)
    system.play("dpkg-query", "exit 1")
    system.play("apt-get", "echo 'E: Unable to locate package xvfb' >&2; exit 100")
    assert "Unable to locate package" in system.run(code=2)
    assert len(system.list_calls("apt-get")) == 1


SEEN = "import pathlib\nSEEN = pathlib.Path('seen').exists()\npathlib.Path('seen').touch()\n"


@pytest.mark.parametrize(
    ("output", "ends", "code", "last"),
    [
        ("goal 9: met", 0, 0, "every goal of 2 benchmarks is met\n"),
        ("K=8 DOES NOT HOLD", 0, 1, "not met or failed, 1 of 2: loop\n"),
        ("goal 9: met", 1, 1, "not met or failed, 1 of 2: loop\n"),
    ],
)
def test_benchmarks_end_with_1_where_a_goal_is_not_met(
    tmp_path: Path, output: str, ends: int, code: int, last: str
) -> None:
    python = tmp_path / "python"
    missed = f'case "$*" in *benchmarks.loop*) echo "{output}"; exit {ends};; esac'
    python.write_text(f'#!/bin/sh\n{missed}\necho "$*"\n', "utf-8")
    python.chmod(0o755)
    words = ["bash", str(ROOT / "scripts" / "bench.sh"), str(python), "loop -n 1", "tokens -n 2"]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    assert process.returncode == code, process.stderr
    assert "-m benchmarks.tokens -n 2\n" in process.stdout, (
        "what is missed keeps no other from running"
    )
    assert process.stdout.endswith(last)


def test_a_benchmark_that_does_not_end_is_ended_and_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$*" in *loop*) exec sleep 600;; esac\necho "$*"\n', "utf-8")
    python.chmod(0o755)
    words = ["bash", str(ROOT / "scripts" / "bench.sh"), str(python), "loop", "tokens"]
    environment = os.environ | {"BENCH_SECONDS": "1"}
    process = subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert process.returncode == 1
    assert "benchmarks.loop took longer than 1 s" in process.stdout
    assert process.stdout.endswith("not met or failed, 1 of 2: loop\n")


PASSES_LATER = "def test_a(): assert SEEN"


def failed_then_again(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    """``test_again.py`` after a run of these tests, of which some failed."""
    (folder / "test_it.py").write_text(SEEN + tests)
    (folder / "pytest.ini").write_text("[pytest]\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
        )

    assert run("-m", "pytest").returncode == 1
    return run(str(ROOT / "scripts" / "test_again.py"))


@pytest.mark.parametrize(
    ("tests", "code", "message"),
    [
        (PASSES_LATER, 0, "Failed once, passed the second time:"),
        (f"{PASSES_LATER}\ndef test_b(): assert 0", 1, "broken:\n  test_it.py::test_b\n"),
    ],
)
def test_few_failures_are_run_again_and_named(
    tmp_path: Path, tests: str, code: int, message: str
) -> None:
    again = failed_then_again(tmp_path, tests)
    assert (again.returncode, message in again.stdout) == (code, True), again.stdout
    first = again.stdout.strip().splitlines()[:2]
    assert first[0].startswith("Failed (")
    assert first[1].strip().startswith("test_it.py::test_a")
