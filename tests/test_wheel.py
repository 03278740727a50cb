"""What installing the wheel gives: a tree without the repository, used from an empty folder."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from hisa.machine.parts import DISTRIBUTION, PARTS, commands

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
OF_THE_REPOSITORY = re.compile(
    r"\bscripts/|\bhisa\[|hisa\.toml\.example|\bdocs/\w+\.md|\bexamples/\w+\.yaml|\bexamples/$|\bown:examples"
    r"|\bmake (?:demo|test|check|system)\b|CONTRIBUTING|pip install (?:-U )?'?hisa\b"
)


class Tree:
    """A Python with HiSA from its wheel; the libraries are those of the tests' own Python."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "venv" / "bin" / "python"
        self.empty = folder / "empty"
        self.home = folder / "home"
        for path in (self.empty, self.home, folder / "wheels"):
            path.mkdir()
        self._pip("wheel", "--no-build-isolation", "--wheel-dir", str(folder / "wheels"), str(ROOT))
        (self.wheel,) = (folder / "wheels").glob("*.whl")
        line = [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")]
        subprocess.run(line, check=True, capture_output=True)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        self._pip("--python", str(self.python), "install", "--no-index", str(self.wheel))
        (site / "libraries.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
        self.site = site

    @staticmethod
    def _pip(*arguments: str) -> None:
        words = list(arguments)
        words.insert(words.index("install" if "install" in words else "wheel") + 1, "--no-deps")
        line = [sys.executable, "-m", "pip", "--quiet", *words]
        process = subprocess.run(line, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr

    def hisa(self, *arguments: str, code: int = 0) -> str:
        """What the installed command prints, run in an empty folder."""
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("HISA", "PY"))
        }
        environ |= {"HOME": str(self.home), "PATH": f"{self.python.parent}:{os.environ['PATH']}"}
        process = subprocess.run(
            ["hisa", *arguments],
            cwd=self.empty,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert process.returncode == code, process.stdout + process.stderr
        return process.stdout + process.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("wheel"))


def texts(path: Path) -> Iterator[str]:
    """Every text that a file can print: all but what the module says about itself."""
    tree = ast.parse(path.read_text("utf-8"))
    own = tree.body[0].value if tree.body and isinstance(tree.body[0], ast.Expr) else None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node is not own:
            yield node.value


def test_messages_name_no_repository_only_files() -> None:
    messages = [
        f"{path.relative_to(ROOT)}: {text.strip()[:80]}"
        for path in sorted((ROOT / "hisa").rglob("*.py"))
        for text in texts(path)
        if OF_THE_REPOSITORY.search(text)
    ]
    assert not messages, "\n".join(messages)


def test_the_distribution_is_ours_alone(tree: Tree) -> None:
    assert DISTRIBUTION == "hisa-agent"
    assert tree.wheel.name.startswith("hisa_agent-")


def test_the_command_works_from_an_empty_folder(tree: Tree) -> None:
    assert "hisa run" in tree.hisa("--help")
    findings = json.loads(tree.hisa("doctor", "--json"))
    assert {"machine", "packages", "tools"} <= {finding["area"] for finding in findings}
    assert "bash_execution" in tree.hisa("tools", "ls")
    assert not [finding for finding in findings if OF_THE_REPOSITORY.search(finding["fix"])]


@pytest.mark.desktop
def test_a_first_run_works_from_an_empty_folder(tree: Tree) -> None:
    output = tree.hisa("run", 'Open the text editor. Type "hello".')
    assert "succeeded" in output
    assert (tree.empty / "runs").is_dir()
    assert "hello" in tree.hisa("runs", "show")


OF_EACH_KIND = {(bool(part.script), bool(part.alone)): name for name, part in PARTS.items()}


@pytest.mark.parametrize("name", OF_EACH_KIND.values())
def test_a_part_of_each_kind_is_installed_into_the_python_that_runs_the_command(
    name: str, tree: Tree
) -> None:
    lines = tree.hisa("install", "--print", name).splitlines()
    assert lines
    for line in lines:
        mark, program, *rest = shlex.split(line)
        assert mark == "+"
        if PARTS[name].script:
            assert program == "bash"
            (script,) = rest
            assert Path(script).is_file()
            assert Path(script).is_relative_to(tree.python.parents[1])
            assert (Path(script).parent / "packages.sh").is_file()
        else:
            assert Path(program) == tree.python
            assert not [word for word in rest if word.startswith(("hisa", "hisa-agent"))]
    if PARTS[name].alone:
        assert lines[0].endswith(f"--no-deps {PARTS[name].alone}")


def test_a_script_of_the_wheel_runs(tree: Tree) -> None:
    ((_, script),) = commands("system")
    packed = shlex.split(tree.hisa("install", "--print", "system"))[-1]
    assert Path(packed).read_bytes() == Path(script).read_bytes()
    process = subprocess.run(["sh", packed, "--list"], capture_output=True, text=True, check=False)
    assert "xvfb" in process.stdout or "only Debian and Ubuntu" in process.stderr


def test_a_part_that_is_none_is_refused_with_the_choices(tree: Tree) -> None:
    output = tree.hisa("install", "numpy", code=2)
    assert "no part 'numpy'; there are system, minilm, tasks" in output


def test_the_makefile_gets_versions_from_here() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "==" not in makefile
    assert "hisa install minilm" in makefile


def test_missing_metric_names_the_command_that_installs_it(tree: Tree) -> None:
    """As after `make demo`, which installs no extra: what `make test` adds is hidden."""
    hiding = tree.site / "desktop_env"
    hiding.mkdir()
    (hiding / "__init__.py").touch()
    script = "import sys; from hisa.cli import main; main(sys.argv[1:])"
    line = [str(tree.python), "-c", script, "bench", "prefetch"]
    line += [f"spider2v:{ROOT}/tests/data/spider2v"]
    environ = {**os.environ, "HOME": str(tree.home)}
    process = subprocess.run(
        line, cwd=tree.empty, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 2
    assert "metric compare_table needs" in process.stderr
    assert "try: hisa install osworld" in process.stderr
